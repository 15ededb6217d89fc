//! The promise that a commit makes, named once for every engine.

use crate::suggest::{UnknownName, find_named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The guarantee that a commit gives for crashes and power loss, weakest last.
///
/// Results of different levels are never ranked against each other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Every acknowledged commit survives killed processes and power loss.
    Sync,
    /// Every acknowledged commit survives killed processes; after power loss a consistent prefix
    /// remains.
    Async,
    /// A consistent prefix of the commits survives killed processes and lost power.
    Buffered,
    /// Every acknowledged commit survives killed processes; nothing is promised for power loss.
    Process,
    /// No promise.
    None,
}

/// The acknowledged commits that remain after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Survival {
    /// All acknowledged commits.
    EveryCommit,
    /// All commits before some point and none after it, in a consistent database.
    ConsistentPrefix,
    /// No promise, not even that the database opens.
    Nothing,
}

impl fmt::Display for Survival {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::EveryCommit => "every acknowledged commit",
            Self::ConsistentPrefix => "a consistent prefix",
            Self::Nothing => "nothing is promised",
        })
    }
}

impl Durability {
    /// Every level, strongest first.
    pub const ALL: [Self; 5] = [
        Self::Sync,
        Self::Async,
        Self::Buffered,
        Self::Process,
        Self::None,
    ];

    /// Returns the level's name, as on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::Buffered => "buffered",
            Self::Process => "process",
            Self::None => "none",
        }
    }

    /// Returns the commits that survive if every process that has the database open is killed with
    /// SIGKILL.
    #[must_use]
    pub fn after_killed_processes(self) -> Survival {
        match self {
            Self::Sync | Self::Async | Self::Process => Survival::EveryCommit,
            Self::Buffered => Survival::ConsistentPrefix,
            Self::None => Survival::Nothing,
        }
    }

    /// Returns the commits that survive power loss.
    #[must_use]
    pub fn after_lost_power(self) -> Survival {
        match self {
            Self::Sync => Survival::EveryCommit,
            Self::Async | Self::Buffered => Survival::ConsistentPrefix,
            Self::Process | Self::None => Survival::Nothing,
        }
    }

    /// Returns whether no commit is promised to survive anything.
    #[must_use]
    pub fn promises_nothing(self) -> bool {
        self.after_killed_processes() == Survival::Nothing
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Durability {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let words = ["durability level", "the levels are"];
        find_named(text, Self::ALL, Self::name, words)
    }
}

/// The most that an `async` or `buffered` level can lose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// In time, seconds, if the engine limits it in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// In bytes of log or data, if the engine limits it in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// In commits, if the engine limits it in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// The event that ends the window, in words: a checkpoint, the kernel's write-back, …
    pub until: String,
}

impl Window {
    /// A window without numbers: until when a commit can be lost.
    #[must_use]
    pub fn until(event: impl Into<String>) -> Self {
        Self {
            time_s: None,
            bytes: None,
            commits: None,
            until: event.into(),
        }
    }
}

/// An engine's implementation of one durability level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// The level.
    pub durability: Durability,
    /// The engine's own settings that make it so, as `name=value`, comma separated.
    pub mapped_to: String,
    /// The most that can be lost, for `async` and `buffered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The place in the engine's own documentation that states it.
    pub source: String,
    /// The failures of a cluster that an acknowledged commit survives; `None` if the engine is no
    /// cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterSurvival>,
    /// Why the promise is in doubt although the engine's documentation makes it: a fault that was
    /// reproduced without trueput. A clause without a final period, to follow the engine's name and
    /// a colon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Promise {
    /// The promise of an engine that is no cluster and keeps it by its own documentation.
    #[must_use]
    pub fn new(
        durability: Durability,
        mapped_to: impl Into<String>,
        window: Option<Window>,
        source: &str,
    ) -> Self {
        Self {
            durability,
            mapped_to: mapped_to.into(),
            window,
            source: source.to_owned(),
            cluster: None,
            doubt: None,
        }
    }
}

/// The failures of a cluster that an acknowledged commit survives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct ClusterSurvival {
    /// The processes of any one node end, and another node takes its place.
    pub process: bool,
    /// Any one machine is lost, with its storage.
    pub machine: bool,
    /// A majority of the machines loses its power at once, and gets it back.
    pub majority_power: bool,
    /// All machines lose their power at once, and get it back.
    pub all_power: bool,
}

impl ClusterSurvival {
    /// Returns the failures by their names, each with whether a commit survives it.
    #[must_use]
    pub const fn failures(self) -> [(&'static str, bool); 4] {
        [
            ("one process", self.process),
            ("one machine", self.machine),
            ("a majority's power", self.majority_power),
            ("all power", self.all_power),
        ]
    }
}

impl fmt::Display for ClusterSurvival {
    /// Lists what a commit survives, each failure by itself: `one process, one machine`; `no
    /// failure of a leader`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = self.failures();
        let survived = failures.iter().filter(|(_, is_survived)| *is_survived);
        let survived: Vec<_> = survived.map(|(failure, _)| *failure).collect();
        match survived.len() {
            0 => formatter.write_str("no failure of a leader"),
            _ => formatter.write_str(&survived.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_reads_back_from_its_name() {
        for level in Durability::ALL {
            assert_eq!(level.name().parse::<Durability>(), Ok(level));
        }
    }

    #[test]
    fn a_misspelled_level_names_the_nearest() {
        let refused = "asinc".parse::<Durability>().unwrap_err();
        let message = refused.to_string();
        assert!(message.contains("did you mean 'async'"), "{message}");
    }

    #[test]
    fn no_level_promises_more_after_lost_power_than_after_killed_processes() {
        let strength = |survival| match survival {
            Survival::EveryCommit => 2,
            Survival::ConsistentPrefix => 1,
            Survival::Nothing => 0,
        };
        for level in Durability::ALL {
            assert!(strength(level.after_lost_power()) <= strength(level.after_killed_processes()));
        }
    }
}
