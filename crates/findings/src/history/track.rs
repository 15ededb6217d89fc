//! The cells of a run as points of a history.

use super::{HistoryPoint, RateSeries, rate_of};
use crate::compare::{Change, Side, SideCell, between_cells, between_runs, circumstances};
use std::collections::BTreeSet;

/// A cell of a run, with the series that it belongs to.
pub struct HistoryCell {
    /// Distinguishes the series.
    pub key: String,
    /// The series without points.
    pub series: RateSeries,
    /// This run's point.
    pub point: HistoryPoint,
}

/// Every cell of a side in which a trial counts.
pub fn history_cells(side: &Side) -> Vec<HistoryCell> {
    let cells = side.cells();
    let named = cells.iter().zip(contenders(&cells));
    named
        .map(|(cell, contender)| of(side, cell, contender))
        .collect()
}

/// What the records say changed from one run to another: of machine, program and plan, and of the
/// cells that belong to that series.
pub fn changed(before: &Side, after: &Side, key: &str) -> Vec<Change> {
    let mut changes = between_runs(before, after);
    let (befores, afters) = (before.cells(), after.cells());
    let one = within(&befores, key).zip(within(&afters, key));
    changes.extend(
        one.into_iter()
            .flat_map(|(one, other)| between_cells(one, other)),
    );
    changes
}

/// The cell that belongs to a series.
fn within<'a, 'b>(cells: &'b [SideCell<'a>], key: &str) -> Option<&'b SideCell<'a>> {
    let mut named = cells.iter().zip(contenders(cells));
    named
        .find(|(cell, contender)| key_of(cell, contender) == key)
        .map(|(cell, _)| cell)
}

fn key_of(cell: &SideCell<'_>, contender: &str) -> String {
    let circumstances = circumstances(cell.spec, &BTreeSet::new());
    format!("{circumstances:?} {contender}")
}

/// What each cell's contender is called over many runs: its engine where that stands once under the
/// same circumstances, so that a new build or knob continues its series; else its name.
fn contenders(cells: &[SideCell<'_>]) -> Vec<String> {
    let all = cells.iter().map(|cell| {
        let mut same = cells.iter().filter(|other| {
            other.spec.engine == cell.spec.engine
                && circumstances(other.spec, &BTreeSet::new())
                    == circumstances(cell.spec, &BTreeSet::new())
        });
        match same.nth(1) {
            None => cell.spec.engine.clone(),
            Some(_) => cell.name.clone(),
        }
    });
    all.collect()
}

fn of(side: &Side, cell: &SideCell<'_>, contender: String) -> HistoryCell {
    let rates = cell.rates();
    let (per_s, interval) = rate_of(&rates);
    let engine = cell.trials.iter().find_map(|trial| trial.engine.as_ref());
    let host = &side.report.manifest.host;
    let mut circumstances = circumstances(cell.spec, &BTreeSet::new());
    let key = key_of(cell, &contender);
    for name in ["workload", "level", "workers"] {
        circumstances.remove(name);
    }
    HistoryCell {
        key,
        point: HistoryPoint {
            run: side.report.shown_as.display().to_string(),
            started_at: side.report.manifest.started_at.clone(),
            version: engine
                .map(|engine| engine.version.clone())
                .unwrap_or_default(),
            host: host.host_name.clone(),
            commit: host.program.commit.clone(),
            per_s,
            interval,
            repeats: rates.len(),
            marks: cell.marks(),
        },
        series: RateSeries {
            contender,
            marks: Vec::new(),
            workload: cell.spec.workload.clone(),
            durability: cell.spec.durability,
            workers: cell.spec.workers,
            circumstances,
            headline: cell.headline.clone(),
            points: Vec::new(),
            steps: Vec::new(),
            outliers: Vec::new(),
        },
    }
}
