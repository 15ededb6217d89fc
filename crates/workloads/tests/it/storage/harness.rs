//! Runs a storage workload on threads of this process, as the runner would.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use trueput_engine::{Engine, OpenSpec, ParameterValues, Storage, parameter};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, Value, VerifyLevel, WorkerKind};
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, Workload,
    WorkloadSubject,
};

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
    let outcomes = in_threads(trial.workers, |worker| {
        let mut session = database.session().unwrap();
        let mut meter = CountingMeter {
            left: left.as_ref(),
            warm_up: trial.warm_up,
            ..CountingMeter::new(job.kinds().len())
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
        Ok((meter, findings))
    });
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, Error>>()?;
    Ok(sum_up(job.kinds().len(), trial.verify, outcomes).0)
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
