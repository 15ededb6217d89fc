//! Intervals: of a median by resampling, of a ratio by Student's distribution of logarithms.

use crate::statistics::{median, quantile};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use trueput_record::random::{GOLDEN_STEP, SplitMix64};

/// An estimate with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The best guess.
    pub estimate: f64,
    /// The low end.
    pub low: f64,
    /// The high end.
    pub high: f64,
    /// Confidence level, for example 0.95.
    pub level: f64,
}

/// An interval of a ratio whose ends are further apart says nothing: 30 times either way.
const MAX_SPAN: f64 = 1_000.0;

impl Interval {
    /// Half of its width over the estimate: 0.02 is plus or minus 2 %. Infinite if the estimate is
    /// 0.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.estimate == 0.0 {
            return f64::INFINITY;
        }
        (self.high - self.low) / 2.0 / self.estimate.abs()
    }

    /// Whether an interval of a ratio tells nothing: repeats are too few to say even how far they
    /// scatter.
    #[must_use]
    pub fn is_boundless(&self) -> bool {
        self.low <= 0.0 || self.high / self.low > MAX_SPAN
    }

    /// The interval of the inverse.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self {
            estimate: 1.0 / self.estimate,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            level: self.level,
        }
    }

    /// Whether a value is in it.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The median of `values` with its percentile bootstrap interval (Efron, 1979): the median of
/// `resamples` samples drawn with repetition. `None` for fewer than three values. The draws depend
/// on the values' count only, so that a report comes out the same each time.
#[must_use]
pub fn bootstrap_median(values: &[f64], level: f64, resamples: usize) -> Option<Interval> {
    if values.len() < 3 {
        return None;
    }
    let mut random = SplitMix64::new(GOLDEN_STEP ^ values.len() as u64);
    let mut sample = vec![0.0; values.len()];
    let mut medians = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        for slot in &mut sample {
            *slot = values[random.below(values.len())];
        }
        medians.push(median(sample.iter().copied())?);
    }
    let tail = (1.0 - level) / 2.0;
    Some(Interval {
        estimate: median(values.iter().copied())?,
        low: quantile(medians.iter().copied(), tail)?,
        high: quantile(medians.iter().copied(), 1.0 - tail)?,
        level,
    })
}

/// The chance of a mean of logarithms so far from 0, or further, if the true one were 0: of `after`
/// over `before`, by Student's test of the pairs, or by Welch's without pairs; two-sided. `None`
/// if there is no interval.
#[must_use]
pub(super) fn log_ratio_chance(before: &[f64], after: &[f64], paired: bool) -> Option<f64> {
    let (mean, error, freedom) = if paired {
        paired_moments(before, after)?
    } else {
        unpaired_moments(before, after)?
    };
    if error == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(2.0 * student.cdf(-(mean / error).abs()))
}

/// The geometric mean of `values` with Student's interval of their logarithms. `None` for fewer
/// than three values, or if one is not above 0.
#[must_use]
pub fn geometric_mean(values: &[f64], level: f64) -> Option<Interval> {
    let (mean, variance) = moments(&logarithms(values)?)?;
    let count = values.len() as f64;
    around(mean, (variance / count).sqrt(), count - 1.0, level)
}

/// The geometric mean of `after / before`, pair by pair, with Student's interval. `None` for fewer
/// than three pairs, or if a value is not above 0.
#[must_use]
pub fn log_ratio_paired(before: &[f64], after: &[f64], level: f64) -> Option<Interval> {
    let (mean, error, freedom) = paired_moments(before, after)?;
    around(mean, error, freedom, level)
}

/// The mean of the logarithms of the pairs' ratios, its standard error and degrees of freedom.
fn paired_moments(before: &[f64], after: &[f64]) -> Option<(f64, f64, f64)> {
    if before.len() != after.len() {
        return None;
    }
    let logs = logarithms(before)?.into_iter().zip(logarithms(after)?);
    let ratios: Vec<f64> = logs.map(|(before, after)| after - before).collect();
    let (mean, variance) = moments(&ratios)?;
    let count = ratios.len() as f64;
    Some((mean, (variance / count).sqrt(), count - 1.0))
}

/// The ratio of the geometric means of `after` and `before`, with Welch's interval (1947), which
/// does not assume equal variances. `None` for fewer than three values on a side, or if one is not
/// above 0.
#[must_use]
pub fn log_ratio_unpaired(before: &[f64], after: &[f64], level: f64) -> Option<Interval> {
    let (mean, error, freedom) = unpaired_moments(before, after)?;
    around(mean, error, freedom, level)
}

/// The difference of the means of logarithms, its standard error and Welch's degrees of freedom.
fn unpaired_moments(before: &[f64], after: &[f64]) -> Option<(f64, f64, f64)> {
    let (before_mean, before_variance) = moments(&logarithms(before)?)?;
    let (after_mean, after_variance) = moments(&logarithms(after)?)?;
    let (n, m) = (before.len() as f64, after.len() as f64);
    let (one, other) = (before_variance / n, after_variance / m);
    let sum = one + other;
    let freedom = if sum > 0.0 {
        sum * sum / (one * one / (n - 1.0) + other * other / (m - 1.0))
    } else {
        n + m - 2.0
    };
    Some((after_mean - before_mean, sum.sqrt(), freedom))
}

pub(super) fn around(mean: f64, error: f64, freedom: f64, level: f64) -> Option<Interval> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = student.inverse_cdf(1.0 - (1.0 - level) / 2.0) * error;
    Some(Interval {
        estimate: mean.exp(),
        low: (mean - reach).exp(),
        high: (mean + reach).exp(),
        level,
    })
}

pub(super) fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let sound = values.iter().all(|value| value.is_finite() && *value > 0.0);
    sound.then(|| values.iter().map(|value| value.ln()).collect())
}

/// Mean and sample variance; `None` for fewer than three values.
pub(super) fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 3 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [19.8, 20.1, 20.5, 19.9, 20.3];
    const B: [f64; 5] = [21.0, 21.4, 20.9, 21.8, 21.2];

    fn near(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{found}, not {expected}"
        );
    }

    #[test]
    fn paired_ratios_agree_with_scipy() {
        // scipy 1.17.1: t.interval(0.95, 4, loc=mean, scale=sem) of log(b / a), exponentiated.
        let ratio = log_ratio_paired(&A, &B, 0.95).unwrap();
        near(ratio.estimate, 1.056_626_496_641_091_7);
        near(ratio.low, 1.022_532_471_413_961_6);
        near(ratio.high, 1.091_857_309_783_211_2);
        assert!(!ratio.holds(1.0));
    }

    #[test]
    fn the_chance_of_a_ratio_is_what_its_interval_goes_by() {
        for paired in [true, false] {
            let chance = log_ratio_chance(&A, &B, paired).unwrap();
            let at = |level| {
                if paired {
                    log_ratio_paired(&A, &B, level).unwrap()
                } else {
                    log_ratio_unpaired(&A, &B, level).unwrap()
                }
            };
            assert!(!at(1.0 - chance * 1.01).holds(1.0) && at(1.0 - chance * 0.99).holds(1.0));
        }
        assert_eq!(log_ratio_chance(&A, &A, true), Some(1.0));
        assert_eq!(log_ratio_chance(&A[..2], &B[..2], true), None);
    }

    #[test]
    fn the_interval_of_a_rate_agrees_with_scipy() {
        // scipy 1.17.1: t.interval(0.95, 4, loc=mean, scale=sem) of log(a), exponentiated.
        let mean = geometric_mean(&A, 0.95).unwrap();
        near(mean.estimate, 20.118_372_480_683_313);
        near(mean.low, 19.766_388_772_271_597);
        near(mean.high, 20.476_624_027_515_83);
        assert_eq!(geometric_mean(&A[..2], 0.95), None);
    }

    #[test]
    fn unpaired_ratios_agree_with_scipy_and_widen_with_unequal_scatter() {
        // scipy 1.17.1: ttest_ind(log(b), log(a), equal_var=False).confidence_interval(0.95) and
        // (0.99), exponentiated.
        let ratio = log_ratio_unpaired(&A, &B, 0.95).unwrap();
        near(ratio.estimate, 1.056_626_496_641_091_7);
        near(ratio.low, 1.032_842_038_051_978_3);
        near(ratio.high, 1.080_958_667_706_591_2);
        let wider = log_ratio_unpaired(&A, &B, 0.99).unwrap();
        near(wider.low, 1.022_091_121_708_769_8);
        near(wider.high, 1.092_328_785_262_793_9);
        let wild = log_ratio_unpaired(&A, &[15.0, 21.0, 30.0], 0.95).unwrap();
        near(wild.low, 0.444_765_354_308_978_94);
        near(wild.high, 2.482_968_633_358_938_7);
        assert!(wild.holds(1.0));
    }

    #[test]
    fn the_bootstrap_interval_of_a_median_agrees_with_scipy() {
        // scipy 1.17.1: bootstrap((x,), median, method='percentile') gives 9.9 to 10.5.
        let values = [10.2, 9.8, 10.5, 11.1, 9.9, 10.0, 10.4];
        let interval = bootstrap_median(&values, 0.95, 10_000).unwrap();
        assert_eq!(
            (interval.estimate, interval.low, interval.high),
            (10.2, 9.9, 10.5)
        );
        assert_eq!(bootstrap_median(&values, 0.95, 10_000), Some(interval));
    }

    #[test]
    fn too_few_values_and_values_without_a_logarithm_have_no_interval() {
        assert_eq!(bootstrap_median(&[1.0, 2.0], 0.95, 10), None);
        assert_eq!(log_ratio_paired(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(log_ratio_paired(&A, &B[..4], 0.95), None);
        assert_eq!(log_ratio_paired(&[1.0, 0.0, 1.0], &[1.0; 3], 0.95), None);
        assert_eq!(log_ratio_unpaired(&A, &[f64::NAN; 3], 0.95), None);
    }
}
