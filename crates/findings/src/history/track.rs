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

/// Returns every cell of a side with a valid trial.
pub fn history_cells(side: &Side) -> Vec<HistoryCell> {
    let cells = side.cells();
    let named = cells.iter().zip(contenders(&cells));
    named
        .map(|(cell, contender)| history_cell(side, cell, contender))
        .collect()
}

/// Returns the recorded differences between two runs: machine, program, plan, and the cells that
/// belong to the series `key`.
pub fn changes_between_runs(before: &Side, after: &Side, key: &str) -> Vec<Change> {
    let mut changes = between_runs(before, after);
    let (befores, afters) = (before.cells(), after.cells());
    let one = find_cell(&befores, key).zip(find_cell(&afters, key));
    changes.extend(
        one.into_iter()
            .flat_map(|(one, other)| between_cells(one, other)),
    );
    changes
}

/// The cell that belongs to a series.
fn find_cell<'a, 'b>(cells: &'b [SideCell<'a>], key: &str) -> Option<&'b SideCell<'a>> {
    let mut named = cells.iter().zip(contenders(cells));
    named
        .find(|(cell, contender)| key_of(cell, contender) == key)
        .map(|(cell, _)| cell)
}

fn key_of(cell: &SideCell<'_>, contender: &str) -> String {
    let circumstances = circumstances(cell.spec, &BTreeSet::new());
    format!("{circumstances:?} {contender}")
}

/// Names each cell's contender over many runs: by its engine if that is unique under the same
/// conditions, so that a new build or knob continues its series; else by its full name.
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

fn history_cell(side: &Side, cell: &SideCell<'_>, contender: String) -> HistoryCell {
    let rates = cell.rates();
    let (per_s, interval) = rate_of(&rates);
    let engine = cell.trials.iter().find_map(|trial| trial.engine.as_ref());
    let host = &side.report.manifest.host;
    let mut circumstances = circumstances(cell.spec, &BTreeSet::new());
    let key = key_of(cell, &contender);
    for name in ["workload", "level", "workers"] {
        circumstances.remove(name);
    }
    // Slices of any length are the same circumstance; the first run's length is shown.
    let named = cell.spec.conditions.named().into_iter();
    let slice = named.filter(|(name, _)| *name == "time_slice");
    circumstances.extend(slice.map(|(name, value)| (name.to_owned(), value)));
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
