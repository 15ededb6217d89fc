//! A run of toy trials in folders of its own.

use crate::keeper::{Keeper, KeeperCompaction};
use crate::replay::Replay;
use crate::skewed::SkewedEngine;
use crate::toy::{DISGUISED, Hang, Play, Toy};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use trueput_engine::{Durability, Isolation, Null, Value};
use trueput_record::measurement::Outcome;
use trueput_record::value::Settings;
use trueput_record::{RunFolder, RunManifest, TrialRecord, TrialSpec, VerifyLevel, WorkerKind};
use trueput_runner::{Error, Event, NewRun, Options, Phase, Registry, RunSummary, run};

pub const REGISTRY: Registry = Registry {
    engines: &[
        &Null,
        &Toy::new("toy", "1.0", false),
        &Toy::new("nameless", "", false),
        &Toy::new("boaster", "1.0", true),
        &Toy::new(DISGUISED, "1.0", false),
        &Toy::hanging("hangs-in-suite", Hang::Conformance),
        &Toy::hanging("hangs-at-open", Hang::Open),
        &Toy::hanging("hangs-at-close", Hang::Close),
        &Toy::hanging("closes-slowly", Hang::SlowClose),
        &Toy::hanging("slow-counters", Hang::Counters),
        &Toy::hanging("meets", Hang::Alone),
        &Toy::hanging("meets-too", Hang::Alone),
        &Toy::hanging("fails-concurrently", Hang::Concurrent),
        &Toy::hanging("killed-once", Hang::KilledOnce),
        &Toy::hanging("killed", Hang::Killed),
        &Keeper::new("keeper", true),
        &Keeper::new("liar", false),
        &Keeper::flushing_at_close("late"),
        &SkewedEngine {
            name: "skewed",
            stated: Isolation::Serializable,
        },
        &SkewedEngine {
            name: "snapshot",
            stated: Isolation::Snapshot,
        },
        &Keeper::hanging_at_recovery("hangs-at-recovery"),
        &Keeper::compacting("compacts", KeeperCompaction::Honest),
        &Keeper::compacting("claims-to-compact", KeeperCompaction::Claimed),
        &Keeper::compacting("fails-to-compact", KeeperCompaction::Failing),
        &Keeper::compacting("hangs-at-compaction", KeeperCompaction::Hanging),
    ],
    workloads: &[&Play, &Replay],
    plugins: None,
};

pub fn spec(id: &str, act: &str) -> TrialSpec {
    TrialSpec {
        id: id.to_owned(),
        cell: 0,
        repeat: 1,
        workload: "play".to_owned(),
        settings: Settings::from([("act".to_owned(), Value::from(act))]),
        engine: "toy".to_owned(),
        build: None,
        durability: Durability::None,
        knobs: Settings::new(),
        workers: 3,
        worker_kind: WorkerKind::Processes,
        verify: VerifyLevel::Full,
        seed: 1,
        conditions: Default::default(),
        note: None,
        step: None,
        role: None,
    }
}

pub fn with(mut spec: TrialSpec, setting: &str, value: i64) -> TrialSpec {
    spec.settings
        .insert(setting.to_owned(), Value::Integer(value));
    spec
}

pub fn threads(mut spec: TrialSpec) -> TrialSpec {
    spec.worker_kind = WorkerKind::Threads;
    spec
}

pub fn on(engine: &str, mut spec: TrialSpec) -> TrialSpec {
    spec.engine = engine.to_owned();
    spec
}

/// Folders and options of one test.
pub struct Bench {
    pub folder: tempfile::TempDir,
    pub options: Options,
}

/// A run that was made.
pub struct CreatedRun {
    pub folder: RunFolder,
    pub manifest: RunManifest,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            credentials: Default::default(),
            conformance_cache: None,
            checks_isolation: false,
            audits: None,
            until: None,
            worker_program: std::env::current_exe().unwrap(),
            across: Vec::new(),
            host_access: Default::default(),
            results: folder.path().join("results"),
            work: None,
            keep_databases: false,
            keep_unfinished: false,
            resume_databases: false,
            disk_factor: trueput_runner::disk_space::DISK_FACTOR,
            hang_limit: trueput_runner::HANG_TIMEOUT,
            hardware_limits: false,
            stop: Arc::new(AtomicBool::new(false)),
        };
        Self { folder, options }
    }

    pub fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    pub fn create(&self, trials: Vec<TrialSpec>) -> Result<CreatedRun, Error> {
        let run = NewRun {
            name: "toys".to_owned(),
            trials,
            command: vec!["test".to_owned()],
            ..NewRun::default()
        };
        let created = run.create(&self.options, &REGISTRY);
        created.map(|(folder, manifest)| CreatedRun { folder, manifest })
    }

    pub fn run(&self, made: &CreatedRun, mut observer: impl FnMut(&Event)) -> RunSummary {
        let (folder, manifest) = (&made.folder, &made.manifest);
        run(folder, manifest, &REGISTRY, &self.options, &mut observer).unwrap()
    }

    /// The record of one trial.
    pub fn record(&self, trial: TrialSpec) -> TrialRecord {
        let made = self.create(vec![trial]).unwrap();
        self.run(&made, |_| {});
        made.record()
    }

    /// Runs trials until one has run for a second, then stops as a user would. Returns the ids of
    /// those that started, too.
    pub fn run_and_stop(&self, made: &CreatedRun) -> (RunSummary, Vec<String>) {
        let mut started = Vec::new();
        self.options.stop.store(false, Relaxed);
        let summary = self.run(made, |event| match event {
            Event::TrialStarted { spec, .. } => started.push(spec.id.clone()),
            _ if is_running(event) => self.options.stop.store(true, Relaxed),
            _ => {}
        });
        (summary, started)
    }

    /// Asserts that trials are refused as bad input that these words name, and nothing is made.
    pub fn assert_refused(&self, trials: Vec<TrialSpec>, words: &[&str]) {
        let error = self.create(trials).err().unwrap();
        let text = error.to_string();
        assert!(error.is_usage(), "{text}");
        for word in words {
            assert!(text.contains(word), "'{word}' is not in: {text}");
        }
        assert!(!self.results().exists());
    }

    /// Makes a run of trials, runs it, and returns its lines.
    pub fn records(&self, trials: Vec<TrialSpec>) -> Vec<TrialRecord> {
        let made = self.create(trials).unwrap();
        self.run(&made, |_| {});
        made.records()
    }
}

impl CreatedRun {
    /// Its one line.
    pub fn record(&self) -> TrialRecord {
        let mut records = self.records();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    /// The ids of its lines, in their order.
    pub fn ids(&self) -> Vec<String> {
        let records = self.records().into_iter();
        records.map(|record| record.spec.id).collect()
    }

    pub fn records(&self) -> Vec<TrialRecord> {
        let stored = self.folder.trials().unwrap();
        assert!(stored.damaged.is_empty());
        stored.trials
    }
}

/// Whether an event says that a trial's workers are at work.
pub fn is_running(event: &Event) -> bool {
    let phase = Phase::Run;
    matches!(event, Event::TrialProgress { phase: now, .. } if *now == phase)
}

/// Why a trial is invalid, apart from the build of these tests.
pub fn doubts(record: &TrialRecord) -> Vec<&str> {
    let reasons = match &record.outcome {
        Outcome::Valid => return Vec::new(),
        Outcome::Invalid { reasons } => reasons,
        other => panic!("{}: {other:?}", record.spec.id),
    };
    let others = reasons
        .iter()
        .filter(|reason| !reason.starts_with("debug build"));
    others.map(String::as_str).collect()
}

pub fn failure(record: &TrialRecord) -> &str {
    match &record.outcome {
        Outcome::Failed { reason, .. } => reason,
        other => panic!("{}: {other:?}", record.spec.id),
    }
}

pub fn is_empty_or_absent(path: &Path) -> bool {
    std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none())
}

/// Whether a process is there and not merely waiting to be buried.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Whether a process is stopped, by a signal or by the freezer of control groups.
pub fn is_stopped(pid: u32) -> bool {
    let read = |file: String| std::fs::read_to_string(file).unwrap_or_default();
    let groups = read(format!("/proc/{pid}/cgroup"));
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let is_frozen = own.is_some_and(|own| {
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter();
        let mut events = mounts.map(|mount| read(format!("{mount}{own}/cgroup.events")));
        events.any(|events| events.contains("frozen 1"))
    });
    is_frozen || read(format!("/proc/{pid}/stat")).contains(") T ")
}
