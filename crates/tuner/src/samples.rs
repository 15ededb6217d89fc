//! Trials of simulated engines, for unit tests.

use trueput_engine::Engine;
use trueput_record::search::SearchSettings;
use trueput_record::{
    Conditions, Durability, FORMAT_VERSION, HostFacts, Measurement, Outcome, RunManifest,
    TrialRecord, TrialSpec, Value, VerifyLevel, WorkerKind,
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
        id: "0001".to_owned(),
        cell: 0,
        repeat: 1,
        workload: "ycsb".to_owned(),
        settings: Default::default(),
        engine: "sqlite".to_owned(),
        build: None,
        durability: Durability::Sync,
        knobs: knobs
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        workers: 1,
        worker_kind: WorkerKind::Threads,
        verify: VerifyLevel::Full,
        seed: 1,
        conditions: Conditions::default(),
        note: None,
        step: None,
        role: None,
    }
}

/// The run of a search that begins with these trials.
pub fn manifest(first: &[&TrialSpec], search: SearchSettings) -> RunManifest {
    RunManifest {
        format: FORMAT_VERSION,
        name: String::new(),
        about: String::new(),
        started_at: String::new(),
        host: HostFacts {
            memory_bytes: 8 << 30,
            ..HostFacts::default()
        },
        headlines: [("ycsb".to_owned(), "op".to_owned())].into(),
        changed_settings: Default::default(),
        changed_knobs: Default::default(),
        byte_knobs: Default::default(),
        cache_bytes: None,
        costs: Default::default(),
        work: None,
        until: None,
        include_assertions: false,
        split_by: None,
        objective: None,
        search: Some(search),
        trials: first.iter().map(|spec| (*spec).clone()).collect(),
        skipped: Vec::new(),
    }
}

/// A valid trial that has ended.
pub fn record(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
    TrialRecord {
        format: FORMAT_VERSION,
        spec,
        outcome: Outcome::Valid,
        resumed: false,
        started_at: String::new(),
        file_system: None,
        log_file_system: None,
        storage: None,
        engine: None,
        conformance: None,
        isolation_check: None,
        audit: None,
        hardware_limits: None,
        load: None,
        measurement: Some(measurement),
        verification: None,
    }
}
