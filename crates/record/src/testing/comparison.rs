//! Trials of which two runs are compared.

use super::repeats;
use crate::hardware_limits::{FlushLimit, HardwareLimits, MemoryBandwidth};
use crate::{Durability, TrialRecord};

/// Rates of which the last is far off: their median is not their mean.
pub const WILD: [f64; 3] = [1_000.0, 2_000.0, 8_000.0];

/// Rates that scatter by a hundredth.
pub const STEADY: [f64; 3] = [1_000.0, 1_010.0, 990.0];

/// Rates that hardly scatter.
pub const EVEN: [f64; 3] = [1_000.0, 1_000.1, 999.9];

/// A cell of lmdb at each level, with a repeat for each rate times the factor.
#[must_use]
pub fn cells(levels: &[Durability], rates: [f64; 3], factor: f64) -> Vec<TrialRecord> {
    let cells = (0..).zip(levels);
    let rates = rates.map(|rate| rate * factor);
    cells
        .flat_map(|(cell, level)| repeats(cell, "lmdb", *level, &rates))
        .collect()
}

/// Steady repeats of one library of rocksdb.
#[must_use]
pub fn one_library() -> Vec<TrialRecord> {
    let mut trials = cells(&[Durability::Sync], STEADY, 1.0);
    for trial in &mut trials {
        trial.spec.engine = "rocksdb".to_owned();
    }
    trials
}

/// Sets the flushes per second that the storage of these trials was able to do.
pub fn limit_flushes(trials: &mut [TrialRecord], separate_per_s: f64) {
    for trial in trials {
        trial.hardware_limits = Some(HardwareLimits {
            committers: trial.spec.workers,
            flush: Some(FlushLimit {
                separate_per_s,
                ..FlushLimit::default()
            }),
            memory: MemoryBandwidth {
                dependent_reads_per_s: 1.0,
                ..MemoryBandwidth::default()
            },
            ..HardwareLimits::default()
        });
    }
}
