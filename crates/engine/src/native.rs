//! Programs in an engine's own language that do a worker's share in the worker's stead, so that
//! what it costs to call the engine from outside can be seen.
//!
//! Such a program speaks with its worker in lines. On standard output it says `ready` once it has
//! the database. When it reads `go` it begins. Now and then it says `done` and, when there is no
//! more to do, `ended`, each followed by words `NAME=NUMBER` with what it did since it began: the
//! workload's kinds of operation, `units`, and what it found. Then it waits for the end of standard
//! input and ends. What goes wrong it says as `error WHY`. It ends at SIGTERM, and with the thread
//! that started it.

use crate::{OpenSpec, Result};
use std::process::Command;

/// A program in an engine's own language for one workload.
pub trait NativeProgram: Send + Sync {
    /// How to start it for a worker of so many, counted from 0, on a database that is there.
    ///
    /// # Errors
    /// Whatever the engine says.
    fn command(&self, spec: &OpenSpec<'_>, worker: u32, workers: u32) -> Result<Command>;
}
