//! What limits figures on a machine, or cannot be measured there, as `trueput doctor` finds it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CheckSeverity {
    /// Nothing is wrong.
    Fine,
    /// Something cannot be measured here.
    Missing,
    /// Figures are lower, or scatter more, than on a machine without it.
    LimitsFigures,
    /// What is promised to survive lost power may not.
    VoidsPromises,
}

crate::choices! {
    /// The subject of a check of the machine.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum CheckSubject {
        /// The library that turns flushes off.
        Eatmydata = "eatmydata",
        /// The file system of databases.
        FileSystem = "file-system",
        /// The time of a flush.
        Flush = "flush",
        /// Processor time that the hypervisor gave to others, measured.
        Steal = "steal",
        /// Processor time that other programs used, measured.
        Neighbors = "neighbors",
        /// Interruptions of a thread that only spins, measured.
        Jitter = "jitter",
        /// The load average.
        Load = "load",
        /// The frequency governor.
        Governor = "governor",
        /// Frequencies above the nominal one.
        Turbo = "turbo",
        /// Transparent huge pages.
        HugePages = "huge-pages",
        /// The kernel's clock source.
        ClockSource = "clock-source",
        /// A translated processor.
        Emulation = "emulation",
        /// Memory that is available.
        Memory = "memory",
        /// Memory on disk.
        Swap = "swap",
        /// Limits of this process.
        Limits = "limits",
        /// Space for databases.
        Space = "space",
        /// File systems in user space.
        Fuse = "fuse",
        /// Loop devices.
        LoopDevices = "loop-devices",
        /// Programs that make file systems.
        FileSystemTools = "file-system-tools",
        /// The right to limit memory.
        MemoryLimits = "memory-limits",
        /// Networks of clusters.
        Networks = "networks",
        /// Logins on other hosts.
        Ssh = "ssh",
        /// Engines.
        Engines = "engines",
    }
}

/// A finding about the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineCheck {
    /// Its subject.
    pub subject: CheckSubject,
    /// How much it matters.
    pub severity: CheckSeverity,
    /// What was found, as the system or the measurement says it.
    pub found: String,
}

impl MachineCheck {
    /// Returns a finding.
    pub fn new(subject: CheckSubject, severity: CheckSeverity, found: impl Into<String>) -> Self {
        Self {
            subject,
            severity,
            found: found.into(),
        }
    }
}
