//! The trials of one workload, by cell, with medians over the repeats.

use crate::statistics::median;
use trueput_record::measurement::Measurement;
use trueput_record::{TrialRecord, Value};

/// The trials of a cell that count.
#[derive(Debug)]
pub struct WorkloadCell<'a> {
    /// The first of them.
    pub first: &'a TrialRecord,
    measurements: Vec<&'a Measurement>,
}

/// The cells of a workload, in the order of their first trials that count.
#[must_use]
pub fn workload_cells<'a>(trials: &'a [TrialRecord], workload: &str) -> Vec<WorkloadCell<'a>> {
    let mut cells: Vec<WorkloadCell<'_>> = Vec::new();
    let of_workload = |trial: &&TrialRecord| trial.spec.workload == workload;
    for trial in trials.iter().filter(of_workload) {
        let Some(measured) = trial.measurement.as_ref().filter(|_| trial.is_rankable()) else {
            continue;
        };
        let is_same = |cell: &&mut WorkloadCell<'_>| cell.first.spec.cell == trial.spec.cell;
        match cells.iter_mut().find(is_same) {
            Some(cell) => cell.measurements.push(measured),
            None => cells.push(WorkloadCell {
                first: trial,
                measurements: vec![measured],
            }),
        }
    }
    cells
}

impl WorkloadCell<'_> {
    /// The median of a figure over the repeats that have it.
    pub fn median(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self
            .measurements
            .iter()
            .filter_map(|one| figure(one))
            .collect();
        median(figures)
    }

    /// The median of a result that is a number.
    #[must_use]
    pub fn median_result(&self, name: &str) -> Option<f64> {
        self.median(|one| match one.results.get(name)? {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            _ => None,
        })
    }

    /// A result of the first trial, as text.
    #[must_use]
    pub fn first_result(&self, name: &str) -> Option<String> {
        let value = self.measurements.first()?.results.get(name)?;
        Some(value.to_string())
    }
}
