//! A test that looks at ranks only, so that one wild value cannot make or hide a difference.

use crate::statistics::median;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// The result of a rank test of two samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RankTest {
    /// The chance of ranks so different if there were no difference: two-sided.
    pub p_value: f64,
    /// The least possible p-value with this many values: above 0.05, a rank test cannot show any
    /// difference.
    pub least_p_value: f64,
    /// The chance that a value of the second sample is above one of the first, ties counted half
    /// (Vargha and Delaney, 2000): 0.5 is no effect.
    pub superiority: f64,
}

/// The rank test of Mann and Whitney (1947): exact for small samples without ties, otherwise
/// approximated with a continuity correction. `None` if a sample is empty or
/// has a value that is not finite.
///
/// The exact distribution is computed here: `statrs` 0.19.1 disagrees with `SciPy` for samples that
/// do not overlap.
#[must_use]
pub fn rank_test(first: &[f64], second: &[f64]) -> Option<RankTest> {
    if first.iter().chain(second).any(|value| !value.is_finite()) {
        return None;
    }
    let approximate = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, approximate) = mannwhitneyu(first, second, approximate, Alternative::TwoSided).ok()?;
    let pairs = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| (a, b)));
    let wins: f64 = pairs
        .map(|(a, b)| match b.total_cmp(a) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    let p_value = if has_ties(first, second) || first.len().max(second.len()) > 20 {
        approximate
    } else {
        exact_p_value(first.len(), second.len(), wins as usize)
    };
    Some(RankTest {
        // Equal samples have no variance of ranks to divide by.
        p_value: if p_value.is_finite() {
            p_value.min(1.0)
        } else {
            1.0
        },
        least_p_value: 2.0 / arrangements(first.len(), second.len()),
        superiority: wins / (first.len() * second.len()) as f64,
    })
}

/// The two-sided probability of this many wins or a more extreme number, among all arrangements of
/// the ranks: `ways[w]` counts those with `w` wins, by the recurrence of Mann and Whitney.
fn exact_p_value(first: usize, second: usize, wins: usize) -> f64 {
    let most = first * second;
    // Arrangements of i of the first and j of the second: the last is of the first, and beats no
    // later one, or of the second, and beats all i.
    let mut table = vec![vec![Vec::new(); second + 1]; first + 1];
    for i in 0..=first {
        for j in 0..=second {
            let mut ways = vec![0.0; most + 1];
            if i == 0 || j == 0 {
                ways[0] = 1.0;
            } else {
                for (wins, slot) in ways.iter_mut().enumerate() {
                    let later: &Vec<f64> = &table[i][j - 1];
                    let beaten = wins.checked_sub(i).map_or(0.0, |rest| later[rest]);
                    *slot = table[i - 1][j][wins] + beaten;
                }
            }
            table[i][j] = ways;
        }
    }
    let ways = &table[first][second];
    let all: f64 = ways.iter().sum();
    let extreme = wins.min(most - wins.min(most));
    let tail: f64 = ways[..=extreme].iter().sum();
    (2.0 * tail / all).min(1.0)
}

fn has_ties(first: &[f64], second: &[f64]) -> bool {
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_by(f64::total_cmp);
    all.windows(2).any(|two| two[0] == two[1])
}

/// Number of ways to choose `first` of `first + second` values.
fn arrangements(first: usize, second: usize) -> f64 {
    (1..=first).fold(1.0, |ways, index| {
        ways * (second + index) as f64 / index as f64
    })
}

/// The result of a sign test of pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SignTest {
    /// Pairs in which the second is ahead.
    pub won: usize,
    /// The chance of signs so unequal if there were no difference: two-sided.
    pub p_value: f64,
    /// The least that it could have been with this many pairs.
    pub least_p_value: f64,
}

/// The sign test (Arbuthnott, 1710): in how many pairs the second is ahead. Pairs of equals count
/// for neither side.
pub(super) fn sign_test(first: &[f64], second: &[f64]) -> SignTest {
    let pairs = || first.iter().zip(second);
    let won = pairs().filter(|(a, b)| b > a).count();
    let lost = pairs().filter(|(a, b)| b < a).count();
    let all = won + lost;
    let least = 2.0 * 0.5_f64.powi(i32::try_from(all).unwrap_or(i32::MAX));
    // Ways of as few of the rarer sign, or fewer: a row of Pascal's triangle, summed.
    let (mut ways, mut sum) = (1.0, 0.0);
    for index in 0..=won.min(lost) {
        sum += ways;
        ways *= (all - index) as f64 / (index + 1) as f64;
    }
    SignTest {
        won,
        p_value: (least * sum).min(1.0),
        least_p_value: least.min(1.0),
    }
}

/// Returns the indexes of values further from the median than `limit` times the median absolute
/// deviation, scaled to the deviation of a normal distribution (Leys et al., 2013, with a limit of
/// 3). Empty for fewer than four values, or if more than half are equal.
#[must_use]
pub fn outliers(values: &[f64], limit: f64) -> Vec<usize> {
    const NORMAL: f64 = 1.482_602_218_505_602;
    let Some(middle) = median(values.iter().copied()).filter(|_| values.len() >= 4) else {
        return Vec::new();
    };
    let distances = values.iter().map(|value| (value - middle).abs());
    let deviation = NORMAL * median(distances.clone()).unwrap_or_default();
    if deviation == 0.0 {
        return Vec::new();
    }
    let far = distances
        .enumerate()
        .filter(|(_, distance)| *distance > limit * deviation);
    far.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [19.8, 20.1, 20.5, 19.9, 20.3];

    #[test]
    fn ranks_agree_with_scipy() {
        // scipy 1.17.1: mannwhitneyu(a, b, method='exact').
        let test = rank_test(&A, &[21.0, 21.4, 20.9, 21.8, 21.2]).unwrap();
        assert!((test.p_value - 0.007_936_507_936_507_936).abs() < 1e-12);
        assert!((test.least_p_value - test.p_value).abs() < 1e-12);
        assert_eq!(test.superiority, 1.0);
        let test = rank_test(&A, &[20.0, 20.2, 20.4, 19.7, 20.6]).unwrap();
        assert!((test.p_value - 0.841_269_841_269_841_3).abs() < 1e-12);
        assert!((test.superiority - 0.56).abs() < 1e-12);
    }

    #[test]
    fn tied_ranks_agree_with_scipy() {
        // scipy 1.17.1: mannwhitneyu(method='asymptotic'), and mannwhitneyu(second,
        // first).statistic over the 42 pairs.
        let first = [1.0, 2.0, 2.0, 3.0, 5.0, 7.0];
        let second = [2.0, 3.0, 4.0, 4.0, 8.0, 9.0, 9.0];
        let test = rank_test(&first, &second).unwrap();
        assert!(
            (test.p_value - 0.149_158_822_970_273_64).abs() < 1e-9,
            "{test:?}"
        );
        assert_eq!(test.superiority, 0.75);
    }

    #[test]
    fn signs_agree_with_scipy() {
        // scipy 1.17.1: binomtest(1, 8).pvalue.
        let first = [0.0; 8];
        let second = [1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0];
        let test = sign_test(&first, &second);
        assert_eq!(test.won, 7);
        assert!((test.p_value - 0.070_312_5).abs() < 1e-12, "{test:?}");
        let equal = sign_test(&first, &first);
        assert_eq!((equal.p_value, equal.won), (1.0, 0));
    }

    #[test]
    fn equal_samples_differ_in_nothing() {
        let test = rank_test(&[2.0; 4], &[2.0; 4]).unwrap();
        assert_eq!((test.p_value, test.superiority), (1.0, 0.5));
        assert_eq!(rank_test(&[], &[1.0]), None);
        assert_eq!(rank_test(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn three_repeats_cannot_show_a_difference_by_ranks() {
        let test = rank_test(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]).unwrap();
        assert!((test.least_p_value - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_limit_of_outliers_agrees_with_scipy() {
        // The example of Leys et al., 2013, with 1,000 as its last value. scipy 1.17.1:
        // median_abs_deviation(x, scale='normal') is 5.189107764769607, thrice that above the
        // median of 7 is 22.56732329430882; so it stays for any eighth value above 10.
        let with = |last: f64| [1.0, 3.0, 3.0, 6.0, 8.0, 10.0, 10.0, last];
        assert_eq!(outliers(&with(1_000.0), 3.0), [7]);
        assert_eq!(outliers(&with(22.567_324), 3.0), [7]);
        assert!(outliers(&with(22.567_323), 3.0).is_empty());
    }

    #[test]
    fn a_wild_value_is_found_and_a_spread_is_not() {
        assert_eq!(outliers(&[1.0, 2.0, 3.0, 4.0, 100.0], 3.0), [4]);
        assert!(outliers(&[1.0, 2.0, 3.0, 4.0, 5.0], 3.0).is_empty());
        assert!(outliers(&[1.0, 1.0, 1.0, 9.0], 3.0).is_empty());
        assert!(outliers(&[1.0, 9.0], 3.0).is_empty());
    }
}
