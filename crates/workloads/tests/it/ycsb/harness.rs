//! Runs the job in this process, as the runner's workers do in theirs, on the reference engine.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{JobBench, deref_to_job_bench};
pub use crate::support::failures;
use crate::support::{assert_all_right, settings};
use trueput_engine::parameter;
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::{Call, Fault};
use trueput_engine::testing::{CallLog, FaultState, FaultySession};
use trueput_record::value::Settings;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::ycsb::Ycsb;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, WorkerFindings, Workload,
};

pub const SEED: u64 = 7;

pub fn job_of(given: &Settings, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    let resolved = parameter::resolve("ycsb", Ycsb.settings(), given);
    let resolved = resolved.map_err(|error| error.to_string())?;
    Ok(Ycsb.job(&resolved, conditions)?)
}

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_of(&settings(given), &Conditions::default())
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
    pub warm_up: u64,
    /// Operations after which each worker's time is up.
    pub limit: Option<u64>,
    pub log: CallLog,
}

deref_to_job_bench!(Bench);

impl Bench {
    pub fn new(workers: u32, given: &str) -> Self {
        Self::with(workers, job(given).unwrap())
    }

    pub fn with(workers: u32, job: Box<dyn Job>) -> Self {
        let mut bench = JobBench::new(&Reference, workers, job);
        bench.seed = SEED;
        Self {
            bench,
            warm_up: 0,
            limit: None,
            log: CallLog::default(),
        }
    }

    pub fn prepare(&self, remains: ExistingDatabase) -> Option<LoadSummary> {
        self.bench.prepare(remains).unwrap()
    }

    /// One worker, on the calling thread.
    pub fn work(&self, worker: u32, fault: Fault) -> (CountingMeter<'_>, WorkerFindings) {
        let faults = FaultState::new(fault).with_log(&self.log);
        let mut session = FaultySession::new(self.database.session().unwrap(), &faults);
        let mut meter = CountingMeter {
            warm_up: self.warm_up,
            limit: self.limit.map(|limit| limit - self.warm_up),
            ..CountingMeter::new(self.job.kinds().len())
        };
        let mut task = self.task(worker, &mut session, &mut meter);
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    /// All workers at once.
    pub fn work_together(&self, fault: Fault) -> ExecutionSummary {
        let outcomes = in_threads(self.workers, |worker| self.work(worker, fault));
        sum_up(self.job.kinds().len(), VerifyLevel::Full, outcomes).0
    }

    /// Loads, runs and verifies; the requests during the run are in the log.
    pub fn run(&self, fault: Fault) -> (ExecutionSummary, JobResults) {
        self.prepare(ExistingDatabase::Nothing);
        let ended = self.work_together(fault);
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    pub fn calls(&self) -> Vec<Call> {
        let log = self.log.lock().unwrap();
        let is_kept = |call: &&Call| !matches!(call, Call::Record(_));
        log.iter().filter(is_kept).cloned().collect()
    }
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults) {
    assert_all_right(conclusion, 1, "");
}
