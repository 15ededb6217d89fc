//! The protocol between runner and workers: one JSON object per line, instructions on the worker's
//! standard input, reports on its standard output.

use crate::evidence::failover::CommitLog;
use crate::workers::attachment::Attachment;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueput_engine::ExportedAddress;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;
use trueput_record::accounting::CacheUse;
use trueput_record::hardware_limits::HardwareLimits;
use trueput_record::measurement::Check;
use trueput_record::placement::{AllocatorReport, Placement};
use trueput_record::{TrialSpec, Value};
use trueput_workloads::{ExistingDatabase, WorkerFindings};

/// An instruction of the runner to a worker. It has no `Debug`: it may hold passwords.
#[derive(Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(crate) enum Instruction {
    /// The first line, if there are any: the passwords of users' servers.
    ImportCredentials {
        /// The result of [`trueput_engine::Credentials::export`].
        exported: Vec<ExportedAddress>,
    },
    /// The only line of its kind: serve the runner on this host, in the protocol of `hosts`.
    ServeHost,
    /// The first line otherwise: the assignment.
    Assign(Box<Assignment>),
    /// The only line of its kind: a task of a crate above the runner.
    Delegate {
        /// The name of the task.
        task: String,
        /// Its assignment, in the form of that crate.
        assignment: Json,
    },
    /// Start: every worker is ready.
    Start,
    /// Close the database and end: all workers have been measured, in time slices those of all
    /// contenders. Only workers in time slices and those whose engine has its own server wait for
    /// it, and none on other hosts.
    CloseDatabase,
    /// Return as soon as possible. The end of the pipe means the same.
    Stop,
}

/// The assignment of a worker process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The trial.
    pub spec: TrialSpec,
    /// The database's folder, which exists.
    pub directory: PathBuf,
    /// The number of trials that ran on this load before.
    pub generation: u32,
    /// Its task.
    pub task: WorkerTask,
}

/// The task of a worker process in a trial.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(crate) enum WorkerTask {
    /// Run the conformance suite on the engine.
    Conformance,
    /// Run the anomaly suite on the engine.
    Isolation,
    /// Measure the hardware limits.
    HardwareLimits {
        /// The folder of the database's log, which exists.
        log_directory: PathBuf,
        /// Whether the engine stores anything.
        stores: bool,
        /// The number of threads that measure concurrently.
        committers: u32,
        /// Bytes of a commit.
        commit_bytes: u64,
    },
    /// Make and fill the database.
    Prepare {
        /// The database that exists already.
        existing: ExistingDatabase,
    },
    /// Open the database, say that you are ready, and run when released.
    Measure {
        /// Index of the first worker in this process.
        first: u32,
        /// The number of workers in this process, each a thread.
        sessions: u32,
        /// The folder for their parts of a trace; `None` if none is recorded.
        #[serde(default)]
        trace_folder: Option<PathBuf>,
        /// The memory with the time for which they were stopped; `None` without time slices.
        #[serde(default)]
        stopped_time: Option<PathBuf>,
    },
    /// Open the database after a crash, and commit a first transaction.
    Recover,
    /// Have the engine compact the database.
    Compact,
    /// Compute and check the results.
    Verify(TrialTotals),
}

/// The result of loading a database.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct LoadResult {
    /// Records put.
    pub records: u64,
    /// Bytes of their keys and values.
    pub user_bytes: u64,
    /// Duration, including closing the database, seconds.
    pub elapsed_s: f64,
    /// Resources of the process.
    pub usage: ResourceUsage,
    /// Its memory when the load was done, the database still open.
    pub memory: MemoryUsage,
}

/// The totals of all workers, for the verification.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TrialTotals {
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// Conflicts.
    pub conflicts: u64,
    /// The findings of each worker.
    pub findings: Vec<WorkerFindings>,
    /// What the job of each worker hands over besides.
    pub attachments: Vec<Attachment>,
    /// Whether an interrupted trial was continued.
    pub resumed: bool,
    /// Whether the processes were killed with the database open.
    pub crashed: bool,
}

/// A report of a worker to the runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// Progress of [`WorkerTask::Prepare`] or [`WorkerTask::Verify`].
    Progress {
        /// The part that is done, 0 to 1.
        fraction: f64,
    },
    /// The database is open and every session of this process is made.
    Ready {
        /// The native programs that it has started.
        #[serde(default)]
        native_pids: Vec<u32>,
    },
    /// A second of the run has ended.
    Second(SecondReport),
    /// The conformance suite's answer.
    Conformed {
        /// All checks.
        checks: Vec<Check>,
        /// The files with machine code that the process had mapped; `None` if that is unknown.
        loaded: Option<Vec<PathBuf>>,
    },
    /// The anomaly suite's answer.
    Isolated {
        /// The number of schedules.
        schedules: usize,
        /// Anomalies that the stated level proscribes, one sentence each.
        refutations: Vec<String>,
        /// The error because of which schedules did not end; `None` if all did.
        failure: Option<String>,
        /// The files with machine code that the process had mapped; `None` if that is unknown.
        loaded: Option<Vec<PathBuf>>,
    },
    /// The measured hardware limits.
    HardwareLimits(Box<HardwareLimits>),
    /// The database is ready for the workers.
    Prepared {
        /// The name of the engine that was opened.
        name: String,
        /// The version that the engine's library reports.
        version: String,
        /// The library's file; `None` if the engine is compiled in.
        library: Option<PathBuf>,
        /// Whether it was compiled with its assertions; `None` if that is unknown.
        assertions: Option<bool>,
        /// Settings and counters as the engine reports them.
        engine: EngineState,
        /// The load; `None` if nothing was loaded, or it is not worth reporting.
        load: Option<Box<LoadResult>>,
    },
    /// Every worker of this process has ended.
    Measured(Box<ProcessResult>),
    /// The database serves again after a crash.
    Recovered {
        /// Until it was open, seconds.
        open_s: f64,
        /// Time until the first transaction was committed, seconds; `None` if none was made.
        first_commit_s: Option<f64>,
    },
    /// The engine has compacted the database, and it is closed.
    Compacted {
        /// The engine's call or statement; `None` if it has none and nothing was done.
        means: Option<String>,
        /// Duration of the call, seconds.
        elapsed_s: f64,
        /// Bytes that this process sent to the storage layer from then until the database was
        /// closed.
        storage_written_bytes: u64,
    },
    /// The results.
    Verified(Box<VerificationResult>),
    /// The answer to [`Instruction::Delegate`].
    Delegated {
        /// In the form of the task's crate.
        answer: Json,
    },
    /// This process cannot do its part.
    Failed {
        /// The cause.
        message: String,
    },
}

/// The operations of a process since [`Instruction::Start`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperationCounts {
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// Their total time by kind, nanoseconds.
    pub times_ns: Vec<u64>,
    /// Units of work.
    pub units: u64,
    /// Tombstones that iterators passed over in the measured part; `None` if the engine does not
    /// count them.
    #[serde(default)]
    pub tombstones_passed: Option<u64>,
}

/// A second of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SecondReport {
    /// The totals at its end.
    #[serde(flatten)]
    pub done: OperationCounts,
    /// The latencies in it by kind, as [`trueput_record::histogram::encode`] writes them; empty if
    /// nothing is timed.
    #[serde(default)]
    pub latencies: Vec<String>,
}

/// Settings and counters as the engine reports them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EngineState {
    /// Its settings.
    pub settings: BTreeMap<String, Value>,
    /// Its counters.
    pub counters: BTreeMap<String, Value>,
    /// Settings of its server that contradict the promise, each a sentence.
    #[serde(default)]
    pub contradictions: Vec<String>,
}

/// The result of one worker process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProcessResult {
    /// Whether it returned early because it was stopped.
    pub stopped: bool,
    /// Its workers.
    pub workers: Vec<WorkerResult>,
    /// Latencies by kind, over its workers, as [`trueput_record::histogram::encode`] writes them.
    pub histograms: Vec<String>,
    /// Latencies by kind since its last [`Report::Second`], as those of [`SecondReport`].
    #[serde(default)]
    pub remaining_latencies: Vec<String>,
    /// Its open loop; `None` for a closed loop.
    pub open_loop: Option<OpenLoopResult>,
    /// Resources used between release and end.
    pub usage: ResourceUsage,
    /// Its memory at the end, the database still open.
    pub memory: MemoryUsage,
    /// Processors and memory nodes at the end.
    pub placement: Placement,
    /// Its memory allocator.
    pub allocator: AllocatorReport,
    /// The engine's settings and counters at the end.
    pub engine: EngineState,
    /// Counters of the engine's own cache between release and end; `None` if it has none.
    #[serde(default)]
    pub cache: Option<CacheReport>,
    /// Tombstones that iterators passed over between release and end, as those of
    /// [`OperationCounts`].
    #[serde(default)]
    pub tombstones_passed: Option<u64>,
    /// Intervals of the measured part in which the process did not run.
    #[serde(default)]
    pub stalls: Vec<ProcessStall>,
}

/// An engine's cache counters, as one process sees them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct CacheReport {
    /// The counters.
    pub used: CacheUse,
    /// Whether they include other processes.
    pub is_shared: bool,
}

/// The open loops of a process's workers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenLoopResult {
    /// Response times by kind of unit, encoded as [`ProcessResult::histograms`].
    pub histograms: Vec<String>,
    /// Units started.
    pub issued: u64,
    /// Units that were due and not started at the end.
    pub backlog: u64,
    /// The longest wait among them, nanoseconds.
    pub oldest_wait_ns: u64,
    /// Units started late because their worker, though free, did not run.
    pub late: u64,
}

/// An interval in which a process did not run, on `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessStall {
    /// Its start, nanoseconds.
    pub from_ns: u64,
    /// Its length, nanoseconds.
    pub length_ns: u64,
    /// Whether the machine was suspended, which stops that clock; another one has the length.
    #[serde(default)]
    pub is_suspension: bool,
}

/// The result of one worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkerResult {
    /// Its index, from 0.
    pub index: u32,
    /// When it began, on `CLOCK_MONOTONIC`, which all processes share, less the time for which its
    /// contender had been stopped by then, nanoseconds.
    pub start_ns: u64,
    /// When it ended, likewise.
    pub end_ns: u64,
    /// How long its contender had been stopped by its end, nanoseconds.
    #[serde(default)]
    pub stopped_ns: u64,
    /// Operations by kind.
    pub counts: Vec<u64>,
    /// Their total time by kind, nanoseconds.
    pub times_ns: Vec<u64>,
    /// Operations by kind that looked for a record that was not there.
    #[serde(default)]
    pub not_found: Vec<u64>,
    /// Conflicts, deadlocks among them.
    pub conflicts: u64,
    /// Deadlocks among them, where the engine reports them.
    pub deadlocks: u64,
    /// Its acknowledged commits; `None` if no faults are planned.
    #[serde(default)]
    pub commit_log: Option<CommitLog>,
    /// Its results.
    pub findings: WorkerFindings,
    /// What its job hands to the verification besides.
    #[serde(default)]
    pub attachment: Attachment,
}

/// The results of a trial and their verification.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VerificationResult {
    /// The results by name.
    pub results: BTreeMap<String, Value>,
    /// The checks.
    pub checks: Vec<Check>,
    /// Duration of the verification, seconds.
    pub elapsed_s: f64,
    /// The state of the engine at the end.
    pub engine: EngineState,
}
