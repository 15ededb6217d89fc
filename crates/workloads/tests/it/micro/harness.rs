//! Runs a job in this process, as the runner's workers do in theirs, on an engine that may fail.

use crate::counting_meter::{CountingMeter, in_threads, sum_up};
use crate::support::assert_all_right;
pub use crate::support::failures;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use trueput_engine::reference::Reference;
use trueput_engine::{
    Capabilities, Database, Direction, Durability, Engine, Error as EngineError, KeyRange, Mode,
    OpenSpec, RecordVisitor, Result as EngineResult, Session, Value, ValueVisitor, parameter,
};
use trueput_record::trial::Settings;
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::micro::Micro;
use trueput_workloads::{
    Error, ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, LoadSummary,
    WorkerFindings, Workload,
};

/// The conditions of a trial that ends by time, as far as the job cares.
pub fn timed() -> Conditions {
    Conditions {
        duration_s: Some(1.0),
        ..Conditions::default()
    }
}

pub fn job_under(given: &[(&str, &str)], conditions: &Conditions) -> Result<Box<dyn Job>, String> {
    let settings: Settings = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::parse(value)))
        .collect();
    Micro.job(
        &parameter::resolve("micro", Micro.settings(), &settings)?,
        conditions,
    )
}

/// What the engine does wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Every so manieth look-up of a record that was written twice shows the value before the last.
    StaleGet(u64),
    /// The put with this number, from 0, is forgotten.
    DropsPut(u64),
    /// Every so manieth put is forgotten.
    DropsPuts(u64),
    /// The delete with this number, from 0, is forgotten.
    DropsDelete(u64),
    /// Every so manieth value has a byte turned as it is put.
    Garbles(u64),
    /// Every so manieth commit meets a conflict.
    Conflicts(u64),
    /// Scans leave out every so manieth record.
    Skips(u64),
}

/// A call of the engine, and its key.
pub type Call = (&'static str, Vec<u8>);

/// What an engine under test does and did, over all sessions.
pub struct Faulty {
    pub fault: Fault,
    count: AtomicU64,
    puts: AtomicU64,
    gets: AtomicU64,
    former: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    pub calls: Mutex<Vec<Call>>,
    logs: bool,
}

impl Faulty {
    pub fn new(fault: Fault, logs: bool) -> Self {
        Self {
            fault,
            count: AtomicU64::new(0),
            puts: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            former: Mutex::default(),
            calls: Mutex::default(),
            logs,
        }
    }

    fn log(&self, call: &'static str, key: &[u8]) {
        if self.logs {
            let mut calls = self.calls.lock().unwrap();
            calls.push((call, key.to_vec()));
        }
    }

    /// Whether the next thing of a kind is the one to go wrong.
    fn strikes(&self, every: u64) -> bool {
        (self.count.fetch_add(1, SeqCst) + 1).is_multiple_of(every)
    }

    fn is_at(&self, number: u64) -> bool {
        self.count.fetch_add(1, SeqCst) == number
    }
}

struct FaultySession<'s> {
    inner: Box<dyn Session + 's>,
    faulty: &'s Faulty,
}

impl Session for FaultySession<'_> {
    fn begin(&mut self, mode: Mode) -> EngineResult<()> {
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> EngineResult<bool> {
        self.faulty.log("get", key);
        self.faulty.gets.fetch_add(1, SeqCst);
        if let Fault::StaleGet(every) = self.faulty.fault {
            let former = self.faulty.former.lock().unwrap();
            if let Some(value) = former.get(key)
                && self.faulty.strikes(every)
            {
                visitor(value);
                return Ok(true);
            }
        }
        self.inner.get(key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> EngineResult<()> {
        self.faulty.log("put", key);
        self.faulty.puts.fetch_add(1, SeqCst);
        match self.faulty.fault {
            Fault::DropsPut(number) if self.faulty.is_at(number) => return Ok(()),
            Fault::DropsPuts(every) if self.faulty.strikes(every) => return Ok(()),
            Fault::Garbles(every) if self.faulty.strikes(every) => {
                let mut garbled = value.to_vec();
                *garbled.last_mut().unwrap() ^= 1;
                return self.inner.put(key, &garbled);
            }
            Fault::StaleGet(_) => {
                let former = &self.faulty.former;
                self.inner.get(key, &mut |value| {
                    let mut former = former.lock().unwrap_or_else(PoisonError::into_inner);
                    former.insert(key.to_vec(), value.to_vec());
                })?;
            }
            _ => {}
        }
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> EngineResult<()> {
        self.faulty.log("delete", key);
        match self.faulty.fault {
            Fault::DropsDelete(number) if self.faulty.is_at(number) => Ok(()),
            _ => self.inner.delete(key),
        }
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> EngineResult<u64> {
        let faulty = self.faulty;
        self.inner.scan(range, direction, &mut |key, value| {
            faulty.log("scan", key);
            match faulty.fault {
                Fault::Skips(every) if faulty.strikes(every) => ControlFlow::Continue(()),
                _ => visitor(key, value),
            }
        })
    }

    fn commit(&mut self) -> EngineResult<()> {
        match self.faulty.fault {
            Fault::Conflicts(every) if self.faulty.strikes(every) => {
                self.inner.abort()?;
                Err(EngineError::Conflict("as planned".to_owned()))
            }
            _ => self.inner.commit(),
        }
    }

    fn abort(&mut self) -> EngineResult<()> {
        self.inner.abort()
    }
}

/// A database with a job on it.
pub struct Bench {
    pub job: Box<dyn Job>,
    given: Vec<(String, String)>,
    conditions: Conditions,
    database: Box<dyn Database>,
    capabilities: Capabilities,
    pub workers: u32,
    pub kind: WorkerKind,
    pub verify: VerifyLevel,
    pub generation: u32,
    pub seed: u64,
    pub warm_up: u64,
    /// Operations of each worker, where the trial ends by time.
    pub each: u64,
    /// Where the trial ends by time, all go on until so many puts are done.
    pub until_puts: u64,
    /// As many gets likewise, so that no reader is passed over by a writer that is done at once.
    pub until_gets: u64,
    pub faulty: Faulty,
    folder: tempfile::TempDir,
}

impl Bench {
    /// On a fresh database of `engine`, which works well.
    pub fn on(
        engine: &dyn Engine,
        workers: u32,
        conditions: &Conditions,
        given: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let knobs =
            parameter::resolve(engine.info().name, engine.knobs(), &Settings::new()).unwrap();
        let mut levels = Durability::ALL.into_iter().rev();
        let durability = levels
            .find(|&level| engine.promise(level).is_some())
            .unwrap();
        let database = engine
            .open(&OpenSpec {
                directory: folder.path(),
                durability,
                knobs: &knobs,
                sessions: workers + 8,
            })
            .unwrap();
        Self {
            job: job_under(given, conditions).unwrap(),
            given: owned(given),
            conditions: conditions.clone(),
            database,
            capabilities: engine.capabilities(),
            workers,
            kind: WorkerKind::Threads,
            verify: VerifyLevel::Full,
            generation: 0,
            seed: 1,
            warm_up: 0,
            each: 200,
            until_puts: 0,
            until_gets: 0,
            faulty: Faulty::new(Fault::None, false),
            folder,
        }
    }

    /// On the reference engine, ending by its own count.
    pub fn counted(workers: u32, given: &[(&str, &str)]) -> Self {
        Self::on(&Reference, workers, &Conditions::default(), given)
    }

    /// On the reference engine, ending by time.
    pub fn timed(workers: u32, given: &[(&str, &str)]) -> Self {
        Self::on(&Reference, workers, &timed(), given)
    }

    /// The same with an engine that fails.
    pub fn with(mut self, fault: Fault) -> Self {
        self.faulty = Faulty::new(fault, false);
        self
    }

    /// The same with each worker a process, which shares no memory with the others.
    pub fn in_processes(mut self) -> Self {
        self.kind = WorkerKind::Processes;
        self
    }

    /// The same, keeping the engine's calls.
    pub fn logging(mut self) -> Self {
        self.faulty = Faulty::new(Fault::None, true);
        self
    }

    /// Another trial on what this one left.
    pub fn then(mut self, conditions: &Conditions, given: &[(&str, &str)]) -> Self {
        let next = job_under(given, conditions).unwrap();
        assert_eq!(next.load_key(), self.job.load_key());
        assert!(next.load_key().is_some());
        self.job = next;
        self.given = owned(given);
        self.conditions = conditions.clone();
        self.generation += 1;
        self
    }

    fn new_job(&self) -> Box<dyn Job> {
        let given: Vec<_> = self
            .given
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        job_under(&given, &self.conditions).unwrap()
    }

    fn target<R>(&self, with: impl FnOnce(&JobDatabase<'_>) -> R) -> R {
        with(&JobDatabase {
            database: &*self.database,
            directory: self.folder.path(),
            capabilities: self.capabilities,
            workers: self.workers,
            threads: 2,
            generation: self.generation,
            seed: self.seed,
            progress: &|_| {},
        })
    }

    pub fn prepare(&self) -> Result<Option<LoadSummary>, Error> {
        let remains = match self.generation {
            0 => ExistingDatabase::Nothing,
            _ => ExistingDatabase::Loaded,
        };
        self.target(|target| self.job.prepare(target, remains))
    }

    /// One worker, on the calling thread.
    pub fn work(&self, worker: u32) -> (CountingMeter<'_>, WorkerFindings) {
        let mut session = FaultySession {
            inner: self.database.session().unwrap(),
            faulty: &self.faulty,
        };
        let mut meter = CountingMeter {
            warm_up: self.warm_up,
            limit: self.conditions.duration_s.map(|_| self.each),
            awaited: vec![
                (&self.faulty.puts, self.until_puts),
                (&self.faulty.gets, self.until_gets),
            ],
            ..CountingMeter::new(self.job.kinds().len())
        };
        let mut task = JobTask {
            session: &mut session,
            directory: self.folder.path(),
            meter: &mut meter,
            capabilities: self.capabilities,
            worker,
            workers: self.workers,
            worker_kind: self.kind,
            verify: self.verify,
            generation: self.generation,
            seed: self.seed,
        };
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
        let (ended, total) = sum_up(self.job.kinds().len(), self.verify, outcomes);
        (ended, total.units)
    }

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Everything from the load on.
    pub fn run(&self) -> (ExecutionSummary, JobResults) {
        self.prepare().unwrap();
        let (ended, _) = self.work_together();
        let conclusion = self.verify(&ended);
        (ended, conclusion)
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

fn owned(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Asserts that there were checks and all passed.
pub fn assert_right(conclusion: &JobResults, what: &str) {
    assert_all_right(conclusion, 1, what);
}
