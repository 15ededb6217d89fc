//! Errors that prevent a run from starting or continuing. The failure of a trial is not an error:
//! it is recorded.

use crate::across::error::FleetError;
use crate::hosts::error::HostError;
use crate::plan::disk_space::DiskSpace;
use std::path::PathBuf;
use trueput_host::work_folder::WorkFolderError;
use trueput_record::value::format_bytes;

/// The reason why a run cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan has no trials.
    #[error("no trial to run")]
    NoTrials,
    /// A trial requests something that its engine or workload does not support.
    #[error("trial {id}: {message}")]
    Trial {
        /// The trial.
        id: String,
        /// The input and the remedy.
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
        /// The reason and the remedy.
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
        /// The needs of the largest trial.
        space: DiskSpace,
        /// The multiple of the expected size that must be free.
        factor: f64,
        /// The free space for this user.
        free_bytes: u64,
    },
    /// A host of a trial cannot be used.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The hosts of a run that is spread over them cannot go on.
    #[error(transparent)]
    Fleet(Box<FleetError>),
    /// The program that workers are could not be started.
    #[error("cannot start a worker, {program}: {source}")]
    Worker {
        /// The program.
        program: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The run folder could not be written or read.
    #[error(transparent)]
    Record(#[from] trueput_record::Error),
}

impl From<FleetError> for Error {
    fn from(error: FleetError) -> Self {
        Self::Fleet(Box::new(error))
    }
}

impl Error {
    /// Returns whether the user's request was impossible (exit code 2), as opposed to a failure
    /// during the run.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoTrials
            | Self::Trial { .. }
            | Self::WorkFolder(_)
            | Self::Results { .. }
            | Self::NoRoom { .. }
            | Self::Host(_) => true,
            Self::Record(error) => matches!(
                error,
                trueput_record::Error::NewerFormat { .. } | trueput_record::Error::Busy { .. }
            ),
            Self::Fleet(error) => error.is_usage(),
            Self::Worker { .. } => false,
        }
    }
}
