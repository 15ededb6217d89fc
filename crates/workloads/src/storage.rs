//! Workloads that need no engine: they measure the storage under every engine, with files of their
//! own in the trial's folder.

mod error;
mod file;
mod io_ring;
pub mod io_thrash;
mod log;
pub mod log_flush;
mod log_record;
mod log_verifier;
mod mapping;
mod write_channel;

use crate::Error;
pub use error::StorageError;
use std::path::Path;

/// Adds the operation and the file to an error of the operating system.
fn io_error(doing: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Workload(format!("{doing} {}: {error}", path.display()))
}
