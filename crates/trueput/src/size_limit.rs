//! Limits on the bytes read from an untrusted folder or bundle.

use crate::failure::Failure;
use clap::Args;
use trueput_record::Error as RecordError;
use trueput_record::value::parse_bytes;

/// The limit for each run.
#[derive(Debug, Clone, Copy, Args)]
pub struct SizeLimit {
    /// Largest file of a run, or unpacked bundle, to read; a line may be at most a quarter of this
    #[arg(long = "max-size", value_name = "SIZE", value_parser = parse_bytes,
          default_value = "256MiB")]
    pub max_bytes: u64,
}

/// An error, with a remedy if a limit was too low.
pub fn explained(error: RecordError) -> Failure {
    match error {
        RecordError::TooLarge { .. } => Failure::usage(format!("{error}; {RAISE}")),
        other => other.into(),
    }
}

/// The remedy for a limit that was too low.
pub const RAISE: &str = "raise the limit with --max-size, as in --max-size 8GiB";
