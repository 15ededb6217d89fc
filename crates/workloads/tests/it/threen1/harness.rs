//! Runs the job in this process, as the runner's workers do in theirs.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
pub use crate::support::failures;
use crate::support::{self, assert_all_right};
use trueput_engine::testing::{Fault, FaultState, FaultySession};
use trueput_engine::{
    Capabilities, Database, Durability, Engine, OpenSpec, Session, Value, parameter,
};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::threen1::ThreeN1;
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask,
    WorkerFindings, Workload,
};

pub const READ: usize = 0;
pub const UPDATE: usize = 1;
pub const COMMITS: [&str; 3] = ["per-store", "per-start", "per-block"];
pub const KEYS: [&str; 2] = ["integers", "words"];

/// The settings given, over the defaults.
pub fn settings(given: &[(&str, &str)]) -> Settings {
    given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::parse(value)))
        .collect()
}

pub fn job(given: &[(&str, &str)]) -> Result<Box<dyn Job>, String> {
    ThreeN1.job(
        &parameter::resolve("threen1", ThreeN1.settings(), &settings(given))?,
        &Conditions::default(),
    )
}

/// What befalls a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Lives,
    /// The user stops it after so many operations.
    Stopped(u64),
    /// Its put of this number, from 0, and everything after it fails, as if it had been killed.
    DiesAtPut(u64),
    /// The engine reports a conflict after so many calls, then after one call more, and so on.
    Conflicts(u64),
}

/// A database with a job on it.
pub struct Bench {
    pub job: Box<dyn Job>,
    pub database: Box<dyn Database>,
    pub capabilities: Capabilities,
    pub workers: u32,
    folder: tempfile::TempDir,
}

impl Bench {
    /// On a fresh database of `engine`, at the weakest level that it promises.
    pub fn on(engine: &dyn Engine, workers: u32, given: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let levels = Durability::ALL.into_iter().rev();
        let durability = levels
            .into_iter()
            .find(|&level| engine.promise(level).is_some())
            .unwrap();
        let knobs =
            parameter::resolve(engine.info().name, engine.knobs(), &Settings::new()).unwrap();
        let spec = OpenSpec {
            directory: folder.path(),
            durability,
            knobs: &knobs,
            sessions: workers.max(2) + 1,
        };
        let database = engine.open(&spec).unwrap();
        let capabilities = engine.capabilities();
        Self {
            job: job(given).unwrap(),
            database,
            capabilities,
            workers,
            folder,
        }
    }

    /// On LMDB.
    pub fn lmdb(workers: u32, given: &[(&str, &str)]) -> Self {
        Self::on(&trueput_drivers::Lmdb::new(), workers, given)
    }

    fn target<R>(&self, with: impl FnOnce(&JobDatabase<'_>) -> R) -> R {
        with(&JobDatabase {
            database: &*self.database,
            directory: self.folder.path(),
            capabilities: self.capabilities,
            workers: self.workers,
            threads: 2,
            generation: 0,
            seed: 1,
            progress: &|_| {},
        })
    }

    pub fn prepare(&self, resume: bool) -> Result<(), Error> {
        let remains = if resume {
            ExistingDatabase::Unfinished
        } else {
            ExistingDatabase::Nothing
        };
        self.target(|target| self.job.prepare(target, remains).map(drop))
    }

    /// One worker, on the calling thread.
    pub fn work(
        &self,
        worker: u32,
        fate: Fate,
    ) -> (CountingMeter<'_>, Result<WorkerFindings, Error>) {
        let faults = FaultState::new(match fate {
            Fate::Lives | Fate::Stopped(_) => Fault::None,
            Fate::DiesAtPut(last) => Fault::DiesAtPut(last),
            Fate::Conflicts(calls) => Fault::ConflictsLaterEachTime(calls),
        });
        let mut session = FaultySession::new(self.database.session().unwrap(), &faults);
        let mut meter = CountingMeter::new(self.job.kinds().len());
        if let Fate::Stopped(limit) = fate {
            meter.stop_after = Some(limit);
        }
        let mut task = JobTask {
            session: &mut session,
            directory: self.folder.path(),
            meter: &mut meter,
            capabilities: self.capabilities,
            worker,
            workers: self.workers,
            worker_kind: WorkerKind::Threads,
            verify: VerifyLevel::Full,
            generation: 0,
            seed: 1,
        };
        let found = self.job.execute(&mut task);
        (meter, found)
    }

    /// All workers at once, the fates in the order of the workers; those that fail find nothing.
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

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Everything from an empty database.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare(false).unwrap();
        let (ended, errors) = self.work_together(&vec![Fate::Lives; self.workers as usize]);
        assert_eq!(errors, []);
        let conclusion = self.verify(&ended);
        (ended, conclusion)
    }

    /// Resumes with workers that live, and verifies.
    pub fn resume(&self) -> JobResults {
        self.prepare(true).unwrap();
        let (mut ended, errors) = self.work_together(&vec![Fate::Lives; self.workers as usize]);
        assert_eq!(errors, []);
        ended.resumed = true;
        self.verify(&ended)
    }

    /// Changes records behind the workload's back.
    pub fn tamper(&self, with: impl FnOnce(&mut dyn Session)) {
        support::tamper(&*self.database, with);
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
