//! Pure functions over samples. Samples that are not finite are the caller's mistake and are left
//! out by [`Summary::of`].

use serde::Serialize;

/// The least repeats of a cell from which its spread means anything.
pub const FEWEST_REPEATS: usize = 3;

/// A sample in five figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there are.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The greatest.
    pub max: f64,
    /// Greatest less least, over the median; 0 where the median is 0.
    pub spread: f64,
}

impl Summary {
    /// Summarises the finite ones of `values`; `None` where there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let sorted = sorted(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = quantile_of_sorted(&sorted, 0.5)?;
        let spread = if median == 0.0 {
            0.0
        } else {
            (max - min) / median
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

/// The median of the finite ones of `values`: for an even count, the mean of the middle two.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `part` (0 to 1) of the finite ones of `values`, linear between neighbours
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
