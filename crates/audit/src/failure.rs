//! The reasons why an audit has no result.

use std::io;
use std::path::PathBuf;
use std::time::Duration;
use trueput_faultfs::mount::MountError;
use trueput_host::trial_file_system::TrialFileSystemError;
use trueput_record::Durability;
use trueput_record::audit::Damage;

/// The failure of an audit that had too little time to say anything.
pub(crate) const TIME_OVER: &str = "time budget exhausted before any state was tested";

/// The reason why an audit has no result. It says nothing of the engine.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user stopped the audit.
    #[error("interrupted")]
    Interrupted,
    /// The time was over before any state was tested.
    #[error("{TIME_OVER}")]
    TimeOver,
    /// No model that the user chose tests the promise.
    #[error(
        "no chosen model tests what '{claim}' promises: choose --model kill, in the folder form"
    )]
    NoModel {
        /// The level whose promise is tested.
        claim: Durability,
    },
    /// A file cannot be read or written; the error names it, or its path does not matter.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file or folder cannot be made, written or removed.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The recording file system failed.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The image of the block form cannot be made or mounted.
    #[error(transparent)]
    Image(#[from] TrialFileSystemError),
    /// The workload could not be recorded.
    #[error("recording: {0}")]
    Recording(String),
    /// As [`Failure::Recording`], and its folder is full.
    #[error(
        "recording: {reason}; {} is full: free some space there, or choose another folder with \
         --results",
        folder.display()
    )]
    RecordingFull {
        /// The reason.
        reason: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The workload that was to be killed had ended.
    #[error("the workload did not begin to commit: {0}")]
    NoCommit(String),
    /// The workload that was to be killed was too slow.
    #[error("the workload did not begin to commit within {} s", .0.as_secs())]
    NoCommitWithin(Duration),
    /// The folder for states is full, which a damaged state may be the sign of.
    #[error("the folder for states is full: choose another one with --work ({0})")]
    StatesFull(Damage),
    /// The folder for databases is full, which an engine meets as a fault.
    #[error("{} is full: choose another folder with --work", .0.display())]
    WorkFull(PathBuf),
    /// The server of the faulty folder ended before the trial did, which an engine meets as a
    /// fault.
    #[error("the server of the faulty storage ended before the trial: try again")]
    ServerEnded,
    /// Processes that were killed still have files of a folder open: what its storage holds is not
    /// known yet.
    #[error("{}: processes that were killed still use it", .0.display())]
    StillUsed(PathBuf),
    /// A worker gave no report.
    #[error(transparent)]
    NoReport(NoReport),
    /// A worker reported on another task.
    #[error("the worker did something else")]
    OtherReport,
}

impl Failure {
    /// Returns how an error of the operating system becomes the failure of a file.
    pub(crate) fn of_file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::File {
            path: path.into(),
            source,
        }
    }
}

impl From<NoReport> for Failure {
    fn from(none: NoReport) -> Self {
        match none {
            NoReport::Canceled => Self::Interrupted,
            other => Self::NoReport(other),
        }
    }
}

/// The reason why a worker gave no report.
#[derive(Debug, thiserror::Error)]
pub enum NoReport {
    /// It could not be started, or was killed: this says nothing of the engine.
    #[error("{0}")]
    NotStarted(String),
    /// It could not do its task, for this reason.
    #[error("{0}")]
    Failed(String),
    /// It ended without one.
    #[error("{0}")]
    Ended(String),
    /// It did not end within its time limit.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The user stopped the audit.
    #[error("interrupted")]
    Canceled,
}

impl From<io::Error> for NoReport {
    fn from(error: io::Error) -> Self {
        Self::NotStarted(error.to_string())
    }
}
