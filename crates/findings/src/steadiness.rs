//! Steadiness of rates, within a trial and between repeats: warm-up, cliffs, drift and outliers.

use crate::Run;
use crate::eligibility::{LastAttempts, headline, ineligibility, rate};
use crate::over_time::{LatencyCliff, latency_cliffs, reported_trials};
use crate::statistics::{Shape, drift, median, outliers, shape};
use crate::trial_names::TrialNames;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::TrialRecord;
use trueput_record::measurement::Measurement;

/// Drift over the repeats of a cell that is reported, as a part of their mean.
const NOTABLE_DRIFT: f64 = 0.05;

/// Correlation of repeats with a straight line from which they count as drift.
const STRAIGHT: f64 = 0.9;

/// Distance from the median, in scaled median absolute deviations, from which a repeat is an
/// outlier.
const FAR: f64 = 3.5;

/// The least distance of an outlier, as a share of the median.
const NOTABLE_DISTANCE: f64 = 0.10;

/// The fewest repeats for drift and outliers.
const MIN_REPEATS: usize = 5;

/// The steadiness of a cell's repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSteadiness {
    /// The cell's name.
    pub name: String,
    /// Repeats without a steady level, and those that reached it late or left it.
    pub shapes: Vec<RepeatShape>,
    /// The change from the first repeat to the last as a share of their mean, if notable.
    pub drift: Option<f64>,
    /// The repeats far from the median.
    pub outliers: Vec<RepeatOutlier>,
    /// Repeats in which the 99th percentile rose to a higher level.
    pub rises: Vec<RepeatRise>,
    /// The repeat of the middle rate.
    pub middle: Option<RepeatSeconds>,
}

/// The course of the rate within one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatShape {
    /// The repeat's number.
    pub repeat: u32,
    /// The course of its rate.
    pub shape: Shape,
}

/// A rise of the 99th percentile of the latencies within one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatRise {
    /// The repeat's number.
    pub repeat: u32,
    /// The rise.
    pub rise: LatencyCliff,
}

/// A repeat far from the median of its cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatOutlier {
    /// The repeat's number.
    pub repeat: u32,
    /// Its rate per second.
    pub per_s: f64,
    /// The median rate of the repeats.
    pub median_per_s: f64,
}

/// One repeat's rates, second by second.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatSeconds {
    /// The repeat's number.
    pub repeat: u32,
    /// The rates of its whole seconds.
    pub rates: Vec<f64>,
}

/// Trials that count, of one cell.
struct Repeats<'a> {
    name: String,
    headline: String,
    trials: Vec<&'a TrialRecord>,
}

/// Returns the steadiness of each cell. Cliffs that [`crate::over_time`] reports are left out.
#[must_use]
pub fn steadiness(report: &Run) -> Vec<CellSteadiness> {
    let elsewhere: BTreeSet<&str> = reported_trials(report)
        .into_iter()
        .map(|trial| trial.spec.id.as_str())
        .collect();
    let of = |cell: Repeats<'_>| {
        let (drift, outliers) = drift_and_outliers(&cell);
        CellSteadiness {
            shapes: notable_shapes(&cell, &elsewhere),
            drift,
            outliers,
            rises: latency_rises(&cell, &elsewhere),
            middle: median_repeat(&cell),
            name: cell.name,
        }
    };
    repeats(report).into_iter().map(of).collect()
}

/// The trials that count, by cell.
fn repeats(report: &Run) -> Vec<Repeats<'_>> {
    let attempts = LastAttempts::of(&report.trials);
    let trials: Vec<&TrialRecord> = report
        .trials
        .iter()
        .filter(|trial| !attempts.supersede(trial))
        .collect();
    let names = TrialNames::of(report);
    let mut cells: BTreeMap<u32, Repeats<'_>> = BTreeMap::new();
    for trial in trials {
        let headline = headline(&report.manifest, &[trial]);
        if ineligibility(trial, &headline).is_some() {
            continue;
        }
        let cell = cells.entry(trial.spec.cell).or_insert_with(|| Repeats {
            name: names.cell(trial),
            headline,
            trials: Vec::new(),
        });
        cell.trials.push(trial);
    }
    cells.into_values().collect()
}

/// The rates of a trial's whole seconds, of one kind of operation.
fn seconds(measurement: &Measurement, kind: &str) -> Vec<f64> {
    let mut operations = measurement.operations.iter();
    let Some(index) = operations.position(|operation| operation.kind == kind) else {
        return Vec::new();
    };
    let mut before_s = 0.0;
    let mut rates = Vec::new();
    for second in &measurement.timeline {
        let length_s = second.at_s - before_s;
        before_s = second.at_s;
        // The remainder at the end is too short to be a rate.
        if length_s >= 0.5 {
            let count = second.counts.get(index).copied().unwrap_or_default();
            rates.push(count as f64 / length_s);
        }
    }
    rates
}

/// The repeats whose shape is notable.
fn notable_shapes(cell: &Repeats<'_>, elsewhere: &BTreeSet<&str>) -> Vec<RepeatShape> {
    let notable = |trial: &&TrialRecord| {
        let shape = shape(&seconds(trial.measurement.as_ref()?, &cell.headline));
        let is_notable = match shape {
            Shape::WarmUp { .. } => true,
            Shape::Cliff { .. } | Shape::Unsteady { .. } => {
                !elsewhere.contains(trial.spec.id.as_str())
            }
            Shape::Short | Shape::Steady => false,
        };
        let repeat = trial.spec.repeat;
        is_notable.then_some(RepeatShape { repeat, shape })
    };
    cell.trials.iter().filter_map(notable).collect()
}

/// The rises of the latencies to a higher level.
fn latency_rises(cell: &Repeats<'_>, elsewhere: &BTreeSet<&str>) -> Vec<RepeatRise> {
    let trials = cell.trials.iter();
    let trials = trials.filter(|trial| !elsewhere.contains(trial.spec.id.as_str()));
    let rises = trials.flat_map(|trial| {
        let measured = trial.measurement.iter();
        let cliffs = measured.flat_map(|measured| latency_cliffs(measured, &cell.headline));
        let levels = cliffs.filter(|cliff| cliff.is_level);
        levels.map(|rise| RepeatRise {
            repeat: trial.spec.repeat,
            rise,
        })
    });
    rises.collect()
}

/// The notable drift from repeat to repeat, and the outliers.
fn drift_and_outliers(cell: &Repeats<'_>) -> (Option<f64>, Vec<RepeatOutlier>) {
    let mut trials = cell.trials.clone();
    trials.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    let rates: Vec<f64> = trials
        .iter()
        .filter_map(|trial| rate(trial, &cell.headline))
        .collect();
    if rates.len() < MIN_REPEATS || rates.len() != trials.len() {
        return (None, Vec::new());
    }
    let moved = drift(&rates).unwrap_or_default();
    let is_notable = moved.abs() >= NOTABLE_DRIFT && straightness(&rates) >= STRAIGHT;
    let median_per_s = median(rates.iter().copied()).unwrap_or_default();
    let far = outliers(&rates, FAR).into_iter();
    let far = far.filter(|&index| (rates[index] / median_per_s - 1.0).abs() >= NOTABLE_DISTANCE);
    let outliers = far.map(|index| RepeatOutlier {
        repeat: trials[index].spec.repeat,
        per_s: rates[index],
        median_per_s,
    });
    (is_notable.then_some(moved), outliers.collect())
}

/// The absolute correlation of values with their positions.
fn straightness(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let (mut both, mut places, mut squares) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        both += x * y;
        places += x * x;
        squares += y * y;
    }
    if places * squares > 0.0 {
        (both / (places * squares).sqrt()).abs()
    } else {
        0.0
    }
}

/// The repeat of the middle rate, second by second.
fn median_repeat(cell: &Repeats<'_>) -> Option<RepeatSeconds> {
    let mut trials = cell.trials.clone();
    let of = |trial: &TrialRecord| rate(trial, &cell.headline).unwrap_or_default();
    trials.sort_by(|one, other| of(one).total_cmp(&of(other)));
    let middle = trials.get(trials.len() / 2)?;
    Some(RepeatSeconds {
        repeat: middle.spec.repeat,
        rates: seconds(middle.measurement.as_ref()?, &cell.headline),
    })
}
