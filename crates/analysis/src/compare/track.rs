//! The cells of a run as points of a history.

use super::matching::circumstances;
use super::side::{Side, SideCell};
use crate::history::{Point, Series, interval};
use crate::statistics::median;
use std::collections::BTreeSet;

/// A cell of a run, with the series that it belongs to.
pub(crate) struct Tracked {
    /// Tells the series apart.
    pub key: String,
    /// The series without points.
    pub series: Series,
    /// This run's point.
    pub point: Point,
}

/// Every cell of a side in which a trial counts. A contender is known by its engine where that stands
/// once under the same circumstances, so that a new build or knob continues its series; else by its
/// name.
pub(crate) fn tracked(side: &Side) -> Vec<Tracked> {
    let cells = side.cells();
    let all = cells.iter().map(|cell| {
        let mut same = cells.iter().filter(|other| {
            other.spec.engine == cell.spec.engine
                && circumstances(other.spec, &BTreeSet::new())
                    == circumstances(cell.spec, &BTreeSet::new())
        });
        let contender = match same.nth(1) {
            None => cell.spec.engine.clone(),
            Some(_) => cell.name.clone(),
        };
        of(side, cell, contender)
    });
    all.collect()
}

fn of(side: &Side, cell: &SideCell<'_>, contender: String) -> Tracked {
    let rates = cell.rates();
    let engine = cell.trials.iter().find_map(|trial| trial.engine.as_ref());
    let host = &side.report.manifest.host;
    let mut circumstances = circumstances(cell.spec, &BTreeSet::new());
    let key = format!("{circumstances:?} {contender}");
    for name in ["workload", "level", "workers"] {
        circumstances.remove(name);
    }
    Tracked {
        key,
        point: Point {
            run: side.report.shown_as.display().to_string(),
            started_at: side.report.manifest.started_at.clone(),
            version: engine
                .map(|engine| engine.version.clone())
                .unwrap_or_default(),
            host: host.host_name.clone(),
            commit: host.program.commit.clone(),
            per_s: median(rates.iter().copied()).unwrap_or_default(),
            interval: interval(&rates),
            repeats: rates.len(),
        },
        series: Series {
            contender,
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
