//! Errors that prevent audits, or the replay of a counterexample. The failure of one audit is not
//! an error: it is in its result.

use crate::replay::ReplayError;
use crate::subject::SubjectError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use trueput_host::run_marker::MarkedFolderError;
use trueput_host::run_work_folder::TrialFolderError;
use trueput_host::work_folder::WorkFolderError;
use trueput_record::value::format_seconds;

/// The reason why audits cannot be made, or a counterexample cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The time is too short for the controls and the audits in any case.
    #[error(
        "--budget {}: too short for {controls} controls and {audits} {}: give {}s or more",
        format_seconds(budget.as_secs_f64()),
        if *audits == 1 { "audit" } else { "audits" },
        least.as_secs_f64().ceil()
    )]
    BudgetTooShort {
        /// The time for all.
        budget: Duration,
        /// The number of controls.
        controls: usize,
        /// The number of audits.
        audits: usize,
        /// The time that they take at least.
        least: Duration,
    },
    /// There is no FUSE on this machine, or this user may not use it.
    #[error(
        "this needs FUSE, and /dev/fuse cannot be opened ({source}); {}",
        fuse_remedy(source)
    )]
    NoFuse {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program by which users without root mount.
    #[error("without root this needs fusermount3: install the package fuse3")]
    NoMountHelper,
    /// The folder for results cannot be made.
    #[error("the folder {folder} cannot be made: {source}; name another")]
    Results {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder for recordings cannot be made.
    #[error(transparent)]
    Recordings(io::Error),
    /// The folder of a recording cannot be made.
    #[error(transparent)]
    Recording(#[from] MarkedFolderError),
    /// The folder of the audit cannot be made.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
    /// The folder for states cannot be used.
    #[error(transparent)]
    WorkFolder(#[from] WorkFolderError),
    /// The folder for states cannot be made.
    #[error(transparent)]
    States(#[from] TrialFolderError),
    /// The folder for states is not empty.
    #[error("{folder} holds what a killed audit left: trueput clean --yes removes it")]
    StatesInUse {
        /// The folder.
        folder: PathBuf,
    },
    /// A file or folder of the audit cannot be written, or mounted.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file of this program, which its workers are, cannot be found.
    #[error("cannot find this program's file: {0}")]
    Program(io::Error),
    /// A control cannot be audited.
    #[error(transparent)]
    Control(SubjectError),
    /// The folder for replays cannot be made.
    #[error("{folder}: {source}")]
    Replays {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is something else at the place of the folder for replays.
    #[error("{folder} is a link or a file, not a directory: remove it")]
    ReplaysNotFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A counterexample cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl Error {
    /// Returns whether the user's request was impossible (exit code 2), as opposed to a failure on
    /// the way.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::BudgetTooShort { .. }
            | Self::Results { .. }
            | Self::Recordings(_)
            | Self::Recording(_)
            | Self::Record(_)
            | Self::WorkFolder(_)
            | Self::States(_)
            | Self::StatesInUse { .. }
            | Self::Replays { .. }
            | Self::ReplaysNotFolder { .. } => true,
            Self::Replay(error) => error.is_bad_input(),
            Self::NoFuse { .. }
            | Self::NoMountHelper
            | Self::File { .. }
            | Self::Program(_)
            | Self::Control(_) => false,
        }
    }
}

fn fuse_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run it as root, or let root run 'chmod 666 /dev/fuse'",
        _ => "load it with 'modprobe fuse', and without root install the package fuse3",
    }
}
