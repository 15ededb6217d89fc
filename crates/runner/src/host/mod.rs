//! The machine: facts about it, its file systems, and what `/proc` says of a process.

mod facts;
mod file_system;
pub(crate) mod process;

pub(crate) use facts::cores;
pub mod filesystem;
mod numa;
pub(crate) mod page_cache;
pub(crate) mod placement;
pub(crate) mod pressure;
pub use facts::{facts, load_average};
pub(crate) use file_system::{free_bytes, nearest_existing};
