//! Summaries of latencies, and of an open loop.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Count, rate and latency of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationSummary {
    /// The workload's name for it: `read`, `update`, …
    pub kind: String,
    /// The number of operations, over all workers.
    pub count: u64,
    /// `count` over the trial's elapsed time.
    pub per_s: f64,
    /// Service time: from the worker's start of the operation to its end. It excludes the wait that
    /// users at a fixed rate would see; [`OpenLoop`] includes it.
    pub latency: LatencySummary,
    /// The operations that looked for a record that was not there; absent if all found theirs, if
    /// the workload looks for none, and in older records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_found: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The behavior of an open loop at its rate, and the response times that its users would have seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    /// Requested arrivals of units of work per second.
    pub rate_per_s: f64,
    /// When each became due: `constant`, `poisson` or `recorded`.
    pub arrival: String,
    /// Units begun.
    pub issued: u64,
    /// Units that were due and not begun when the time was up.
    pub backlog: u64,
    /// The wait of the oldest of them at that time, seconds.
    pub oldest_wait_s: f64,
    /// Per kind of unit. The first kind includes the backlog, with its waiting time at the end:
    /// those response times are lower bounds.
    pub responses: Vec<ResponseSummary>,
}

impl OpenLoop {
    /// The arrival of requests at the times that a workload itself states.
    pub const RECORDED: &str = "recorded";

    /// Returns whether requests arrived at the times that the workload itself states, so that the
    /// rate is no condition of the trial.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.arrival == Self::RECORDED
    }
}

/// Response times of one kind of unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSummary {
    /// The workload's name for it.
    pub kind: String,
    /// The number of units, including the backlog.
    pub count: u64,
    /// From when the unit was due to its end.
    pub latency: LatencySummary,
}

/// Figures drawn from a latency histogram, nanoseconds. The histogram itself is in the run folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(
    missing_docs,
    reason = "each field is the statistic that it is named for"
)]
pub struct LatencySummary {
    pub mean_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl LatencySummary {
    /// Summarizes a histogram of nanoseconds. A percentile is the smallest latency that at
    /// least that share of all latencies do not exceed.
    #[must_use]
    pub fn of(latencies: &Histogram<u64>) -> Self {
        if latencies.is_empty() {
            return Self::default();
        }
        Self {
            mean_ns: latencies.mean(),
            min_ns: latencies.min(),
            p50_ns: latencies.value_at_quantile(0.5),
            p90_ns: latencies.value_at_quantile(0.9),
            p99_ns: latencies.value_at_quantile(0.99),
            p999_ns: latencies.value_at_quantile(0.999),
            max_ns: latencies.max(),
        }
    }

    /// Returns whether operations were timed. A native program times none, and each figure is then
    /// 0.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.max_ns > 0
    }
}
