//! The time for which a commit waits for other nodes: a round trip of the network, and the flush
//! or the replay of the followers that it waits for.

use super::Error;
use schemars::JsonSchema;
use serde::Serialize;
use std::str::FromStr;
use trueput_record::measurement::LatencySummary;
use trueput_record::{Durability, TrialSpec};

/// What a commit waits for on the followers. The names are those of PostgreSQL's ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FollowerStep {
    /// Nothing: no follower is asked.
    Local,
    /// They have received and written it.
    RemoteWrite,
    /// They have flushed it.
    On,
    /// They show it to readers.
    RemoteApply,
}

impl FollowerStep {
    /// Every step, the shortest wait first.
    pub const ALL: [Self; 4] = [Self::Local, Self::RemoteWrite, Self::On, Self::RemoteApply];

    /// The name, as on the command line and in knobs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::RemoteWrite => "remote-write",
            Self::On => "on",
            Self::RemoteApply => "remote-apply",
        }
    }
}

/// A text that names no step of a follower.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not what a commit waits for; write one of {}",
    FollowerStep::ALL.map(FollowerStep::name).join(", ")
)]
pub struct UnknownStep {
    text: String,
}

impl FromStr for FollowerStep {
    type Err = UnknownStep;

    fn from_str(text: &str) -> Result<Self, UnknownStep> {
        let named = Self::ALL.into_iter().find(|step| step.name() == text);
        named.ok_or_else(|| UnknownStep {
            text: text.to_owned(),
        })
    }
}

/// The nodes, and what a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Replication {
    /// The number of nodes; 1 for an engine that is not a cluster.
    pub nodes: u32,
    /// The number of followers that a commit waits for, the fastest ones.
    pub followers: u32,
    /// What it waits for there.
    pub step: FollowerStep,
    /// The delay of the network between nodes, one way, seconds.
    pub network_delay_s: f64,
}

impl Replication {
    /// A single node.
    pub const NONE: Self = Self {
        nodes: 1,
        followers: 0,
        step: FollowerStep::Local,
        network_delay_s: 0.0,
    };

    /// The nodes that a trial ran on, and what its commits waited for, from its knobs.
    #[must_use]
    pub fn of_trial(spec: &TrialSpec) -> Self {
        let knob = |name: &str| spec.knobs.get(name).map(ToString::to_string);
        let number = |name: &str| knob(name).and_then(|text| text.parse::<u32>().ok());
        let Some(nodes) = number("nodes").filter(|nodes| *nodes > 1) else {
            return Self::NONE;
        };
        let (followers, step) = match (knob("cluster_commit"), spec.engine.as_str()) {
            // The commit of PostgreSQL's level buffered waits for nothing.
            (Some(_), _) if spec.durability == Durability::Buffered => (0, FollowerStep::Local),
            (Some(word), _) => {
                // 'by-level' is 'on' at the other levels. A knob whose word is 'on' is a Boolean.
                let step = word.parse().unwrap_or(FollowerStep::On);
                (number("synchronous_standbys").unwrap_or(1), step)
            }
            // A Galera node answers when all others have received the transaction.
            (None, "galera") => (nodes - 1, FollowerStep::RemoteWrite),
            // A majority with the leader in it, as Raft has it.
            (None, _) => (nodes / 2, FollowerStep::On),
        };
        Self {
            nodes,
            followers,
            step,
            network_delay_s: network_delay_s(spec),
        }
    }

    /// Whether a commit waits for other nodes.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.followers > 0 && self.step > FollowerStep::Local
    }
}

/// The delay of the network that a trial had between its nodes, seconds.
pub(super) fn network_delay_s(spec: &TrialSpec) -> f64 {
    let knob = spec.knobs.get("network_delay").map(ToString::to_string);
    knob.and_then(|text| text.parse::<u32>().ok())
        .map_or(0.0, |microseconds| f64::from(microseconds) * 1e-6)
}

/// The costs of a follower, and how much its times vary.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FollowerCosts {
    /// The mean time of a flush, seconds; `None` if it is neither measured nor given.
    pub flush_s: Option<f64>,
    /// Whether the user gave it.
    pub is_flush_given: bool,
    /// The time from the flush until readers see the commit, seconds; `None` if it is not known.
    pub apply_s: Option<f64>,
    /// Whether the user gave it.
    pub is_apply_given: bool,
    /// Quantiles of the time of a follower as multiples of the mean, as share and multiple. Empty:
    /// a flush always takes the mean.
    #[serde(skip)]
    pub spread: Vec<(f64, f64)>,
    /// Round trips between nodes per commit.
    pub round_trips: f64,
}

/// The parts of a commit's wait for other nodes, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct CommitWait {
    /// Round trips of the network.
    pub network_s: f64,
    /// The flush of the slowest follower that it waits for.
    pub flush_s: f64,
    /// The replay there.
    pub apply_s: f64,
}

impl CommitWait {
    /// The whole wait, seconds.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.network_s + self.flush_s + self.apply_s
    }

    /// By how much each part is longer than that of another wait.
    pub(super) fn beyond(&self, other: &Self) -> Self {
        Self {
            network_s: (self.network_s - other.network_s).max(0.0),
            flush_s: (self.flush_s - other.flush_s).max(0.0),
            apply_s: (self.apply_s - other.apply_s).max(0.0),
        }
    }
}

impl FollowerCosts {
    /// The wait of a commit.
    ///
    /// # Errors
    /// [`Error::UnknownFollowerCost`] if it contains a cost that is not known.
    pub(super) fn wait(&self, on: &Replication) -> Result<CommitWait, Error> {
        if !on.waits() {
            return Ok(CommitWait::default());
        }
        let known = |cost: Option<f64>, option| cost.ok_or(Error::UnknownFollowerCost { option });
        let (mut flush_s, mut apply_s) = (0.0, 0.0);
        if on.step >= FollowerStep::On {
            flush_s = known(self.flush_s, "--follower-flush")? * self.multiple(on);
        }
        if on.step == FollowerStep::RemoteApply {
            apply_s = known(self.apply_s, "--follower-apply")?;
        }
        Ok(CommitWait {
            flush_s,
            apply_s,
            ..self.network_wait(on)
        })
    }

    /// The round trips of a commit that waits, alone.
    pub(super) fn network_wait(&self, on: &Replication) -> CommitWait {
        CommitWait {
            network_s: self.round_trips * 2.0 * on.network_delay_s,
            ..CommitWait::default()
        }
    }

    /// The expected time of the slowest of the fastest followers, as a multiple of the mean.
    fn multiple(&self, on: &Replication) -> f64 {
        let all = on.nodes.saturating_sub(1).max(on.followers);
        expected_order_statistic(&self.spread, on.followers, all)
    }
}

/// Steps of the integral over the shares.
const STEPS: u32 = 2_000;

/// The mean of the k-th smallest of `all` independent values, from the quantiles of one of them as
/// share and value, with straight lines between them. 1 without quantiles.
///
/// The share of the k-th smallest has the distribution Beta(k, all − k + 1); its density is
/// integrated by the midpoint rule. H. A. David, H. N. Nagaraja, Order Statistics, Wiley 2003,
/// section 3.1.
fn expected_order_statistic(quantiles: &[(f64, f64)], k: u32, all: u32) -> f64 {
    if quantiles.is_empty() || k == 0 {
        return 1.0;
    }
    let (below, above) = (f64::from(k - 1), f64::from(all - k));
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in 0..STEPS {
        let share = (f64::from(step) + 0.5) / f64::from(STEPS);
        let weight = share.powf(below) * (1.0 - share).powf(above);
        sum += weight * quantile(quantiles, share);
        weights += weight;
    }
    sum / weights
}

/// The value at a share, on the straight lines between quantiles.
fn quantile(quantiles: &[(f64, f64)], share: f64) -> f64 {
    let after = quantiles.partition_point(|(at, _)| *at < share);
    let (Some(&(from, low)), Some(&(to, high))) =
        (quantiles.get(after.saturating_sub(1)), quantiles.get(after))
    else {
        return quantiles.last().map_or(1.0, |(_, value)| *value);
    };
    if to > from {
        low + (high - low) * (share - from) / (to - from)
    } else {
        low
    }
}

/// The quantiles of a latency as multiples of the mean that straight lines between them have.
/// Empty if nothing was timed. The longest of all is left out: it is one operation.
pub(super) fn spread(latency: &LatencySummary) -> Vec<(f64, f64)> {
    if !latency.is_measured() {
        return Vec::new();
    }
    let all = [
        (0.0, latency.min_ns),
        (0.5, latency.p50_ns),
        (0.9, latency.p90_ns),
        (0.99, latency.p99_ns),
        (0.999, latency.p999_ns),
    ];
    let all: Vec<(f64, f64)> = all.map(|(share, ns)| (share, ns as f64)).to_vec();
    // One of one: the mean.
    let mean = expected_order_statistic(&all, 1, 1);
    if mean <= 0.0 {
        return Vec::new();
    }
    all.into_iter()
        .map(|(share, ns)| (share, ns / mean))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_two_uniform_times_takes_a_third_of_the_range() {
        let uniform = [(0.0, 0.0), (1.0, 2.0)];
        let of = |k, all| expected_order_statistic(&uniform, k, all);
        // The k-th of n uniform values on (0, 2) has the mean 2k / (n + 1).
        for (k, all) in [(1, 1), (1, 2), (2, 2), (2, 4), (4, 8)] {
            let expected = 2.0 * f64::from(k) / f64::from(all + 1);
            assert!((of(k, all) - expected).abs() < 1e-5, "{k} of {all}");
        }
    }

    #[test]
    fn the_spread_of_one_follower_keeps_the_mean() {
        let latency = LatencySummary {
            mean_ns: 1_500.0,
            min_ns: 500,
            p50_ns: 1_000,
            p90_ns: 2_000,
            p99_ns: 9_000,
            p999_ns: 20_000,
            max_ns: 90_000,
        };
        let spread = spread(&latency);
        let of = |k, all| expected_order_statistic(&spread, k, all);
        assert!((of(1, 1) - 1.0).abs() < 1e-9);
        assert!(of(1, 2) < 1.0 && of(2, 2) > 1.0 && of(1, 4) < of(1, 2));
        assert!((of(1, 2) + of(2, 2) - 2.0).abs() < 1e-3);
        assert_eq!(super::spread(&LatencySummary::default()), Vec::new());
    }

    #[test]
    fn a_commit_waits_for_what_its_step_says() {
        let costs = FollowerCosts {
            flush_s: Some(0.001),
            is_flush_given: true,
            apply_s: Some(0.000_5),
            is_apply_given: true,
            spread: Vec::new(),
            round_trips: 1.0,
        };
        let on = |step| Replication {
            nodes: 3,
            followers: 1,
            step,
            network_delay_s: 0.002,
        };
        let totals = FollowerStep::ALL.map(|step| costs.wait(&on(step)).unwrap().total_s());
        for (total, expected) in totals.into_iter().zip([0.0, 0.004, 0.005, 0.005_5]) {
            assert!((total - expected).abs() < 1e-12, "{totals:?}");
        }
        let unknown = FollowerCosts {
            flush_s: None,
            ..costs
        };
        assert!(unknown.wait(&on(FollowerStep::RemoteWrite)).is_ok());
        let reason = unknown.wait(&on(FollowerStep::On)).unwrap_err().to_string();
        assert!(reason.contains("--follower-flush"), "{reason}");
    }
}
