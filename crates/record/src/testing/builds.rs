//! Trials of several builds of engines, and of builds with assertions.

use super::{spec, valid};
use crate::{Durability, TrialRecord, TrialSpec};

/// The library of the first build.
pub const NEW: &str = "/opt/engines/rocksdb-11.8.1/librocksdb.so";

/// The library of the second build.
pub const OLD: &str = "/usr/lib/librocksdb.so.7.8.3";

/// A trial of RocksDB with the library at `path`, which the plan names if `is_named`.
#[must_use]
pub fn rocksdb(cell: u32, version: &str, path: &str, is_named: bool) -> TrialRecord {
    let spec = TrialSpec {
        build: is_named.then(|| path.into()),
        ..spec(cell, "rocksdb", Durability::Async, 1)
    };
    let mut trial = valid(spec, 100_000.0 / f64::from(cell + 1));
    if let Some(engine) = &mut trial.engine {
        engine.version = version.to_owned();
        engine.origin = path.to_owned();
        engine.sha256 = format!("{cell}c").repeat(32);
        engine.assertions = Some(false);
    }
    trial
}

/// Two builds of RocksDB, the faster one first.
#[must_use]
pub fn both() -> Vec<TrialRecord> {
    vec![
        rocksdb(0, "11.8.1", NEW, false),
        rocksdb(1, "7.8.3", OLD, true),
    ]
}

/// [`both`], of which the second has assertions.
#[must_use]
pub fn with_assertions() -> Vec<TrialRecord> {
    let mut trials = both();
    if let Some(engine) = &mut trials[1].engine {
        engine.assertions = Some(true);
    }
    trials
}

/// Three contenders, of which the fastest, leveldb, was built with assertions; three repeats each.
#[must_use]
pub fn fastest_with_assertions() -> Vec<TrialRecord> {
    let trial = |cell: u32, engine: &str, rate: f64, repeat: u32| {
        let mut spec = spec(cell, engine, Durability::Sync, repeat);
        spec.id = format!("{cell}-r{repeat}");
        let mut trial = valid(spec, rate + f64::from(repeat));
        if let Some(report) = &mut trial.engine {
            report.assertions = Some(engine == "leveldb");
            report.sha256 = format!("{cell}c").repeat(32);
        }
        trial
    };
    let repeats = (1..=3).flat_map(|repeat| {
        [
            trial(0, "lmdb", 5_000.0, repeat),
            trial(1, "leveldb", 9_000.0, repeat),
            trial(2, "redb", 3_000.0, repeat),
        ]
    });
    repeats.collect()
}
