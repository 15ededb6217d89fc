//! The rates of each contender in each of several runs, side by side.

use crate::Run;
use crate::compare::{Selector, Side};
use crate::history::{HistoryCell, HistoryPoint, history_cells};
use crate::marks::MarkedName;
use std::collections::BTreeMap;
use trueput_record::Durability;

/// A contender in several runs.
#[derive(Debug, Clone)]
pub struct ContenderRuns {
    /// The contender, with its marks in the first of its runs.
    pub contender: MarkedName,
    /// The workload.
    pub workload: String,
    /// Durability level of each commit.
    pub durability: Durability,
    /// Number of workers.
    pub workers: u32,
    /// The settings and conditions that are not the same in all cells of its workload.
    pub distinction: Vec<(String, String)>,
    /// Its rates, in the order of the runs.
    pub rates: Vec<RunRate>,
}

/// The rate of a contender in a run.
#[derive(Debug, Clone)]
pub struct RunRate {
    /// The place of the run, from 0.
    pub run: usize,
    /// The rate, with the version and the host.
    pub point: HistoryPoint,
    /// The rate over that of the contender's first run; 0 if that is 0.
    pub of_first: f64,
}

/// Every contender of some runs.
#[must_use]
pub fn contender_runs(runs: &[Run]) -> Vec<ContenderRuns> {
    let cells: Vec<_> = runs.iter().enumerate().flat_map(cells).collect();
    let mut contenders: BTreeMap<String, ContenderRuns> = BTreeMap::new();
    for (run, cell) in &cells {
        let contender = contenders.entry(cell.key.clone());
        let contender = contender.or_insert_with(|| without_rates(cell, &cells));
        let first = contender.rates.first();
        let first_per_s = first.map_or(cell.point.per_s, |rate| rate.point.per_s);
        contender.rates.push(RunRate {
            run: *run,
            of_first: if first_per_s > 0.0 {
                cell.point.per_s / first_per_s
            } else {
                0.0
            },
            point: cell.point.clone(),
        });
    }
    contenders.into_values().collect()
}

/// The cells of a run, each with its place.
fn cells((index, run): (usize, &Run)) -> Vec<(usize, HistoryCell)> {
    let label = run.shown_as.display().to_string();
    // A run without a trial says so in its own report.
    let side = Side::new(&label, run.clone(), Selector::default()).ok();
    let cells = side.iter().flat_map(history_cells);
    cells.map(|cell| (index, cell)).collect()
}

fn without_rates(cell: &HistoryCell, all: &[(usize, HistoryCell)]) -> ContenderRuns {
    let series = &cell.series;
    let of_workload = || {
        let all = all.iter().map(|(_, other)| &other.series);
        all.filter(|other| other.workload == series.workload)
    };
    let circumstances = series.circumstances.iter();
    let distinguishing = circumstances.filter(|(name, value)| {
        of_workload().any(|other| other.circumstances.get(*name) != Some(*value))
    });
    ContenderRuns {
        contender: MarkedName {
            name: series.contender.clone(),
            marks: cell.point.marks.clone(),
        },
        workload: series.workload.clone(),
        durability: series.durability,
        workers: series.workers,
        distinction: distinguishing
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        rates: Vec::new(),
    }
}
