//! Scaling of a rate with the number of workers, and the number at which it stops growing:
//! Gunther's Universal Scalability Law, fitted to the measured rates.
//!
//! The law is X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): λ is the rate of one worker, σ the share of
//! the work that only one worker can do at a time (contention), κ the cost of keeping each pair of
//! workers in agreement (coherency). N. J. Gunther, Guerrilla Capacity Planning, Springer 2007,
//! chapter 4.

mod series;
mod solve;

use schemars::JsonSchema;
use serde::Serialize;
use solve::Solution;

pub use series::{ScalingSeries, fits, most_workers, series};

/// The least number of different worker counts to which the law is fitted.
pub const MIN_POINTS: usize = 4;

/// The least share of the rates' variance that the law must explain to describe them.
pub const MIN_R_SQUARED: f64 = 0.9;

/// The most that the fitted rate of one worker may exceed the highest measured rate per worker, as
/// a factor; a larger one is not plausible.
pub const MAX_FITTED_FACTOR: f64 = 2.0;

/// A rate at a number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ScalingPoint {
    /// Workers: processes, threads or readers, 1 or more.
    pub workers: f64,
    /// Operations per second of all of them together.
    pub per_s: f64,
}

/// A coefficient and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Coefficient {
    /// The estimate of least squares.
    pub value: f64,
    /// Its standard error, from the Jacobian at the solution.
    pub standard_error: f64,
    /// Lower end of the 95 % interval, at least 0.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Coefficient {
    /// Whether its interval reaches down to 0, so that the points do not show that it is not 0.
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.low <= 0.0
    }
}

/// The maximum of the law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Peak {
    /// At this number of workers.
    At {
        /// √((1 − σ) / κ), or 1 if a single worker is fastest.
        workers: f64,
        /// The rate there, operations per second.
        per_s: f64,
        /// Whether that is beyond the workers that were measured, so that it is a forecast.
        beyond_measured: bool,
    },
    /// Coherency is not significantly above 0: no peak is within reach of these points.
    OutOfReach,
}

/// The law with its three coefficients, without their errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    coefficients: [f64; 3],
}

impl Law {
    /// The law's rate at a number of workers, operations per second.
    #[must_use]
    pub fn at(&self, workers: f64) -> f64 {
        solve::law(self.coefficients, workers)
    }
}

/// The law of least squares, without errors, so that points at three different numbers of workers
/// are enough: one number less than [`fit`] needs, as when one of four is left out to be predicted.
/// `None` if there are fewer, or no coefficients are clearly the best.
#[must_use]
pub fn law_through(points: &[ScalingPoint]) -> Option<Law> {
    let mut workers: Vec<f64> = points.iter().map(|point| point.workers).collect();
    workers.sort_by(f64::total_cmp);
    workers.dedup();
    let solution = (workers.len() >= 3).then(|| solve::best(points))??;
    Some(Law {
        coefficients: solution.coefficients,
    })
}

/// The law as fitted to some points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// λ: the rate of one worker, operations per second.
    pub lambda: Coefficient,
    /// σ: contention, a share of 1.
    pub sigma: Coefficient,
    /// κ: coherency, per pair of workers.
    pub kappa: Coefficient,
    /// The share of the rates' variance that the law explains; 1 if there is no variance.
    pub r_squared: f64,
    /// The residual standard error, operations per second.
    pub residual_error_per_s: f64,
    /// Points less the three coefficients.
    pub degrees_of_freedom: usize,
    /// The maximum of the law.
    pub peak: Peak,
    /// The points that it was fitted to, by workers.
    pub points: Vec<ScalingPoint>,
}

/// Why a law that was fitted does not describe its points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Misfit {
    /// It explains less than [`MIN_R_SQUARED`] of the variance of the rates.
    UnexplainedVariance {
        /// The share that it explains.
        r_squared: f64,
    },
    /// The interval of its contention reaches beyond all of the work.
    ImpossibleSerialShare {
        /// The interval's lower end, a share of 1.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// Its rate of one worker exceeds [`MAX_FITTED_FACTOR`] times the highest rate per worker.
    UnmeasuredRate {
        /// The law's rate of one worker, operations per second.
        per_s: f64,
        /// The highest rate per worker that was measured.
        measured: f64,
    },
}

/// Why the law was not fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// There are too few different numbers of workers.
    #[error(
        "too few points: {distinct} different numbers of workers, and the law has three \
         coefficients; measure at {MIN_POINTS} or more, as in 1, 2, 4, 8"
    )]
    TooFewPoints {
        /// Number of different worker counts.
        distinct: usize,
    },
    /// A point cannot be.
    #[error(
        "{per_s} per second at {workers} workers is not a valid point: workers must be at least 1, \
         rates above 0"
    )]
    NoPoint {
        /// Its workers.
        workers: f64,
        /// Its rate.
        per_s: f64,
    },
    /// No coefficients are clearly the best.
    #[error("the points do not determine the law's three coefficients")]
    Undetermined,
}

/// Fits the law to points by non-linear least squares, with no coefficient below 0. Repeats at one
/// number of workers are points of their own.
///
/// The method is Levenberg-Marquardt, started from the linearized solution and from fixed points;
/// the best result counts. The intervals are asymptotic: Student's t for 95 % times the standard
/// error from the Jacobian of all three coefficients, even if one of them is 0. They assume equal
/// errors of the rates at every number of workers.
///
/// # Errors
/// [`FitError`] if there is no fit.
///
/// ```
/// use trueput_findings::scaling::{Peak, ScalingPoint, fit};
/// let law = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.01 * n * (n - 1.0));
/// let point = |workers| ScalingPoint { workers, per_s: law(workers) };
/// let points = [1.0, 2.0, 4.0, 8.0, 16.0].map(point);
/// let Ok(Peak::At { workers, .. }) = fit(&points).map(|fit| fit.peak) else { panic!() };
/// assert!((workers - 9.75).abs() < 0.01);
/// ```
pub fn fit(points: &[ScalingPoint]) -> Result<Fit, FitError> {
    for &ScalingPoint { workers, per_s } in points {
        let plausible = workers.is_finite() && workers >= 1.0 && per_s.is_finite() && per_s > 0.0;
        if !plausible {
            return Err(FitError::NoPoint { workers, per_s });
        }
    }
    let mut points = points.to_vec();
    points.sort_by(|one, other| one.workers.total_cmp(&other.workers));
    let distinct = 1 + points
        .windows(2)
        .filter(|pair| pair[0].workers < pair[1].workers)
        .count();
    if points.is_empty() || distinct < MIN_POINTS {
        let distinct = distinct.min(points.len());
        return Err(FitError::TooFewPoints { distinct });
    }
    let solution = solve::best(&points).ok_or(FitError::Undetermined)?;
    described(points, &solution).ok_or(FitError::Undetermined)
}

fn described(points: Vec<ScalingPoint>, solution: &Solution) -> Option<Fit> {
    let degrees_of_freedom = points.len() - 3;
    let variance = solution.squares / degrees_of_freedom as f64;
    let spread = student_t_975(degrees_of_freedom);
    let inverse = solve::inverse_of_normal(&points, solution.coefficients)?;
    let coefficient = |index: usize| {
        let value = solution.coefficients[index];
        let standard_error = (variance * inverse[index]).max(0.0).sqrt();
        Coefficient {
            value,
            standard_error,
            low: (value - spread * standard_error).max(0.0),
            high: value + spread * standard_error,
        }
    };
    let mean = points.iter().map(|point| point.per_s).sum::<f64>() / points.len() as f64;
    let total: f64 = points
        .iter()
        .map(|point| (point.per_s - mean).powi(2))
        .sum();
    let mut fit = Fit {
        lambda: coefficient(0),
        sigma: coefficient(1),
        kappa: coefficient(2),
        r_squared: if total > 0.0 {
            1.0 - solution.squares / total
        } else {
            1.0
        },
        residual_error_per_s: variance.sqrt(),
        degrees_of_freedom,
        peak: Peak::OutOfReach,
        points,
    };
    fit.peak = peak(&fit);
    Some(fit)
}

fn peak(fit: &Fit) -> Peak {
    let (sigma, kappa) = (fit.sigma.value, fit.kappa.value);
    if fit.kappa.may_be_zero() && sigma < 1.0 {
        return Peak::OutOfReach;
    }
    let workers = ((1.0 - sigma).max(0.0) / kappa).sqrt();
    // A law that only falls, or whose maximum is below one worker, is at its best with one.
    let workers = if workers.is_finite() {
        workers.max(1.0)
    } else {
        1.0
    };
    Peak::At {
        workers,
        per_s: fit.at(workers),
        beyond_measured: workers > fit.most_workers(),
    }
}

impl Fit {
    /// The law's rate at a number of workers, operations per second.
    #[must_use]
    pub fn at(&self, workers: f64) -> f64 {
        self.law().at(workers)
    }

    /// The law without the errors of its coefficients.
    #[must_use]
    pub fn law(&self) -> Law {
        Law {
            coefficients: [self.lambda.value, self.sigma.value, self.kappa.value],
        }
    }

    /// The reasons why the law does not describe its points; empty if it does. Otherwise neither
    /// the coefficients nor the peak mean anything.
    #[must_use]
    pub fn misfits(&self) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        if self.r_squared.is_nan() || self.r_squared < MIN_R_SQUARED {
            let r_squared = self.r_squared.max(0.0);
            misfits.push(Misfit::UnexplainedVariance { r_squared });
        }
        if self.sigma.high > 1.0 {
            let Coefficient { low, high, .. } = self.sigma;
            misfits.push(Misfit::ImpossibleSerialShare { low, high });
        }
        let rates = self.points.iter().map(|point| point.per_s / point.workers);
        let measured = rates.fold(0.0, f64::max);
        if self.lambda.value > MAX_FITTED_FACTOR * measured {
            let per_s = self.lambda.value;
            misfits.push(Misfit::UnmeasuredRate { per_s, measured });
        }
        misfits
    }

    /// The most workers that were measured.
    #[must_use]
    pub fn most_workers(&self) -> f64 {
        self.points.last().map_or(1.0, |point| point.workers)
    }

    /// Samples the law at `count` points (2 at least), evenly spaced from one worker to the most
    /// that were measured, or to the peak if that is within twice as many.
    #[must_use]
    pub fn curve(&self, count: usize) -> Vec<ScalingPoint> {
        let most = self.most_workers();
        let to = match self.peak {
            Peak::At { workers, .. } if workers <= 2.0 * most => most.max(workers),
            _ => most,
        };
        let steps = count.max(2) - 1;
        (0..=steps)
            .map(|step| {
                let workers = 1.0 + (to - 1.0) * step as f64 / steps as f64;
                ScalingPoint {
                    workers,
                    per_s: self.at(workers),
                }
            })
            .collect()
    }
}

/// The quantile at 0.975 of Student's t, for intervals of 95 %.
pub(crate) fn student_t_975(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    const NORMAL: f64 = 1.959_964;
    match degrees_of_freedom.checked_sub(1) {
        None => f64::INFINITY,
        Some(index) if index < TABLE.len() => TABLE[index],
        // Cornish and Fisher's expansion around the normal quantile, to its second order.
        Some(_) => {
            let degrees = degrees_of_freedom as f64;
            let (cube, fifth) = (NORMAL.powi(3), NORMAL.powi(5));
            let first = (cube + NORMAL) / (4.0 * degrees);
            let second = (5.0 * fifth + 16.0 * cube + 3.0 * NORMAL) / (96.0 * degrees * degrees);
            NORMAL + first + second
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiles_of_t_agree_with_tables() {
        // R: qt(0.975, c(1, 8, 30, 40, 120, 1e6))
        let expected = [
            (1, 12.706),
            (8, 2.306),
            (30, 2.042),
            (40, 2.021),
            (120, 1.980),
            (1_000_000, 1.960),
        ];
        for (degrees, value) in expected {
            let found = student_t_975(degrees);
            assert!((found - value).abs() < 6e-4, "{degrees}: {found}");
        }
    }
}
