//! The sizes of values and the lengths of scans, as a generalized Pareto distribution.
//!
//! The parameters are those of the greatest likelihood (Grimshaw, "Computing maximum likelihood
//! estimates for the generalized Pareto distribution", Technometrics 35, 1993). With t = k / sigma,
//! the best k for a t is the mean of ln(1 + t x), so that only t is searched for. The method of
//! probability-weighted moments needs a finite mean, which lengths of scans need not have.
//!
//! Shorter lengths may have been raised to the shortest one, as this workload does. A length of
//! that pile says only that it was at most as long. The greatest likelihood then has two parts:
//! that of the excess of the longer ones over the shortest, which has the same k, and that of how
//! many are longer, which gives the location.

use super::least_squares::maximize;
use crate::mixgraph::lengths::GeneralizedPareto;
use crate::mixgraph::settings::{MAX, MIN, MIN_SCALE};

/// Draws whose distribution is compared with that of lengths.
const DRAWS: u32 = 10_000;

/// Fewer of the shortest lengths may be there by chance.
const MIN_PILE: usize = 30;

/// The shortest lengths are a pile if they stand for a span longer than this. Those that were
/// rounded up stand for one of 1.
const MIN_REACH: f64 = 2.0;

/// A distribution of lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ParetoFit {
    pub pareto: GeneralizedPareto,
    /// The longest length.
    pub longest: u64,
}

/// The excess of lengths over a location.
struct Excess {
    /// Each with its part of all.
    parts: Vec<(f64, f64)>,
    mean: f64,
    median: f64,
    longest: f64,
}

impl Excess {
    /// The best k for a t.
    fn shape(&self, t: f64) -> f64 {
        let logarithms = self
            .parts
            .iter()
            .map(|(excess, part)| part * (t * excess).ln_1p());
        logarithms.sum()
    }

    /// The logarithm of the likelihood of a length, on average, with the best k for a t.
    fn likelihood(&self, t: f64) -> f64 {
        if self.is_exponential(t) {
            return -(self.mean.ln() + 1.0);
        }
        let k = self.shape(t);
        // Below -1 there is no greatest likelihood.
        if k < -1.0 {
            return f64::NEG_INFINITY;
        }
        -((k / t).ln() + k + 1.0)
    }

    /// Whether t is so small that k is 0.
    fn is_exponential(&self, t: f64) -> bool {
        (t * self.mean).abs() < 1e-9
    }

    /// Values of t, in their order, of which one is near the best.
    fn candidates(&self) -> Vec<f64> {
        let limited = [
            0.99, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.03, 0.01,
        ];
        let limited = limited.into_iter().map(|part| -part / self.longest);
        let unlimited = (-50..=50).map(|step| 10_f64.powf(f64::from(step) / 10.0) / self.median);
        limited.chain([0.0]).chain(unlimited).collect()
    }
}

/// Fits a distribution to lengths that were rounded up, for draws that are raised to `floor`;
/// `None` if there are none.
pub(super) fn fit_pareto(lengths: &[u32], floor: u32) -> Option<ParetoFit> {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let (shortest, longest) = (*sorted.first()?, *sorted.last()?);
    let pareto = if shortest == longest {
        // Of one length only: rounding up always gives it.
        GeneralizedPareto {
            theta: f64::from(shortest) - 0.5,
            k: 0.0,
            sigma: 1e-3,
        }
    } else {
        // Above the floor, draws would not be raised again.
        let raised = (shortest <= floor).then(|| fit_raised(&sorted)).flatten();
        raised.unwrap_or_else(|| fit_excess(&sorted, f64::from(shortest) - 1.0))
    };
    Some(ParetoFit {
        pareto,
        longest: longest.into(),
    })
}

/// The greatest distance of the distribution function of lengths from that of draws. `draw` is the
/// length that a part of all draws exceed, from 0 to 1.
pub(super) fn distance(lengths: &[u32], draw: impl Fn(f64) -> u64) -> f64 {
    let mut lengths: Vec<u64> = lengths.iter().copied().map(u64::from).collect();
    let units = (0..DRAWS).map(|point| (f64::from(point) + 0.5) / f64::from(DRAWS));
    let mut drawn: Vec<u64> = units.map(draw).collect();
    lengths.sort_unstable();
    drawn.sort_unstable();
    let part = |sorted: &[u64], length: u64| {
        let at_most = sorted.partition_point(|one| *one <= length);
        at_most as f64 / sorted.len().max(1) as f64
    };
    let mut steps = [lengths.as_slice(), &drawn].concat();
    steps.sort_unstable();
    steps.dedup();
    let distances = steps
        .iter()
        .map(|length| (part(&lengths, *length) - part(&drawn, *length)).abs());
    distances.fold(0.0, f64::max)
}

/// Fits the distribution of sorted lengths with this location, which is below all of them.
fn fit_excess(sorted: &[u32], theta: f64) -> GeneralizedPareto {
    // Lengths are rounded up: on average they were half of one shorter.
    let excess = |length: u32| f64::from(length) - theta - 0.5;
    let count = sorted.len() as f64;
    let same = sorted.chunk_by(|one, next| one == next);
    let parts: Vec<(f64, f64)> = same
        .map(|same| (excess(same[0]), same.len() as f64 / count))
        .collect();
    let seen = Excess {
        mean: parts.iter().map(|(excess, part)| excess * part).sum(),
        median: excess(sorted[sorted.len() / 2]),
        longest: parts.last().map_or(1.0, |(excess, _)| *excess),
        parts,
    };
    let candidates = seen.candidates();
    let likelihood = |at: &usize| seen.likelihood(candidates[*at]);
    let all = 0..candidates.len();
    let best = all.max_by(|one, other| likelihood(one).total_cmp(&likelihood(other)));
    let best = best.unwrap_or_default();
    let from = candidates[best.saturating_sub(1)];
    let to = candidates[(best + 1).min(candidates.len() - 1)];
    let t = maximize(from, to, |t| seen.likelihood(t));
    if seen.is_exponential(t) {
        return GeneralizedPareto {
            theta,
            k: 0.0,
            sigma: seen.mean,
        };
    }
    let k = seen.shape(t);
    GeneralizedPareto {
        theta,
        k,
        sigma: k / t,
    }
}

/// Fits the distribution of sorted lengths whose shortest ones are a pile; `None` if they are none,
/// or the parameters are beyond the settings.
fn fit_raised(sorted: &[u32]) -> Option<GeneralizedPareto> {
    let shortest = *sorted.first()?;
    let pile = sorted.partition_point(|length| *length == shortest);
    if pile < MIN_PILE {
        return None;
    }
    let longer = fit_excess(&sorted[pile..], shortest.into());
    let part = (sorted.len() - pile) as f64 / sorted.len() as f64;
    let GeneralizedPareto { k, .. } = longer;
    let sigma = longer.sigma * part.powf(k);
    let reach = if k == 0.0 {
        -sigma * part.ln()
    } else {
        (longer.sigma - sigma) / k
    };
    let theta = longer.theta - reach;
    let is_stated = theta >= MIN && (MIN_SCALE..=MAX).contains(&sigma);
    (reach > MIN_REACH && is_stated).then_some(GeneralizedPareto { theta, k, sigma })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::random::Random;
    use crate::mixgraph::lengths::ValueSizes;

    fn drawn(pareto: GeneralizedPareto, seed: u64) -> Vec<u32> {
        let mut random = Random::new(seed);
        let mut draw = || pareto.length(1.0 - random.unit_f64());
        (0..100_000)
            .map(|_| u32::try_from(draw()).unwrap_or(u32::MAX))
            .collect()
    }

    #[test]
    fn distributions_are_found_again() {
        // The published ones of values and of scans, an exponential one, one with a longest length.
        let cases = [
            (0.0, 0.261_5, 25.45),
            (0.0, 2.517, 14.236),
            (200.0, 0.0, 300.0),
            (11.0, -0.4, 500.0),
        ];
        for (seed, (theta, k, sigma)) in (1..).zip(cases) {
            let right = GeneralizedPareto { theta, k, sigma };
            let lengths = drawn(right, seed);
            let found = fit_pareto(&lengths, 1).unwrap().pareto;
            assert!((found.k - k).abs() < 0.03 + 0.02 * k.abs(), "{found:?}");
            assert!((found.sigma / sigma - 1.0).abs() < 0.04, "{found:?}");
            assert!((found.theta - theta).abs() <= 2.0, "{found:?}");
            let distance = distance(&lengths, |unit| found.length(unit));
            assert!(distance < 0.02, "{found:?}: {distance}");
        }
    }

    #[test]
    fn sizes_that_were_raised_to_the_shortest_give_their_distribution_back() {
        // The published one, an exponential one, one with a longest size.
        let cases = [(0.0, 0.261_5, 25.45), (-5.0, 0.0, 40.0), (5.0, -0.3, 100.0)];
        for (seed, (theta, k, sigma)) in (1..).zip(cases) {
            let sizes = ValueSizes {
                pareto: GeneralizedPareto { theta, k, sigma },
                max_bytes: 1_024,
            };
            let mut random = Random::new(seed);
            let mut draw = || sizes.bytes(1.0 - random.unit_f64()) as u32;
            let lengths: Vec<u32> = (0..100_000).map(|_| draw()).collect();
            let found = fit_pareto(&lengths, 12).unwrap().pareto;
            assert!((found.k - k).abs() < 0.03 + 0.02 * k.abs(), "{found:?}");
            assert!((found.sigma / sigma - 1.0).abs() < 0.04, "{found:?}");
            assert!((found.theta - theta).abs() <= 2.0, "{found:?}");
            let off = |pareto| {
                let drawn = ValueSizes { pareto, ..sizes };
                distance(&lengths, |unit| drawn.bytes(unit) as u64)
            };
            assert!(off(found) < 0.02, "{found:?}: {}", off(found));
            // The control: draws that nothing raises.
            let taken_as_drawn = fit_pareto(&lengths, 11).unwrap().pareto;
            assert_eq!(taken_as_drawn.theta, 11.0);
            assert!(off(taken_as_drawn) > 2.0 * off(found), "{taken_as_drawn:?}");
        }
    }

    #[test]
    fn the_shortest_lengths_are_no_pile_where_the_distribution_has_as_many() {
        for (seed, (theta, k, sigma)) in (1..).zip([(0.0, 0.261_5, 25.45), (11.0, -0.4, 500.0)]) {
            for count in [100, 1_000, 100_000] {
                let mut lengths = drawn(GeneralizedPareto { theta, k, sigma }, seed);
                lengths.truncate(count);
                assert_eq!(fit_pareto(&lengths, 12), fit_pareto(&lengths, 0), "{theta}");
            }
        }
    }

    #[test]
    fn one_length_is_drawn_again_as_it_is() {
        let fit = fit_pareto(&[77; 5], 12).unwrap();
        assert_eq!(fit.longest, 77);
        for unit in [1e-9, 0.1, 0.5, 0.999, 1.0] {
            assert_eq!(fit.pareto.length(unit), 77);
        }
        assert_eq!(fit_pareto(&[], 12), None);
    }

    #[test]
    fn lengths_that_no_such_distribution_has_show_a_great_distance() {
        let mut two_sizes = vec![10; 1_000];
        two_sizes.extend([1_000; 1_000]);
        let found = fit_pareto(&two_sizes, 1).unwrap().pareto;
        let distance = distance(&two_sizes, |unit| found.length(unit));
        assert!(distance > 0.1, "{found:?}: {distance}");
    }

    #[test]
    fn a_distance_is_that_of_the_draws_and_not_of_a_formula() {
        let lengths = [5, 5, 5, 20];
        assert_eq!(
            distance(&lengths, |unit| if unit < 0.25 { 20 } else { 5 }),
            0.0
        );
        // A quarter of the draws are shorter than any length.
        let folded = |unit: f64| if unit < 0.25 { 1 } else { 5 };
        assert_eq!(distance(&lengths, folded), 0.25);
        assert_eq!(distance(&lengths, |_| 30), 1.0);
    }
}
