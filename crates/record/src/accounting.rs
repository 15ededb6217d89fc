//! The resources that a trial used besides its processes (device, waits, memory limit) and the
//! ratios derived from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The activity of the block device that holds the database, from all programs. For a partition it
/// is the activity of the whole disk, because the kernel counts flushes only there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// Reads that it completed.
    pub reads: u64,
    /// Writes that it completed.
    pub writes: u64,
    /// Flushes that it completed; absent if the kernel does not count them (before Linux 5.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Sum of the times of these flushes, seconds; absent likewise, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_s: Option<f64>,
    /// Time in which at least one request was in flight, seconds.
    pub busy_s: f64,
    /// Sum of the times from issue to completion of all requests, seconds. Divided by the elapsed
    /// time it is the mean queue length, including requests in progress. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_s: Option<f64>,
}

impl Device {
    /// Returns the activity since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = u64::saturating_sub;
        let flushes = self.flushes.zip(before.flushes);
        let queue_s = self.queue_s.zip(before.queue_s);
        let flush_s = self.flush_s.zip(before.flush_s);
        Self {
            read_bytes: less(self.read_bytes, before.read_bytes),
            written_bytes: less(self.written_bytes, before.written_bytes),
            reads: less(self.reads, before.reads),
            writes: less(self.writes, before.writes),
            flushes: flushes.map(|(now, then)| less(now, then)),
            flush_s: flush_s.map(|(now, then)| passed_s(now, then)),
            busy_s: passed_s(self.busy_s, before.busy_s),
            queue_s: queue_s.map(|(now, then)| passed_s(now, then)),
        }
    }

    /// Returns the sum of both activities.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            flushes: self.flushes.zip(other.flushes).map(|(one, two)| one + two),
            flush_s: self.flush_s.zip(other.flush_s).map(|(one, two)| one + two),
            busy_s: self.busy_s + other.busy_s,
            queue_s: self.queue_s.zip(other.queue_s).map(|(one, two)| one + two),
        }
    }
}

/// The time slices in which a trial was measured while the other contenders were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSlices {
    /// Their number.
    pub count: u32,
    /// How the contender's processes were stopped between them.
    pub stopped_by: StopMeans,
    /// The longest time from the order to stop until the last thread had stopped, seconds.
    pub longest_stop_s: f64,
}

/// How processes are stopped between time slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopMeans {
    /// By the freezer of control groups (cgroup v2).
    ControlGroup,
    /// By SIGSTOP and SIGCONT.
    Signals,
}

/// Time in which tasks of the whole machine waited for want of something (PSI), seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// At least one waited for a processor.
    pub cpu_some_s: f64,
    /// At least one waited for memory.
    pub memory_some_s: f64,
    /// Time in which all runnable tasks waited for memory, seconds.
    pub memory_full_s: f64,
    /// At least one waited for I/O.
    pub io_some_s: f64,
    /// Time in which all runnable tasks waited for I/O, seconds.
    pub io_full_s: f64,
}

impl Pressure {
    /// Returns the waits since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu_some_s: passed_s(self.cpu_some_s, before.cpu_some_s),
            memory_some_s: passed_s(self.memory_some_s, before.memory_some_s),
            memory_full_s: passed_s(self.memory_full_s, before.memory_full_s),
            io_some_s: passed_s(self.io_some_s, before.io_some_s),
            io_full_s: passed_s(self.io_full_s, before.io_full_s),
        }
    }

    /// Returns the sum of both waits.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            cpu_some_s: self.cpu_some_s + other.cpu_some_s,
            memory_some_s: self.memory_some_s + other.memory_some_s,
            memory_full_s: self.memory_full_s + other.memory_full_s,
            io_some_s: self.io_some_s + other.io_some_s,
            io_full_s: self.io_full_s + other.io_full_s,
        }
    }
}

/// CPU use by other programs on the processors that the trial may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherPrograms {
    /// CPU used by neither the workers nor the runner (nor kernel threads, if `kernel_s` is
    /// present): seconds over those processors. The kernel counts in hundredths of a second.
    pub cpu_s: f64,
    /// CPU of kernel threads (write-back, journals, loop devices), on behalf of any program,
    /// seconds over those processors; absent if they are not visible, as in a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_s: Option<f64>,
    /// CPU that the hypervisor gave to other guests, seconds over those processors.
    pub steal_s: f64,
}

impl OtherPrograms {
    /// Returns the use since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu_s: passed_s(self.cpu_s, before.cpu_s),
            kernel_s: self
                .kernel_s
                .map(|now_s| passed_s(now_s, before.kernel_s.unwrap_or_default())),
            steal_s: passed_s(self.steal_s, before.steal_s),
        }
    }
}

/// Memory use of a trial under its memory limit. The control group contains the workers and the
/// processes that they start; the page cache of the files that they read and write is charged to
/// it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// The limit, bytes.
    pub limit_bytes: u64,
    /// The most that was used, page cache included, bytes; absent if the kernel does not say
    /// (cgroup v2 before Linux 5.19).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Number of times that the limit was reached, so that the kernel had to reclaim memory first;
    /// absent if not counted, as under cgroup v1 of Linux 6.18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
    /// Processes that the kernel killed because it could reclaim no memory.
    pub kills: u64,
}

/// Lookups in an engine's own cache between release and end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheUse {
    /// Lookups that found the page in the cache.
    pub hits: u64,
    /// Lookups that had to read from the page cache or the device.
    pub misses: u64,
}

impl CacheUse {
    /// Returns the lookups since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            hits: self.hits.saturating_sub(before.hits),
            misses: self.misses.saturating_sub(before.misses),
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            hits: self.hits.saturating_add(other.hits),
            misses: self.misses.saturating_add(other.misses),
        }
    }

    /// Returns hits over lookups, 0 to 1; `None` without lookups.
    #[must_use]
    pub fn hit_ratio(&self) -> Option<f64> {
        ratio(self.hits as f64, self.hits as f64 + self.misses as f64)
    }
}

/// The database's pages in the page cache before and after eviction for a cold start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColdStart {
    /// Pages that the database's files have.
    pub pages: u64,
    /// Pages of them that stayed in the page cache although they were to be dropped.
    pub pages_left: u64,
}

impl ColdStart {
    /// Returns whether at most one page in a hundred stayed.
    #[must_use]
    pub fn is_cold(&self) -> bool {
        self.pages_left.saturating_mul(100) <= self.pages
    }
}

/// Returns the bytes written to the device of a database, and to that of its log if it has its own;
/// `None` without a device of the database.
pub(crate) fn written_bytes(device: Option<Device>, log_device: Option<Device>) -> Option<u64> {
    let log_bytes = log_device.map_or(0, |log| log.written_bytes);
    Some(device?.written_bytes.saturating_add(log_bytes))
}

/// Counters of the kernel that are summed over processors may step back a little.
fn passed_s(now_s: f64, then_s: f64) -> f64 {
    (now_s - then_s).max(0.0)
}

/// A part over the whole; `None` if the whole is zero.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_ratio_is_of_what_was_asked_and_there_is_none_where_nothing_was() {
        let cache = |hits, misses| CacheUse { hits, misses };
        assert_eq!(cache(3, 1).hit_ratio(), Some(0.75));
        assert_eq!(cache(0, 2).hit_ratio(), Some(0.0));
        assert_eq!(cache(0, 0).hit_ratio(), None);
        assert_eq!(cache(5, 4).since(&cache(2, 4)), cache(3, 0));
        assert_eq!(cache(5, 4).plus(&cache(2, 4)), cache(7, 8));
    }

    #[test]
    fn a_start_is_cold_when_no_more_than_a_hundredth_stayed() {
        let start = |pages, pages_left| ColdStart { pages, pages_left };
        assert!(start(0, 0).is_cold() && start(200, 2).is_cold());
        assert!(!start(200, 3).is_cold());
    }

    #[test]
    fn flushes_that_are_not_counted_stay_unknown() {
        let counted = Device {
            flushes: Some(7),
            flush_s: Some(0.5),
            reads: 3,
            ..Device::default()
        };
        let uncounted = Device::default();
        assert_eq!(counted.since(&uncounted).flushes, None);
        assert_eq!(counted.since(&counted).flushes, Some(0));
        assert_eq!(counted.since(&uncounted).flush_s, None);
        assert_eq!(counted.plus(&counted).flush_s, Some(1.0));
        assert_eq!(uncounted.since(&counted).reads, 0);
    }
}
