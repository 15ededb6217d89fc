//! The maximum rates of a machine without an engine, measured in the same run and folder and with
//! as many threads as the trial has workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hardware limits of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareLimits {
    /// The number of threads that measured concurrently: one per worker of the trial.
    pub committers: u32,
    /// Bytes appended by each commit.
    pub commit_bytes: u64,
    /// Durable appends; absent if the file system refuses to flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushLimit>,
    /// Blocks of 4 KiB; absent if the file could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockLimit>,
    /// Memory.
    pub memory: MemoryBandwidth,
    /// Operations per second of the null engine, over all threads: the limit of the harness.
    pub harness_per_s: f64,
    /// Duration of these measurements, seconds.
    pub elapsed_s: f64,
}

/// Commits per second that append `commit_bytes` and are acknowledged when `fdatasync` has
/// returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlushLimit {
    /// Each committer flushes its own log for each commit.
    pub separate_per_s: f64,
    /// All committers append to one log, and one flush serves every append that preceded it.
    pub grouped_per_s: f64,
    /// Flushes per second in the latter.
    pub grouped_flushes_per_s: f64,
}

/// Reads and writes of 4 KiB blocks, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLimit {
    /// Whether the requests bypassed the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Blocks written in order, per second.
    pub sequential_writes_per_s: f64,
    /// Blocks read in order, per second.
    pub sequential_reads_per_s: f64,
    /// Blocks written anywhere, per second.
    pub random_writes_per_s: f64,
    /// Blocks read anywhere, per second.
    pub random_reads_per_s: f64,
}

/// Memory, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBandwidth {
    /// Bytes of the region that was read.
    pub region_bytes: u64,
    /// Bytes copied per second.
    pub copied_bytes_per_s: f64,
    /// Dependent reads per second: each must end before the location of the next one is known.
    pub dependent_reads_per_s: f64,
}

/// Returns a rate over a limit; `None` if the limit is 0 or the rate is not finite.
#[must_use]
pub fn share_of(per_s: f64, limit_per_s: f64) -> Option<f64> {
    (limit_per_s > 0.0 && per_s.is_finite()).then(|| per_s / limit_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_share_of_a_limit_that_was_not_measured() {
        assert_eq!(share_of(50.0, 200.0), Some(0.25));
        assert_eq!(share_of(50.0, 0.0), None);
    }
}
