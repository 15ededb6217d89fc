//! The errors of jobs.

use crate::custom::CustomError;
use crate::history::HistoryError;
use crate::insert_benchmark::InsertBenchmarkError;
use crate::micro::MicroError;
use crate::mixgraph::MixgraphError;
use crate::pgbench::PgbenchError;
use crate::storage::StorageError;
use crate::sysbench::SysbenchError;
use crate::threen1::ThreeN1Error;
use crate::tpcc::TpccError;
use crate::trace::TraceError;
use crate::ycsb::YcsbError;
use trueput_engine::Error as EngineError;

/// Why a job cannot be done as it was asked for: its settings contradict each other or the run
/// conditions, or the engine or the plan does not give what it needs. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JobError {
    /// Of `custom`.
    #[error(transparent)]
    Custom(#[from] CustomError),
    /// Of `history`.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// Of `insert-benchmark`.
    #[error(transparent)]
    InsertBenchmark(#[from] InsertBenchmarkError),
    /// Of `micro`.
    #[error(transparent)]
    Micro(#[from] MicroError),
    /// Of `mixgraph`.
    #[error(transparent)]
    Mixgraph(#[from] MixgraphError),
    /// Of `pgbench`.
    #[error(transparent)]
    Pgbench(#[from] PgbenchError),
    /// Of `log-flush` and `io-thrash`.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Of `sysbench`.
    #[error(transparent)]
    Sysbench(#[from] SysbenchError),
    /// Of `threen1`.
    #[error(transparent)]
    ThreeN1(#[from] ThreeN1Error),
    /// Of `tpcc`.
    #[error(transparent)]
    Tpcc(#[from] TpccError),
    /// Of `trace`.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Of `ycsb`.
    #[error(transparent)]
    Ycsb(#[from] YcsbError),
    /// A workload from which a crash could take nothing.
    #[error("it writes nothing that a crash could lose: remove crash_and_recover")]
    CrashWithoutWrites,
    /// A workload whose verification cannot find what a crash lost.
    #[error("it cannot verify what a crash lost: remove crash_and_recover")]
    UnverifiableCrash,
    /// Of a workload outside this crate, in its words.
    #[error("{0}")]
    Other(String),
}

impl From<JobError> for String {
    fn from(error: JobError) -> Self {
        error.to_string()
    }
}

/// The reasons why a job cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The engine refused.
    #[error("{doing}: {source}{}", source.conflict_hint())]
    Engine {
        /// The operation that failed: `storing the steps of 27`.
        doing: String,
        /// The engine's error.
        source: EngineError,
    },
    /// The workload itself cannot go on: an overflow, a record that it did not write.
    #[error("{0}")]
    Workload(String),
    /// The user stopped the run.
    #[error("stopped")]
    Stopped,
}

/// The result of a job's step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Adds the failed step to an engine's error.
pub trait ErrorContext<T> {
    /// Names the failed step; the text is only built if there is an error.
    ///
    /// # Errors
    /// The engine's error with the name of the step.
    fn context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ErrorContext<T> for trueput_engine::Result<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Engine {
            doing: doing(),
            source,
        })
    }
}
