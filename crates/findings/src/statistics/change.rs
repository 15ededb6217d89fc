//! Change points of a series: warm-up and cliffs within a trial, steps in a history.

use schemars::JsonSchema;
use serde::Serialize;

/// The fewest values of a segment between two changes.
pub(super) const MIN_SEGMENT_VALUES: usize = 3;

/// The course of the rate over the seconds of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// Too short to say.
    Short,
    /// One level from the first second to the last.
    Steady,
    /// It rose to its level, from this second on.
    WarmUp {
        /// Seconds before the last level.
        until: usize,
    },
    /// It fell to its level, from this second on: a cliff.
    Cliff {
        /// Seconds before the fall.
        at: usize,
        /// The rate after over the rate before.
        ratio: f64,
    },
    /// It has no level.
    Unsteady {
        /// Number of changes.
        changes: usize,
    },
}

/// Finds the indexes at which the mean of a series changes and a new segment begins, by binary
/// segmentation (Scott and Knott, 1974) of the sum of squares, with a Bayesian penalty for each
/// change. Random scatter over the hundreds of seconds of a trial gives no change; for the few runs
/// of a history, [`super::level_changes`] is stricter.
#[must_use]
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let Some(noise) = noise_variance(values) else {
        return Vec::new();
    };
    let penalty = 3.0 * noise * (values.len() as f64).ln();
    let mut found = Vec::new();
    split(values, 0, penalty, &mut found);
    found.sort_unstable();
    found
}

/// The variance of the differences between neighbors, which a change of level hardly affects.
fn noise_variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 * MIN_SEGMENT_VALUES || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let steps = values.windows(2).map(|two| (two[1] - two[0]).abs());
    let median = crate::statistics::median(steps)?;
    // The median of |x - y| of normal x and y is 0.9539 times their deviation.
    let deviation = median / 0.953_9;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // Without scatter, changes above a thousandth of the level count.
    Some(deviation.max(mean.abs() * 1e-3).powi(2))
}

fn split(values: &[f64], offset: usize, penalty: f64, found: &mut Vec<usize>) {
    if values.len() < 2 * MIN_SEGMENT_VALUES {
        return;
    }
    let total: f64 = values.iter().sum();
    let count = values.len() as f64;
    let mut before = 0.0;
    let mut best = (0.0, 0);
    for (index, value) in values.iter().enumerate() {
        if index >= MIN_SEGMENT_VALUES && index + MIN_SEGMENT_VALUES <= values.len() {
            let (n, m) = (index as f64, count - index as f64);
            let gap = before / n - (total - before) / m;
            let gain = gap * gap * n * m / count;
            if gain > best.0 {
                best = (gain, index);
            }
        }
        before += value;
    }
    if best.0 > penalty {
        found.push(offset + best.1);
        split(&values[..best.1], offset, penalty, found);
        split(&values[best.1..], offset + best.1, penalty, found);
    }
}

/// Classifies the rates of a trial's whole seconds. A change of less than a twentieth is ignored.
#[must_use]
pub fn shape(rates: &[f64]) -> Shape {
    if rates.len() < 2 * MIN_SEGMENT_VALUES {
        return Shape::Short;
    }
    let mut bounds = vec![0];
    bounds.extend(change_points(rates));
    bounds.push(rates.len());
    let mean = |from: usize, to: usize| rates[from..to].iter().sum::<f64>() / (to - from) as f64;
    let levels: Vec<(usize, f64)> = bounds
        .windows(2)
        .map(|two| (two[0], mean(two[0], two[1])))
        .collect();
    let steps: Vec<(usize, f64)> = levels
        .windows(2)
        .map(|two| (two[1].0, two[1].1 / two[0].1))
        .filter(|(_, ratio)| (ratio - 1.0).abs() >= 0.05)
        .collect();
    match steps.as_slice() {
        [] => Shape::Steady,
        [(at, ratio)] if *ratio < 1.0 => Shape::Cliff {
            at: *at,
            ratio: *ratio,
        },
        all if all.iter().all(|(_, ratio)| *ratio > 1.0) => Shape::WarmUp {
            until: all.last().map_or(0, |(at, _)| *at),
        },
        all => Shape::Unsteady { changes: all.len() },
    }
}

/// Rise of a series from its first to its last value along its least-squares line, over its mean:
/// the machine's drift, if equal trials ran one after another. `None` for fewer than four values.
#[must_use]
pub fn drift(values: &[f64]) -> Option<f64> {
    if values.len() < 4 {
        return None;
    }
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let places = || (0..values.len()).map(|index| index as f64 - middle);
    let slope = places()
        .zip(values)
        .map(|(x, y)| x * (y - mean))
        .sum::<f64>()
        / places().map(|x| x * x).sum::<f64>();
    (mean != 0.0).then(|| slope * (count - 1.0) / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::NILE;
    use crate::samples::levels as series;

    #[test]
    fn a_step_is_found_where_it_is_and_scatter_has_none() {
        assert_eq!(change_points(&series(&[(100.0, 20), (80.0, 20)])), [20]);
        assert!(change_points(&series(&[(100.0, 40)])).is_empty());
        assert_eq!(
            change_points(&series(&[(100.0, 10), (50.0, 5), (100.0, 10)])),
            [10, 15]
        );
        assert!(change_points(&[1.0, 2.0]).is_empty());
        assert_eq!(
            change_points(&[5.0, 5.0, 5.0, 5.0, 9.0, 9.0, 9.0, 9.0]),
            [4]
        );
    }

    #[test]
    fn change_points_agree_with_r_and_ruptures() {
        // R, strucchange: breakpoints(Nile ~ 1) is 28. ruptures 1.1.10, with our penalty:
        // Binseg(model='l2', min_size=3, jump=1).fit(x).predict(pen) is 28, and 6, 12.
        assert_eq!(change_points(&NILE), [28]);
        let levels = [
            10.0, 11.0, 9.0, 10.0, 12.0, 10.0, 20.0, 21.0, 19.0, 20.0, 22.0, 20.0, 14.0, 15.0,
            13.0, 14.0, 16.0, 14.0,
        ];
        assert_eq!(change_points(&levels), [6, 12]);
    }

    #[test]
    fn warm_up_cliff_and_steadiness_are_told_apart() {
        assert_eq!(shape(&series(&[(100.0, 30)])), Shape::Steady);
        assert_eq!(
            shape(&series(&[(60.0, 5), (100.0, 25)])),
            Shape::WarmUp { until: 5 }
        );
        let Shape::Cliff { at, ratio } = shape(&series(&[(100.0, 20), (30.0, 10)])) else {
            panic!("no cliff");
        };
        assert_eq!(at, 20);
        assert!((ratio - 0.3).abs() < 0.02);
        let saw = series(&[(100.0, 8), (40.0, 8), (100.0, 8), (40.0, 8)]);
        assert_eq!(shape(&saw), Shape::Unsteady { changes: 3 });
        assert_eq!(shape(&[1.0; 4]), Shape::Short);
    }

    #[test]
    fn drift_agrees_with_scipy() {
        // scipy 1.17.1: linregress(range(6), y).slope is 0.43714285714285706, mean(y) 11.08333.
        let drift = drift(&[10.0, 10.4, 10.9, 11.2, 11.9, 12.1]).unwrap();
        assert!((drift - 0.437_142_857_142_857_06 * 5.0 / (66.5 / 6.0)).abs() < 1e-12);
        assert_eq!(super::drift(&[1.0, 2.0, 3.0]), None);
    }
}
