//! Facts about this machine, its processes, memory and file systems, and the servers that trueput
//! starts on it.

mod allocator;
pub mod cgroup;
pub mod cluster;
pub mod disk;
mod facts;
mod file_system;
pub mod fit_file;
pub mod flush_counts;
pub mod folder_copy;
pub mod folder_replacement;
pub mod freezer;
mod fuse;
pub mod image_store;
pub mod io_wait;
pub mod kernel_threads;
pub mod machine_checks;
pub mod mount_namespace;
pub mod network;
mod numa;
pub mod page_buffer;
pub mod page_cache;
pub mod placement;
pub mod pressure;
pub mod private_files;
pub mod process;
pub mod process_tree;
pub mod run_marker;
pub mod run_work_folder;
pub mod service;
pub mod shared_counters;
mod shared_memory;
pub mod storage_stack;
#[cfg(feature = "testing")]
pub mod testing;
mod topology;
pub mod trial_file_system;
pub mod usage;
mod user;
pub mod work_folder;

pub use allocator::read_allocator;
pub use facts::{
    count_configured_processors, count_cores, read_facts, read_kernel_version, read_load_average,
    read_memory_bytes,
};
pub use file_system::{
    FreeSpace, find_file_system, find_nearest_existing, read_free_bytes, read_free_space,
};
pub use fuse::end_connection;
pub use user::is_root;
