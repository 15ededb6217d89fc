//! What the trials of a search say of a capacity: a posterior over its logarithm.
//!
//! A trial at a rate keeps the objective with a probability that falls from about 1 to about 0
//! around the capacity, over a width that differs between contenders; and something else on the
//! machine disturbs some trials, which then fail at any rate (a lapse, as psychometric functions
//! have one: Prins 2012). The capacity, the width and the share of lapses are estimated together,
//! on a grid, as Waeber, Frazier and Henderson (2011) do for a noisy bisection.

use schemars::JsonSchema;
use serde::Serialize;
use std::ops::RangeInclusive;

/// The lowest capacity is the rate in closed loop divided by this.
pub const MAX_DIVISOR: f64 = 300.0;

/// The highest capacity is this many times the rate in closed loop.
pub const MAX_FACTOR: f64 = 1.5;

/// The step of the grid of the logarithm.
const STEP: f64 = 0.01;

/// The prior of the logarithm is normal around this part of the rate in closed loop …
const PRIOR_PART: f64 = 1.0 / 3.0;

/// … with this standard deviation.
const PRIOR_SD: f64 = 1.2;

/// The widths of the transition, as differences of logarithms.
const WIDTHS: [f64; 5] = [0.015, 0.03, 0.06, 0.12, 0.24];

/// The shares of disturbed trials, with their weights.
const LAPSES: [(f64, f64); 6] = [
    (0.005, 0.25),
    (0.02, 0.20),
    (0.05, 0.20),
    (0.10, 0.15),
    (0.20, 0.12),
    (0.30, 0.08),
];

/// Rates whose logarithms can be computed with, per second. A run folder that was written by hand
/// may hold others.
const POSSIBLE_RATES_PER_S: RangeInclusive<f64> = 1e-9..=1e15;

/// The part of the results that the model does not explain, half of them either way.
const UNEXPLAINED: f64 = 0.005;

/// Whether a trial can have had a rate, per second.
pub(super) fn is_possible_rate(per_s: f64) -> bool {
    POSSIBLE_RATES_PER_S.contains(&per_s)
}

/// An estimate of a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CapacityEstimate {
    /// The median, requests per second.
    pub median_per_s: f64,
    /// The lower end of the 90 % interval, requests per second.
    pub low_per_s: f64,
    /// The upper end of the 90 % interval, requests per second.
    pub high_per_s: f64,
    /// The 25 % and 75 % quantiles, requests per second.
    pub quartiles_per_s: [f64; 2],
    /// The share of the search's trials that failed because something disturbed them, not because
    /// of their rate.
    pub disturbed_share: f64,
}

impl CapacityEstimate {
    /// Estimates the capacity of a contender with this rate in closed loop, from the rates, per
    /// second, of its trials in the search and of others, and whether the objective held. All
    /// rates are possible ones ([`is_possible_rate`]).
    #[must_use]
    pub fn of(closed_loop_per_s: f64, probes: &[(f64, bool)], others: &[(f64, bool)]) -> Self {
        let mut grid = Grid::new(closed_loop_per_s);
        for (rate_per_s, held) in probes.iter().chain(others) {
            grid.observe(rate_per_s.ln(), *held);
        }
        let failed = probes.iter().filter(|(_, held)| !held);
        let disturbed = failed.map(|(rate, _)| grid.disturbance(rate.ln()));
        // The sum of nothing is minus zero.
        let disturbed = disturbed.fold(0.0, |sum, one| sum + one);
        let quantiles = grid.quantiles([0.05, 0.25, 0.5, 0.75, 0.95]);
        let [low_per_s, lower, median_per_s, upper, high_per_s] = quantiles.map(f64::exp);
        Self {
            median_per_s,
            low_per_s,
            high_per_s,
            quartiles_per_s: [lower, upper],
            disturbed_share: disturbed / probes.len().max(1) as f64,
        }
    }

    /// Whether the 90 % intervals of two estimates overlap, so that their order is not known.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low_per_s <= other.high_per_s && other.low_per_s <= self.high_per_s
    }

    /// Whether the ends of the interval are at most this part away from the median.
    #[must_use]
    pub fn is_within(&self, part: f64) -> bool {
        let most = 1.0 + part;
        self.high_per_s <= self.median_per_s * most && self.median_per_s <= self.low_per_s * most
    }
}

/// The probability of each capacity, width and share of disturbed trials.
struct Grid {
    lowest_ln: f64,
    /// The number of capacities.
    count: usize,
    slices: Vec<Slice>,
}

/// The capacities of the grid for one width.
struct Slice {
    width: f64,
    /// The share of disturbed trials, and the probability of each capacity.
    by_lapse: Vec<(f64, Vec<f64>)>,
}

impl Grid {
    fn new(closed_loop_per_s: f64) -> Self {
        let lowest_ln = (closed_loop_per_s / MAX_DIVISOR).ln();
        let center_ln = (closed_loop_per_s * PRIOR_PART).ln();
        let count = ((MAX_DIVISOR * MAX_FACTOR).ln() / STEP) as usize + 1;
        let prior = |place: usize| {
            let deviation = (lowest_ln + place as f64 * STEP - center_ln) / PRIOR_SD;
            (-0.5 * deviation * deviation).exp()
        };
        let prior: Vec<_> = (0..count).map(prior).collect();
        let slice = |width: f64| Slice {
            width,
            by_lapse: LAPSES
                .map(|(lapse, weight)| (lapse, prior.iter().map(|it| it * weight).collect()))
                .into(),
        };
        let mut grid = Self {
            lowest_ln,
            count,
            slices: WIDTHS.map(slice).into(),
        };
        grid.normalize();
        grid
    }

    fn weights(&self) -> impl Iterator<Item = &Vec<f64>> {
        let slices = self.slices.iter();
        slices.flat_map(|slice| slice.by_lapse.iter().map(|(_, weights)| weights))
    }

    fn observe(&mut self, rate_ln: f64, held: bool) {
        for Slice { width, by_lapse } in &mut self.slices {
            let holding = holding(self.lowest_ln - rate_ln, *width, self.count);
            for (lapse, weights) in by_lapse {
                for (weight, holding) in weights.iter_mut().zip(&holding) {
                    let modelled = (1.0 - *lapse) * holding;
                    let holds = modelled * (1.0 - UNEXPLAINED) + UNEXPLAINED / 2.0;
                    *weight *= if held { holds } else { 1.0 - holds };
                }
            }
        }
        // After each trial, so that many that contradict each other leave more than zeros.
        self.normalize();
    }

    fn normalize(&mut self) {
        let sum: f64 = self.weights().flatten().sum();
        let slices = self.slices.iter_mut().flat_map(|slice| &mut slice.by_lapse);
        slices
            .flat_map(|(_, weights)| weights)
            .for_each(|weight| *weight /= sum);
    }

    /// The probability that a trial that failed at a rate would have held undisturbed.
    fn disturbance(&self, rate_ln: f64) -> f64 {
        let mut probability = 0.0;
        for Slice { width, by_lapse } in &self.slices {
            let holding = holding(self.lowest_ln - rate_ln, *width, self.count);
            for (lapse, weights) in by_lapse {
                for (weight, holding) in weights.iter().zip(&holding) {
                    let disturbed = lapse * holding;
                    probability += weight * disturbed / (1.0 - holding + disturbed);
                }
            }
        }
        probability
    }

    /// The logarithms of the capacities below which these parts of the probability lie, which
    /// ascend.
    fn quantiles<const COUNT: usize>(&self, parts: [f64; COUNT]) -> [f64; COUNT] {
        let mut found = [self.lowest_ln; COUNT];
        let mut open = parts.iter().zip(&mut found).peekable();
        let (mut below, mut place) = (0.0, 0);
        while let Some(own) = self.probability_of(place) {
            while let Some((part, found)) = open.next_if(|(part, _)| **part <= below + own) {
                // Within the cell around a point of the grid.
                let within = (part - below) / own - 0.5;
                *found = self.lowest_ln + (place as f64 + within) * STEP;
            }
            below += own;
            place += 1;
        }
        found
    }

    /// The probability of one capacity; `None` beyond the grid.
    fn probability_of(&self, place: usize) -> Option<f64> {
        self.weights().map(|weights| weights.get(place)).sum()
    }
}

/// The probability that an undisturbed trial keeps the objective, for each capacity of the grid,
/// the lowest of which is this far above the rate.
fn holding(lowest_ln: f64, width: f64, count: usize) -> Vec<f64> {
    let of = |place: usize| {
        let above_ln = lowest_ln + place as f64 * STEP;
        1.0 / (1.0 + (-above_ln / width).exp())
    };
    (0..count).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_step_is_found_without_a_disturbed_trial() {
        let rates = [
            100.0, 150.0, 170.0, 180.0, 190.0, 195.0, 205.0, 210.0, 220.0, 250.0,
        ];
        let trials = rates.map(|rate| (rate, rate < 200.0));
        let found = CapacityEstimate::of(600.0, &trials, &[]);
        assert!((found.median_per_s - 200.0).abs() < 4.0, "{found:?}");
        assert!(found.is_within(0.15) && !found.is_within(0.01), "{found:?}");
        assert!(found.disturbed_share < 0.02, "{found:?}");
        let [lower, upper] = found.quartiles_per_s;
        let ordered = [
            found.low_per_s,
            lower,
            found.median_per_s,
            upper,
            found.high_per_s,
        ];
        assert!(ordered.is_sorted(), "{ordered:?}");
    }

    #[test]
    fn a_failure_far_below_the_capacity_is_a_disturbed_trial() {
        let rates = [
            100.0, 180.0, 190.0, 195.0, 205.0, 210.0, 220.0, 190.0, 195.0, 205.0,
        ];
        let clean = rates.map(|rate| (rate, rate < 200.0));
        let disturbed: Vec<_> = clean
            .into_iter()
            .chain([(80.0, false), (300.0, false)])
            .collect();
        let found = CapacityEstimate::of(600.0, &disturbed, &[]);
        assert!((found.median_per_s - 200.0).abs() < 6.0, "{found:?}");
        let one_of_twelve = 1.0 / 12.0;
        assert!(
            (found.disturbed_share - one_of_twelve).abs() < 0.06,
            "{found:?}"
        );
    }

    #[test]
    fn trials_of_a_run_off_are_no_part_of_the_share_of_disturbed_ones() {
        let rates = [
            100.0, 180.0, 190.0, 195.0, 205.0, 210.0, 220.0, 190.0, 195.0, 80.0,
        ];
        let probes = rates.map(|rate| (rate, rate < 200.0 && rate > 90.0));
        for others in [[(100.0, true); 10], [(300.0, false); 10]] {
            let found = CapacityEstimate::of(600.0, &probes, &others);
            let one_of_ten = found.disturbed_share;
            assert!((0.07..=0.15).contains(&one_of_ten), "{found:?}");
        }
        let alone = CapacityEstimate::of(600.0, &probes, &[]);
        let higher = CapacityEstimate::of(600.0, &probes, &[(199.0, true); 5]);
        assert!(higher.low_per_s > alone.low_per_s, "{higher:?}");
    }

    #[test]
    fn many_trials_that_contradict_each_other_leave_a_finite_estimate() {
        let trials: Vec<_> = (0..4_000).map(|trial| (100.0, trial % 2 == 0)).collect();
        for closed_per_s in [1e-9, 100.0, 1e15] {
            let found = CapacityEstimate::of(closed_per_s, &trials, &[]);
            let ends = [found.low_per_s, found.median_per_s, found.high_per_s];
            assert!(ends.iter().all(|it| it.is_finite()), "{found:?}");
            assert!(ends.is_sorted(), "{found:?}");
            assert!((0.0..=1.0).contains(&found.disturbed_share), "{found:?}");
        }
        for impossible in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(!is_possible_rate(impossible), "{impossible}");
        }
    }

    #[test]
    fn without_trials_the_estimate_is_a_third_of_the_closed_loop_and_wide() {
        let found = CapacityEstimate::of(900.0, &[], &[]);
        assert!((200.0..=300.0).contains(&found.median_per_s), "{found:?}");
        assert!(found.high_per_s > 10.0 * found.low_per_s, "{found:?}");
        assert_eq!(found.disturbed_share, 0.0);
    }
}
