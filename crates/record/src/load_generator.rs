//! The hosts that ran the workers of a trial: what each did, and whether it limited the trial.

use crate::latency::{OperationSummary, ResponseSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of its processors above which a host may have limited the rate.
pub const MAX_CPU_SHARE: f64 = 0.8;

/// The share of late arrivals above which a host did not keep the arrival schedule.
pub const MAX_LATE_SHARE: f64 = 0.01;

/// A host that ran workers of a trial, started over ssh.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadGenerator {
    /// Its name, as the plan has it.
    pub host: String,
    /// Its own name for itself.
    pub hostname: String,
    /// The processors that the workers could use.
    pub cores: u32,
    /// The workers that it ran.
    pub workers: u32,
    /// Per kind of operation, in the workload's order: the host's own rows. The rates are over the
    /// trial's elapsed time.
    pub operations: Vec<OperationSummary>,
    /// The histograms behind [`LoadGenerator::operations`], nanoseconds, in HdrHistogram's V2
    /// encoding, deflated, base64. The trial's percentiles come from the sum of their counts.
    pub histograms: Vec<String>,
    /// Response times by kind of unit; empty for a closed loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<ResponseSummary>,
    /// Operations by kind in each whole second since all hosts were released together.
    pub seconds: Vec<Vec<u64>>,
    /// The share of its processors that was used between release and end, by all programs; absent
    /// if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// Units of an open loop that it started.
    #[serde(default)]
    pub arrivals: u64,
    /// Units that it started more than 1 ms after they were due because a worker, though free, did
    /// not run: the host was late, and not the engine.
    #[serde(default)]
    pub late_arrivals: u64,
    /// Its clock, compared before the release.
    pub clock_before: ClockOffset,
    /// Its clock, compared after the end.
    pub clock_after: ClockOffset,
    /// Intervals in which it, or a worker of it, did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
}

/// A host's clocks minus those of the runner, from the fastest of several round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// Of the monotonic clocks, which start when a machine does, nanoseconds. All times of the host
    /// are converted with it.
    pub monotonic_ns: i64,
    /// Of the wall clocks, nanoseconds. Nothing is computed from it.
    pub wall_ns: i64,
    /// The error bound of both: half of the round trip, nanoseconds.
    pub error_ns: u64,
}

/// An interval in which a host or one of its workers did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The worker's process, by its first worker; absent if the whole host stalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Its start, seconds since the release.
    pub from_s: f64,
    /// Its length by the host's own monotonic clock, seconds.
    pub length_s: f64,
}

impl LoadGenerator {
    /// Returns the change of the host's monotonic clock against the runner's during the trial,
    /// nanoseconds.
    #[must_use]
    pub fn drift_ns(&self) -> i64 {
        self.clock_after.monotonic_ns - self.clock_before.monotonic_ns
    }

    /// Returns the share of its arrivals that were late.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.late_arrivals as f64 / self.arrivals.max(1) as f64
    }

    /// Returns whether the host may have limited what was measured: too busy, or late.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.cpu_share.is_some_and(|share| share > MAX_CPU_SHARE)
            || self.late_share() > MAX_LATE_SHARE
    }

    /// Returns why the trial's figures are invalid: a sentence for each stall, which names the
    /// host.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        self.stalls.iter().map(|stall| {
            let Stall {
                worker,
                from_s,
                length_s,
            } = stall;
            let whose = match worker {
                Some(worker) => format!("worker {worker} on host {}", self.host),
                None => format!("host {}", self.host),
            };
            format!("{whose} did not run for {length_s:.1} s, from second {from_s:.1} on")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_was_busy_or_late_is_a_limit() {
        let host = |cpu_share, late_arrivals| LoadGenerator {
            cpu_share,
            arrivals: 1_000,
            late_arrivals,
            ..LoadGenerator::default()
        };
        assert!(!host(Some(0.8), 10).is_limit());
        assert!(host(Some(0.81), 0).is_limit());
        assert!(host(None, 11).is_limit());
        assert!(!LoadGenerator::default().is_limit());
    }

    #[test]
    fn a_stalled_host_is_named() {
        let stall = |worker| Stall {
            worker,
            from_s: 2.04,
            length_s: 4.26,
        };
        let host = LoadGenerator {
            host: "b".to_owned(),
            stalls: vec![stall(None), stall(Some(3))],
            ..LoadGenerator::default()
        };
        let doubts: Vec<_> = host.doubts().collect();
        assert_eq!(
            doubts[0],
            "host b did not run for 4.3 s, from second 2.0 on"
        );
        assert!(doubts[1].starts_with("worker 3 on host b did not run for 4.3 s"));
    }
}
