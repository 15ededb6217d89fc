//! Runs the job in this process, as the runner's workers do in theirs, on the reference engine.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
pub use crate::support::failures;
use crate::support::{self, assert_all_right};
use trueput_engine::reference::Reference;
pub use trueput_engine::testing::{Call, Fault};
use trueput_engine::testing::{CallLog, FaultState, FaultySession};
use trueput_engine::{
    Capabilities, Database, Durability, Engine, OpenSpec, Session, Value, parameter,
};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::ycsb::Ycsb;
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, LoadSummary,
    WorkerFindings, Workload,
};

pub const SEED: u64 = 7;

pub fn settings(given: &[(&str, &str)]) -> Settings {
    given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::parse(value)))
        .collect()
}

pub fn job_of(given: &Settings, conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    let resolved = parameter::resolve("ycsb", Ycsb.settings(), given)?;
    Ycsb.job(&resolved, conditions)
}

pub fn job(given: &[(&str, &str)]) -> Result<Box<dyn Job>, String> {
    job_of(&settings(given), &Conditions::default())
}

/// A database with a job on it.
pub struct Bench {
    pub job: Box<dyn Job>,
    database: Box<dyn Database>,
    capabilities: Capabilities,
    pub workers: u32,
    pub generation: u32,
    pub warm_up: u64,
    /// Operations after which each worker's time is up.
    pub limit: Option<u64>,
    pub log: CallLog,
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new(workers: u32, given: &[(&str, &str)]) -> Self {
        Self::with(workers, job(given).unwrap())
    }

    pub fn with(workers: u32, job: Box<dyn Job>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec = OpenSpec {
            directory: folder.path(),
            durability: Durability::None,
            knobs: &parameter::resolve("reference", Reference.knobs(), &Settings::new()).unwrap(),
            sessions: workers + 2,
        };
        Self {
            job,
            database: Reference.open(&spec).unwrap(),
            capabilities: Reference.capabilities(),
            workers,
            generation: 0,
            warm_up: 0,
            limit: None,
            log: CallLog::default(),
            folder,
        }
    }

    fn target<R>(&self, with: impl FnOnce(&JobDatabase<'_>) -> R) -> R {
        with(&JobDatabase {
            database: &*self.database,
            directory: self.folder.path(),
            capabilities: self.capabilities,
            workers: self.workers,
            threads: 1,
            generation: self.generation,
            seed: SEED,
            progress: &|_| {},
        })
    }

    pub fn prepare(&self, remains: ExistingDatabase) -> Option<LoadSummary> {
        self.target(|target| self.job.prepare(target, remains))
            .unwrap()
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
        let mut task = JobTask {
            session: &mut session,
            directory: self.folder.path(),
            meter: &mut meter,
            capabilities: self.capabilities,
            worker,
            workers: self.workers,
            worker_kind: WorkerKind::Threads,
            verify: VerifyLevel::Full,
            generation: self.generation,
            seed: SEED,
        };
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    /// All workers at once.
    pub fn work_together(&self, fault: Fault) -> ExecutionSummary {
        let outcomes = in_threads(self.workers, |worker| self.work(worker, fault));
        sum_up(self.job.kinds().len(), VerifyLevel::Full, outcomes).0
    }

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Load, run and checks; what was asked during the run is in the log.
    pub fn run(&self, fault: Fault) -> (ExecutionSummary, JobResults) {
        self.prepare(ExistingDatabase::Nothing);
        let ended = self.work_together(fault);
        let conclusion = self.verify(&ended);
        (ended, conclusion)
    }

    pub fn calls(&self) -> Vec<Call> {
        let log = self.log.lock().unwrap();
        let is_kept = |call: &&Call| !matches!(call, Call::Record(_));
        log.iter().filter(is_kept).cloned().collect()
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
