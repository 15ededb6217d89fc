//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::{engine, failures, installed};
use trueput_engine::Engine;
use trueput_engine::testing::{Fault, FaultyDatabase};
use trueput_record::Conditions;
use trueput_record::measurement::Check;
use trueput_workloads::tpcc::Tpcc;
use trueput_workloads::tpcc::acid::AcidSuite;
use trueput_workloads::tpcc::scale::{Cardinality, Scale};
use trueput_workloads::tpcc::store::TableStore;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, Result, WorkerFindings,
};

pub const SEED: u64 = 7;

pub fn job_under(given: &str, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&Tpcc, given, conditions)
}

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_under(given, &Conditions::default())
}

/// The checks of the suite of atomicity and isolation.
pub fn acid_checks(
    engine: &dyn Engine,
    fault: Fault,
    knobs: &str,
    store: TableStore,
) -> Vec<Check> {
    let bench = Bench::turned(engine, fault, 4, "cardinality=hundredth", knobs);
    let scale = Scale::new(1, Cardinality::Hundredth);
    bench.target(|target| {
        let suite = AcidSuite::load(target, &scale, store).unwrap();
        suite.run().unwrap()
    })
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
}

deref_to_job_bench!(Bench);

impl Bench {
    pub fn new(engine: &dyn Engine, fault: Fault, workers: u32, given: &str) -> Self {
        Self::turned(engine, fault, workers, given, "")
    }

    /// Like [`Bench::new`], with knobs of the engine.
    pub fn turned(
        engine: &dyn Engine,
        fault: Fault,
        workers: u32,
        given: &str,
        knobs: &str,
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

    /// Runs all workers at once; also returns the sum of their pauses, nanoseconds.
    pub fn work_together(&self) -> (ExecutionSummary, u64) {
        let outcomes = in_threads(self.workers, |worker| self.work(worker));
        let (ended, total) = sum_up(self.job.kinds().len(), self.bench.verify, outcomes);
        (ended, total.rested_ns)
    }

    /// Load, run and checks: so many transactions are done, in that store, and all is right.
    pub fn passes(&self, transactions: u64, store: &str) -> JobResults {
        let (ended, conclusion) = self.run();
        assert_eq!(ended.counts.iter().sum::<u64>(), transactions);
        assert_right(&conclusion);
        assert_eq!(conclusion.results["store"].to_string(), store);
        conclusion
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
