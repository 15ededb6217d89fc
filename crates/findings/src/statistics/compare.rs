//! Faster, slower, or no difference seen.

use super::interval::{
    Interval, log_ratio_chance, log_ratio_paired, log_ratio_unpaired, logarithms, moments,
};
use super::rank::{RankTest, rank_test, sign_test};
use super::{ALPHA, CLAIM, MIN_CLAIM};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// A larger number of repeats is not suggested to the user.
pub const MAX_REPEATS: usize = 1_000;

/// The verdict on two samples of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second has the higher rate.
    Faster,
    /// The second has the lower rate.
    Slower,
    /// The repeats show no difference.
    NoDifference,
    /// There are too few repeats to say.
    TooFew,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no significant difference",
            Self::TooFew => "too few repeats",
        }
    }
}

/// Two samples of a rate, compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// The second rate over the first, with the interval that the verdict looked at; `None` for
    /// fewer than three repeats on a side.
    pub ratio: Option<Interval>,
    /// The rank test.
    pub ranks: Option<RankTest>,
    /// Whether repeats were taken as pairs, because they ran side by side or alternately.
    pub paired: bool,
    /// Pairs in which the second was ahead; `None` if there are no pairs.
    pub pairs_won: Option<usize>,
    /// The smallest ratio above 1 that equally many repeats with the same scatter would have shown
    /// with a probability of 80 %.
    pub smallest_ratio: Option<f64>,
    /// The p-value by which Holm's procedure orders comparisons; 1 if ranks and signs do not agree,
    /// or if the ratio is too near to 1 to be claimed at any level.
    #[serde(skip)]
    pub chance: f64,
}

impl Comparison {
    fn claims(&self) -> bool {
        matches!(self.verdict, Verdict::Faster | Verdict::Slower)
    }

    /// The comparison of the first with the second, of one without ranks and pairs.
    pub(crate) fn inverted(self) -> Self {
        Self {
            verdict: match self.verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                verdict @ (Verdict::NoDifference | Verdict::TooFew) => verdict,
            },
            ratio: self.ratio.map(Interval::inverted),
            ..self
        }
    }
}

/// Makes several comparisons that are read together, by the step-down procedure of Holm (1979): the
/// clearest must pass as one of all, the next as one of the rest, and so on until one is not
/// claimed. The chance that any of them claims a difference between equals is no larger than if
/// each had to pass as one of all, and more true differences are found. `compare` makes one
/// comparison, given its index and the number that it is read among; `None` if there is nothing to
/// compare.
pub fn compare_together(
    count: usize,
    compare: impl Fn(usize, usize) -> Option<Comparison>,
) -> Vec<Option<Comparison>> {
    let mut all: Vec<_> = (0..count).map(|place| compare(place, count)).collect();
    let mut order: Vec<(usize, f64)> = all
        .iter()
        .enumerate()
        .filter_map(|(place, one)| Some((place, one.as_ref()?.chance)))
        .collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut left = order.len();
    for (place, _) in order {
        let compared = compare(place, left);
        if compared.is_some_and(|compared| compared.claims()) {
            left -= 1;
        }
        all[place] = compared;
    }
    all
}

/// Compares the rates of `first` and `second`. If `paired` and equally many, repeats are compared
/// in pairs: they were interleaved, so both of a pair met the same state of the machine.
#[must_use]
pub fn compare(first: &[f64], second: &[f64], paired: bool) -> Comparison {
    compare_among(first, second, paired, 1)
}

/// Like [`compare`], for one of several comparisons that are read together: the more there are, the
/// wider the interval that must exclude 1, so that together they claim a difference between equals
/// at most once in twenty cases.
///
/// A difference is claimed if three things agree: the interval of the ratio does not contain 1; the
/// ranks, or the signs of the pairs, support it at the same level, or as strongly as so few repeats
/// allow; and the ratio is further from 1 than equals differ because of their order.
#[must_use]
pub fn compare_among(
    first: &[f64],
    second: &[f64],
    paired: bool,
    comparisons: usize,
) -> Comparison {
    let paired = paired && first.len() == second.len();
    let level = claim_level(comparisons);
    let ratio = if paired {
        log_ratio_paired(first, second, level)
    } else {
        log_ratio_unpaired(first, second, level)
    };
    let ranks = rank_test(first, second);
    let signs = paired.then(|| sign_test(first, second));
    let by_ranks = ranks.is_some_and(|ranks| is_significant(ranks.p_value, ranks.least_p_value));
    let by_signs = signs.is_some_and(|signs| is_significant(signs.p_value, signs.least_p_value));
    let away = |ratio: Interval| (ratio.estimate - 1.0).abs() >= MIN_CLAIM;
    let claimable = (by_ranks || by_signs) && ratio.is_some_and(away);
    let verdict = match ratio {
        None => Verdict::TooFew,
        Some(ratio) if ratio.holds(1.0) || !claimable => Verdict::NoDifference,
        Some(ratio) if ratio.estimate > 1.0 => Verdict::Faster,
        Some(_) => Verdict::Slower,
    };
    Comparison {
        verdict,
        ratio,
        ranks,
        paired,
        pairs_won: signs.map(|signs| signs.won),
        smallest_ratio: smallest_ratio(first, second, paired, level),
        chance: log_ratio_chance(first, second, paired)
            .filter(|_| claimable)
            .unwrap_or(1.0),
    }
}

/// The level of the intervals if this many comparisons are read together.
#[must_use]
pub fn claim_level(comparisons: usize) -> f64 {
    1.0 - CLAIM.min(ALPHA / comparisons.max(1) as f64)
}

/// Whether a p-value is as small as a claim needs, or as small as so few values allow.
fn is_significant(p_value: f64, least_p_value: f64) -> bool {
    p_value <= CLAIM.max(least_p_value * (1.0 + 1e-9))
}

/// The confidence level at which a result looks slower, if this many are read together: 95 %, and
/// higher from three results on, so that a false alarm among all of them stays below one in twenty.
#[must_use]
pub fn suspicion_level(comparisons: usize) -> f64 {
    // Only one of an interval's two sides is a fall.
    1.0 - ALPHA.min(2.0 * ALPHA / comparisons.max(1) as f64)
}

/// Whether the second looks slower by more than `part`, though a claim may ask for more: the ratio
/// is beyond, every pair says so (without pairs: each value of one against each of the other),
/// and Student's interval at `level` leaves out 1.
#[must_use]
pub fn looks_slower(first: &[f64], second: &[f64], paired: bool, part: f64, level: f64) -> bool {
    let (ratio, agreed) = if paired {
        (
            log_ratio_paired(first, second, level),
            first.iter().zip(second).all(|(one, other)| other < one),
        )
    } else {
        (
            log_ratio_unpaired(first, second, level),
            first
                .iter()
                .all(|one| second.iter().all(|other| other < one)),
        )
    };
    let beyond = |ratio: Interval| ratio.estimate < 1.0 - part && ratio.high < 1.0;
    agreed && ratio.is_some_and(beyond)
}

/// The scatter of the logarithms of repeats: the deviation of a difference of two, corrected
/// because the deviation of a few values is more often below the true one than above.
struct Scatter {
    variance: f64,
    paired: bool,
}

impl Scatter {
    fn of(first: &[f64], second: &[f64], paired: bool) -> Option<Self> {
        let (one, other) = (logarithms(first)?, logarithms(second)?);
        let (n, m) = (first.len() as f64, second.len() as f64);
        let (variance, freedom) = if paired {
            let ratios = one.iter().zip(&other).map(|(one, other)| other - one);
            (moments(&ratios.collect::<Vec<_>>())?.1, n - 1.0)
        } else {
            let (one, other) = (moments(&one)?.1, moments(&other)?.1);
            let freedom = n + m - 2.0;
            (((n - 1.0) * one + (m - 1.0) * other) / freedom, freedom)
        };
        let usual = ChiSquared::new(freedom).ok()?.inverse_cdf(0.5) / freedom;
        Some(Self {
            variance: variance / usual,
            paired,
        })
    }

    /// The ratio above 1 that this many repeats of each show with a chance of 80 %.
    fn shown_by(&self, first: f64, second: f64, level: f64) -> Option<f64> {
        let (error, freedom) = if self.paired {
            ((self.variance / first).sqrt(), first - 1.0)
        } else {
            (
                (self.variance * (1.0 / first + 1.0 / second)).sqrt(),
                first + second - 2.0,
            )
        };
        let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
        // If there is a difference, the statistic's distribution is wider than Student's, and the
        // ranks must agree: by simulation a power of nine in ten here becomes about four in five.
        let reach = student.inverse_cdf(1.0 - (1.0 - level) / 2.0) + student.inverse_cdf(0.9);
        Some((reach * error).exp().max(1.0 + MIN_CLAIM))
    }
}

/// The smallest ratio above 1 that equally many repeats would have shown with a probability of 80
/// %, if the second scattered like both: from the power of Student's test of logarithms at that
/// level. `None` for fewer than three repeats on a side, or if a rate is not above 0.
#[must_use]
pub fn smallest_ratio(first: &[f64], second: &[f64], paired: bool, level: f64) -> Option<f64> {
    let scatter = Scatter::of(first, second, paired)?;
    scatter.shown_by(first.len() as f64, second.len() as f64, level)
}

/// The fewest repeats of each side that would show the observed ratio with a probability of 80 %,
/// at the observed scatter. `None` if the present number would, or if [`MAX_REPEATS`] would not.
#[must_use]
pub fn repeats_needed(first: &[f64], second: &[f64], paired: bool, level: f64) -> Option<usize> {
    let ratio = if paired {
        log_ratio_paired(first, second, level)?
    } else {
        log_ratio_unpaired(first, second, level)?
    };
    let seen = ratio.estimate.max(1.0 / ratio.estimate);
    let scatter = Scatter::of(first, second, paired)?;
    let shows = |repeats: usize| {
        let smallest = scatter.shown_by(repeats as f64, repeats as f64, level);
        smallest.is_some_and(|smallest| smallest <= seen)
    };
    let (mut too_few, mut enough) = (first.len().max(second.len()), MAX_REPEATS);
    if shows(too_few) || !shows(enough) {
        return None;
    }
    while enough - too_few > 1 {
        let middle = usize::midpoint(too_few, enough);
        if shows(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [19.8, 20.1, 20.5, 19.9, 20.3];

    fn scaled(factor: f64) -> Vec<f64> {
        A.iter().rev().map(|value| value * factor).collect()
    }

    #[test]
    fn a_tenth_more_is_faster_and_a_tenth_less_slower() {
        assert_eq!(compare(&A, &scaled(1.1), true).verdict, Verdict::Faster);
        assert_eq!(compare(&A, &scaled(0.9), false).verdict, Verdict::Slower);
        assert_eq!(
            compare(&A, &scaled(1.0), true).verdict,
            Verdict::NoDifference
        );
    }

    #[test]
    fn one_wild_repeat_makes_no_difference() {
        let wild = [19.9, 20.2, 20.4, 20.0, 60.0];
        assert_eq!(compare(&A, &wild, false).verdict, Verdict::NoDifference);
    }

    #[test]
    fn two_repeats_tell_nothing() {
        let compared = compare(&A[..2], &scaled(2.0)[..2], true);
        assert_eq!(compared.verdict, Verdict::TooFew);
        assert_eq!(compared.ratio, None);
    }

    #[test]
    fn three_repeats_need_a_clear_difference() {
        assert_eq!(
            compare(&A[..3], &scaled(1.02)[..3], true).verdict,
            Verdict::NoDifference
        );
        assert_eq!(
            compare(&A[..3], &scaled(1.5)[..3], true).verdict,
            Verdict::Faster
        );
    }

    #[test]
    fn the_smallest_ratio_agrees_with_scipy() {
        // scipy 1.17.1: exp((t.ppf(1 - (1 - level) / 2, df) + t.ppf(0.9, df)) * error), the error
        // being sem(log(b) - log(a)) or the pooled one, over sqrt(chi2.ppf(0.5, df) / df). By nct
        // Student's test alone shows so large a ratio in 75 of 100 with 3 pairs, 83 with 5 and 88
        // with 10 at that level.
        let b = [21.0, 21.4, 20.9, 21.8, 21.2];
        let cases = [
            (true, 0.99, 1.082_360_955_017_929_8),
            (true, 0.999, 1.139_748_380_243_531_3),
            (false, 0.99, 1.049_949_372_766_869),
            (false, 0.999, 1.068_262_944_928_468_6),
        ];
        for (paired, level, expected) in cases {
            let found = smallest_ratio(&A, &b, paired, level).unwrap();
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{found}, not {expected}"
            );
        }
    }

    #[test]
    fn the_smallest_ratio_shrinks_with_repeats_and_with_pairs() {
        let few = smallest_ratio(&A[..3], &A[..3], false, 0.99).unwrap();
        let many: Vec<f64> = A.iter().cycle().take(25).copied().collect();
        let more = smallest_ratio(&many, &many, false, 0.99).unwrap();
        assert!(1.0 < more && more < few, "{more} {few}");
        let drifting: Vec<f64> = (1..=5).map(|place| 100.0 * f64::from(place)).collect();
        let close: Vec<f64> = drifting.iter().zip(A).map(|(d, a)| d * a / 20.0).collect();
        let paired = smallest_ratio(&drifting, &close, true, 0.99).unwrap();
        let unpaired = smallest_ratio(&drifting, &close, false, 0.99).unwrap();
        assert!(paired < 1.1 && unpaired > 2.0, "{paired} {unpaired}");
    }

    #[test]
    fn the_repeats_that_are_named_would_show_what_is_seen() {
        let slower = [19.9, 19.2, 20.1, 19.1, 19.7];
        let level = claim_level(1);
        let needed = repeats_needed(&A, &slower, true, level).unwrap();
        assert!((6..100).contains(&needed), "{needed}");
        let seen = compare(&A, &slower, true).ratio.unwrap().estimate;
        let scatter = Scatter::of(&A, &slower, true).unwrap();
        let shown = |repeats: usize| scatter.shown_by(repeats as f64, 0.0, level).unwrap();
        assert!(shown(needed) <= 1.0 / seen && shown(needed - 1) > 1.0 / seen);
        assert_eq!(repeats_needed(&A, &scaled(2.0), false, level), None);
        assert_eq!(repeats_needed(&A, &A, true, level), None, "nothing is seen");
    }

    #[test]
    fn a_fall_that_every_pair_shows_looks_like_one_though_three_cannot_claim_it() {
        let (first, second) = ([144.0, 160.0, 133.0], [59.0, 70.0, 51.0]);
        let looks = |first: &[f64], second: &[f64], part| {
            looks_slower(first, second, true, part, suspicion_level(1))
        };
        assert!(looks(&first, &second, 0.03) && !looks(&second, &first, 0.03));
        assert!(!looks(&first, &second, 0.8), "it is less than the limit");
        assert!(
            !looks(&first, &[59.0, 70.0, 134.0], 0.03),
            "a pair disagrees"
        );
        let apart = |second: &[f64]| looks_slower(&first, second, false, 0.03, 0.95);
        assert!(apart(&[59.0, 70.0, 51.0]) && !apart(&[59.0, 70.0, 134.0]));
        assert_eq!((suspicion_level(1), suspicion_level(2)), (0.95, 0.95));
        assert!((suspicion_level(10) - 0.99).abs() < 1e-12);
    }

    #[test]
    fn pairs_tell_what_a_drifting_machine_hides() {
        let drifting = [100.0, 120.0, 90.0, 140.0, 110.0];
        let slower = [94.0, 113.4, 84.9, 132.2, 103.6];
        let compared = compare(&drifting, &slower, true);
        assert_eq!(compared.verdict, Verdict::Slower);
        assert_eq!(compared.pairs_won, Some(0));
        let apart = compare(&drifting, &slower, false);
        assert_eq!(
            (apart.verdict, apart.pairs_won),
            (Verdict::NoDifference, None)
        );
    }

    #[test]
    fn what_equals_differ_by_on_account_of_their_turns_is_no_difference() {
        let steady = [100.0, 100.01, 99.99, 100.0, 100.02];
        let hardly = steady.map(|rate| rate * 1.005);
        let clearly = steady.map(|rate| rate * 1.02);
        assert_eq!(
            compare(&steady, &hardly, true).verdict,
            Verdict::NoDifference
        );
        assert_eq!(compare(&steady, &clearly, true).verdict, Verdict::Faster);
    }

    #[test]
    fn what_is_clear_makes_room_for_what_is_less_so() {
        // Alone each is claimed; as one of thirty the second is not.
        let clear: Vec<f64> = scaled(2.0);
        let less: Vec<f64> = scaled(1.05);
        assert_eq!(
            compare_among(&A, &less, true, 30).verdict,
            Verdict::NoDifference
        );
        let among = |clear_ones: usize| {
            let compared = compare_together(30, |place, left| {
                let second = if place < clear_ones { &clear } else { &less };
                Some(compare_among(&A, second, true, left))
            });
            compared.iter().flatten().filter(|one| one.claims()).count()
        };
        assert_eq!(among(1), 1, "28 others are too many still");
        assert_eq!(among(29), 30, "as the last of thirty it stands alone");
        let nothing = compare_together(2, |_, _| None);
        assert_eq!(nothing, [None, None]);
    }

    #[test]
    fn the_more_comparisons_the_wider_each_interval() {
        assert_eq!(claim_level(1), 0.99);
        assert_eq!(claim_level(5), 0.99);
        assert!((claim_level(50) - 0.999).abs() < 1e-12);
        let one = compare(&A, &scaled(1.1), true).ratio.unwrap();
        let many = compare_among(&A, &scaled(1.1), true, 50).ratio.unwrap();
        assert!(many.low < one.low && many.high > one.high);
    }
}
