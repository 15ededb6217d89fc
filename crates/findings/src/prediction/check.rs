//! The error of a prediction: each measured cell, predicted without it; and the interval that
//! leaving cells out gives.

use crate::scaling::{Fit, Law, student_t_975};
use crate::statistics::median;
use schemars::JsonSchema;
use serde::Serialize;

/// How a measured cell was kept from the law that predicts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// The law was fitted to all other cells.
    LeftOut,
    /// It has more workers than the cells that the law was fitted to.
    MoreWorkers,
    /// It has another delay of the network than the cells that the law was fitted to.
    OtherDelay,
}

/// A measured cell, and what was predicted for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CheckedCell {
    /// How it was kept from the law.
    pub kind: CheckKind,
    /// Clients.
    pub clients: u32,
    /// The delay of the network between nodes, one way, seconds.
    pub network_delay_s: f64,
    /// The measured rate, operations per second: the median of the repeats.
    pub measured_per_s: f64,
    /// The predicted rate.
    pub predicted_per_s: f64,
    /// Predicted over measured, less 1.
    pub error: f64,
    /// The measured mean latency of an operation of any kind, seconds; `None` if none was timed.
    pub measured_latency_s: Option<f64>,
    /// The predicted time of an operation of any kind: clients over the rate of all kinds, seconds.
    pub predicted_response_s: f64,
    /// Whether the measured rate is in the interval of the prediction; `None` for a cell that was
    /// left out, whose law has no interval.
    pub is_in_interval: Option<bool>,
}

/// Errors of several cells, without their signs, as shares of the measured rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ErrorSummary {
    /// The median.
    pub median: f64,
    /// The largest.
    pub worst: f64,
    /// The number of cells.
    pub cells: usize,
}

impl ErrorSummary {
    /// Summarizes the cells of a kind; `None` if there are none.
    #[must_use]
    pub fn of(cells: &[CheckedCell], kind: CheckKind) -> Option<Self> {
        let of_kind = cells.iter().filter(|cell| cell.kind == kind);
        let errors: Vec<f64> = of_kind.map(|cell| cell.error.abs()).collect();
        Some(Self {
            median: median(errors.iter().copied())?,
            worst: errors.iter().copied().fold(0.0, f64::max),
            cells: errors.len(),
        })
    }
}

/// The scatter of trials around the law.
pub(super) struct Residuals {
    /// The variance of the logarithm of the rate.
    variance: f64,
    degrees_of_freedom: usize,
}

impl Residuals {
    /// That of the points that a law was fitted to.
    pub(super) fn of(law: &Fit) -> Self {
        let points = law.points.iter();
        let squares = points.map(|point| (point.per_s / law.at(point.workers)).ln().powi(2));
        Self {
            variance: squares.sum::<f64>() / law.degrees_of_freedom as f64,
            degrees_of_freedom: law.degrees_of_freedom,
        }
    }
}

/// The factor by which the rate of one more trial may differ from the prediction, at 95 %; `None`
/// if there are fewer than three, or none is determined without some cell: how much the law depends
/// on that cell is then not known.
///
/// Two errors of the logarithm are added as squares, each times its quantile of Student's t: that
/// of the law, by the jackknife over the laws that lack one cell each (B. Efron, The Jackknife, the
/// Bootstrap and Other Resampling Plans, SIAM 1982, chapter 3), and that of a trial around the law.
pub(super) fn interval_factor(
    laws: &[Option<Law>],
    predict: impl Fn(&Law) -> f64,
    residuals: &Residuals,
) -> Option<f64> {
    let laws = laws.iter().copied().collect::<Option<Vec<Law>>>()?;
    if laws.len() < 3 {
        return None;
    }
    let count = laws.len() as f64;
    let logarithms: Vec<f64> = laws.iter().map(|law| predict(law).ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|one| (one - mean).powi(2)).sum();
    let of_law = squares * (count - 1.0) / count * student_t_975(laws.len() - 1).powi(2);
    let of_trial = residuals.variance * student_t_975(residuals.degrees_of_freedom).powi(2);
    Some((of_law + of_trial).sqrt().exp())
}
