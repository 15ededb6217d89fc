//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::{engine, failures, installed};
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::Fault;
use trueput_engine::testing::{FaultState, FaultySession};
use trueput_engine::{Engine, Session};
use trueput_record::Conditions;
use trueput_workloads::pgbench::Pgbench;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, Result, WorkerFindings,
};

pub const SEED: u64 = 7;

/// Rows of one branch with few accounts, and transactions that meet each of them several times.
pub const SMALL: &str = "accounts=100 transactions=400";

pub fn job_under(given: &str, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&Pgbench, given, conditions)
}

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_under(given, &Conditions::default())
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
    pub warm_up: u64,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// On an engine, with settings beyond [`SMALL`].
    pub fn new(engine: &dyn Engine, workers: u32, given: &str) -> Self {
        Self::turned(engine, workers, given, "")
    }

    /// Like [`Bench::new`], with knobs of the engine.
    pub fn turned(engine: &dyn Engine, workers: u32, given: &str, knobs: &str) -> Self {
        let job = job(&format!("{SMALL} {given}")).unwrap();
        let mut bench = JobBench::with_knobs(engine, knobs, workers, job);
        bench.seed = SEED;
        Self { bench, warm_up: 0 }
    }

    /// On the reference engine.
    pub fn reference(workers: u32, given: &str) -> Self {
        Self::new(&Reference, workers, given)
    }

    pub fn prepare(&self) -> Result<Option<LoadSummary>> {
        self.prepare_over(ExistingDatabase::Nothing)
    }

    /// Prepares a database with this content.
    pub fn prepare_over(&self, remains: ExistingDatabase) -> Result<Option<LoadSummary>> {
        self.bench.prepare(remains)
    }

    /// One worker through a session, on the calling thread.
    pub fn work_through(
        &self,
        worker: u32,
        session: &mut dyn Session,
    ) -> (CountingMeter<'_>, WorkerFindings) {
        let mut meter = CountingMeter {
            warm_up: self.warm_up,
            ..CountingMeter::new(self.job.kinds().len())
        };
        let mut task = self.task(worker, session, &mut meter);
        self.job.initialize(&task).unwrap();
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    /// All workers at once, each with a session that has the fault.
    pub fn work_together(&self, fault: Fault) -> ExecutionSummary {
        let outcomes = in_threads(self.workers, |worker| {
            let faults = FaultState::new(fault);
            let inner = self.database.session().unwrap();
            let mut session = FaultySession::new(inner, &faults);
            self.work_through(worker, &mut session)
        });
        sum_up(self.job.kinds().len(), self.bench.verify, outcomes).0
    }

    /// Load, run and checks.
    pub fn run(&self, fault: Fault) -> (ExecutionSummary, JobResults) {
        self.prepare().unwrap();
        let ended = self.work_together(fault);
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    /// The names of the checks that fail.
    pub fn failed(&self, ended: &ExecutionSummary) -> Vec<String> {
        failed(&self.bench.verify(ended))
    }
}

/// The names of the checks that failed.
pub fn failed(conclusion: &JobResults) -> Vec<String> {
    failures(conclusion).into_keys().collect()
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults, subject: &str) {
    assert_all_right(conclusion, 12, subject);
}
