//! Runs the job in this process, as the runner's workers do in theirs.

use super::faulty::{Fault, Faulty};
use crate::counting_meter::{CountingMeter, in_threads, sum_up};
pub use crate::support::failures;
use crate::support::{self, assert_all_right};
use trueput_engine::{
    Capabilities, Database, Durability, Engine, OpenSpec, Session, Value, parameter,
};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::tpcc::Tpcc;
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, LoadSummary,
    WorkerFindings, Workload,
};

pub const SEED: u64 = 7;

pub fn settings(given: &[(&str, &str)]) -> Settings {
    given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::parse(value)))
        .collect()
}

pub fn job_under(given: &[(&str, &str)], conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    let resolved = parameter::resolve("tpcc", Tpcc.settings(), &settings(given))?;
    Tpcc.job(&resolved, conditions)
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
    pub job: Box<dyn Job>,
    database: Faulty,
    pub capabilities: Capabilities,
    pub workers: u32,
    pub verify: VerifyLevel,
    /// Ends before its folder goes.
    _server: Option<Server>,
    folder: tempfile::TempDir,
}

/// The server that an engine needs for a database, where it needs one.
fn server(engine: &dyn Engine, spec: &OpenSpec<'_>) -> Option<Server> {
    let service = engine.service()?;
    let site = ServerSpec {
        service: &*service,
        database: spec,
        conditions: &Conditions::default(),
        group_entry: None,
    };
    Some(Server::start(&site, &mut || true).unwrap())
}

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
        let folder = tempfile::tempdir().unwrap();
        let levels = Durability::ALL.into_iter().rev();
        let knobs = parameter::resolve("engine", engine.knobs(), &settings(knobs)).unwrap();
        let durability = levels
            .into_iter()
            .find(|level| engine.promise_with(*level, &knobs).is_ok())
            .unwrap();
        let spec = OpenSpec {
            directory: folder.path(),
            durability,
            knobs: &knobs,
            sessions: workers + 4,
        };
        let server = server(engine, &spec);
        let database = engine.open(&spec).unwrap();
        Self {
            job: job(given).unwrap(),
            database: Faulty::new(database, fault),
            capabilities: engine.capabilities(),
            workers,
            verify: VerifyLevel::Full,
            _server: server,
            folder,
        }
    }

    pub fn target<R>(&self, with: impl FnOnce(&JobDatabase<'_>) -> R) -> R {
        with(&JobDatabase {
            database: &self.database,
            directory: self.folder.path(),
            capabilities: self.capabilities,
            workers: self.workers,
            threads: 2,
            generation: 0,
            seed: SEED,
            progress: &|_| {},
        })
    }

    pub fn prepare(&self) -> Result<Option<LoadSummary>, Error> {
        self.target(|target| self.job.prepare(target, ExistingDatabase::Nothing))
    }

    fn work(&self, worker: u32) -> (CountingMeter<'_>, WorkerFindings) {
        let mut session = self.database.session().unwrap();
        let mut meter = CountingMeter::new(self.job.kinds().len());
        let mut task = JobTask {
            session: &mut *session,
            directory: self.folder.path(),
            meter: &mut meter,
            capabilities: self.capabilities,
            worker,
            workers: self.workers,
            worker_kind: WorkerKind::Threads,
            verify: self.verify,
            generation: 0,
            seed: SEED,
        };
        self.job.prime(&mut task).unwrap();
        let found = self.job.execute(&mut task).unwrap();
        (meter, found)
    }

    /// All workers at once; what they rested together, nanoseconds, comes with it.
    pub fn work_together(&self) -> (ExecutionSummary, u64) {
        let outcomes = in_threads(self.workers, |worker| self.work(worker));
        let (ended, total) = sum_up(self.job.kinds().len(), self.verify, outcomes);
        (ended, total.rested_ns)
    }

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Load, run and checks.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare().unwrap();
        let (ended, _) = self.work_together();
        let conclusion = self.verify(&ended);
        (ended, conclusion)
    }

    /// Changes records behind the workload's back.
    pub fn tamper(&self, with: impl FnOnce(&mut dyn Session)) {
        support::tamper(&self.database, with);
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
