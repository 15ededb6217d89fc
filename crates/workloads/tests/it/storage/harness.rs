//! Runs a storage workload on threads of this process, as the runner would.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{JobBench, deref_to_job_bench, job_under};
use std::fs::File;
use std::sync::atomic::AtomicU64;
use trueput_engine::Storage;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, Result, Workload, WorkloadSubject,
};

/// The parameters of a trial.
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

/// A job bound to the settings, given as `name=value`.
pub fn job(workload: &dyn Workload, settings: &str, trial: Trial) -> Result<Box<dyn Job>, String> {
    assert_eq!(workload.subject(), WorkloadSubject::Storage);
    let conditions = Conditions {
        duration_s: trial.units.map(|_| 1.0),
        warm_up_s: trial.warm_up as f64,
        ..Conditions::default()
    };
    job_under(workload, settings, &conditions)
}

/// A job in a folder of its own.
pub struct Bench {
    bench: JobBench,
    trial: Trial,
}

deref_to_job_bench!(Bench);

impl Bench {
    pub fn new(workload: &dyn Workload, settings: &str, trial: Trial) -> Self {
        let job = job(workload, settings, trial).unwrap();
        let mut bench = JobBench::new(&Storage, trial.workers, job);
        bench.verify = trial.verify;
        Self { bench, trial }
    }

    /// Opens a file of the job.
    pub fn file(&self, name: &str) -> File {
        let options = File::options().read(true).write(true).clone();
        options.open(self.directory().join(name)).unwrap()
    }

    /// Prepares and executes, and returns the summary that verification needs.
    pub fn execute(&self) -> Result<ExecutionSummary> {
        self.prepare(ExistingDatabase::Nothing)?;
        let left = self.trial.units.map(AtomicU64::new);
        let kinds = self.job.kinds().len();
        let outcomes = in_threads(self.workers, |worker| {
            let mut session = self.database.session().unwrap();
            let mut meter = CountingMeter {
                left: left.as_ref(),
                warm_up: self.trial.warm_up,
                ..CountingMeter::new(kinds)
            };
            let mut task = self.task(worker, &mut *session, &mut meter);
            let findings = self.job.execute(&mut task)?;
            Ok((meter, findings))
        });
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(sum_up(kinds, self.trial.verify, outcomes).0)
    }

    /// Prepares, executes and verifies.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        let ended = self.execute().unwrap();
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    /// The checks that fail when `damage` has changed a file between the workers and the
    /// verification.
    pub fn failures_after(&self, name: &str, damage: impl Fn(&File)) -> Vec<String> {
        let ended = self.execute().unwrap();
        damage(&self.file(name));
        failures(&self.bench.verify(&ended))
    }
}

/// The checks that failed, one sentence each.
pub fn failures(conclusion: &JobResults) -> Vec<String> {
    assert!(!conclusion.checks.is_empty());
    let failed = conclusion.checks.iter().filter(|check| !check.passed);
    failed
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect()
}
