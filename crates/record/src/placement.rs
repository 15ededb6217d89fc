//! The processors and memory nodes that the workers of a trial used, as the kernel reports them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processors and memory nodes of the workers at the end of the run, while their databases are
/// open: as found, not as requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Processors that any of their threads could use, as `0-3,8`.
    pub cpus: String,
    /// The policy of their anonymous memory in the kernel's words, as `default`,
    /// `interleave:0-3`; several if an engine set its own for a part. Empty if the kernel
    /// has no NUMA support.
    pub numa_policy: String,
    /// Anonymous memory (heaps, stacks, private caches) on each node, bytes, summed over the
    /// processes; the first entry is node 0.
    pub anonymous_bytes_by_node: Vec<u64>,
    /// Pages of mapped files on each node, bytes, likewise. A page that n processes map counts n
    /// times, and is on the node of its first access, which may have been the load.
    pub file_bytes_by_node: Vec<u64>,
}

/// The memory allocator that the workers' processes used, as found in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorReport {
    /// The version that it reports; empty if it reports none.
    pub name: String,
    /// The library's file.
    pub path: String,
    /// The version that it reports; empty if it reports none.
    pub version: String,
}
