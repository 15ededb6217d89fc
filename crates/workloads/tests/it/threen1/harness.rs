//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::job_bench::{JobBench, deref_to_job_bench, job_under};
use crate::support::assert_all_right;
pub use crate::support::failures;
use trueput_engine::testing::{Fault, FaultState, FaultySession};
use trueput_engine::{Engine, Value};
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::threen1::ThreeN1;
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobResults, Result, WorkerFindings,
};

pub const READ: usize = 0;
pub const UPDATE: usize = 1;
pub const COMMITS: [&str; 3] = ["per-store", "per-start", "per-block"];
pub const KEYS: [&str; 2] = ["integers", "words"];

pub fn job(given: &str) -> Result<Box<dyn Job>, String> {
    job_under(&ThreeN1, &with_range(given), &Conditions::default())
}

/// Settings with a last number, where they have none.
fn with_range(given: &str) -> String {
    if given.contains("finish=") {
        given.to_owned()
    } else {
        format!("{given} finish=100000")
    }
}

/// The fate of a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Lives,
    /// The user stops it after this many operations.
    Stopped(u64),
    /// Its time is over after this many operations.
    TimeIsOver(u64),
    /// Its put of this number, from 0, and everything after it fails, as if it had been killed.
    DiesAtPut(u64),
    /// The engine reports a conflict after this many calls, then after one call more, and so on.
    Conflicts(u64),
}

/// A database with a job on it.
pub struct Bench {
    bench: JobBench,
}

deref_to_job_bench!(Bench);

impl Bench {
    /// On a fresh database of `engine`, at the weakest level that it promises.
    pub fn on(engine: &dyn Engine, workers: u32, given: &str) -> Self {
        Self {
            bench: JobBench::new(engine, workers, job(given).unwrap()),
        }
    }

    /// Like [`Bench::on`], with a duration that ends the work.
    pub fn timed(engine: &dyn Engine, workers: u32, given: &str) -> Self {
        let conditions = Conditions {
            duration_s: Some(1.0),
            ..Conditions::default()
        };
        let job = job_under(&ThreeN1, given, &conditions).unwrap();
        Self {
            bench: JobBench::new(engine, workers, job),
        }
    }

    /// On LMDB.
    pub fn lmdb(workers: u32, given: &str) -> Self {
        Self::on(&trueput_drivers::Lmdb::new(), workers, given)
    }

    pub fn prepare(&self, resume: bool) -> Result<()> {
        let remains = if resume {
            ExistingDatabase::Unfinished
        } else {
            ExistingDatabase::Nothing
        };
        self.bench.prepare(remains).map(drop)
    }

    /// One worker, on the calling thread.
    pub fn work(&self, worker: u32, fate: Fate) -> (CountingMeter<'_>, Result<WorkerFindings>) {
        let faults = FaultState::new(match fate {
            Fate::Lives | Fate::Stopped(_) | Fate::TimeIsOver(_) => Fault::None,
            Fate::DiesAtPut(last) => Fault::DiesAtPut(last),
            Fate::Conflicts(calls) => Fault::ConflictsLaterEachTime(calls),
        });
        let mut session = FaultySession::new(self.database.session().unwrap(), &faults);
        let mut meter = CountingMeter::new(self.job.kinds().len());
        match fate {
            Fate::Stopped(limit) => meter.stop_after = Some(limit),
            Fate::TimeIsOver(limit) => meter.limit = Some(limit),
            Fate::Lives | Fate::DiesAtPut(_) | Fate::Conflicts(_) => {}
        }
        let mut task = self.task(worker, &mut session, &mut meter);
        let found = self.job.execute(&mut task);
        (meter, found)
    }

    /// Runs all workers at once, with the fates in the order of the workers; those that fail have
    /// no findings.
    pub fn work_together(&self, fates: &[Fate]) -> (ExecutionSummary, Vec<Error>) {
        let outcomes = in_threads(fates.len() as u32, |worker| {
            self.work(worker, fates[worker as usize])
        });
        let mut errors = Vec::new();
        let outcomes = outcomes.into_iter().map(|(meter, found)| {
            let findings = found.map_err(|error| errors.push(error)).ok();
            (meter, findings)
        });
        let (ended, _) = sum_up(self.job.kinds().len(), VerifyLevel::Full, outcomes);
        (ended, errors)
    }

    /// Everything from an empty database.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare(false).unwrap();
        let (ended, errors) = self.work_together(&vec![Fate::Lives; self.workers as usize]);
        assert_eq!(errors, []);
        let conclusion = self.bench.verify(&ended);
        (ended, conclusion)
    }

    /// Resumes with workers that live, and verifies.
    pub fn resume(&self) -> JobResults {
        self.prepare(true).unwrap();
        let (mut ended, errors) = self.work_together(&vec![Fate::Lives; self.workers as usize]);
        assert_eq!(errors, []);
        ended.resumed = true;
        self.bench.verify(&ended)
    }
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults) {
    assert_all_right(conclusion, 1, "");
}

pub fn result(conclusion: &JobResults, name: &str) -> u64 {
    match conclusion.results.get(name) {
        Some(Value::Integer(number)) => number.unsigned_abs(),
        other => panic!("no number {name}: {other:?}"),
    }
}
