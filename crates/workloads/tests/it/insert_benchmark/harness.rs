//! Runs steps in this process, as the runner's workers do in theirs, on one database.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::{engine, failures, installed};
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::Fault;
use trueput_engine::testing::{FaultState, FaultySession};
use trueput_engine::{Engine, Session};
use trueput_record::Conditions;
use trueput_workloads::insert_benchmark::InsertBenchmark;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, Result, WorkerFindings,
};

pub const SEED: u64 = 7;

/// Few rows, and inserts that replace some of them.
pub const SMALL: &str = "rows=1000 insert_rows=500";

/// Every step, in order.
pub const STEPS: [&str; 10] = [
    "l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000",
];

/// Queries of a querier, and transactions of a writer beside it, before the time is up.
const OPERATIONS: u64 = 200;

pub fn job_under(given: &str, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&InsertBenchmark, given, conditions)
}

/// A job of a trial of one second, if it has a duration.
pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    let timed = Conditions {
        duration_s: Some(1.0),
        ..Conditions::default()
    };
    job_under(given, &timed)
}

/// A database on which steps run.
pub struct Bench {
    bench: JobBench,
    given: String,
    step: String,
    remains: ExistingDatabase,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// On an engine, with settings beyond [`SMALL`] and as many tables as workers.
    pub fn new(engine: &dyn Engine, tables: u32, given: &str) -> Self {
        Self::turned(engine, tables, given, "")
    }

    /// Like [`Bench::new`], with knobs of the engine.
    pub fn turned(engine: &dyn Engine, tables: u32, given: &str, knobs: &str) -> Self {
        let given = format!("{SMALL} tables={tables} {given}");
        let mut bench = JobBench::with_knobs(engine, knobs, tables, job(&given).unwrap());
        bench.seed = SEED;
        Self {
            bench,
            given,
            step: "l.i0".to_owned(),
            remains: ExistingDatabase::Nothing,
        }
    }

    /// On the reference engine.
    pub fn reference(tables: u32, given: &str) -> Self {
        Self::new(&Reference, tables, given)
    }

    /// Prepares the database for a step, which runs next.
    pub fn prepare_step(&mut self, step: &str) -> Result<()> {
        let next = job(&format!("{} step={step}", self.given)).unwrap();
        assert_eq!(next.load_key(), self.job.load_key());
        (self.bench.job, self.step) = (next, step.to_owned());
        let prepared = self.bench.prepare(self.remains);
        self.remains = ExistingDatabase::Loaded;
        prepared.map(drop)
    }

    /// One worker through a session, on the calling thread.
    pub fn work_through(
        &self,
        worker: u32,
        session: &mut dyn Session,
    ) -> (CountingMeter<'_>, WorkerFindings) {
        let mut meter = self.meter();
        let mut task = self.task(worker, session, &mut meter);
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    fn meter(&self) -> CountingMeter<'_> {
        CountingMeter {
            limit: self.step.starts_with('q').then_some(OPERATIONS),
            ..CountingMeter::new(self.job.kinds().len())
        }
    }

    /// Has every worker learn what it needs before the start, through sound sessions.
    pub fn prime(&self) -> Result<()> {
        for worker in 0..self.job.sessions(self.workers) {
            let mut session = self.database.session().unwrap();
            let mut meter = self.meter();
            let mut task = self.task(worker, &mut *session, &mut meter);
            self.job.prime(&mut task)?;
        }
        Ok(())
    }

    /// All workers at once; the session of one worker may have a fault.
    pub fn work_together(&self, faulty: Option<(u32, Fault)>) -> ExecutionSummary {
        let outcomes = in_threads(self.job.sessions(self.workers), |worker| {
            let of_worker = faulty.filter(|(of, _)| *of == worker);
            let faults = FaultState::new(of_worker.map_or(Fault::None, |(_, fault)| fault));
            let inner = self.database.session().unwrap();
            let mut session = FaultySession::new(inner, &faults);
            self.work_through(worker, &mut session)
        });
        sum_up(self.job.kinds().len(), self.bench.verify, outcomes).0
    }

    /// One worker of a step that was prepared, through a session with a fault, and no other.
    pub fn work_alone(&self, worker: u32, fault: Fault) -> ExecutionSummary {
        let faults = FaultState::new(fault);
        let inner = self.database.session().unwrap();
        let mut session = FaultySession::new(inner, &faults);
        let outcome = self.work_through(worker, &mut session);
        sum_up(self.job.kinds().len(), self.bench.verify, [outcome]).0
    }

    /// Does a step, in which the session of one worker may have a fault, and verifies it.
    pub fn run(
        &mut self,
        step: &str,
        faulty: Option<(u32, Fault)>,
    ) -> (ExecutionSummary, JobResults) {
        self.prepare_step(step).unwrap();
        self.prime().unwrap();
        let ended = self.work_together(faulty);
        let conclusion = self.bench.verify(&ended);
        self.bench.generation += 1;
        (ended, conclusion)
    }

    /// Does steps without a fault, one after the other, and asserts that all is right.
    pub fn passes(&mut self, steps: &[&str]) -> &mut Self {
        for step in steps {
            let (_, conclusion) = self.run(step, None);
            assert_right(&conclusion, step);
        }
        self
    }

    /// The names of the checks that fail after a step with a fault.
    pub fn failed(&mut self, step: &str, worker: u32, fault: Fault) -> Vec<String> {
        failed(&self.run(step, Some((worker, fault))).1)
    }
}

/// The names of the checks that failed.
pub fn failed(conclusion: &JobResults) -> Vec<String> {
    failures(conclusion).into_keys().collect()
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults, subject: &str) {
    assert_all_right(conclusion, 2, subject);
}
