//! Faults that a trial causes in a cluster, at planned times: a killed leader, a partition.

use crate::suggest::{UnknownName, did_you_mean, find_named};
use crate::value::{ParseSecondsError, format_seconds, parse_seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most faults of a trial. A cluster takes seconds to elect a leader after each.
const MAX_FAULTS: usize = 100;

/// A text that is no fault, or no list of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParseFaultError {
    #[error("'{text}' is not a planned fault; write a time and an action, as in 10s:kill=leader")]
    NoTime { text: String },
    #[error(transparent)]
    Time(#[from] ParseSecondsError),
    #[error(transparent)]
    Action(#[from] UnknownName),
    #[error("'{text}' names no nodes: write {action}=leader")]
    NoNodes { text: String, action: FaultAction },
    #[error(
        "no nodes '{text}'{}; write {} or node-1",
        did_you_mean(text, FaultTarget::names()),
        FaultTarget::names().join(", ")
    )]
    UnknownNodes { text: String },
    #[error("heal joins all nodes: write it without nodes")]
    HealedNodes,
    #[error(
        "{count} faults exceed the maximum of {MAX_FAULTS}: a cluster that is never whole measures \
         nothing"
    )]
    TooMany { count: usize },
}

crate::choices! {
    /// The action of a fault.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum FaultAction {
        /// The nodes' processes are killed with SIGKILL.
        Kill = "kill",
        /// The nodes' processes are stopped with SIGSTOP.
        Pause = "pause",
        /// Paused nodes go on.
        Resume = "resume",
        /// The nodes are separated from the others in the cluster's network.
        Partition = "partition",
        /// All nodes reach each other again.
        Heal = "heal",
        /// Killed nodes are started again.
        Start = "start",
    }
}

/// The nodes that a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum FaultTarget {
    /// The leader.
    Leader,
    /// One follower.
    Follower,
    /// Followers, as many as the others can do without.
    Minority,
    /// The leader and followers, so many that the others cannot go on.
    Majority,
    /// Every node.
    All,
    /// The node of that number, from 1 on.
    Node(u32),
}

impl FaultTarget {
    const NAMES: [(&'static str, Self); 5] = [
        ("leader", Self::Leader),
        ("follower", Self::Follower),
        ("minority", Self::Minority),
        ("majority", Self::Majority),
        ("all", Self::All),
    ];

    fn names() -> [&'static str; 5] {
        Self::NAMES.map(|(name, _)| name)
    }
}

impl fmt::Display for FaultTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMES.iter().find(|(_, target)| target == self);
        match (named, self) {
            (Some((name, _)), _) => formatter.write_str(name),
            (None, Self::Node(number)) => write!(formatter, "node-{number}"),
            (None, _) => Err(fmt::Error),
        }
    }
}

impl FromStr for FaultTarget {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        let named = Self::NAMES.iter().find(|(name, _)| *name == text);
        let number = || text.strip_prefix("node-")?.parse().ok().filter(|&n| n > 0);
        match (named, number()) {
            (Some((_, target)), _) => Ok(*target),
            (None, Some(number)) => Ok(Self::Node(number)),
            (None, None) => Err(ParseFaultError::UnknownNodes {
                text: text.to_owned(),
            }),
        }
    }
}

impl TryFrom<String> for FaultTarget {
    type Error = ParseFaultError;

    fn try_from(text: String) -> Result<Self, ParseFaultError> {
        text.parse()
    }
}

impl From<FaultTarget> for String {
    fn from(target: FaultTarget) -> Self {
        target.to_string()
    }
}

/// An order to the host of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterOrder {
    /// The action.
    pub action: FaultAction,
    /// The nodes; [`FaultTarget::All`] for [`FaultAction::Heal`].
    pub target: FaultTarget,
}

impl fmt::Display for ClusterOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            FaultAction::Heal => formatter.write_str("heal"),
            action => write!(formatter, "{action}={}", self.target),
        }
    }
}

impl FromStr for ClusterOrder {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        let (action, target) = match text.split_once('=') {
            Some((action, target)) => (action, Some(target)),
            None => (text, None),
        };
        let words = ["action", "it is one of"];
        let action = find_named(action, FaultAction::ALL, FaultAction::word, words)?;
        match (action, target) {
            (FaultAction::Heal, None) => Ok(Self {
                action,
                target: FaultTarget::All,
            }),
            (FaultAction::Heal, Some(_)) => Err(ParseFaultError::HealedNodes),
            (_, None) => Err(ParseFaultError::NoNodes {
                text: text.to_owned(),
                action,
            }),
            (_, Some(target)) => Ok(Self {
                action,
                target: target.parse()?,
            }),
        }
    }
}

/// A fault at a time of a trial's measured part: `10s:kill=leader`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduledFault {
    /// The time from the beginning of the measured part, seconds.
    pub at_s: f64,
    /// The order.
    pub order: ClusterOrder,
}

impl fmt::Display for ScheduledFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", format_seconds(self.at_s), self.order)
    }
}

impl FromStr for ScheduledFault {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        let (time, order) = text
            .split_once(':')
            .ok_or_else(|| ParseFaultError::NoTime {
                text: text.to_owned(),
            })?;
        Ok(Self {
            at_s: parse_seconds(time)?,
            order: order.parse()?,
        })
    }
}

impl TryFrom<String> for ScheduledFault {
    type Error = ParseFaultError;

    fn try_from(text: String) -> Result<Self, ParseFaultError> {
        text.parse()
    }
}

impl From<ScheduledFault> for String {
    fn from(fault: ScheduledFault) -> Self {
        fault.to_string()
    }
}

/// The planned faults of a trial, in the order of their times: `10s:kill=leader,20s:start=all`, or
/// `none`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct FaultSchedule(Vec<ScheduledFault>);

impl FaultSchedule {
    /// The word for no faults.
    const NONE: &'static str = "none";

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them in order.
    #[must_use]
    pub fn faults(&self) -> &[ScheduledFault] {
        &self.0
    }
}

impl fmt::Display for FaultSchedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        if faults.is_empty() {
            formatter.write_str(Self::NONE)
        } else {
            formatter.write_str(&faults.join(","))
        }
    }
}

impl FromStr for FaultSchedule {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        if text == Self::NONE {
            return Ok(Self::default());
        }
        let count = text.split(',').count();
        if count > MAX_FAULTS {
            return Err(ParseFaultError::TooMany { count });
        }
        let faults = text.split(',').map(|fault| fault.trim().parse());
        let mut faults: Vec<ScheduledFault> = faults.collect::<Result<_, _>>()?;
        faults.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        Ok(Self(faults))
    }
}

impl TryFrom<String> for FaultSchedule {
    type Error = ParseFaultError;

    fn try_from(text: String) -> Result<Self, ParseFaultError> {
        text.parse()
    }
}

impl From<FaultSchedule> for String {
    fn from(schedule: FaultSchedule) -> Self {
        schedule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_fault_reads_back() {
        for text in [
            "10s:kill=leader",
            "500ms:pause=follower",
            "2m:heal",
            "1s:start=all",
            "3s:partition=node-2",
        ] {
            let fault: ScheduledFault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
        }
    }

    #[test]
    fn faults_are_in_the_order_of_their_times() {
        let schedule: FaultSchedule = "20s:heal, 10s:partition=leader".parse().unwrap();
        assert_eq!(schedule.to_string(), "10s:partition=leader,20s:heal");
        let none: FaultSchedule = "none".parse().unwrap();
        assert!(none.is_empty());
        assert_eq!(none.to_string(), "none");
    }

    #[test]
    fn more_faults_than_a_cluster_can_recover_from_are_refused() {
        let faults = |count: usize| vec!["1s:kill=leader"; count].join(",");
        assert!(faults(MAX_FAULTS).parse::<FaultSchedule>().is_ok());
        let refused = faults(5_000).parse::<FaultSchedule>();
        assert_eq!(refused, Err(ParseFaultError::TooMany { count: 5_000 }));
    }

    #[test]
    fn a_wrong_one_says_what_would_be_right() {
        let error = |text: &str| text.parse::<ScheduledFault>().unwrap_err().to_string();
        assert!(error("kill=leader").contains("10s:kill=leader"));
        assert!(error("10s:kil=leader").contains("kill"));
        assert!(error("10s:kill").contains("kill=leader"));
        assert!(error("10s:kill=leadr").contains("did you mean 'leader'"));
        assert!(error("10s:kill=node-0").contains("node-1"));
        assert!(error("10s:heal=all").contains("without nodes"));
    }
}
