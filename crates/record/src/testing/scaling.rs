//! Trials of 1 to 32 workers that follow a known law.

use super::{spec, valid};
use crate::hardware_limits::{FlushLimit, HardwareLimits};
use crate::{Durability, TrialRecord};

/// The numbers of workers of [`one_node`].
pub const WORKERS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The law of the made-up node.
#[must_use]
pub fn law(active: f64) -> f64 {
    2_000.0 * active / (1.0 + 0.05 * (active - 1.0) + 0.001 * active * (active - 1.0))
}

/// A trial of a cell: a flush takes a client of one 800 µs, and each operation commits twice.
#[must_use]
pub fn trial(cell: usize, workers: u32, per_s: f64) -> TrialRecord {
    let mut spec = spec(cell as u32, "lmdb", Durability::Sync, 1);
    spec.workers = workers;
    spec.id = format!("{cell:04}-w{workers}");
    let mut trial = valid(spec, per_s);
    if let Some(measured) = &mut trial.measurement {
        measured.operations.retain(|one| one.kind == "update");
        measured.commits = measured.operation("update").map(|update| 2 * update.count);
    }
    trial.hardware_limits = Some(HardwareLimits {
        committers: workers,
        flush: Some(FlushLimit {
            separate_per_s: 1_250.0 * f64::from(workers),
            ..FlushLimit::default()
        }),
        ..HardwareLimits::default()
    });
    trial
}

/// Closed loops that follow the law.
#[must_use]
pub fn one_node() -> Vec<TrialRecord> {
    let cells = WORKERS.iter().enumerate();
    cells
        .map(|(cell, &workers)| trial(cell, workers, law(f64::from(workers))))
        .collect()
}
