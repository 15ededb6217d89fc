//! The machine: facts about it, its file systems, and what `/proc` says of a process.

mod facts;
mod file_system;
pub(crate) mod process;

pub(crate) use facts::cores;
pub use facts::{facts, load_average};
pub(crate) use file_system::{free_bytes, nearest_existing};
