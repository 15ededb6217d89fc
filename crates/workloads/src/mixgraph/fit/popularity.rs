//! The popularity of keys and the hotness of key ranges.

use super::least_squares::{determination, fit_linear};
use crate::mixgraph::keys::{PowerLaw, TwoTermExponential};

/// Keys that are used less often have ranks by chance: of two that are equally popular, the one
/// that was used more often counts as the more popular.
const MIN_ACCESSES: u64 = 8;

/// With fewer keys that are used so often, all keys are taken.
const MIN_KEYS: usize = 20;

/// From this exponent on, keys are as popular as each other.
const MAX_EXPONENT: f64 = 0.99;

/// Points at which the law is fitted for each tenfold rank, so that no part of the ranks outweighs
/// another.
const POINTS_PER_DECADE: f64 = 20.0;

/// A power law of the popularity of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PowerLawFit {
    pub law: PowerLaw,
    /// The part of the variance of the logarithms that it explains.
    pub determination: f64,
    /// The keys that it was fitted to, the most popular ones.
    pub keys: usize,
}

/// Fits y = a x^b, the part y of the accesses that the x most popular keys get, by a line through
/// the logarithms. `accesses` has the number for each key of `ranges` equal ranges, the most
/// popular first: those of one rank in all ranges are added up. `None` if the keys are as popular
/// as each other, or too few to tell.
pub(super) fn fit_power_law(accesses: &[u64], ranges: u64) -> Option<PowerLawFit> {
    let often = accesses.partition_point(|count| *count >= MIN_ACCESSES * ranges);
    let keys = if often < MIN_KEYS {
        accesses.len()
    } else {
        often
    };
    let total = accesses.iter().sum::<u64>() as f64;
    let (mut sum, mut last_step) = (0_u64, None);
    let mut points = Vec::new();
    for (rank, count) in (1_u64..).zip(&accesses[..keys]) {
        sum += count;
        let rank = (rank as f64).ln();
        let step = (rank / std::f64::consts::LN_10 * POINTS_PER_DECADE) as u64;
        if last_step != Some(step) {
            points.push((rank, (sum as f64 / total).ln()));
            last_step = Some(step);
        }
    }
    let [intercept, b] = fit_linear(points.iter().map(|(rank, part)| ([1.0, *rank], *part)))?;
    let pairs: Vec<(f64, f64)> = points
        .iter()
        .map(|(rank, part)| (*part, intercept + b * rank))
        .collect();
    let a = intercept.exp();
    let is_skewed = b > 0.0 && b < MAX_EXPONENT && a > 0.0;
    is_skewed.then(|| PowerLawFit {
        law: PowerLaw { a, b },
        determination: determination(&pairs),
        keys,
    })
}

/// A two-term exponential of the hotness of key ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeyRangeFit {
    pub hotness: TwoTermExponential,
    /// The part of the variance of the hotness that it explains.
    pub determination: f64,
}

/// Fits a e^(b x) + c e^(d x) to the parts of the accesses that key ranges get, the hottest first:
/// for decays b and d the factors follow by linear least squares, and the decays are those of a
/// grid that is refined around the best. `None` if none fits.
pub(super) fn fit_key_ranges(parts: &[f64]) -> Option<KeyRangeFit> {
    /// Decades of the decay: from one thousandth to ten.
    const DECADES: (f64, f64) = (-3.0, 1.0);
    const STEPS: i32 = 16;
    const ROUNDS: u32 = 8;
    let mut center = (
        f64::midpoint(DECADES.0, DECADES.1),
        f64::midpoint(DECADES.0, DECADES.1),
    );
    let mut step = (DECADES.1 - DECADES.0) / f64::from(2 * STEPS);
    let mut best: Option<(f64, TwoTermExponential)> = None;
    for _ in 0..ROUNDS {
        let around = center;
        let row = |one: i32| (-STEPS..=STEPS).map(move |other| (one, other));
        for (one, other) in (-STEPS..=STEPS).flat_map(row) {
            let near = |center: f64, steps: i32| {
                let decade = center + f64::from(steps) * step;
                decade.clamp(DECADES.0, DECADES.1)
            };
            let decades = (near(around.0, one), near(around.1, other));
            let Some((error, hotness)) = with_decays(parts, decades) else {
                continue;
            };
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, hotness));
                center = decades;
            }
        }
        step /= 4.0;
    }
    let (_, hotness) = best?;
    let pairs = (1_u64..).zip(parts);
    let pairs: Vec<(f64, f64)> = pairs
        .map(|(rank, part)| (*part, hotness.hotness(rank)))
        .collect();
    Some(KeyRangeFit {
        hotness,
        determination: determination(&pairs),
    })
}

/// The sum of the squared errors with decays of these decades, and the parameters. Factors of
/// opposite signs would have to be exact, so that one term takes the place of two. `None` if some
/// range would never be chosen although it is used.
fn with_decays(parts: &[f64], decades: (f64, f64)) -> Option<(f64, TwoTermExponential)> {
    let decay = |decade: f64| -(10_f64.powf(decade));
    let (b, d) = (decay(decades.0), decay(decades.1));
    let terms = |rank: u64| [(b * rank as f64).exp(), (d * rank as f64).exp()];
    let points = || (1_u64..).zip(parts);
    let both = fit_linear(points().map(|(rank, part)| (terms(rank), *part)));
    let [a, c] = match both {
        Some([a, c]) if a >= 0.0 && c >= 0.0 => [a, c],
        _ => {
            let [a] = fit_linear(points().map(|(rank, part)| ([terms(rank)[0]], *part)))?;
            [a, 0.0]
        }
    };
    let hotness = TwoTermExponential { a, b, c, d };
    let mut error = 0.0;
    for (rank, part) in (1_u64..).zip(parts) {
        let fitted = hotness.hotness(rank);
        if fitted == 0.0 && *part > 0.0 {
            return None;
        }
        error += (fitted - part).powi(2);
    }
    Some((error, hotness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::random::Random;

    /// The accesses of each rank, the most popular first.
    fn drawn(law: PowerLaw, draws: u64, seed: u64) -> Vec<u64> {
        let ranks = law.rank(1.0) as usize;
        let mut random = Random::new(seed);
        let mut counts = vec![0; ranks + 1];
        for _ in 0..draws {
            counts[law.rank(random.unit_f64()) as usize] += 1;
        }
        counts.sort_unstable_by(|one: &u64, other| other.cmp(one));
        counts.retain(|count| *count > 0);
        counts
    }

    #[test]
    fn a_power_law_is_found_again() {
        // 10,000 keys, and 400.
        for (a, b) in [(0.039_8, 0.35), (0.05, 0.5)] {
            let fit = fit_power_law(&drawn(PowerLaw { a, b }, 300_000, 1), 1).unwrap();
            let off = |found: f64, right: f64| (found / right - 1.0).abs();
            assert!(
                off(fit.law.a, a) < 0.05 && off(fit.law.b, b) < 0.03,
                "{fit:?}"
            );
            assert!(fit.determination > 0.999, "{fit:?}");
        }
    }

    #[test]
    fn a_trace_that_is_short_for_its_keys_is_fitted_to_its_popular_ones() {
        // 40 million keys and 150,000 accesses: most that are there are there once.
        let published = PowerLaw {
            a: 0.002_312,
            b: 0.346_7,
        };
        let mut random = Random::new(2);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..150_000 {
            *counts.entry(published.rank(random.unit_f64())).or_insert(0) += 1;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let fit = fit_power_law(&counts, 1).unwrap();
        assert!((20..1_000).contains(&fit.keys), "{fit:?}");
        let off = |found: f64, right: f64| (found / right - 1.0).abs();
        assert!(off(fit.law.a, published.a) < 0.2, "{fit:?}");
        assert!(off(fit.law.b, published.b) < 0.2, "{fit:?}");
    }

    #[test]
    fn keys_that_are_all_used_alike_have_no_power_law() {
        assert_eq!(fit_power_law(&[50; 1_000], 1), None);
        assert_eq!(fit_power_law(&[50], 1), None);
        assert_eq!(fit_power_law(&[], 1), None);
    }

    #[test]
    fn a_two_term_exponential_is_found_again() {
        let right = TwoTermExponential {
            a: 14.18,
            b: -2.917,
            c: 0.016_4,
            d: -0.080_82,
        };
        let parts: Vec<f64> = (1..=30).map(|rank| right.hotness(rank)).collect();
        let fit = fit_key_ranges(&parts).unwrap();
        assert!(fit.determination > 0.999_999, "{fit:?}");
        for (rank, part) in (1..).zip(&parts) {
            let off = fit.hotness.hotness(rank) / part - 1.0;
            assert!(off.abs() < 0.02, "range {rank}: {off}");
        }
        let slow = fit.hotness.b.max(fit.hotness.d);
        assert!((slow / right.d - 1.0).abs() < 0.02, "{fit:?}");
        // Ranges that are all alike, and a trace that uses one range only.
        for parts in [
            [0.1; 10],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ] {
            let hotness = fit_key_ranges(&parts).unwrap().hotness;
            let fitted = [hotness.hotness(1), hotness.hotness(10)];
            assert!((fitted[0] - parts[0]).abs() < 0.02, "{fitted:?}");
            assert!((fitted[1] - parts[9]).abs() < 0.02, "{fitted:?}");
        }
    }
}
