//! Facts about the machine and this program that are needed to interpret a figure.

use crate::machine_check::MachineCheck;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine and the program that measured on it.
///
/// Each fact is as reported by the operating system; if unreadable, it is empty or `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Host name.
    pub host_name: String,
    /// Processor model, from `/proc/cpuinfo`.
    pub cpu_model: String,
    /// Processors that this program may run on.
    pub cores: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Memory nodes with their processors and distances; empty in older records and if the
    /// kernel knows no NUMA.
    #[serde(default)]
    pub numa_nodes: Vec<NumaNode>,
    /// Operating system, from `/etc/os-release`.
    pub operating_system: String,
    /// Kernel release and build.
    pub kernel: String,
    /// Hypervisor or container, if detectable, else `none`.
    pub virtualization: String,
    /// Frequency governor of the first processor; absent if the kernel has none.
    pub governor: Option<String>,
    /// The clock that latencies are read from.
    pub clock: String,
    /// The file system that the databases are on.
    pub file_system: FileSystemFacts,
    /// Load averages over 1, 5 and 15 minutes when the run began.
    pub load_at_start: [f64; 3],
    /// What limited figures, or voided promises, when the run began: see `trueput doctor`. Absent
    /// in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<MachineCheck>,
    /// This program.
    pub program: ProgramFacts,
}

impl HostFacts {
    /// Returns the words by which this machine is told from another: its name and processor.
    #[must_use]
    pub fn machine(&self) -> String {
        format!("{} ({})", self.host_name, self.cpu_model)
    }
}

/// A NUMA node: processors, and memory that is near to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// The kernel's number of it.
    pub node: u32,
    /// The processors of the node, as `0-3,8`; empty if it has none.
    pub cpus: String,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// The relative costs of accessing each node's memory from this node's processors, in the order
    /// of the nodes; 10 is local.
    pub distances: Vec<u32>,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystemFacts {
    /// Its type: `ext4`, `xfs`, `tmpfs` …
    pub kind: String,
    /// The device or other source that is mounted.
    pub source: String,
    /// The mount point.
    pub mount_point: String,
    /// The mount options.
    pub options: String,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Free for this user when the run began, bytes.
    pub free_bytes: u64,
}

/// This program, as built.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFacts {
    /// trueput's version.
    pub version: String,
    /// The commit that it was built from, with `-dirty` appended if the tree had changes.
    pub commit: String,
    /// `release` or `debug`. Results of a debug build are invalid.
    pub profile: String,
    /// The exact command line.
    pub command: Vec<String>,
}
