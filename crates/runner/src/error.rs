//! Errors that prevent a run from starting or continuing. The failure of a trial is no error: it is
//! recorded.

use crate::disk_space::DiskSpace;
use std::path::PathBuf;
use trueput_host::work_folder::WorkFolderError;
use trueput_record::value::format_bytes;

/// Why a run cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan has no trials.
    #[error("no trial to run")]
    NoTrials,
    /// A trial asks for what its engine or workload does not have.
    #[error("trial {id}: {message}")]
    Trial {
        /// The trial.
        id: String,
        /// What was given and what would be right.
        message: String,
    },
    /// The work folder cannot be used.
    #[error(transparent)]
    WorkFolder(#[from] WorkFolderError),
    /// The folder for results cannot be used.
    #[error("results folder {path}: {message}")]
    Results {
        /// The folder.
        path: PathBuf,
        /// Why not, and what would be right.
        message: String,
    },
    /// The file system of the work folder has too little room.
    #[error(
        "work folder {path}: {}, {} free: free some space, choose another directory, or lower \
         --disk-factor",
        space.explained(*factor),
        format_bytes(*free_bytes)
    )]
    NoRoom {
        /// The folder.
        path: PathBuf,
        /// What the largest trial may need.
        space: DiskSpace,
        /// How many times what is expected must be free.
        factor: f64,
        /// What is free for this user.
        free_bytes: u64,
    },
    /// The program that workers are could not be started.
    #[error("cannot start a worker, {program}: {source}")]
    Worker {
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The run folder could not be written or read.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
}

impl Error {
    /// Whether the user asked for something that cannot be (exit code 2), rather than something
    /// having gone wrong on the way.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoTrials
            | Self::Trial { .. }
            | Self::WorkFolder(_)
            | Self::Results { .. }
            | Self::NoRoom { .. } => true,
            Self::Record(error) => matches!(
                error,
                trueput_record::Error::NewerFormat { .. } | trueput_record::Error::Busy { .. }
            ),
            Self::Worker { .. } => false,
        }
    }
}
