//! Runs the job in this process, as the runner's workers do in theirs, on the reference engine.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
pub use crate::support::failures;
use crate::support::{self, assert_all_right};
use std::collections::HashMap;
use std::sync::Mutex;
use trueput_engine::reference::Reference;
use trueput_engine::{
    Capabilities, Database, Direction, Durability, Engine, KeyRange, Mode, OpenSpec, RecordVisitor,
    Result as EngineResult, Session, Value, ValueVisitor, parameter,
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

/// What an engine would do wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Honest,
    /// The put of this number, from 0, is forgotten.
    DropsPut(u64),
    /// A look-up shows the value that the session saw first under its key.
    ShowsOld,
    /// A look-up shows what stands under another key.
    ShowsAnother,
    /// A scan leaves out its first record.
    SkipsFirst,
    /// Every call of this number and its multiples is a conflict.
    Conflicts(u64),
}

/// What was asked of an engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Get(Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Scan(Vec<u8>, u64),
}

struct Watched<'s> {
    inner: Box<dyn Session + 's>,
    fate: Fate,
    puts: u64,
    calls: u64,
    first: HashMap<Vec<u8>, Vec<u8>>,
    log: &'s Mutex<Vec<Call>>,
}

impl Watched<'_> {
    fn meet(&mut self) -> EngineResult<()> {
        self.calls += 1;
        match self.fate {
            Fate::Conflicts(every) if self.calls.is_multiple_of(every) => {
                Err(trueput_engine::Error::Conflict("as planned".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn write_down(&self, call: Call) {
        self.log.lock().unwrap().push(call);
    }
}

impl Session for Watched<'_> {
    fn begin(&mut self, mode: Mode) -> EngineResult<()> {
        self.meet()?;
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> EngineResult<bool> {
        self.meet()?;
        self.write_down(Call::Get(key.to_vec()));
        let (fate, first) = (self.fate, &mut self.first);
        self.inner.get(key, &mut |value| match fate {
            Fate::ShowsOld => visitor(first.entry(key.to_vec()).or_insert(value.to_vec())),
            Fate::ShowsAnother => visitor(first.entry(Vec::new()).or_insert(value.to_vec())),
            _ => visitor(value),
        })
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> EngineResult<()> {
        self.meet()?;
        self.write_down(Call::Put(key.to_vec(), value.to_vec()));
        self.puts += 1;
        if self.fate == Fate::DropsPut(self.puts - 1) {
            return Ok(());
        }
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> EngineResult<()> {
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> EngineResult<u64> {
        self.meet()?;
        let mut skip = self.fate == Fate::SkipsFirst;
        let shown = self.inner.scan(range, direction, &mut |key, value| {
            if std::mem::take(&mut skip) {
                return std::ops::ControlFlow::Continue(());
            }
            visitor(key, value)
        })?;
        if let std::ops::Bound::Included(start) = range.lower {
            self.write_down(Call::Scan(start.to_vec(), shown));
        }
        Ok(shown)
    }

    fn commit(&mut self) -> EngineResult<()> {
        if let Err(conflict) = self.meet() {
            self.inner.abort()?;
            return Err(conflict);
        }
        self.inner.commit()
    }

    fn abort(&mut self) -> EngineResult<()> {
        self.inner.abort()
    }
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
    pub log: Mutex<Vec<Call>>,
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
            log: Mutex::default(),
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
    pub fn work(&self, worker: u32, fate: Fate) -> (CountingMeter<'_>, WorkerFindings) {
        let mut session = Watched {
            inner: self.database.session().unwrap(),
            fate,
            puts: 0,
            calls: 0,
            first: HashMap::new(),
            log: &self.log,
        };
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
    pub fn work_together(&self, fate: Fate) -> ExecutionSummary {
        let outcomes = in_threads(self.workers, |worker| self.work(worker, fate));
        sum_up(self.job.kinds().len(), VerifyLevel::Full, outcomes).0
    }

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Load, run and checks; what was asked during the run is in the log.
    pub fn run(&self, fate: Fate) -> (ExecutionSummary, JobResults) {
        self.prepare(ExistingDatabase::Nothing);
        let ended = self.work_together(fate);
        let conclusion = self.verify(&ended);
        (ended, conclusion)
    }

    pub fn calls(&self) -> Vec<Call> {
        self.log.lock().unwrap().clone()
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
