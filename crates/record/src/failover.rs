//! What planned faults did to a cluster in a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The effect of planned faults on the workers of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failover {
    /// The faults that were caused, in order.
    pub faults: Vec<FaultOutcome>,
    /// The longest time in which no worker's commit was acknowledged, seconds; times below 5 ms are
    /// 0.
    pub longest_gap_s: f64,
    /// The longest such time before the first fault, seconds.
    #[serde(default)]
    pub usual_gap_s: f64,
    /// The longest time without an acknowledged commit of each worker, seconds, likewise.
    pub worker_gaps_s: Vec<f64>,
    /// Write transactions that were acknowledged, warm-up included.
    #[serde(default)]
    pub commits: u64,
    /// Connections that were lost and opened again.
    pub reconnections: u64,
    /// Transactions that were lost with their connection before they were committed, and repeated.
    pub repeated: u64,
    /// Commits whose answer was lost, and that had taken effect.
    pub unknown_committed: u64,
    /// Commits whose answer was lost, and that had not taken effect; they were repeated.
    pub unknown_lost: u64,
    /// Those of them that took effect later, after they had been repeated.
    #[serde(default)]
    pub late: u64,
    /// Acknowledged commits that were missing after a fault.
    pub missing: u64,
    /// Commits without an answer that were read after one fault and were missing after another;
    /// 0 in older records, which count them as missing.
    #[serde(default)]
    pub visible_then_lost: u64,
}

/// A planned fault and its effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultOutcome {
    /// When it was caused, seconds from the beginning of the measured part.
    pub at_s: f64,
    /// The fault, as a plan writes it: `kill=leader`.
    pub order: String,
    /// The numbers of the nodes that it concerned.
    pub nodes: Vec<u32>,
    /// The longest time until the next fault in which no worker's commit was acknowledged, seconds.
    pub gap_s: f64,
    /// Whether that time had not ended at the next fault or the end of the trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gap_is_open: bool,
    /// The time until commits were again acknowledged at nine tenths of the rate before the first
    /// fault, over a second, in steps of 0.1 s; 0 if they always were; absent if they were not
    /// before the next fault or the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_after_s: Option<f64>,
}

impl Failover {
    /// Returns the number of commits whose answer was lost.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown_committed + self.unknown_lost
    }
}
