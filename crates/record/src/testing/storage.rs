//! Trials on storage that keeps, loses or may lose what is flushed, and on storage models.

use super::{repeats, spec, valid};
use crate::accounting::Device;
use crate::storage::{PowerLoss, StorageStack};
use crate::{Durability, TrialRecord};

/// A trial on storage of which this is known. Its rate grows with its cell.
#[must_use]
pub fn on(cell: u32, engine: &str, level: Durability, power_loss: PowerLoss) -> TrialRecord {
    let mut trial = valid(spec(cell, engine, level, 1), 1_000.0 * f64::from(cell + 1));
    trial.storage = Some(StorageStack {
        layers: vec![power_loss.phrase()],
        power_loss,
    });
    trial
}

/// Of storage that loses what is flushed.
#[must_use]
pub fn unbarred() -> PowerLoss {
    PowerLoss::of_mount("its ext4", "ext4", "rw,nobarrier")
}

/// Five repeats of a contender at `sync` on a storage model, or on this machine's own storage, with
/// rates around this one.
#[must_use]
pub fn modeled(cell: u32, engine: &str, model: Option<&str>, per_s: f64) -> Vec<TrialRecord> {
    // In another order for each cell, so that the ratios of pairs scatter as well.
    let mut factors = [0.99, 1.005, 1.025, 0.995, 1.015];
    let turns = cell as usize % factors.len();
    factors.rotate_left(turns);
    let rates = factors.map(|factor| factor * per_s);
    let mut trials = repeats(cell, engine, Durability::Sync, &rates);
    for trial in &mut trials {
        trial.spec.conditions.storage_model = model.map(str::to_owned);
    }
    trials
}

/// Gives trials a device that flushed so often and wrote so many bytes for each commit, and whose
/// flushes and requests took these shares of the time.
pub fn count_commits(
    trials: &mut [TrialRecord],
    [flushes, bytes]: [f64; 2],
    [flush_share, busy_share]: [f64; 2],
) {
    const COMMITS: u64 = 100_000;
    let measured = trials.iter_mut().filter_map(|it| it.measurement.as_mut());
    for measurement in measured {
        let elapsed_s = measurement.elapsed_s;
        measurement.commits = Some(COMMITS);
        measurement.device = Some(Device {
            flushes: Some((flushes * COMMITS as f64) as u64),
            flush_s: Some(flush_share * elapsed_s),
            busy_s: busy_share * elapsed_s,
            written_bytes: (bytes * COMMITS as f64) as u64,
            ..Device::default()
        });
    }
}
