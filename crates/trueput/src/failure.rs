//! The reasons why a command fails, and the exit code of each.

use std::path::Path;
use std::process::ExitCode;
use trueput_record::is_disk_full;

/// Exit code if a trial is invalid or failed, or another error occurred.
pub const FAILED: u8 = 1;
/// Exit code of bad input.
pub const USAGE: u8 = 2;
/// Exit code if gates are neither passed nor failed.
pub const UNDECIDED: u8 = 3;
/// Exit code if the user stopped the program.
pub const INTERRUPTED: u8 = 130;

/// The exit codes, as the end of a help text.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done; every trial that was run is valid
  1    a trial that was run is INVALID or failed, or another error occurred
  2    bad input: command line, plan or folder
  130  interrupted by Ctrl-C or SIGTERM; finished trials are kept";

/// A reason why a command failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Invalid input: the command line, a plan, a folder.
    Usage(String),
    /// Something went wrong on the way.
    Other(String),
    /// The reader of standard output closed it, which is not an error.
    OutputClosed,
}

impl Failure {
    /// A usage error with the text of `reason`.
    pub fn usage(reason: impl std::fmt::Display) -> Self {
        Self::Usage(reason.to_string())
    }

    /// Of a file that the user has named, or that lies in a folder of the user's: bad input, unless
    /// the disk is full.
    pub fn not_written(file: &Path, error: &std::io::Error) -> Self {
        let reason = format!("cannot write {}: {error}", file.display());
        if is_disk_full(error) {
            Self::Other(reason)
        } else {
            Self::Usage(reason)
        }
    }

    /// The program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(USAGE),
            Self::Other(_) => ExitCode::from(FAILED),
            Self::OutputClosed => ExitCode::SUCCESS,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::Other(text) => formatter.write_str(text),
            Self::OutputClosed => formatter.write_str("standard output was closed"),
        }
    }
}

/// Readers of options fail with one.
impl std::error::Error for Failure {}

/// The user named the plan or the run folder that could not be read.
impl From<trueput_record::Error> for Failure {
    fn from(error: trueput_record::Error) -> Self {
        if error.is_disk_full() {
            Self::Other(error.to_string())
        } else {
            Self::usage(error)
        }
    }
}

impl From<trueput_report::Error> for Failure {
    fn from(error: trueput_report::Error) -> Self {
        Self::usage(error)
    }
}

impl From<trueput_findings::compare::Error> for Failure {
    fn from(error: trueput_findings::compare::Error) -> Self {
        Self::usage(error)
    }
}

impl From<trueput_findings::prediction::Error> for Failure {
    fn from(error: trueput_findings::prediction::Error) -> Self {
        Self::usage(error)
    }
}

impl From<trueput_runner::matrix::Error> for Failure {
    fn from(error: trueput_runner::matrix::Error) -> Self {
        Self::usage(error)
    }
}

impl From<trueput_audit::Error> for Failure {
    fn from(error: trueput_audit::Error) -> Self {
        if error.is_usage() {
            Self::usage(error)
        } else {
            Self::Other(error.to_string())
        }
    }
}

impl From<trueput_runner::Error> for Failure {
    fn from(error: trueput_runner::Error) -> Self {
        if error.is_usage() {
            Self::usage(error)
        } else {
            Self::Other(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_full_disk_is_no_bad_input() {
        let of = |kind: ErrorKind| Failure::not_written(Path::new("page.html"), &kind.into());
        assert!(matches!(of(ErrorKind::StorageFull), Failure::Other(_)));
        assert!(matches!(of(ErrorKind::QuotaExceeded), Failure::Other(_)));
        assert!(matches!(of(ErrorKind::NotFound), Failure::Usage(_)));
        let read =
            |kind: ErrorKind| Failure::from(trueput_record::Error::io("run.json", kind.into()));
        assert!(matches!(read(ErrorKind::StorageFull), Failure::Other(_)));
        assert!(matches!(read(ErrorKind::NotFound), Failure::Usage(_)));
    }
}
