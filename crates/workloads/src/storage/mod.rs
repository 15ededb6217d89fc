//! Workloads that need no engine: what the storage under every engine can do. They read and write
//! files of their own in the trial's folder.

mod buffer;
mod channel;
mod file;
pub mod io_thrash;
mod log;
pub mod log_flush;
mod mapping;
mod record;
mod ring;
mod survey;

use crate::Error;
use std::path::Path;

/// Adds what was being done, and to which file, to an error of the operating system.
fn failed(doing: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Workload(format!("{doing} {}: {error}", path.display()))
}
