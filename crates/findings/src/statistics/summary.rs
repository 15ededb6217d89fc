//! Pure functions over samples. Samples that are not finite are the caller's mistake and are left
//! out by [`Summary::of`].

use schemars::JsonSchema;
use serde::Serialize;

/// The fewest repeats of a cell for which a spread is given.
pub const MIN_REPEATS: usize = 3;

/// A sample in five figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The greatest.
    pub max: f64,
    /// The mean range over all subsets of three values (for two values their difference, for one 0)
    /// over the median; 0 if the median is 0.
    pub spread: f64,
}

impl Summary {
    /// Summarises the finite ones of `values`; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sorted = sorted(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = quantile_of_sorted(&sorted, 0.5)?;
        let spread = if median == 0.0 {
            0.0
        } else {
            mean_range(&sorted) / median
        };
        Some(Self {
            count: sorted.len(),
            min,
            median,
            max,
            spread,
        })
    }
}

/// The mean range over all subsets of three of sorted values; for two values their difference, for
/// one 0. Unlike the plain range, it does not grow with the number of values.
///
/// The range of three values is half the sum of their three differences, so the mean over all
/// subsets of three is 3/2 of the mean difference of two (Gini, 1912).
fn mean_range(sorted: &[f64]) -> f64 {
    let count = sorted.len();
    if count < 2 {
        return 0.0;
    }
    // A value in a sorted list is the greatest of the subsets below it and the least of those above
    // it.
    let ranked = (0..).zip(sorted);
    let sum: f64 = ranked
        .map(|(rank, value): (usize, _)| (2.0 * rank as f64 - (count - 1) as f64) * value)
        .sum();
    let of_two = sum / (count * (count - 1) / 2) as f64;
    if count == 2 { of_two } else { 1.5 * of_two }
}

/// The median of the finite ones of `values`: for an even count, the mean of the middle two.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `part` (0 to 1) of the finite ones of `values`, linear between neighbors
/// (type 7 of Hyndman and Fan, the default of R and NumPy).
pub fn quantile(values: impl IntoIterator<Item = f64>, part: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), part)
}

/// The greatest of the finite ones of `values`.
pub fn maximum(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    sorted(values).last().copied()
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut kept: Vec<f64> = values
        .into_iter()
        .filter(|value| value.is_finite())
        .collect();
    kept.sort_by(f64::total_cmp);
    kept
}

fn quantile_of_sorted(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = part.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let fraction = place - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median([9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median([]), None);
    }

    #[test]
    fn quantiles_agree_with_those_of_r_and_numpy() {
        // numpy.quantile([15, 20, 35, 40, 50], [0.05, 0.3, 0.4, 0.95])
        let sample = [35.0, 20.0, 15.0, 50.0, 40.0];
        let expected = [(0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.95, 48.0)];
        for (part, value) in expected {
            let found = quantile(sample, part).unwrap();
            assert!((found - value).abs() < 1e-9, "{part}: {found}, not {value}");
        }
        assert_eq!(quantile(sample, 0.0), Some(15.0));
        assert_eq!(quantile(sample, 1.0), Some(50.0));
        assert_eq!(
            quantile(sample, 7.0),
            Some(50.0),
            "a part beyond 1 is the greatest"
        );
    }

    #[test]
    fn a_summary_states_count_bounds_median_and_spread() {
        let summary = Summary::of([120.0, 100.0, 90.0]).unwrap();
        assert_eq!(
            (summary.count, summary.min, summary.median, summary.max),
            (3, 90.0, 100.0, 120.0)
        );
        assert!((summary.spread - 0.3).abs() < 1e-12);
        assert_eq!(Summary::of([0.0, 0.0]).unwrap().spread, 0.0);
        assert_eq!(Summary::of([]), None);
    }

    /// Values as a normal distribution of that deviation has them.
    fn normal(count: usize, deviation: f64) -> Vec<f64> {
        use statrs::distribution::{ContinuousCDF, Normal};
        let normal = Normal::new(1.0, deviation).unwrap();
        let at = |place: usize| (place as f64 + 0.5) / count as f64;
        (0..count)
            .map(|place| normal.inverse_cdf(at(place)))
            .collect()
    }

    #[test]
    fn the_mean_range_is_the_mean_over_all_threes_of_greatest_less_least() {
        for values in [
            normal(40, 0.3),
            vec![5.0, 1.0, 2.0, 9.0],
            vec![3.0, 8.0, 4.0],
        ] {
            let (mut sum, mut threes) = (0.0, 0.0);
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate().skip(i + 1) {
                    for c in &values[j + 1..] {
                        sum += a.max(*b).max(*c) - a.min(*b).min(*c);
                        threes += 1.0;
                    }
                }
            }
            let found = mean_range(&sorted(values.iter().copied()));
            assert!(
                (found - sum / threes).abs() < 1e-12,
                "{found}, not {}",
                sum / threes
            );
        }
        assert_eq!(mean_range(&[4.0, 7.0]), 3.0);
        assert_eq!((mean_range(&[7.0]), mean_range(&[])), (0.0, 0.0));
    }

    #[test]
    fn the_same_population_is_spread_alike_at_three_ten_and_forty_repeats() {
        let all = normal(40, 0.034_5);
        let cut = |size: usize, of: fn(&[f64]) -> f64| {
            let (mut drawn, mut sum, mut left) = (1_u64, 0.0, all.clone());
            for _ in 0..4_000 {
                for place in 0..size {
                    // Knuth's linear congruential generator; its upper bits are good enough.
                    drawn = drawn
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let other = (drawn >> 33) as usize % (left.len() - place);
                    left.swap(place, place + other);
                }
                sum += of(&left[..size]);
            }
            sum / 4_000.0
        };
        let spread = |values: &[f64]| Summary::of(values.iter().copied()).unwrap().spread;
        let range = |values: &[f64]| {
            let summary = Summary::of(values.iter().copied()).unwrap();
            (summary.max - summary.min) / summary.median
        };
        let whole = cut(40, spread);
        // For three normal values it is 1.693 deviations on average.
        assert!((whole / (1.693 * 0.034_5) - 1.0).abs() < 0.05, "{whole}");
        for size in [3, 10] {
            let part = cut(size, spread);
            assert!(
                (part / whole - 1.0).abs() < 0.03,
                "{size}: {part}, not {whole}"
            );
        }
        assert!(
            cut(40, range) > 2.0 * cut(3, range),
            "the control does not grow"
        );
    }

    #[test]
    fn what_is_not_a_number_takes_no_part() {
        assert_eq!(
            Summary::of([f64::NAN, 1.0, f64::INFINITY]).unwrap().count,
            1
        );
        assert_eq!(maximum([f64::NAN]), None);
        assert_eq!(maximum([3.0, 8.0, 1.0]), Some(8.0));
    }
}
