//! Runs a job of micro or custom in this process, as the runner's workers do in theirs, on an
//! engine that may fail.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{self, JobBench, deref_to_job_bench};
use crate::support::assert_all_right;
pub use crate::support::failures;
pub use std::ops::ControlFlow;
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::{Call, Fault};
use trueput_engine::testing::{CallLog, FaultState, FaultySession};
use trueput_engine::{Direction, Engine, KeyRange, Mode};
use trueput_record::{Conditions, WorkerKind};
use trueput_workloads::micro::Micro;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobResults, LoadSummary, Result, WorkerFindings,
    Workload,
};

/// The conditions of a trial that ends by time, as far as the job cares.
pub fn timed() -> Conditions {
    Conditions {
        duration_s: Some(1.0),
        ..Conditions::default()
    }
}

/// A job of micro.
pub fn job_under(given: &str, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    job_bench::job_under(&Micro, given, conditions)
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
    workload: &'static dyn Workload,
    given: String,
    conditions: Conditions,
    pub warm_up: u64,
    /// Operations of each worker after `until_puts`, where the trial ends by time.
    pub each: u64,
    /// If the trial ends by time, all workers continue until this many puts are done.
    pub until_puts: u64,
    pub faults: FaultState,
    log: CallLog,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// A job of micro on a fresh database of `engine`, which works well.
    pub fn on(engine: &dyn Engine, workers: u32, conditions: &Conditions, given: &str) -> Self {
        Self::of(&Micro, engine, workers, conditions, given)
    }

    /// A job of a workload on a fresh database of `engine`, which works well.
    pub fn of(
        workload: &'static dyn Workload,
        engine: &dyn Engine,
        workers: u32,
        conditions: &Conditions,
        given: &str,
    ) -> Self {
        let job = job_bench::job_under(workload, given, conditions).unwrap();
        Self {
            bench: JobBench::new(engine, workers, job),
            workload,
            given: given.to_owned(),
            conditions: conditions.clone(),
            warm_up: 0,
            each: 200,
            until_puts: 0,
            faults: FaultState::new(Fault::None),
            log: CallLog::default(),
        }
    }

    /// On the reference engine, ending by its own count.
    pub fn counted(workers: u32, given: &str) -> Self {
        Self::on(&Reference, workers, &Conditions::default(), given)
    }

    /// On the reference engine, ending by time.
    pub fn timed(workers: u32, given: &str) -> Self {
        Self::on(&Reference, workers, &timed(), given)
    }

    /// The same with an engine that fails.
    pub fn with(mut self, fault: Fault) -> Self {
        self.faults = FaultState::new(fault);
        self
    }

    /// The same with each worker a process, which shares no memory with the others.
    pub fn in_processes(mut self) -> Self {
        self.kind = WorkerKind::Processes;
        self
    }

    /// The same, keeping the engine's calls.
    pub fn logging(mut self) -> Self {
        self.faults = FaultState::new(Fault::None).with_log(&self.log);
        self
    }

    /// Runs another trial on the database that this one left.
    pub fn then(mut self, conditions: &Conditions, given: &str) -> Self {
        let next = job_bench::job_under(self.workload, given, conditions).unwrap();
        assert_eq!(next.load_key(), self.job.load_key());
        assert!(next.load_key().is_some());
        self.job = next;
        self.given = given.to_owned();
        self.conditions = conditions.clone();
        self.generation += 1;
        self
    }

    fn new_job(&self) -> Box<dyn Job> {
        job_bench::job_under(self.workload, &self.given, &self.conditions).unwrap()
    }

    pub fn prepare(&self) -> Result<Option<LoadSummary>> {
        let remains = match self.generation {
            0 => ExistingDatabase::Nothing,
            _ => ExistingDatabase::Loaded,
        };
        self.bench.prepare(remains)
    }

    /// One worker, on the calling thread.
    pub fn work(&self, worker: u32) -> (CountingMeter<'_>, WorkerFindings) {
        let mut session = FaultySession::new(self.database.session().unwrap(), &self.faults);
        let mut meter = CountingMeter {
            warm_up: self.warm_up,
            limit: self.conditions.duration_s.map(|_| self.each),
            awaited: Some((&self.faults.puts, self.until_puts)),
            ..CountingMeter::new(self.job.kinds().len())
        };
        let mut task = self.task(worker, &mut session, &mut meter);
        let found = match self.kind {
            WorkerKind::Threads => self.job.execute(&mut task),
            WorkerKind::Processes => self.new_job().execute(&mut task),
        };
        (meter, found.unwrap())
    }

    /// All workers at once.
    pub fn work_together(&self) -> (ExecutionSummary, u64) {
        let sessions = self.job.sessions(self.workers);
        let outcomes = in_threads(sessions, |worker| self.work(worker));
        let (ended, total) = sum_up(self.job.kinds().len(), self.bench.verify, outcomes);
        (ended, total.units)
    }

    /// Everything from the load on.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare().unwrap();
        let (ended, _) = self.work_together();
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    /// The calls that reached the engine, except the ends of scans.
    pub fn calls(&self) -> Vec<Call> {
        let log = self.log.lock().unwrap();
        let is_kept = |call: &&Call| !matches!(call, Call::Scan(..));
        log.iter().filter(is_kept).cloned().collect()
    }

    /// The scans that reached the engine: the key that each began at, and the records shown.
    pub fn scans(&self) -> Vec<(Vec<u8>, u64)> {
        let log = self.log.lock().unwrap();
        let scan = |call: &Call| match call {
            Call::Scan(start, shown) => Some((start.clone(), *shown)),
            _ => None,
        };
        log.iter().filter_map(scan).collect()
    }

    /// Every record, in the order of a scan.
    pub fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut session = self.database.session().unwrap();
        let mut records = Vec::new();
        session.begin(Mode::Read).unwrap();
        session
            .scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
                records.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
        session.commit().unwrap();
        records
    }
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults, subject: &str) {
    assert_all_right(conclusion, 1, subject);
}
