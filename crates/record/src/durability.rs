//! The promise that a commit makes, named once for every engine.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a commit promises to survive, weakest last.
///
/// Results of different levels are never ranked against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Every acknowledged commit survives killed processes and lost power.
    Sync,
    /// Every acknowledged commit survives killed processes; after lost power a consistent prefix.
    Async,
    /// A consistent prefix of the commits survives killed processes and lost power.
    Buffered,
    /// Every acknowledged commit survives killed processes; nothing is promised for lost power.
    Process,
    /// Nothing is promised.
    None,
}

/// What is left of the acknowledged commits after a mishap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survival {
    /// All of them.
    EveryCommit,
    /// Those before some point, none after it, and the database is consistent.
    ConsistentPrefix,
    /// Nothing is promised, not even that the database opens.
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

    /// The level's name, as on the command line and in files.
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

    /// What survives when every process that has the database open is killed with SIGKILL.
    #[must_use]
    pub fn after_killed_processes(self) -> Survival {
        match self {
            Self::Sync | Self::Async | Self::Process => Survival::EveryCommit,
            Self::Buffered => Survival::ConsistentPrefix,
            Self::None => Survival::Nothing,
        }
    }

    /// What survives when the machine loses power.
    #[must_use]
    pub fn after_lost_power(self) -> Survival {
        match self {
            Self::Sync => Survival::EveryCommit,
            Self::Async | Self::Buffered => Survival::ConsistentPrefix,
            Self::Process | Self::None => Survival::Nothing,
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name);
                let hint = crate::suggest::did_you_mean(text, names);
                format!(
                    "no durability level '{text}'{hint}; the levels are {}",
                    names.join(", ")
                )
            })
    }
}

/// How much an `async` or `buffered` commit can lose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// In time, seconds, where the engine bounds it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// In bytes of log or data, where the engine bounds it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// In commits, where the engine bounds it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// In words: what ends the window (a checkpoint, the kernel's write-back, …).
    pub until: String,
}

/// How an engine keeps one durability level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The level.
    pub durability: Durability,
    /// The engine's own settings that make it so, as `name=value`, comma separated.
    pub mapped_to: String,
    /// What can be lost, for `async` and `buffered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Where the engine's own documentation says so.
    pub source: String,
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
        let message = "asinc".parse::<Durability>().unwrap_err();
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
