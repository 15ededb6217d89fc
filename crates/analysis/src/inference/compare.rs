//! Faster, slower, or no difference seen.

use super::ALPHA;
use super::interval::{Interval, log_ratio_paired, log_ratio_unpaired, logarithms, moments};
use super::rank::{RankTest, rank_test};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What two samples of a rate came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
            Self::NoDifference => "no difference seen",
            Self::TooFew => "too few repeats to tell",
        }
    }
}

/// Two samples of a rate, compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// What they came to.
    pub verdict: Verdict,
    /// The second rate over the first; `None` for fewer than three repeats on a side.
    pub ratio: Option<Interval>,
    /// What the ranks say.
    pub ranks: Option<RankTest>,
    /// Whether repeats were taken as pairs, because they were run by turns.
    pub paired: bool,
    /// The smallest ratio above 1 that as many repeats, scattering so, would have shown four times
    /// in five.
    pub smallest_ratio: Option<f64>,
}

/// Compares the rates of `first` and `second`, repeat by repeat where they are as many (`paired`:
/// the repeats were interleaved, so that both halves of a pair met the same machine).
///
/// A difference is claimed where the interval of the ratio does not hold 1 and the ranks agree. With
/// fewer than four repeats ranks cannot show any difference: the interval must then be one of 99 %.
#[must_use]
pub fn compare(first: &[f64], second: &[f64], paired: bool) -> Comparison {
    let paired = paired && first.len() == second.len();
    let interval = |level| match paired {
        true => log_ratio_paired(first, second, level),
        false => log_ratio_unpaired(first, second, level),
    };
    let ranks = rank_test(first, second);
    let ratio = interval(1.0 - ALPHA);
    let strict = ranks.is_none_or(|ranks| ranks.least_p_value > ALPHA);
    let decisive = if strict { interval(0.99) } else { ratio };
    let verdict = match (decisive, ratio) {
        (Some(decisive), Some(ratio)) => {
            let agree = strict || ranks.is_some_and(|ranks| ranks.p_value <= ALPHA);
            match decisive.holds(1.0) || !agree {
                true => Verdict::NoDifference,
                false if ratio.estimate > 1.0 => Verdict::Faster,
                false => Verdict::Slower,
            }
        }
        _ => Verdict::TooFew,
    };
    Comparison {
        verdict,
        ratio,
        ranks,
        paired,
        smallest_ratio: smallest_ratio(first, second),
    }
}

/// The smallest ratio above 1 that as many repeats would have shown with a chance of 80 %, if the
/// second scattered as both do: from the power of Student's test of logarithms.
#[must_use]
pub fn smallest_ratio(first: &[f64], second: &[f64]) -> Option<f64> {
    let (_, one) = moments(&logarithms(first)?)?;
    let (_, other) = moments(&logarithms(second)?)?;
    let (n, m) = (first.len() as f64, second.len() as f64);
    let freedom = n + m - 2.0;
    let pooled = ((n - 1.0) * one + (m - 1.0) * other) / freedom;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = student.inverse_cdf(1.0 - ALPHA / 2.0) + student.inverse_cdf(0.8);
    Some((reach * (pooled * (1.0 / n + 1.0 / m)).sqrt()).exp())
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
    fn the_smallest_ratio_shrinks_with_repeats() {
        let few = smallest_ratio(&A[..3], &A[..3]).unwrap();
        let many: Vec<f64> = A.iter().cycle().take(25).copied().collect();
        let more = smallest_ratio(&many, &many).unwrap();
        assert!(1.0 < more && more < few, "{more} {few}");
    }

    /// Draws of a lognormal-like rate with 2 % scatter: the sum of twelve uniforms is nearly normal.
    fn draws(state: &mut u64, factor: f64) -> Vec<f64> {
        let mut unit = || {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..5)
            .map(|_| factor * (0.02 * ((0..12).map(|_| unit()).sum::<f64>() - 6.0)).exp())
            .collect()
    }

    #[test]
    fn it_claims_a_difference_between_equals_less_than_once_in_twenty() {
        let mut state = 1;
        let claims = (0..2_000).filter(|_| {
            let (one, other) = (draws(&mut state, 1.0), draws(&mut state, 1.0));
            compare(&one, &other, true).verdict != Verdict::NoDifference
        });
        let claims = claims.count();
        assert!(claims <= 100, "{claims} of 2,000");
    }

    #[test]
    fn it_finds_a_twentieth_nine_times_in_ten_where_repeats_scatter_by_a_hundredth() {
        let mut state = 2;
        let found = (0..1_000).filter(|_| {
            let halve =
                |values: Vec<f64>| -> Vec<f64> { values.iter().map(|v| v.sqrt()).collect() };
            let (one, other) = (draws(&mut state, 1.0), draws(&mut state, 0.95 * 0.95));
            compare(&halve(one), &halve(other), true).verdict == Verdict::Slower
        });
        let found = found.count();
        assert!(found >= 900, "{found} of 1,000");
    }
}
