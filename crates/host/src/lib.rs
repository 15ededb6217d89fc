//! This machine: facts about it, its processes, memory and file systems, and the servers that we
//! start on it.
//!
//! # Modules
//!
//! - `allocator`: memory allocators
//! - `cgroup`: control groups that limit memory
//! - `disk`: the block device below a folder
//! - `facts`: facts about the machine
//! - `file_system`: mounted file systems, free space
//! - `flush_counts`: writes and flushes of the storage below a trial's folders
//! - `io_wait`: whether threads wait for I/O
//! - `kernel_threads`: CPU of the kernel's own threads
//! - `numa`: NUMA policies
//! - `page_cache`: the page cache of a database's files
//! - `placement`: processors, NUMA nodes and allocator of a worker
//! - `pressure`: activity of the whole machine
//! - `process`, `process_tree`: what processes use
//! - `run_marker`, `run_work_folder`, `work_folder`: folders in which databases are made
//! - `service`: servers of engines
//! - `topology`: processors and memory nodes
//! - `trial_file_system`: file systems made for a trial
//! - `usage`: the sum of resources that processes use
//! - `user`: the user who runs servers

mod allocator;
pub mod cgroup;
pub mod disk;
mod facts;
mod file_system;
pub mod flush_counts;
pub mod io_wait;
pub mod kernel_threads;
mod numa;
pub mod page_cache;
pub mod placement;
pub mod pressure;
pub mod process;
pub mod process_tree;
pub mod run_marker;
pub mod run_work_folder;
pub mod service;
mod topology;
pub mod trial_file_system;
pub mod usage;
mod user;
pub mod work_folder;

pub use allocator::read_allocator;
pub use facts::{
    count_configured_processors, count_cores, read_facts, read_kernel_version, read_load_average,
};
pub use file_system::{find_file_system, find_nearest_existing, read_free_bytes};
