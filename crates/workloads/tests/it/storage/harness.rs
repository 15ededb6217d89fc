//! Runs a storage workload on threads of this process, as the runner would.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueput_engine::{Engine, OpenSpec, ParameterValues, Storage, parameter};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, Value, VerifyLevel, WorkerKind};
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, Meter,
    WorkerFindings, Workload, WorkloadSubject,
};

/// Counts, and lets so many units begin.
struct Counter<'a> {
    counts: Vec<u64>,
    left: Option<&'a AtomicU64>,
    /// Units that are still to warm up.
    warm_up: u64,
}

impl Meter for Counter<'_> {
    fn next_unit(&mut self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        self.left
            .is_none_or(|left| left.fetch_update(SeqCst, SeqCst, take).is_ok())
    }

    fn start(&mut self) {}

    fn finish(&mut self, kind: usize) {
        if self.warm_up > 0 {
            self.warm_up -= 1;
            if self.warm_up == 0 {
                self.counts.fill(0);
                return;
            }
        }
        self.counts[kind] += 1;
    }

    fn finish_nested(&mut self, kind: usize, _mark: u64) {
        self.counts[kind] += 1;
    }

    fn is_warming_up(&self) -> bool {
        self.warm_up > 0
    }

    fn advance(&mut self, _units: u64) {}

    fn conflict(&mut self, _error: &trueput_engine::Error) {}

    fn uncount(&mut self, _kind: usize, _count: u64) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// How a trial is run.
#[derive(Clone, Copy)]
pub struct Trial {
    pub workers: u32,
    /// Units over all workers until the time is up; `None`: to the job's own end.
    pub units: Option<u64>,
    /// Each worker's first units, which do not count.
    pub warm_up: u64,
    pub verify: VerifyLevel,
}

impl Trial {
    pub const fn of(workers: u32) -> Self {
        Self {
            workers,
            units: None,
            warm_up: 0,
            verify: VerifyLevel::Full,
        }
    }
}

/// A job bound to the settings given as `name=value`.
pub fn job(
    workload: &dyn Workload,
    settings: &[&str],
    trial: Trial,
) -> Result<Box<dyn Job>, String> {
    assert_eq!(workload.subject(), WorkloadSubject::Storage);
    let given: Settings = settings
        .iter()
        .map(|setting| {
            let (name, value) = setting.split_once('=').unwrap();
            (name.to_owned(), Value::parse(value))
        })
        .collect();
    let resolved = parameter::resolve("it", workload.settings(), &given)?;
    let conditions = Conditions {
        duration_s: trial.units.map(|_| 1.0),
        warm_up_s: trial.warm_up as f64,
        ..Conditions::default()
    };
    workload.job(&resolved, &conditions)
}

/// Prepares and executes, and returns what the conclusion needs.
pub fn execute(job: &dyn Job, directory: &Path, trial: Trial) -> Result<ExecutionSummary, Error> {
    on_target(job, directory, trial, |target| {
        job.prepare(target, ExistingDatabase::Nothing).map(|_| ())
    })?;
    let database = open(job, directory);
    let left = trial.units.map(AtomicU64::new);
    let shares = std::thread::scope(|scope| {
        let start = |worker| {
            let (database, left) = (&database, left.as_ref());
            scope.spawn(move || {
                let mut session = database.session().unwrap();
                let mut meter = Counter {
                    counts: vec![0; job.kinds().len()],
                    left,
                    warm_up: trial.warm_up,
                };
                let findings = job.execute(&mut JobTask {
                    session: &mut *session,
                    directory,
                    meter: &mut meter,
                    capabilities: Storage.capabilities(),
                    worker,
                    workers: trial.workers,
                    worker_kind: WorkerKind::Threads,
                    verify: trial.verify,
                    generation: 0,
                    seed: 1,
                })?;
                Ok((meter.counts, findings))
            })
        };
        let threads: Vec<_> = (0..trial.workers).map(start).collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.collect::<Result<Vec<(Vec<u64>, WorkerFindings)>, Error>>()
    })?;
    let sum = |kind: usize| shares.iter().map(|(counts, _)| counts[kind]).sum();
    Ok(ExecutionSummary {
        counts: (0..job.kinds().len()).map(sum).collect(),
        conflicts: 0,
        findings: shares
            .iter()
            .map(|(_, findings)| findings.clone())
            .collect(),
        resumed: false,
        verify: trial.verify,
        crashed: None,
    })
}

/// Draws the conclusion.
pub fn verify(
    job: &dyn Job,
    directory: &Path,
    trial: Trial,
    ended: &ExecutionSummary,
) -> JobResults {
    try_verify(job, directory, trial, ended).unwrap()
}

pub fn try_verify(
    job: &dyn Job,
    directory: &Path,
    trial: Trial,
    ended: &ExecutionSummary,
) -> Result<JobResults, Error> {
    on_target(job, directory, trial, |target| job.verify(target, ended))
}

/// The checks that failed, one sentence each.
pub fn failures(conclusion: &JobResults) -> Vec<String> {
    assert!(!conclusion.checks.is_empty());
    let failed = conclusion.checks.iter().filter(|check| !check.passed);
    failed
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect()
}

fn open(job: &dyn Job, directory: &Path) -> Box<dyn trueput_engine::Database> {
    let spec = OpenSpec {
        directory,
        durability: job.durability().unwrap(),
        knobs: &ParameterValues::default(),
        sessions: 1,
    };
    Storage.open(&spec).unwrap()
}

fn on_target<T>(
    job: &dyn Job,
    directory: &Path,
    trial: Trial,
    work: impl FnOnce(&JobDatabase<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    work(&JobDatabase {
        database: &*open(job, directory),
        directory,
        capabilities: Storage.capabilities(),
        workers: trial.workers,
        threads: 1,
        generation: 0,
        seed: 1,
        progress: &|_| {},
    })
}
