//! The machine: facts about it, its file systems, and what `/proc` says of a process.

mod facts;
mod file_system;
pub(crate) mod process;

pub use facts::{facts, load_average};
