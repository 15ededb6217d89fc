//! The reasons why a worker process cannot do its task. The runner quotes them.

use super::native::NativeProgramError;
use super::pipe::PipeError;
use super::recording::TraceError;
use crate::evidence::summaries::HistogramError;
use crate::hosts::protocol::SILENCE_TIMEOUT;
use crate::plan::refusal::Refusal;
use crate::workers::clock::ClockError;
use crate::workers::delegated::TaskError;
use crate::workers::meter::MAX_KINDS;
use std::fmt::Display;
use std::io;
use trueput_engine::Error as EngineError;
use trueput_engine::panics::Panic;
use trueput_host::process::UsageError;
use trueput_workloads::Error as JobError;

/// The reason why a worker process cannot do its task.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkerError {
    /// The trial cannot be run here.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// This machine does not give what the trial needs; one sentence.
    #[error("{0}")]
    Setup(String),
    /// The resources of this process are not known.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// This program does not have the task.
    #[error("this program has no task '{0}'")]
    NoTask(String),
    /// A task of a crate above the runner failed.
    #[error("{0}")]
    Delegated(TaskError),
    /// An action on the engine failed.
    #[error("{action}: {source}")]
    Engine {
        /// What was being done: `opening the database`.
        action: &'static str,
        /// The engine's error.
        source: EngineError,
    },
    /// The workload.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The log of the commits of a worker of a cluster.
    #[error(transparent)]
    CommitLog(EngineError),
    /// The workload has too many kinds of operation for a meter.
    #[error("{0} kinds of operation exceed the maximum of {MAX_KINDS}")]
    TooManyKinds(usize),
    /// A worker of several in this process.
    #[error("worker {index}: {source}")]
    Numbered {
        /// Its index.
        index: u32,
        /// The reason.
        source: Box<Self>,
    },
    /// A panic.
    #[error("it {0}")]
    Panic(Panic),
    /// A thread ended without saying why.
    #[error("a worker thread ended early")]
    ThreadLost,
    /// The native program of a worker.
    #[error(transparent)]
    NativeProgram(#[from] NativeProgramError),
    /// A trace cannot be recorded.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Latencies cannot be added or sent.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
    /// The hardware limits cannot be measured.
    #[error(transparent)]
    HardwareLimits(io::Error),
    /// The clock cannot be read.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The runner cannot be reached, or is none.
    #[error(transparent)]
    Pipe(#[from] PipeError),
    /// A worker of this host cannot be started.
    #[error("a worker cannot be started: {0}")]
    Start(io::Error),
    /// This program's own file cannot be read.
    #[error("cannot read this program: {0}")]
    Program(io::Error),
    /// The time of this host cannot be told.
    #[error("the wall clock is wrong")]
    WallClock,
    /// The runner of a host was silent for too long.
    #[error(
        "the runner has sent nothing for {} s: it is paused, or the network is down",
        SILENCE_TIMEOUT.as_secs()
    )]
    SilentRunner,
}

impl WorkerError {
    /// Returns the error of what this machine says in a sentence.
    pub fn of_setup(reason: impl Display) -> Self {
        Self::Setup(reason.to_string())
    }

    /// Returns how an engine's error becomes that of an action.
    pub fn of_engine(action: &'static str) -> impl Fn(EngineError) -> Self {
        move |source| Self::Engine { action, source }
    }
}
