//! Trials whose reports can be foretold, for the tests of this crate and of others.

pub mod ablation;
pub mod builds;
pub mod comparison;
pub mod open_loop;
pub mod scaling;
pub mod search;
pub mod storage;

use crate::audit::StorageModel;
use crate::audit_standing::{AuditStanding, ModelStanding};
use crate::folder::{RunEnd, RunFolder, RunManifest};
use crate::host::{FileSystemFacts, HostFacts, ProgramFacts};
use crate::measurement::{
    Check, DatabaseSize, EngineReport, LatencySummary, Measurement, OperationSummary, Resources,
    TimelineSecond, Verification, WorkerReport,
};
use crate::stall::{StalledPart, TrialStall};
use crate::value::Settings;
use crate::{
    Durability, FORMAT_VERSION, Outcome, Promise, TrialRecord, TrialSpec, Value, VerifyLevel,
    WorkerKind, histogram,
};
use std::time::{Duration, SystemTime};

/// A trial of the range 1 to 100,000 with four workers.
#[must_use]
pub fn spec(cell: u32, engine: &str, durability: Durability, repeat: u32) -> TrialSpec {
    TrialSpec {
        id: format!("{cell:04}-{engine}-{durability}-w4-r{repeat}"),
        cell,
        repeat,
        workload: "threen1".to_owned(),
        settings: settings(100_000),
        engine: engine.to_owned(),
        build: None,
        durability,
        knobs: Settings::from([("map_size".to_owned(), Value::Integer(1 << 30))]),
        workers: 4,
        worker_kind: WorkerKind::Processes,
        verify: VerifyLevel::Full,
        seed: 1,
        conditions: Default::default(),
        note: None,
        step: None,
        role: None,
    }
}

/// The workload's settings for a range from 1 to `finish`.
#[must_use]
pub fn settings(finish: i64) -> Settings {
    let settings = [
        ("start", Value::Integer(1)),
        ("finish", Value::Integer(finish)),
        ("block", Value::Integer(5_000)),
        ("commit", Value::from("update")),
        ("keys", Value::from("integers")),
    ];
    settings
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// A valid, verified trial that made `updates_per_s`.
#[must_use]
pub fn valid(spec: TrialSpec, updates_per_s: f64) -> TrialRecord {
    let (updates, reads) = (217_211, 317_211);
    let elapsed_s = updates as f64 / updates_per_s;
    let operation = |kind: &str, count: u64, p50_ns: u64| OperationSummary {
        kind: kind.to_owned(),
        count,
        // Exactly as given for updates: dividing by the quotient again would miss it by a bit.
        per_s: updates_per_s * (count as f64 / updates as f64),
        latency: LatencySummary {
            mean_ns: 1.5 * p50_ns as f64,
            min_ns: 400,
            p50_ns,
            p90_ns: 2 * p50_ns,
            p99_ns: 5 * p50_ns,
            p999_ns: 20 * p50_ns,
            max_ns: 12_345_678,
        },
        not_found: 0,
    };
    let results = [
        ("longest", Value::Integer(350)),
        ("largest", Value::Integer(1_570_824_736)),
    ];
    let measurement = Measurement {
        elapsed_s,
        operations: vec![
            operation("read", reads, 812),
            operation("update", updates, 9_731),
        ],
        results: results.map(|(name, value)| (name.to_owned(), value)).into(),
        conflicts: 12,
        deadlocks: 4,
        resources: Resources {
            user_cpu_s: elapsed_s,
            system_cpu_s: elapsed_s / 2.0,
            voluntary_context_switches: 4_000,
            involuntary_context_switches: 321,
            peak_pss_bytes: 66_270_003,
            storage_written_bytes: 310_000_000,
            ..Resources::default()
        },
        database: DatabaseSize {
            allocated_bytes: 7_340_032,
            apparent_bytes: 1 << 30,
        },
        ..Measurement::default()
    };
    let check = Check::equal("longest sequence", &350, &350);
    let checks = Verification::from_checks(VerifyLevel::Full, vec![check], 0.5);
    TrialRecord {
        engine: Some(engine(&spec)),
        verification: Some(checks),
        ..ended(spec, measurement)
    }
}

/// A valid trial with this measurement, of which nothing else is known.
#[must_use]
pub fn ended(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
    TrialRecord {
        format: FORMAT_VERSION,
        spec,
        outcome: Outcome::Valid,
        resumed: false,
        started_at: "2026-11-21T20:45:00Z".to_owned(),
        engine: None,
        file_system: None,
        log_file_system: None,
        storage: None,
        fault_counts: None,
        host: None,
        conformance: None,
        isolation_check: None,
        audit: None,
        hardware_limits: None,
        load: None,
        measurement: Some(measurement),
        verification: None,
    }
}

fn engine(spec: &TrialSpec) -> EngineReport {
    EngineReport {
        name: spec.engine.clone(),
        version: format!("{} 1.2.3", spec.engine),
        origin: "compiled in".to_owned(),
        sha256: "ab".repeat(32),
        assertions: None,
        workaround: None,
        known_defect: None,
        promise: Promise::new(
            spec.durability,
            format!("{}_flags={}", spec.engine, spec.durability),
            None,
            "its manual",
        ),
        isolation: None,
        settings: Settings::new(),
        contradictions: Vec::new(),
        counters: Settings::new(),
    }
}

/// Valid trials of a cell, a repeat for each rate.
#[must_use]
pub fn repeats(cell: u32, engine: &str, level: Durability, rates: &[f64]) -> Vec<TrialRecord> {
    let repeats = (1..).zip(rates);
    repeats
        .map(|(repeat, rate)| valid(spec(cell, engine, level, repeat), *rate))
        .collect()
}

/// The null engine's trial: nothing is kept, so nothing is verified.
#[must_use]
pub fn null(spec: TrialSpec, updates_per_s: f64) -> TrialRecord {
    TrialRecord {
        verification: None,
        ..valid(spec, updates_per_s)
    }
}

/// A trial whose numbers must not be believed.
#[must_use]
pub fn invalid(spec: TrialSpec, updates_per_s: f64, reason: &str) -> TrialRecord {
    let outcome = Outcome::Invalid {
        reasons: vec![reason.to_owned()],
    };
    TrialRecord {
        outcome,
        ..valid(spec, updates_per_s)
    }
}

/// A trial of which all processes stood still for 3 s, so that it is invalid.
#[must_use]
pub fn with_stall(mut trial: TrialRecord) -> TrialRecord {
    let stall = TrialStall {
        part: StalledPart::Machine,
        worker: None,
        from_s: 0.0,
        length_s: 3.0,
    };
    trial.outcome = Outcome::Invalid {
        reasons: vec![stall.doubt()],
    };
    if let Some(measurement) = &mut trial.measurement {
        measurement.stalls.push(stall);
    }
    trial
}

/// A trial that did not run to its end.
#[must_use]
pub fn failed(spec: TrialSpec, reason: &str) -> TrialRecord {
    let outcome = Outcome::Failed {
        reason: reason.to_owned(),
        bad_input: false,
    };
    TrialRecord {
        outcome,
        measurement: None,
        verification: None,
        ..valid(spec, 1.0)
    }
}

/// Two engines at two levels, three repeats each; the null engine; one invalid, one failed trial.
///
/// At `sync`, redb wins by median though its best repeat is not the best; at `async`, lmdb wins.
#[must_use]
pub fn everything() -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    let rates = [
        (0, "lmdb", Durability::Sync, [2_000.0, 9_000.0, 2_100.0]),
        (1, "redb", Durability::Sync, [3_000.0, 3_100.0, 2_900.0]),
        (
            2,
            "lmdb",
            Durability::Async,
            [400_000.0, 410_000.0, 405_000.0],
        ),
        (3, "redb", Durability::Async, [90_000.0, 91_000.0, 92_000.0]),
    ];
    for repeat in 0..3 {
        for (cell, engine, durability, rates) in rates {
            let spec = spec(cell, engine, durability, repeat as u32 + 1);
            trials.push(valid(spec, rates[repeat]));
        }
        let harness = spec(4, "null", Durability::None, repeat as u32 + 1);
        trials.push(null(harness, 5_000_000.0));
    }
    let wrong = spec(5, "fjall", Durability::Async, 1);
    trials.push(invalid(
        wrong,
        999_000_000.0,
        "longest sequence: expected 350, found 349",
    ));
    let dead = spec(6, "sqlite", Durability::Async, 1);
    trials.push(failed(dead, "worker 2 was killed by SIGKILL"));
    trials
}

/// States of a model that an audit tried, and those of them that showed damage.
#[must_use]
pub fn tried(model: StorageModel, states: u64, refuted: u64) -> ModelStanding {
    ModelStanding {
        file_system: None,
        model,
        states,
        distinct: states,
        undecided: false,
        refuted,
        counterexample: None,
    }
}

/// An audit that tried these states.
#[must_use]
pub fn standing(models: Vec<ModelStanding>) -> AuditStanding {
    AuditStanding {
        audited_at: "2026-11-24T18:00:00Z".to_owned(),
        models,
    }
}

/// The machine that the trials ran on.
#[must_use]
pub fn host() -> HostFacts {
    HostFacts {
        host_name: "bench".to_owned(),
        cpu_model: "Model 9000".to_owned(),
        cores: 2,
        memory_bytes: 24 << 30,
        numa_nodes: Vec::new(),
        operating_system: "Debian 12".to_owned(),
        kernel: "Linux 6.18.0".to_owned(),
        virtualization: "kvm".to_owned(),
        governor: None,
        clock: "tsc".to_owned(),
        file_system: FileSystemFacts {
            kind: "ext4".to_owned(),
            source: "/dev/vda1".to_owned(),
            mount_point: "/".to_owned(),
            options: "rw,relatime".to_owned(),
            size_bytes: 80 << 30,
            free_bytes: 40 << 30,
        },
        load_at_start: [0.1, 0.2, 0.3],
        checks: Vec::new(),
        program: ProgramFacts {
            version: "0.1.0".to_owned(),
            commit: "0123abc".to_owned(),
            profile: "release".to_owned(),
            command: ["trueput", "run", "plans/first look.toml"]
                .map(str::to_owned)
                .into(),
        },
    }
}

/// A plan of these trials.
#[must_use]
pub fn manifest(trials: &[TrialRecord]) -> RunManifest {
    RunManifest {
        format: FORMAT_VERSION,
        name: "first-look".to_owned(),
        about: "3n+1 on every engine present.".to_owned(),
        started_at: "2026-11-21T20:44:59Z".to_owned(),
        host: host(),
        trials: trials.iter().map(|trial| trial.spec.clone()).collect(),
        skipped: vec!["redb does not support durability 'process'".to_owned()],
        skipped_kinds: Vec::new(),
        headlines: [("threen1".to_owned(), "update".to_owned())].into(),
        costs: Default::default(),
        changed_settings: Default::default(),
        changed_knobs: Default::default(),
        byte_knobs: [("lmdb".to_owned(), vec!["map_size".to_owned()])].into(),
        cache_bytes: None,
        work: None,
        until: None,
        include_assertions: false,
        split_by: None,
        objective: None,
        search: None,
        gates: Vec::new(),
        hosts: Vec::new(),
    }
}

/// The end of a complete run.
#[must_use]
pub fn end() -> RunEnd {
    let ended_at = "2026-11-21T20:47:00Z".to_owned();
    RunEnd {
        format: FORMAT_VERSION,
        stop_reason: None,
        search_end: None,
        ended_at,
        complete: true,
        load_at_end: [2.0, 1.5, 1.0],
    }
}

/// The trial with consistent parts, as a run folder needs them: exact rates, a second and a worker
/// with all operations.
#[must_use]
pub fn whole(trial: &TrialRecord) -> TrialRecord {
    let mut trial = trial.clone();
    let rate = trial.spec.conditions.rate;
    if let Some(measured) = &mut trial.measurement {
        for operation in &mut measured.operations {
            operation.per_s = operation.count as f64 / measured.elapsed_s;
        }
        let counts: Vec<u64> = measured.operations.iter().map(|one| one.count).collect();
        measured.timeline = vec![TimelineSecond {
            at_s: measured.elapsed_s,
            counts: counts.clone(),
            ..TimelineSecond::default()
        }];
        measured.workers = vec![WorkerReport {
            elapsed_s: measured.elapsed_s,
            counts,
            conflicts: measured.conflicts,
            deadlocks: measured.deadlocks,
            ..WorkerReport::default()
        }];
        if let (Some(open_loop), Some(rate)) = (&mut measured.open_loop, rate) {
            open_loop.rate_per_s = rate.per_s;
        }
    }
    trial
}

/// Appends a trial whose latencies are those of its histograms in the folder.
#[allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
pub fn append_with_histograms(folder: &RunFolder, trial: &TrialRecord) {
    let mut trial = whole(trial);
    let measured = trial.measurement.as_mut().unwrap();
    let mut logged = Vec::new();
    for operation in &mut measured.operations {
        let mut histogram = histogram::new();
        let p50_ns = operation.latency.p50_ns;
        histogram.record_n(p50_ns, operation.count).unwrap();
        operation.latency = LatencySummary::of(&histogram);
        logged.push((operation.kind.as_str(), histogram));
    }
    let logged: Vec<_> = logged.iter().map(|(kind, one)| (*kind, one)).collect();
    let span = Duration::from_secs_f64(measured.elapsed_s);
    let path = folder.histogram_path(&trial.spec.id);
    histogram::write_log(&path, "a test", SystemTime::now(), span, &logged).unwrap();
    folder.append(&trial).unwrap();
}
