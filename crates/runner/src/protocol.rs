//! What runner and workers say to each other: a JSON object per line, orders on the worker's
//! standard input, reports on its standard output.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;
use trueput_record::accounting::CacheUse;
use trueput_record::hardware_limits::HardwareLimits;
use trueput_record::measurement::Check;
use trueput_record::placement::{AllocatorReport, Placement};
use trueput_record::{TrialSpec, Value};
use trueput_workloads::{ExistingDatabase, WorkerFindings};

/// What the runner says to a worker. It cannot be shown: there may be passwords in it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Instruction {
    /// Ahead of all, where there is any: the passwords of users' servers.
    ImportCredentials {
        /// As [`trueput_engine::credentials::for_workers`] gives them.
        handed: String,
    },
    /// The first line otherwise: what this process is for.
    Assign(Box<Assignment>),
    /// Every worker is ready: begin.
    Start,
    /// Rest as soon as no worker holds a transaction: it is another contender's turn.
    Pause,
    /// Go on.
    Resume,
    /// All contenders have done their share: close the database and end.
    CloseDatabase,
    /// Return at the next convenience. The end of the pipe means the same.
    Stop,
}

/// What a worker process is for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The trial.
    pub spec: TrialSpec,
    /// The database's folder. It exists.
    pub directory: PathBuf,
    /// How many trials ran on this load before.
    pub generation: u32,
    /// Its part.
    pub task: WorkerTask,
}

/// One worker process's part of a trial.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(crate) enum WorkerTask {
    /// Put the engine through the conformance suite.
    Conformance,
    /// Measure what this machine could do at most.
    HardwareLimits {
        /// The folder of the database's log, which exists.
        log_directory: PathBuf,
        /// Whether the engine stores anything.
        stores: bool,
        /// How many threads measure at once.
        committers: u32,
        /// Bytes of a commit.
        commit_bytes: u64,
    },
    /// Make and fill the database.
    Prepare {
        /// What the database holds already.
        existing: ExistingDatabase,
    },
    /// Open the database, say that you are ready, and run when told.
    Execute {
        /// Index of the first worker in this process.
        first: u32,
        /// How many workers this process has, each a thread.
        sessions: u32,
    },
    /// Open the database after a crash, and commit a first transaction.
    Recover,
    /// Draw and check the results.
    Verify(ExecutionTotals),
}

/// What was loaded, and what that used.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct LoadResult {
    /// Records put.
    pub records: u64,
    /// Bytes of their keys and values.
    pub user_bytes: u64,
    /// How long it took, the database's closing included, seconds.
    pub elapsed_s: f64,
    /// What the process used meanwhile.
    pub usage: ResourceUsage,
    /// Its memory when the load was done, the database still open.
    pub memory: MemoryUsage,
}

/// What the workers have done, for the conclusion.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExecutionTotals {
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// Conflicts.
    pub conflicts: u64,
    /// What each worker found.
    pub findings: Vec<WorkerFindings>,
    /// Whether an interrupted trial was continued.
    pub resumed: bool,
    /// Whether the processes were killed before they had closed the database.
    pub crashed: bool,
}

/// What a worker says to the runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// Preparing or concluding, that much is done, 0 to 1.
    Progress {
        /// That much.
        fraction: f64,
    },
    /// The database is open and every session of this process is made.
    Ready {
        /// The processes of the native programs that it has started, where it has.
        #[serde(default)]
        native_pids: Vec<u32>,
    },
    /// Every worker of this process that has not ended rests.
    Paused,
    /// A second of the run has ended.
    Second(OperationCounts),
    /// The conformance suite's answer.
    Conformed {
        /// Every check.
        checks: Vec<Check>,
        /// The files with machine code that the process had mapped; `None` where that cannot be
        /// told.
        loaded: Option<Vec<PathBuf>>,
    },
    /// The ceilings.
    HardwareLimits(Box<HardwareLimits>),
    /// The database is ready for the workers.
    Prepared {
        /// The version that the engine's library reports.
        version: String,
        /// The library's file; `None` where the engine is compiled in.
        library: Option<PathBuf>,
        /// Whether it was compiled with its assertions; `None` where that cannot be told.
        assertions: Option<bool>,
        /// Settings and counters as the engine reports them.
        engine: EngineState,
        /// What was loaded; `None` where nothing was, or it is not worth a figure.
        load: Option<Box<LoadResult>>,
    },
    /// Every worker of this process has ended.
    Executed(Box<ProcessResult>),
    /// The database serves again after a crash.
    Recovered {
        /// Until it was open, seconds.
        open_s: f64,
        /// Until the first transaction had been committed, seconds; `None` where none was made.
        first_commit_s: Option<f64>,
    },
    /// The results.
    Verified(Box<VerificationResult>),
    /// This process cannot do its part.
    Failed {
        /// Why.
        message: String,
    },
}

/// What a process has done since the release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperationCounts {
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// How long they took together, by kind, nanoseconds.
    pub times_ns: Vec<u64>,
    /// Units of work.
    pub units: u64,
}

/// What an engine says of itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EngineState {
    /// Its settings.
    pub settings: BTreeMap<String, Value>,
    /// Its counters.
    pub counters: BTreeMap<String, Value>,
}

/// One process's part of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProcessResult {
    /// Whether it returned early because it was told to.
    pub stopped: bool,
    /// Its workers.
    pub workers: Vec<WorkerResult>,
    /// Latencies by kind, over its workers, as [`trueput_record::histogram::encode`] writes them.
    pub histograms: Vec<String>,
    /// What its open loop came to; `None` for a closed one.
    pub open_loop: Option<OpenLoopResult>,
    /// What it used between release and end.
    pub usage: ResourceUsage,
    /// Its memory at the end, the database still open.
    pub memory: MemoryUsage,
    /// Where it ran, and where its memory lay then.
    pub placement: Placement,
    /// Its memory allocator.
    pub allocator: AllocatorReport,
    /// What the engine says then.
    pub engine: EngineState,
    /// What its own cache was asked between release and end; `None` where it does not tell.
    #[serde(default)]
    pub cache: Option<CacheReport>,
}

/// What an engine's cache was asked, as one process sees it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct CacheReport {
    /// What it was asked.
    pub used: CacheUse,
    /// Whether that holds what other processes asked too.
    pub is_shared: bool,
}

/// What the open loops of a process's workers came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenLoopResult {
    /// Response times by kind of unit, encoded likewise.
    pub histograms: Vec<String>,
    /// Units begun.
    pub issued: u64,
    /// Units that were due and not begun at the end.
    pub backlog: u64,
    /// How long the oldest of them had waited, nanoseconds.
    pub oldest_wait_ns: u64,
}

/// One worker's part of the run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkerResult {
    /// From 0.
    pub index: u32,
    /// When it began, on `CLOCK_MONOTONIC`, which all processes share, nanoseconds.
    pub start_ns: u64,
    /// When it ended, likewise.
    pub end_ns: u64,
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// How long they took together, by kind, nanoseconds.
    pub times_ns: Vec<u64>,
    /// Conflicts, deadlocks among them.
    pub conflicts: u64,
    /// Deadlocks among them, where the engine tells.
    pub deadlocks: u64,
    /// What it found.
    pub findings: WorkerFindings,
}

/// What a trial came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VerificationResult {
    /// The results by name.
    pub results: BTreeMap<String, Value>,
    /// What was checked.
    pub checks: Vec<Check>,
    /// How long the conclusion took, seconds.
    pub elapsed_s: f64,
    /// What the engine says at the very end.
    pub engine: EngineState,
}
