//! All configurations of a search, and all outcomes of its rounds.

use serde::{Deserialize, Serialize};
use std::fmt;
use trueput_record::trial::Settings;

/// The number of a configuration within its search. 0 is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfigurationId(pub usize);

impl ConfigurationId {
    /// The default configuration.
    pub const DEFAULT: Self = Self(0);
}

impl fmt::Display for ConfigurationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Why a trial is run, or where a configuration comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The default, which is in every round.
    Default,
    /// The best so far, which is in every round.
    Incumbent,
    /// A preset.
    Preset,
    /// A point of Sobol's sequence.
    LowDiscrepancy,
    /// A proposal of the model.
    Model,
    /// A random point.
    Random,
    /// A step along one parameter.
    OneAtATime,
    /// A repeat of what looked good.
    Racing,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A process ended by itself or was lost.
    Crash,
    /// The trial's verification failed.
    Invalid,
    /// Memory ran out.
    OutOfMemory,
    /// The engine refused the configuration.
    Refused,
    /// A constraint was broken.
    Constraint,
    /// The trial took too long.
    Timeout,
}

/// A trial without a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// What happened, in one sentence.
    pub reason: String,
}

/// What a trial gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A number above 0; higher is better.
    Score(f64),
    /// No score, which counts as the worst.
    Failure(Failure),
}

/// What became of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It has not run yet.
    Waiting,
    /// It may still win.
    Racing,
    /// The interval of its score excludes that it is better than the incumbent.
    Dropped,
    /// A trial of it failed.
    Failed,
    /// It was the incumbent until another one was.
    Overtaken,
    /// It is the best so far.
    Incumbent,
}

/// A configuration with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Configuration {
    /// Its number.
    pub id: ConfigurationId,
    /// The settings that differ from the default.
    pub settings: Settings,
    /// Where it comes from.
    pub purpose: Purpose,
    /// The name of the preset, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Its scores: the round, and the logarithm of the score over the default's in that round.
    pub scores: Vec<(usize, f64)>,
    /// Its failures.
    pub failures: Vec<Failure>,
    /// What became of it.
    pub fate: Fate,
}

/// An entry of a round with its outcome.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) configuration: ConfigurationId,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Default)]
pub(super) struct Archive {
    configurations: Vec<Configuration>,
    rounds: Vec<Vec<Entry>>,
}

impl Archive {
    pub(super) fn add(
        &mut self,
        settings: Settings,
        purpose: Purpose,
        preset: Option<String>,
    ) -> ConfigurationId {
        let id = ConfigurationId(self.configurations.len());
        self.configurations.push(Configuration {
            id,
            settings,
            purpose,
            preset,
            scores: Vec::new(),
            failures: Vec::new(),
            fate: Fate::Waiting,
        });
        id
    }

    pub(super) fn contains(&self, settings: &Settings) -> bool {
        self.configurations
            .iter()
            .any(|known| known.settings == *settings)
    }

    pub(super) fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    pub(super) fn configurations_mut(&mut self) -> &mut [Configuration] {
        &mut self.configurations
    }

    pub(super) fn rounds(&self) -> &[Vec<Entry>] {
        &self.rounds
    }

    pub(super) fn trials(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// Records a round. Scores of a round whose default failed have nothing to be compared with.
    pub(super) fn record(&mut self, entries: Vec<Entry>) {
        let round = self.rounds.len();
        let default = score_of(&entries, ConfigurationId::DEFAULT);
        for entry in &entries {
            let configuration = &mut self.configurations[entry.configuration.0];
            match (&entry.outcome, default) {
                (Outcome::Failure(failure), _) => configuration.failures.push(failure.clone()),
                (Outcome::Score(score), Some(default)) => {
                    configuration.scores.push((round, (score / default).ln()));
                }
                (Outcome::Score(_), None) => {}
            }
        }
        self.rounds.push(entries);
    }

    /// Returns the scores of the default and of a configuration in the rounds of both.
    pub(super) fn pairs(&self, id: ConfigurationId) -> (Vec<f64>, Vec<f64>) {
        let both = |round: &Vec<Entry>| {
            Some((
                score_of(round, ConfigurationId::DEFAULT)?,
                score_of(round, id)?,
            ))
        };
        self.rounds.iter().filter_map(both).unzip()
    }

    /// Returns how many configurations came from a purpose.
    pub(super) fn count(&self, purpose: Purpose) -> usize {
        let is_meant = |one: &&Configuration| one.purpose == purpose;
        self.configurations.iter().filter(is_meant).count()
    }
}

fn score_of(round: &[Entry], id: ConfigurationId) -> Option<f64> {
    round.iter().find_map(|entry| match entry.outcome {
        Outcome::Score(score) if entry.configuration == id => Some(score),
        _ => None,
    })
}
