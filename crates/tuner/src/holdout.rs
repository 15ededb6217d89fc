//! The holdout: trials that the search has not seen decide whether its winner is better.
//!
//! The best of many noisy trials looks better than it is: on noisy machines, most "best"
//! configurations lose much of their gain when they are deployed (TUNA, `EuroSys` 2025). So winner
//! and default run again, interleaved, and the rule for differences (docs/METHOD.md) judges the
//! pairs. "No better than the default" is a valid answer.

use crate::search::{ConfigurationId, Failure, Outcome, Search};
use serde::{Deserialize, Serialize};
use trueput_findings::statistics::{Comparison, Verdict, compare, compare_among};

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

/// What the holdout says of the winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// It is better than the default.
    Better,
    /// It is no better than the default, as far as these pairs can tell.
    NoBetter,
    /// It is worse than the default.
    Worse,
    /// A trial of it failed, so it cannot be recommended.
    Failed,
}

/// The verdict of a holdout.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HoldoutVerdict {
    /// What it says of the winner.
    pub conclusion: Conclusion,
    /// The winner over the default.
    pub comparison: Comparison,
    /// The winner over each other configuration; all of them together share one error budget.
    pub others: Vec<(Role, Comparison)>,
    /// The factor over the default that the search estimated.
    pub search_factor: f64,
    /// The part of the search's gain that the holdout did not confirm: 0 if it confirmed all, 1 if
    /// nothing was left, above 1 if the winner lost; by logarithms. None without pairs or gain.
    pub shrinkage: Option<f64>,
    /// The winner's failures in the holdout.
    pub failures: Vec<Failure>,
}

impl Holdout {
    /// Plans the holdout of a search that is over. Presets and random ones are in it if ten or more
    /// rounds are affordable with them. `None` if all but the default failed.
    #[must_use]
    pub fn new(search: &Search) -> Option<Self> {
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

    /// Judges the outcomes of the rounds. A pair that lacks a score on either side does not count.
    #[must_use]
    pub fn verdict(&self, search: &Search, rounds: &[Vec<(Role, Outcome)>]) -> HoldoutVerdict {
        let (default, winner) = pairs(rounds, Role::Default);
        let comparison = compare(&default, &winner, true);
        let failures = failures(rounds);
        let conclusion = match comparison.verdict {
            _ if !failures.is_empty() => Conclusion::Failed,
            Verdict::Faster => Conclusion::Better,
            Verdict::Slower => Conclusion::Worse,
            Verdict::NoDifference | Verdict::TooFew => Conclusion::NoBetter,
        };
        let beside = self.entries.iter().map(|entry| entry.role);
        let beside = beside.filter(|role| !matches!(role, Role::Default | Role::Winner));
        let count = beside.clone().count();
        let others = beside.map(|role| {
            let (other, winner) = pairs(rounds, role);
            (role, compare_among(&other, &winner, true, count))
        });
        let own = self.entries.iter().find(|it| it.role == Role::Winner);
        let estimate = own.and_then(|it| search.estimate(it.configuration));
        let search_factor = estimate.map_or(1.0, |it| it.factor.estimate);
        let gain = search_factor.ln();
        let shrinkage = comparison.ratio.filter(|_| gain > 0.0);
        HoldoutVerdict {
            conclusion,
            others: others.collect(),
            search_factor,
            shrinkage: shrinkage.map(|ratio| 1.0 - ratio.estimate.ln() / gain),
            failures,
            comparison,
        }
    }
}

/// Scores of another configuration and of the winner in the rounds of both.
fn pairs(rounds: &[Vec<(Role, Outcome)>], other: Role) -> (Vec<f64>, Vec<f64>) {
    let score = |round: &Vec<(Role, Outcome)>, role: Role| {
        let own = round.iter().find(|(own, _)| *own == role);
        own.and_then(|(_, outcome)| outcome.measured())
    };
    let both = |round| Some((score(round, other)?, score(round, Role::Winner)?));
    rounds.iter().filter_map(both).unzip()
}

fn failures(rounds: &[Vec<(Role, Outcome)>]) -> Vec<Failure> {
    let failure = |(role, outcome): &(Role, Outcome)| match outcome {
        Outcome::Failure(failure) if *role == Role::Winner => Some(failure.clone()),
        _ => None,
    };
    rounds.iter().flatten().filter_map(failure).collect()
}
