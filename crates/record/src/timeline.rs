//! The seconds of a trial.

use crate::accounting::{Device, OtherPrograms, Pressure, ratio, written_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One second of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineSecond {
    /// When it ended, seconds since the workers were released.
    pub at_s: f64,
    /// Operations done in it, by kind, in the order of the measurement's operations.
    pub counts: Vec<u64>,
    /// Mean service time by kind, nanoseconds; 0 for a kind without operations. Empty in older
    /// records, and for native programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_mean_ns: Vec<u64>,
    /// Median of the service times by kind, nanoseconds, within 0.8 % and at most the trial's
    /// maximum; 0 for a kind without operations. Empty in older records, and for native programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_p50_ns: Vec<u64>,
    /// Their 99th percentiles, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_p99_ns: Vec<u64>,
    /// Their 99.9th percentiles, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_p999_ns: Vec<u64>,
    /// Their maxima, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_max_ns: Vec<u64>,
    /// CPU seconds of the workers outside the kernel in it.
    pub user_cpu_s: f64,
    /// CPU seconds of the workers inside the kernel in it.
    pub system_cpu_s: f64,
    /// Sum of the workers' proportional set size at its end, bytes; 0 if it was not sampled.
    pub pss_bytes: u64,
    /// Bytes sent to the storage layer in it.
    pub storage_written_bytes: u64,
    /// Bytes of keys and values that the workers handed to the engine in it: its operations, each
    /// with the mean size of its kind; absent if the workload does not count them, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_written_bytes: Option<u64>,
    /// Bytes fetched from the storage layer in it.
    pub storage_read_bytes: u64,
    /// Sum of the workers' resident set sizes at its end, bytes; 0 if it was not sampled.
    #[serde(default)]
    pub rss_bytes: u64,
    /// Times in it that a worker's thread gave up the processor to wait.
    #[serde(default)]
    pub voluntary_context_switches: u64,
    /// Times that a worker's thread was preempted in this second.
    #[serde(default)]
    pub involuntary_context_switches: u64,
    /// Page faults in it that needed no I/O.
    #[serde(default)]
    pub minor_page_faults: u64,
    /// Page faults in it that needed I/O.
    #[serde(default)]
    pub major_page_faults: u64,
    /// Read-like system calls in it.
    #[serde(default)]
    pub read_calls: u64,
    /// Write-like system calls in it.
    #[serde(default)]
    pub write_calls: u64,
    /// Bytes through read-like system calls in it.
    #[serde(default)]
    pub read_call_bytes: u64,
    /// Bytes through write-like system calls in it.
    #[serde(default)]
    pub write_call_bytes: u64,
    /// Blocks that the file system had allocated to the database's files at the end of the second,
    /// bytes; absent if not sampled, or if there are too many files to inspect every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_allocated_bytes: Option<u64>,
    /// Activity of the database's block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Activity of the block device of the engine's log, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<Device>,
    /// Waits of the machine's tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// CPU use of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<OtherPrograms>,
    /// The part of the looks at the workers in it (up to 25) that found at least one thread of
    /// theirs waiting for I/O; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_wait_share: Option<f64>,
    /// Time in it that the workers' threads could have run and waited for a processor, seconds over
    /// all threads; absent in older records, and where a server works for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_s: Option<f64>,
    /// Tasks of the whole machine that ran or could have run at its end, the sampler included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_tasks: Option<u32>,
    /// Marks of deleted records that the workers' iterators passed over in it; absent if the engine
    /// does not count them while it runs, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tombstones_passed: Option<u64>,
}

impl TimelineSecond {
    /// Returns bytes sent to the storage layer in it per byte that the workers passed to the engine
    /// in it; `None` if the latter is unknown or zero. What an engine compacts in one second it may
    /// have taken in another.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.storage_written_bytes as f64;
        ratio(written, self.user_written_bytes? as f64)
    }

    /// Returns bytes written to the devices of database and log in it, by whatever program, per
    /// byte that the workers passed to the engine in it; `None` if either is unknown or the latter
    /// zero.
    #[must_use]
    pub fn device_write_amplification(&self) -> Option<f64> {
        let written = self.device_written_bytes()? as f64;
        ratio(written, self.user_written_bytes? as f64)
    }

    /// Returns bytes written to the devices of database and log in it; `None` if the database is on
    /// no block device.
    #[must_use]
    pub fn device_written_bytes(&self) -> Option<u64> {
        written_bytes(self.device, self.log_device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(written_bytes: u64) -> Option<Device> {
        Some(Device {
            written_bytes,
            ..Device::default()
        })
    }

    #[test]
    fn what_a_second_wrote_is_over_what_the_user_wrote_in_it() {
        let mut second = TimelineSecond {
            storage_written_bytes: 300,
            user_written_bytes: Some(200),
            device: written(400),
            ..TimelineSecond::default()
        };
        assert_eq!(second.write_amplification(), Some(1.5));
        assert_eq!(second.device_write_amplification(), Some(2.0));
        second.log_device = written(100);
        assert_eq!(second.device_write_amplification(), Some(2.5));
        second.device = None;
        assert_eq!(second.device_write_amplification(), None);
    }

    #[test]
    fn a_second_in_which_the_user_wrote_nothing_has_no_amplification() {
        let idle = TimelineSecond {
            storage_written_bytes: 300,
            user_written_bytes: Some(0),
            device: written(400),
            ..TimelineSecond::default()
        };
        let older = TimelineSecond {
            user_written_bytes: None,
            ..idle.clone()
        };
        for second in [idle, older] {
            assert_eq!(second.write_amplification(), None);
            assert_eq!(second.device_write_amplification(), None);
        }
    }
}
