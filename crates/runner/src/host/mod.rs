//! The machine: facts about it, its file systems, and what `/proc` says of a process.

mod allocator;
pub(crate) mod cgroup;
pub(crate) mod disk;
mod facts;
mod file_system;
pub mod filesystem;
pub(crate) mod flush_counts;
pub(crate) mod kernel_threads;
mod numa;
pub(crate) mod page_cache;
pub(crate) mod placement;
pub(crate) mod pressure;
pub(crate) mod process;
pub mod service;
mod topology;
pub(crate) mod tree;
mod user;
pub(crate) mod waits;

pub(crate) use allocator::in_use as allocator_in_use;
pub(crate) use facts::{cores, kernel, profile};
pub use facts::{facts, load_average};
pub(crate) use file_system::{file_system, free_bytes, nearest_existing};
