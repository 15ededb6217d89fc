//! The rate over time, as a sine.

use super::least_squares::{determination, fit_linear, maximize};

/// Intervals into which the time of a trace is divided, if it has enough requests.
const INTERVALS: f64 = 200.0;

/// Requests of an interval at least, on average.
const MIN_REQUESTS: f64 = 10.0;

/// The shortest interval, seconds: that of the workload.
const MIN_INTERVAL_S: f64 = 0.1;

/// Intervals without which no sine is looked for.
const MIN_INTERVALS: usize = 8;

/// Frequencies that are tried for each period that the time of the trace has more.
const STEPS_PER_PERIOD: f64 = 10.0;

/// The chance at which a constant rate may be taken for a sine.
const SIGNIFICANCE: f64 = 0.001;

/// The rate A sin(B x + C) + D at x seconds, requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SineFit {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
    pub interval_s: f64,
    /// The part of the variance of the intervals' rates that it explains; 0 for a constant rate.
    pub determination: f64,
}

/// Fits a sine to the requests at these times by least squares: for a frequency the other
/// parameters follow by linear least squares, and the frequency is the best of half a period in all
/// to one of four intervals. A sine that chance explains as well is a constant rate. `None` if the
/// requests take no time: there are none, or all begin at once.
pub(super) fn fit_sine(times_ns: &[u64]) -> Option<SineFit> {
    let duration_s = *times_ns.last()? as f64 / 1e9;
    if duration_s <= 0.0 {
        return None;
    }
    let d = times_ns.len() as f64 / duration_s;
    let interval_s = (duration_s / INTERVALS)
        .max(MIN_REQUESTS / d)
        .max(MIN_INTERVAL_S);
    // Whole milliseconds, as the setting has.
    let interval_s = (interval_s * 1e3).ceil() / 1e3;
    let constant = SineFit {
        a: 0.0,
        b: 0.0,
        c: 0.0,
        d,
        interval_s,
        determination: 0.0,
    };
    let rates = rates(times_ns, duration_s, interval_s);
    if rates.len() < MIN_INTERVALS {
        return Some(constant);
    }
    let fit = best_sine(&rates, interval_s);
    let fit = fit.filter(|fit| is_significant(fit, rates.len()));
    Some(fit.unwrap_or(constant))
}

/// The rate of each whole interval, requests per second.
fn rates(times_ns: &[u64], duration_s: f64, interval_s: f64) -> Vec<f64> {
    let mut counts = vec![0_u64; (duration_s / interval_s) as usize];
    for time_ns in times_ns {
        let index = (*time_ns as f64 / 1e9 / interval_s) as usize;
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
    }
    counts
        .iter()
        .map(|count| *count as f64 / interval_s)
        .collect()
}

fn best_sine(rates: &[f64], interval_s: f64) -> Option<SineFit> {
    let turn = std::f64::consts::TAU / (rates.len() as f64 * interval_s);
    let periods = |step: u32| 0.5 + f64::from(step) / STEPS_PER_PERIOD;
    let steps = ((rates.len() as f64 / 4.0 - 0.5) * STEPS_PER_PERIOD) as u32;
    let explained = |periods: f64| {
        let fit = with_frequency(rates, interval_s, turn * periods);
        fit.map_or(f64::NEG_INFINITY, |fit| fit.determination)
    };
    let all = (0..=steps).map(|step| (periods(step), explained(periods(step))));
    let (best, _) = all.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let margin = 1.0 / STEPS_PER_PERIOD;
    let best = maximize((best - margin).max(margin), best + margin, explained);
    with_frequency(rates, interval_s, turn * best)
}

/// The best sine of a frequency, radians per second. The rate of an interval is that at its
/// beginning, as the workload sets it.
fn with_frequency(rates: &[f64], interval_s: f64, b: f64) -> Option<SineFit> {
    let angles = (0_u32..).map(|index| b * f64::from(index) * interval_s);
    let terms = |angle: f64| [angle.sin(), angle.cos(), 1.0];
    let points = angles.clone().zip(rates);
    let points = points.map(|(angle, rate)| (terms(angle), *rate));
    let [sine, cosine, d] = fit_linear(points)?;
    let model = |angle: f64| sine * angle.sin() + cosine * angle.cos() + d;
    let pairs: Vec<(f64, f64)> = angles
        .zip(rates)
        .map(|(angle, rate)| (*rate, model(angle)))
        .collect();
    Some(SineFit {
        a: sine.hypot(cosine),
        b,
        c: cosine.atan2(sine),
        d,
        interval_s,
        determination: determination(&pairs),
    })
}

/// Whether so much of the variance is not explained by chance: of a constant rate with normal noise
/// the part left by one frequency is above 1 - R^2 with the chance (1 - R^2)^((n - 3) / 2), by the
/// distribution of F with two degrees of freedom, and there are about n frequencies (Scargle,
/// Astrophysical Journal 263, 1982).
fn is_significant(fit: &SineFit, intervals: usize) -> bool {
    let freedom = intervals as f64 - 3.0;
    let chance = (1.0 - fit.determination).max(0.0).powf(freedom / 2.0);
    chance * (intervals as f64) < SIGNIFICANCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::random::Random;

    /// Requests that come at random at the rate of a sine, nanoseconds.
    fn arrivals(rate: impl Fn(f64) -> f64, highest: f64, duration_s: f64, seed: u64) -> Vec<u64> {
        let mut random = Random::new(seed);
        let (mut now_s, mut times_ns) = (0.0, vec![0]);
        while now_s < duration_s {
            now_s -= (1.0 - random.unit_f64()).ln() / highest;
            if random.unit_f64() * highest < rate(now_s) {
                times_ns.push((now_s * 1e9) as u64);
            }
        }
        times_ns
    }

    #[test]
    fn a_sine_is_found_again() {
        for (a, period_s, c, d) in [(300.0, 60.0, 0.5, 1_000.0), (200.0, 80.0, -2.0, 400.0)] {
            let b = std::f64::consts::TAU / period_s;
            let rate = |x: f64| a * (b * x + c).sin() + d;
            let fit = fit_sine(&arrivals(rate, a + d, 200.0, 3)).unwrap();
            let off = |found: f64, right: f64| (found / right - 1.0).abs();
            assert!(off(fit.a, a) < 0.1 && off(fit.d, d) < 0.05, "{fit:?}");
            assert!(off(fit.b, b) < 0.05, "{fit:?}");
            // The rates that it gives are those that it was drawn from.
            for second in 0..200 {
                let x = f64::from(second);
                let found = fit.a * (fit.b * x + fit.c).sin() + fit.d;
                assert!((found - rate(x)).abs() < 0.1 * a, "at {x} s: {found}");
            }
        }
    }

    #[test]
    fn a_constant_rate_is_no_sine() {
        for seed in 0..5 {
            let fit = fit_sine(&arrivals(|_| 500.0, 500.0, 100.0, seed)).unwrap();
            assert_eq!((fit.a, fit.determination), (0.0, 0.0), "seed {seed}");
            assert!((fit.d / 500.0 - 1.0).abs() < 0.05, "{fit:?}");
        }
        let few = fit_sine(&[0, 1_000_000_000, 2_000_000_000]).unwrap();
        assert_eq!((few.a, few.d), (0.0, 1.5));
        assert_eq!(fit_sine(&[0, 0]), None);
        assert_eq!(fit_sine(&[]), None);
    }
}
