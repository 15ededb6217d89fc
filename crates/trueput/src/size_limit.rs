//! How much is read of a folder or a bundle that may come from anybody.

use crate::failure::Failure;
use clap::Args;
use trueput_record::Error as RecordError;
use trueput_record::value::parse_bytes;

/// How much is read of each run.
#[derive(Debug, Clone, Copy, Args)]
pub struct SizeLimit {
    /// Largest file of a run, or unpacked bundle, to read; a line may be at most a quarter of this
    #[arg(long = "max-size", value_name = "SIZE", value_parser = parse_bytes,
          default_value = "256MiB")]
    pub most_bytes: u64,
}

/// An error, with what can be done where a limit was too low.
pub fn explained(error: RecordError) -> Failure {
    match error {
        RecordError::TooLarge { .. } => Failure::usage(format!("{error}; {RAISE}")),
        other => other.into(),
    }
}

/// What is said where the limit was too low.
pub const RAISE: &str = "raise the limit with --max-size, as in --max-size 8GiB";
