//! The protocol between the runner and its process on another host: one JSON object per line. What
//! is for a worker, or from one, is relayed in it.

use super::trial_protocol::{TrialInstruction, TrialReport};
use crate::workers::protocol::{Assignment, Report};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use trueput_engine::ExportedAddress;
use trueput_host::process::MemoryUsage;
use trueput_host::usage::ResourceUsage;

/// The version of this protocol. A program with another one is refused.
pub(crate) const PROTOCOL: u32 = 2;

/// Tells a host that the runner is alive, and asks for a sign of life: a ping whose answer nobody
/// awaits.
pub(crate) const KEEP_ALIVE: HostInstruction = HostInstruction::Ping { number: u32::MAX };

/// Silence of the other side after which a host or the runner gives the trial up.
pub(crate) const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// An instruction of the runner to its process on a host. It has no `Debug`: it may hold passwords.
#[derive(Serialize, Deserialize)]
#[serde(tag = "host_order", rename_all = "snake_case")]
pub(crate) enum HostInstruction {
    /// Start a worker process.
    StartWorker {
        /// The passwords of users' servers.
        exported: Vec<ExportedAddress>,
        /// Its assignment.
        assignment: Box<Assignment>,
    },
    /// Release the workers at this moment of the host's monotonic clock, nanoseconds.
    Release {
        /// The moment.
        at_ns: u64,
    },
    /// Let the workers return as soon as possible.
    Stop,
    /// Run trials by itself.
    Trials {
        /// What of them.
        instruction: TrialInstruction,
    },
    /// End: kill what still runs, say goodbye and leave. The end of the input alone could be that
    /// of the launcher.
    End,
    /// Answer at once with the clocks.
    Ping {
        /// The number of the question.
        number: u32,
    },
}

/// A report of the runner's process on a host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "host_report", rename_all = "snake_case")]
pub(crate) enum HostReport {
    /// The first line.
    Hello(Box<Hello>),
    /// The answer to a ping.
    Pong {
        /// The number of the question.
        number: u32,
        /// The host's monotonic clock, nanoseconds.
        monotonic_ns: u64,
        /// The host's wall clock, nanoseconds since 1970.
        wall_ns: i64,
    },
    /// Of the trials that it runs by itself.
    Trials {
        /// What of them.
        report: TrialReport,
    },
    /// A worker process runs.
    Started {
        /// Its process on the host.
        pid: u32,
    },
    /// A worker process has reported.
    Worker {
        /// Its number on this host, in the order of the starts.
        number: usize,
        /// Its report.
        report: Box<Report>,
    },
    /// A worker process has ended.
    Ended {
        /// Its number on this host.
        number: usize,
        /// How, if not well.
        failure: Option<String>,
    },
    /// The host is alive.
    Heartbeat(HostActivity),
    /// The host, or a worker of it, has not run for a while, and does again.
    Stall {
        /// The worker's number on this host; `None` for the whole host.
        number: Option<usize>,
        /// When it ran last, on the host's monotonic clock, nanoseconds.
        from_ns: u64,
        /// How long it did not run, nanoseconds.
        length_ns: u64,
    },
    /// The host cannot do its part.
    Failed {
        /// The reason.
        message: String,
    },
    /// The last line, after [`HostInstruction::End`]: nothing runs there any more. The exit code of
    /// a launcher proves nothing; this does.
    Goodbye {
        /// The lines before this one.
        reports: u64,
    },
}

/// What a host says of itself first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The version of the protocol that it speaks; 0 in programs that do not say.
    #[serde(default)]
    pub protocol: u32,
    /// SHA-256 of the program that runs there, in hexadecimal digits.
    pub sha256: String,
    /// The program's version.
    pub version: String,
    /// The host's own name.
    pub hostname: String,
    /// The kernel's number of this boot: of the same kernel it is the same.
    pub boot_id: String,
    /// The processors that its workers may use.
    pub cores: u32,
}

/// The use of a host since the release of its workers.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct HostActivity {
    /// The host's monotonic clock, nanoseconds.
    pub at_ns: u64,
    /// Busy time of its processors by all programs and other machines, since the machine started,
    /// seconds over all processors that workers may use; `None` if the kernel does not report it.
    pub busy_s: Option<f64>,
    /// Resources of its workers' processes since the release.
    pub usage: ResourceUsage,
    /// Their memory now.
    pub memory: MemoryUsage,
}
