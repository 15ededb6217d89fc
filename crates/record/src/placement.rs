//! Where the workers of a trial ran and where their memory lay, as the kernel reports it.

use serde::{Deserialize, Serialize};

/// Where the workers ran and where their memory lay at the end of the run, their databases still
/// open: as found, not as asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Processors that any of their threads could use, as `0-3,8`.
    pub cpus: String,
    /// The policy of their anonymous memory in the kernel's words, as `default`,
    /// `interleave:0-3`; several where an engine set its own for a part. Empty where the kernel
    /// knows no NUMA.
    pub numa_policy: String,
    /// Anonymous memory (heaps, stacks, private caches) on each node, bytes, summed over the
    /// processes; the first entry is node 0.
    pub anonymous_bytes_by_node: Vec<u64>,
    /// Mapped files' pages on each node likewise, bytes. A page that n processes map counts n
    /// times, and is where it was first read or written, maybe by the load.
    pub file_bytes_by_node: Vec<u64>,
}

/// The memory allocator that the workers' processes used, as found in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocatorReport {
    /// `libc`, `jemalloc`, `tcmalloc`, `mimalloc`, or the file name of another one.
    pub name: String,
    /// The library's file.
    pub path: String,
    /// The version that it reports; empty where it reports none.
    pub version: String,
}
