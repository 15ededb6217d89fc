//! Programs in an engine's own language that do a worker's share in the worker's stead, to show the
//! cost of calling the engine from outside.
//!
//! The program and its worker exchange lines. On standard output the program says `ready` once it
//! has opened the database. When it reads `go` it begins. From time to time it says `done` and,
//! when it has finished, `ended`, each followed by words `NAME=NUMBER` with the counts since it
//! began: the workload's kinds of operation, `units`, and its results. Then it waits for the end of
//! standard input and exits. It reports errors as `error WHY`. It ends at SIGTERM, and with the
//! thread that started it.

use crate::{OpenSpec, Result};
use std::process::Command;

/// A program in an engine's own language for one workload.
pub trait NativeProgram: Send + Sync {
    /// Returns the command for one of `workers` workers, counted from 0, on an existing database.
    ///
    /// # Errors
    /// The errors of the engine.
    fn command(&self, spec: &OpenSpec<'_>, worker: u32, workers: u32) -> Result<Command>;
}
