//! Trials of simulated engines, for unit tests.

use trueput_engine::Engine;
use trueput_record::search::SearchSettings;
use trueput_record::{
    Durability, HostFacts, Measurement, RunManifest, TrialRecord, TrialSpec, Value, WorkerKind,
    testing,
};

/// An engine whose knobs can be searched.
pub fn sqlite() -> &'static dyn Engine {
    let mut engines = trueput_drivers::registry().iter().copied();
    engines.find(|it| it.info().name == "sqlite").unwrap()
}

/// A trial on that engine, with some of its knobs.
pub fn spec(knobs: &[(&str, Value)]) -> TrialSpec {
    let knobs = knobs.iter();
    TrialSpec {
        workload: "ycsb".to_owned(),
        settings: Default::default(),
        knobs: knobs
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        workers: 1,
        worker_kind: WorkerKind::Threads,
        ..testing::spec(0, "sqlite", Durability::Sync, 1)
    }
}

/// The run of a search that begins with these trials.
pub fn manifest(first: &[&TrialSpec], search: SearchSettings) -> RunManifest {
    RunManifest {
        started_at: String::new(),
        host: HostFacts {
            memory_bytes: 8 << 30,
            ..HostFacts::default()
        },
        headlines: [("ycsb".to_owned(), "op".to_owned())].into(),
        byte_knobs: Default::default(),
        search: Some(search),
        trials: first.iter().map(|spec| (*spec).clone()).collect(),
        skipped: Vec::new(),
        ..testing::manifest(&[])
    }
}

/// A valid trial that has ended, at no known time.
pub fn record(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
    TrialRecord {
        started_at: String::new(),
        ..testing::ended(spec, measurement)
    }
}
