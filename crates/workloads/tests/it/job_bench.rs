//! A job on a database, run in this process as the runner's workers run it in theirs.

use crate::support::{settings, tamper};
use std::path::Path;
use trueput_engine::{
    Capabilities, Database, Durability, Engine, Isolation, OpenSpec, Session, parameter,
};
use trueput_host::service::{Server, ServerSpec};
use trueput_record::{Conditions, VerifyLevel, WorkerKind};
use trueput_workloads::{
    ExecutionSummary, ExistingDatabase, Job, JobDatabase, JobResults, JobTask, LoadSummary, Meter,
    Result, Workload,
};

/// Has a bench with more to it be used as the [`JobBench`] in its field `bench`.
macro_rules! deref_to_job_bench {
    ($bench:ty) => {
        impl std::ops::Deref for $bench {
            type Target = crate::job_bench::JobBench;

            fn deref(&self) -> &Self::Target {
                &self.bench
            }
        }

        impl std::ops::DerefMut for $bench {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.bench
            }
        }
    };
}
pub(crate) use deref_to_job_bench;

/// The job of a workload with these settings, over the defaults.
pub fn job_under(
    workload: &dyn Workload,
    given: &str,
    conditions: &Conditions,
) -> Result<Box<dyn Job>, String> {
    let resolved = parameter::resolve(workload.info().name, workload.settings(), &settings(given))
        .map_err(|error| error.to_string())?;
    Ok(workload.job(&resolved, conditions)?)
}

/// A fresh database of an engine, at the weakest level that it promises, with a job on it.
pub struct JobBench {
    pub job: Box<dyn Job>,
    pub database: Box<dyn Database>,
    pub capabilities: Capabilities,
    pub workers: u32,
    pub kind: WorkerKind,
    pub verify: VerifyLevel,
    pub generation: u32,
    pub seed: u64,
    /// The isolation that the engine states with its knobs.
    pub isolation: Option<Isolation>,
    pub reads_are_recent: bool,
    /// Ends after the database is closed and before its folder goes.
    _server: Option<Server>,
    folder: tempfile::TempDir,
}

/// The server that an engine needs for a database, where it needs one.
pub fn server(engine: &dyn Engine, spec: &OpenSpec<'_>) -> Option<Server> {
    let service = engine.service()?;
    let site = ServerSpec {
        service: &*service,
        database: spec,
        conditions: &Conditions::default(),
        group_entry: None,
    };
    Some(Server::start(&site, &mut || true).unwrap())
}

impl JobBench {
    pub fn new(engine: &dyn Engine, workers: u32, job: Box<dyn Job>) -> Self {
        Self::with_knobs(engine, "", workers, job)
    }

    /// Like [`JobBench::new`], with knobs of the engine.
    pub fn with_knobs(engine: &dyn Engine, knobs: &str, workers: u32, job: Box<dyn Job>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let knobs =
            parameter::resolve(engine.info().name, engine.knobs(), &settings(knobs)).unwrap();
        let mut levels = Durability::ALL.into_iter().rev();
        let durability = levels.find(|level| engine.promise_with(*level, &knobs).is_ok());
        let spec = OpenSpec {
            directory: folder.path(),
            durability: durability.unwrap(),
            knobs: &knobs,
            sessions: workers + 8,
        };
        let server = server(engine, &spec);
        Self {
            job,
            database: engine.open(&spec).unwrap(),
            capabilities: engine.capabilities(),
            workers,
            kind: WorkerKind::Threads,
            verify: VerifyLevel::Full,
            generation: 0,
            seed: 1,
            isolation: engine.isolation(&knobs),
            reads_are_recent: engine.reads_are_recent(&knobs),
            _server: server,
            folder,
        }
    }

    /// The database's folder.
    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    pub fn target<R>(&self, with: impl FnOnce(&JobDatabase<'_>) -> R) -> R {
        with(&JobDatabase {
            database: &*self.database,
            directory: self.folder.path(),
            capabilities: self.capabilities,
            isolation: self.isolation,
            reads_are_recent: self.reads_are_recent,
            workers: self.workers,
            threads: 2,
            generation: self.generation,
            seed: self.seed,
            progress: &|_| {},
        })
    }

    pub fn prepare(&self, remains: ExistingDatabase) -> Result<Option<LoadSummary>> {
        self.target(|target| self.job.prepare(target, remains))
    }

    /// The task of one worker, through `session`, whose attachment nobody looks at.
    pub fn task<'t>(
        &'t self,
        worker: u32,
        session: &'t mut dyn Session,
        meter: &'t mut dyn Meter,
    ) -> JobTask<'t> {
        self.task_with(worker, session, meter, Box::leak(Box::default()))
    }

    /// The same with an attachment.
    pub fn task_with<'t>(
        &'t self,
        worker: u32,
        session: &'t mut dyn Session,
        meter: &'t mut dyn Meter,
        attachment: &'t mut Vec<u8>,
    ) -> JobTask<'t> {
        JobTask {
            session,
            directory: self.folder.path(),
            meter,
            attachment,
            capabilities: self.capabilities,
            worker,
            workers: self.workers,
            worker_kind: self.kind,
            verify: self.verify,
            generation: self.generation,
            seed: self.seed,
        }
    }

    pub fn verify(&self, ended: &ExecutionSummary) -> JobResults {
        self.target(|target| self.job.verify(target, ended))
            .unwrap()
    }

    /// Changes records behind the workload's back.
    pub fn tamper(&self, with: impl FnOnce(&mut dyn Session)) {
        tamper(&*self.database, with);
    }
}
