//! Makes run folders whose reports can be foretold.

pub mod browser;
pub mod looks;
pub mod pages;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use trueput_findings::Run;
use trueput_record::folder::{RunEnd, RunFolder, RunManifest};
use trueput_record::host::{FileSystemFacts, ProgramFacts};
use trueput_record::measurement::{
    Check, DatabaseSize, EngineReport, LatencySummary, Measurement, OperationSummary, Resources,
    TimelineSecond, Verification, WorkerReport,
};
use trueput_record::trial::Settings;
use trueput_record::{
    Durability, FORMAT_VERSION, HostFacts, Outcome, Promise, TrialRecord, TrialSpec, Value,
    VerifyLevel, WorkerKind, histogram,
};
use trueput_report::{Format, RunReport, Style};

/// The texts of findings.
pub fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// A trial of the range 1 to 100,000 with four workers.
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
    trial_of(spec, measurement)
}

/// A valid trial with this measurement.
fn trial_of(spec: TrialSpec, measurement: Measurement) -> TrialRecord {
    let check = Check::equal("longest sequence", &350, &350);
    TrialRecord {
        format: FORMAT_VERSION,
        outcome: Outcome::Valid,
        resumed: false,
        started_at: "2026-11-21T20:45:00Z".to_owned(),
        engine: Some(engine(&spec)),
        file_system: None,
        log_file_system: None,
        storage: None,
        conformance: None,
        isolation_check: None,
        audit: None,
        hardware_limits: None,
        load: None,
        measurement: Some(measurement),
        verification: Some(Verification::from_checks(
            VerifyLevel::Full,
            vec![check],
            0.5,
        )),
        spec,
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
        promise: Promise {
            durability: spec.durability,
            mapped_to: format!("{}_flags={}", spec.engine, spec.durability),
            window: None,
            source: "its manual".to_owned(),
            cluster: None,
            doubt: None,
        },
        isolation: None,
        settings: Settings::new(),
        contradictions: Vec::new(),
        counters: Settings::new(),
    }
}

/// Valid trials of a cell, a repeat for each rate.
pub fn repeats(cell: u32, engine: &str, level: Durability, rates: &[f64]) -> Vec<TrialRecord> {
    let repeats = (1..).zip(rates);
    repeats
        .map(|(repeat, rate)| valid(spec(cell, engine, level, repeat), *rate))
        .collect()
}

/// A run of one ranking at `sync`: its contenders, with a repeat for each rate.
pub fn contest(contenders: &[(&str, &[f64])]) -> Run {
    let cells = (0..).zip(contenders);
    let trials =
        cells.flat_map(|(cell, (engine, rates))| repeats(cell, engine, Durability::Sync, rates));
    report(trials.collect())
}

/// The null engine's trial: nothing is kept, so nothing is verified.
pub fn null(spec: TrialSpec, updates_per_s: f64) -> TrialRecord {
    TrialRecord {
        verification: None,
        ..valid(spec, updates_per_s)
    }
}

/// A trial whose numbers must not be believed.
pub fn invalid(spec: TrialSpec, updates_per_s: f64, reason: &str) -> TrialRecord {
    let outcome = Outcome::Invalid {
        reasons: vec![reason.to_owned()],
    };
    TrialRecord {
        outcome,
        ..valid(spec, updates_per_s)
    }
}

/// A trial that did not run to its end.
pub fn failed(spec: TrialSpec, reason: &str) -> TrialRecord {
    let outcome = Outcome::Failed {
        reason: reason.to_owned(),
        bad_input: false,
    };
    TrialRecord {
        outcome,
        file_system: None,
        log_file_system: None,
        storage: None,
        hardware_limits: None,
        load: None,
        measurement: None,
        verification: None,
        ..valid(spec, 1.0)
    }
}

/// Two engines at two levels, three repeats each; the null engine; one invalid, one failed trial.
///
/// At `sync`, redb wins by median though its best repeat is not the best; at `async`, lmdb wins.
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

/// The machine that the trials ran on.
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
pub fn manifest(trials: &[TrialRecord]) -> RunManifest {
    RunManifest {
        format: FORMAT_VERSION,
        name: "first-look".to_owned(),
        about: "3n+1 on every engine present.".to_owned(),
        started_at: "2026-11-21T20:44:59Z".to_owned(),
        host: host(),
        trials: trials.iter().map(|trial| trial.spec.clone()).collect(),
        skipped: vec!["redb does not support durability 'process'".to_owned()],
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
    }
}

/// A finished report of these trials, without files.
pub fn report(trials: Vec<TrialRecord>) -> Run {
    Run {
        folder: PathBuf::from("results/20261121T204459Z-first-look"),
        shown_as: PathBuf::from("results/20261121T204459Z-first-look"),
        manifest: manifest(&trials),
        trials,
        damaged: Vec::new(),
        integrity: trueput_findings::integrity::Integrity::default(),
        end: Some(end()),
    }
}

/// The end of a complete run.
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

/// An unfinished run folder on disk with these trials, each consistent.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
pub fn folder(trials: &[TrialRecord]) -> (tempfile::TempDir, RunFolder) {
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(results.path(), &manifest(trials)).unwrap();
    for trial in trials {
        folder.append(&whole(trial)).unwrap();
    }
    (results, folder)
}

/// Appends a trial whose latencies are those of its histograms in the folder.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
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

/// A run folder of these trials with their histograms; it is in the first, which removes it.
#[allow(
    clippy::unwrap_used,
    reason = "a helper of tests, which clippy does not see as one"
)]
pub fn whole_folder(trials: &[TrialRecord]) -> (tempfile::TempDir, RunFolder) {
    let results = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(results.path(), &manifest(trials)).unwrap();
    for trial in trials {
        append_with_histograms(&folder, trial);
    }
    (results, folder)
}

/// The report for a terminal of that width, without color.
pub fn terminal(report: &Run, width: u16) -> String {
    report.render(
        Format::Terminal,
        Style {
            width: Some(width),
            color: false,
            charts: trueput_report::charts::Charts::Off,
        },
    )
}

/// A text on one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report for a terminal, joined to one line.
pub fn terminal_line(report: &Run) -> String {
    flat(&terminal(report, 200))
}
