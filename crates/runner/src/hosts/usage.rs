//! The use of a host: its processors, and its workers' processes.

use super::protocol::HostActivity;
use crate::evidence::sampler::SampledProcess;
use crate::workers::clock::{ClockError, read_monotonic_ns};
use trueput_host::placement;
use trueput_host::pressure::{CpuSet, read_processor_times};
use trueput_host::process::{self, MemoryUsage};
use trueput_host::usage::ResourceUsage;

/// Reads the use of this host.
pub(crate) struct HostUsageReader {
    cpus: CpuSet,
    /// The number of these processors.
    pub cores: u32,
    /// The workers' processes, from their release on.
    processes: Vec<SampledProcess>,
}

impl HostUsageReader {
    /// Finds the processors that this process and its children may use.
    pub fn new() -> Self {
        let cpus = placement::list_cpus_of_all(&[std::process::id()]);
        Self {
            cores: u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1),
            cpus: if cpus.is_empty() {
                CpuSet::all()
            } else {
                CpuSet::of(&cpus)
            },
            processes: Vec::new(),
        }
    }

    /// Starts to read the resources of these processes.
    pub fn follow(&mut self, pids: &[u32]) {
        let processes = pids.iter().map(|pid| SampledProcess::new(*pid, false));
        self.processes = processes.collect();
    }

    /// Reads the use of the host so far.
    ///
    /// # Errors
    /// [`ClockError`].
    pub fn read(&mut self) -> Result<HostActivity, ClockError> {
        let times = read_processor_times(&self.cpus);
        let (mut usage, mut memory) = (ResourceUsage::default(), MemoryUsage::default());
        for process in &mut self.processes {
            process.poll();
            let rss_bytes = process::read_rss_bytes(process.pid);
            usage += process.usage(rss_bytes.is_some());
            memory.rss_bytes += rss_bytes.unwrap_or_default();
        }
        Ok(HostActivity {
            at_ns: read_monotonic_ns()?,
            busy_s: times.map(|times| times.busy_s + times.steal_s),
            usage,
            memory,
        })
    }
}
