//! Trials on storage that keeps, loses or may lose what is flushed.

use super::{spec, valid};
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
