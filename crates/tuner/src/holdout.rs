//! The holdout: trials that the search has not seen decide whether its winner is better.
//!
//! The best of many noisy trials looks better than it is: on noisy machines, most "best"
//! configurations lose much of their gain when they are deployed (TUNA, `EuroSys` 2025). So winner
//! and default run again, interleaved, and the rule for differences (docs/METHOD.md) judges the
//! pairs: see [`trueput_findings::tuning::is_claimed`]. "No better than the default" is a valid
//! answer.

use crate::rounds::{ConfigurationId, Rounds};
use serde::{Deserialize, Serialize};

/// The pairs below which nothing but winner and default is in the holdout.
const ENOUGH_PAIRS: usize = 10;

/// The part that a configuration plays in the holdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The default.
    Default,
    /// The search's best.
    Winner,
    /// The best preset.
    Preset,
    /// The best configuration that was drawn without a model.
    Random,
}

/// A configuration of the holdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its part.
    pub role: Role,
    /// Which it is.
    pub configuration: ConfigurationId,
}

/// The trials of a holdout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Holdout {
    /// The configurations, each of which runs once in each round.
    pub entries: Vec<Entry>,
    /// The number of rounds: pairs of winner and default.
    pub pairs: usize,
}

impl Holdout {
    /// Plans the holdout of a search that is over. Presets and random ones are in it if ten or more
    /// rounds are affordable with them. `None` if all but the default failed.
    #[must_use]
    pub fn new(search: &Rounds) -> Option<Self> {
        let winner = search.winner()?;
        let trials = search.holdout_trials();
        let mut entries = vec![
            Entry {
                role: Role::Default,
                configuration: ConfigurationId::DEFAULT,
            },
            Entry {
                role: Role::Winner,
                configuration: winner,
            },
        ];
        let others = [
            (Role::Preset, search.best_preset()),
            (Role::Random, search.best_random()),
        ];
        for (role, configuration) in others {
            let Some(configuration) = configuration.filter(|other| *other != winner) else {
                continue;
            };
            if trials / (entries.len() + 1) >= ENOUGH_PAIRS {
                entries.push(Entry {
                    role,
                    configuration,
                });
            }
        }
        let pairs = trials / entries.len();
        Some(Self { entries, pairs })
    }

    /// Returns the configurations of a round in the order in which they are to run. The order
    /// rotates, so that none always runs first.
    #[must_use]
    pub fn round(&self, number: usize) -> Vec<Entry> {
        let mut entries = self.entries.clone();
        entries.rotate_left(number % self.entries.len().max(1));
        entries
    }
}
