//! The boundaries of repeated tests: how far a statistic must be from 0 at each look, so that all
//! looks together claim a difference between equals at most as often as one test would.

use std::collections::BTreeMap;
use std::f64::consts::{E, PI, SQRT_2};
use std::sync::{Arc, Mutex, PoisonError};

/// Looks at the results if there are at most 60 repeats.
const LOOKS_OF_60: [u32; 14] = [4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 49, 60];

/// Intervals of the grid on which densities are integrated, by Simpson's rule: even. Boundaries
/// differ from those of a grid four times as fine by less than 0.0001.
const GRID: usize = 200;

/// The numbers of repeats after which the results are looked at: those for 60 repeats, rescaled to
/// `limit`, the most repeats of the run, and an `early` one before them. None for fewer than four.
pub fn looks(limit: u32, early: Option<u32>) -> Vec<u32> {
    let [min, .., max] = LOOKS_OF_60;
    let scaled = |look: u32| (look * limit + max / 2) / max;
    let mut looks: Vec<u32> = LOOKS_OF_60.map(scaled).to_vec();
    looks.retain(|&look| look >= min);
    looks.dedup();
    if let (Some(early), Some(_)) = (early.filter(|&early| early < min), looks.first()) {
        looks.insert(0, early);
    }
    looks
}

/// The chance of a claim that the first part `time` of all repeats may spend of `alpha`: nearly as
/// the boundaries of Pocock do (Lan and DeMets, 1983; `sfLDPocock` of gsDesign).
fn spent(alpha: f64, time: f64) -> f64 {
    alpha * (1.0 + (E - 1.0) * time).ln()
}

/// Boundaries by looks and the bits of the chance of a claim.
type BoundaryTable = BTreeMap<(Vec<u32>, u64), Arc<[f64]>>;

/// The two-sided boundary of the standard normal statistic at each of `looks`, the last of which is
/// after all repeats, for a chance `alpha` of a claim at any look. Each is computed once: it takes
/// some hundredths of a second, and a run that decides looks often.
pub fn boundaries(looks: &[u32], alpha: f64) -> Arc<[f64]> {
    static KNOWN: Mutex<BoundaryTable> = Mutex::new(BTreeMap::new());
    // Nothing that panics is done while it is locked.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let of = known.entry((looks.to_vec(), alpha.to_bits()));
    Arc::clone(of.or_insert_with(|| integrate(looks, alpha).into()))
}

/// The boundaries by recursive integration (Armitage, McPherson and Rowe, 1969).
fn integrate(looks: &[u32], alpha: f64) -> Vec<f64> {
    let Some(&all) = looks.last() else {
        return Vec::new();
    };
    let time = |look: u32| f64::from(look) / f64::from(all);
    let mut found = Vec::with_capacity(looks.len());
    let mut before = Density::START;
    let (mut time_before, mut spent_before) = (0.0, 0.0);
    for &look in looks {
        let (time, spent) = (time(look), spent(alpha, time(look)));
        let step = (time - time_before).sqrt();
        let bound = bound(&before, step, spent - spent_before);
        before = before.after(step, bound);
        found.push(bound / time.sqrt());
        (time_before, spent_before) = (time, spent);
    }
    found
}

/// The value that the sum crosses, in either direction, with that chance after a step of that
/// standard deviation.
fn bound(before: &Density, step: f64, chance: f64) -> f64 {
    // At 12 standard deviations of all time nothing crosses.
    let (mut low, mut high) = (0.0, 12.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if before.crossing(step, middle) > chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The density of the sum, which is Brownian motion, where no look has crossed a boundary: even, so
/// that the half from 0 on is enough.
enum Density {
    /// The sum is 0.
    Start,
    /// The density at equal distances from 0 to the last boundary.
    Grid { step: f64, values: Vec<f64> },
}

impl Density {
    const START: Self = Self::Start;

    /// The integral of `function` times the density over the whole range; `function` must be even.
    fn integral(&self, function: impl Fn(f64) -> f64) -> f64 {
        match self {
            Self::Start => function(0.0),
            Self::Grid { step, values } => {
                let weight = |place: usize| match place {
                    0 | GRID => 1.0,
                    odd if odd % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let terms = values.iter().enumerate();
                let terms = terms
                    .map(|(place, value)| weight(place) * value * function(place as f64 * step));
                2.0 * terms.sum::<f64>() * step / 3.0
            }
        }
    }

    /// The chance to be beyond a bound after a step of that standard deviation.
    fn crossing(&self, step: f64, bound: f64) -> f64 {
        self.integral(|at| above((bound - at) / step) + above((bound + at) / step))
    }

    /// The density after a step of that standard deviation, within the bound.
    fn after(&self, step: f64, bound: f64) -> Self {
        let grid_step = bound / GRID as f64;
        let of_step =
            |distance: f64| (-0.5 * (distance / step).powi(2)).exp() / (step * (2.0 * PI).sqrt());
        let at = |place: usize| {
            let to = place as f64 * grid_step;
            // Steps to this value from both halves of what was before.
            self.integral(|from| f64::midpoint(of_step(to - from), of_step(to + from)))
        };
        Self::Grid {
            step: grid_step,
            values: (0..=GRID).map(at).collect(),
        }
    }
}

/// The chance that a standard normal value is above `value`.
fn above(value: f64) -> f64 {
    0.5 * statrs::function::erf::erfc(value / SQRT_2)
}

/// The critical value of Student's statistic with so many degrees of freedom that is as rare as the
/// standard normal `z` (Wallace, "Bounds on normal approximations to Student's and the chi-square
/// distributions", 1959).
pub fn student_critical(z: f64, freedom: f64) -> f64 {
    let scaled = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    (freedom * (scaled * scaled / freedom).exp_m1()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, StudentsT};

    fn near(found: &[f64], expected: &[f64], within: f64) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < within, "{found}, not {expected}");
        }
    }

    #[test]
    fn looks_are_rescaled_to_the_limit_of_repeats() {
        assert_eq!(looks(60, None), LOOKS_OF_60);
        assert_eq!(looks(30, None), [4, 5, 6, 8, 9, 11, 14, 17, 20, 25, 30]);
        assert_eq!(looks(5, None), [4, 5]);
        assert_eq!(looks(4, None), [4]);
        assert!(looks(3, None).is_empty());
    }

    #[test]
    fn an_early_look_comes_before_the_others() {
        assert_eq!(looks(60, Some(3))[..3], [3, 4, 5]);
        assert_eq!(looks(4, Some(3)), [3, 4]);
        assert_eq!(looks(60, Some(4)), LOOKS_OF_60);
        assert!(looks(3, Some(3)).is_empty());
    }

    #[test]
    fn one_look_is_the_usual_test() {
        near(&boundaries(&[10], 0.05), &[1.959_964], 1e-5);
        near(&boundaries(&[10], 0.10), &[1.644_854], 1e-5);
    }

    #[test]
    fn boundaries_agree_with_a_finer_grid_and_with_a_published_design() {
        // scipy 1.17.1, Simpson's rule on 1,601 points from bound to bound.
        let two = [
            2.7808, 2.9603, 2.9678, 2.8657, 2.8321, 2.8044, 2.7297, 2.6992, 2.6414, 2.5884, 2.5424,
            2.5031, 2.4555, 2.4150,
        ];
        near(&boundaries(&LOOKS_OF_60, 0.05), &two, 1e-4);
        let eleven = [
            3.8940, 4.0909, 4.1050, 4.0160, 3.9992, 3.9860, 3.9276, 3.9134, 3.8717, 3.8361, 3.8073,
            3.7845, 3.7533, 3.7293,
        ];
        near(&boundaries(&LOOKS_OF_60, 0.05 / 55.0), &eleven, 1e-4);
        // gsDesign(k = 5, test.type = 2, sfu = sfLDPocock): 2.44 2.43 2.41 2.40 2.39.
        let five = [2.4380, 2.4268, 2.4102, 2.3966, 2.3860];
        near(&boundaries(&[1, 2, 3, 4, 5], 0.05), &five, 1e-4);
    }

    #[test]
    fn critical_values_agree_with_students_distribution() {
        let normal = statrs::distribution::Normal::standard();
        // The approximation is a little on the safe side where there are few degrees of freedom.
        for (freedom, within) in [(3.0, 0.05), (5.0, 0.025), (7.0, 0.015), (59.0, 1e-3)] {
            let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
            for z in [1.96, 2.42, 2.78] {
                let exact = student.inverse_cdf(normal.cdf(z));
                let found = student_critical(z, freedom);
                assert!(found >= exact * 0.9999, "{found} {exact}");
                assert!(found <= exact * (1.0 + within), "{found} {exact}");
            }
        }
    }
}
