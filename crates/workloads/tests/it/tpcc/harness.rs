//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::failures;
use trueput_engine::Engine;
use trueput_engine::testing::{Fault, FaultyDatabase};
use trueput_record::Conditions;
use trueput_workloads::tpcc::Tpcc;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, Result, WorkerFindings,
};

pub const SEED: u64 = 7;

pub fn job_under(given: &[(&str, &str)], conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&Tpcc, given, conditions)
}

pub fn job(given: &[(&str, &str)]) -> Result<Box<dyn Job>, String> {
    job_under(given, &Conditions::default())
}

pub fn engine(name: &str) -> &'static dyn Engine {
    let engines = trueput_drivers::registry().iter();
    let found = engines.copied().find(|engine| engine.info().name == name);
    found.unwrap()
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
}

deref_to_job_bench!(Bench);

impl Bench {
    pub fn new(engine: &dyn Engine, fault: Fault, workers: u32, given: &[(&str, &str)]) -> Self {
        Self::turned(engine, fault, workers, given, &[])
    }

    /// As [`Bench::new`], with knobs of the engine.
    pub fn turned(
        engine: &dyn Engine,
        fault: Fault,
        workers: u32,
        given: &[(&str, &str)],
        knobs: &[(&str, &str)],
    ) -> Self {
        let mut bench = JobBench::with_knobs(engine, knobs, workers, job(given).unwrap());
        bench.seed = SEED;
        bench.database = Box::new(FaultyDatabase::new(bench.database, fault));
        Self { bench }
    }

    pub fn prepare(&self) -> Result<Option<LoadSummary>> {
        self.bench.prepare(ExistingDatabase::Nothing)
    }

    fn work(&self, worker: u32) -> (CountingMeter<'_>, WorkerFindings) {
        let mut session = self.database.session().unwrap();
        let mut meter = CountingMeter::new(self.job.kinds().len());
        let mut task = self.task(worker, &mut *session, &mut meter);
        self.job.prime(&mut task).unwrap();
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    /// All workers at once; what they rested together, nanoseconds, comes with it.
    pub fn work_together(&self) -> (ExecutionSummary, u64) {
        let outcomes = in_threads(self.workers, |worker| self.work(worker));
        let (ended, total) = sum_up(self.job.kinds().len(), self.bench.verify, outcomes);
        (ended, total.rested_ns)
    }

    /// Load, run and checks.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare().unwrap();
        let (ended, _) = self.work_together();
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }
}

/// The numbers of the consistency conditions that failed.
pub fn broken(conclusion: &JobResults) -> Vec<u32> {
    let words = failures(conclusion);
    let mut numbers: Vec<u32> = words
        .keys()
        .filter_map(|name| name.strip_prefix("consistency condition "))
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults) {
    assert_all_right(conclusion, 13, "");
}
