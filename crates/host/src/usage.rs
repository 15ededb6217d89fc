//! The resources that processes use.

use super::process::{self, IoBytes};
use nix::sys::resource::{Usage as SystemUsage, UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};
use std::ops::Sub;

/// The resources that a process has used.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// CPU seconds outside the kernel.
    pub user_cpu_s: f64,
    /// CPU seconds inside the kernel.
    pub system_cpu_s: f64,
    /// Times that a thread gave up the processor.
    pub voluntary_context_switches: u64,
    /// Times that a thread had to.
    pub involuntary_context_switches: u64,
    /// Page faults without I/O.
    pub minor_page_faults: u64,
    /// Page faults with I/O.
    pub major_page_faults: u64,
    /// Bytes moved.
    pub io: IoBytes,
}

impl Sub for ResourceUsage {
    type Output = Self;

    /// The resources used since `before`.
    fn sub(self, before: Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            user_cpu_s: self.user_cpu_s - before.user_cpu_s,
            system_cpu_s: self.system_cpu_s - before.system_cpu_s,
            voluntary_context_switches: less(
                self.voluntary_context_switches,
                before.voluntary_context_switches,
            ),
            involuntary_context_switches: less(
                self.involuntary_context_switches,
                before.involuntary_context_switches,
            ),
            minor_page_faults: less(self.minor_page_faults, before.minor_page_faults),
            major_page_faults: less(self.major_page_faults, before.major_page_faults),
            io: self.io.since(&before.io),
        }
    }
}

/// The resources that this process and the children it has waited for have used. The kernel adds
/// the children's I/O to the process's own.
///
/// # Errors
/// A sentence with what the operating system says.
pub fn own_usage() -> Result<ResourceUsage, String> {
    let read = |who| {
        getrusage(who).map_err(|error| format!("reading this process's resource usage: {error}"))
    };
    let both = [
        read(UsageWho::RUSAGE_SELF)?,
        read(UsageWho::RUSAGE_CHILDREN)?,
    ];
    let seconds = |of: fn(&SystemUsage) -> TimeVal| {
        both.iter()
            .map(|used| of(used).num_microseconds() as f64 / 1e6)
            .sum()
    };
    let count = |of: fn(&SystemUsage) -> i64| both.iter().map(|used| of(used).unsigned_abs()).sum();
    Ok(ResourceUsage {
        user_cpu_s: seconds(SystemUsage::user_time),
        system_cpu_s: seconds(SystemUsage::system_time),
        voluntary_context_switches: count(SystemUsage::voluntary_context_switches),
        involuntary_context_switches: count(SystemUsage::involuntary_context_switches),
        minor_page_faults: count(SystemUsage::minor_page_faults),
        major_page_faults: count(SystemUsage::major_page_faults),
        // Absent where the kernel does not account; the runner then records zeros.
        io: process::io(std::process::id()).unwrap_or_default(),
    })
}
