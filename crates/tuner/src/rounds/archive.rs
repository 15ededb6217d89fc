//! All configurations of a search, and all outcomes of its rounds.

use serde::{Deserialize, Serialize};
use std::fmt;
use trueput_record::value::Settings;

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
    /// A process ended by itself or was lost, memory ran out, or the trial took too long.
    Crash,
    /// The trial's verification failed.
    Invalid,
    /// The engine refused the configuration.
    Refused,
    /// A constraint was broken.
    Constraint,
}

/// A trial without a score that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// Its kind.
    pub kind: FailureKind,
    /// What happened, in one sentence.
    pub reason: String,
    /// The score of a trial that only a constraint excludes: others are compared with the default
    /// by it, even if the default itself breaks the constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// What a trial gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A number above 0; higher is better.
    Score(f64),
    /// No score that counts, which is as the worst.
    Failure(Failure),
}

impl Outcome {
    /// Returns the score, even if a constraint excludes the trial.
    #[must_use]
    pub fn measured(&self) -> Option<f64> {
        match self {
            Self::Score(score) => Some(*score),
            Self::Failure(failure) => failure.score,
        }
    }
}

/// What became of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It has no score yet that can be compared.
    Waiting,
    /// It may still win.
    Racing,
    /// The interval of its score excludes that it is better than the incumbent.
    Dropped,
    /// A trial of it failed.
    Failed,
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

    /// Records a round. A default that failed without a score may have one in the next round.
    pub(super) fn record(&mut self, entries: Vec<Entry>) {
        for entry in &entries {
            let configuration = &mut self.configurations[entry.configuration.0];
            if let Outcome::Failure(failure) = &entry.outcome {
                configuration.failures.push(failure.clone());
                if configuration.id != ConfigurationId::DEFAULT || failure.score.is_some() {
                    configuration.fate = Fate::Failed;
                }
            }
        }
        self.rounds.push(entries);
    }

    /// Returns the logarithms of the scores of the rounds in which the default has one.
    pub(super) fn comparable_rounds(&self) -> Vec<Vec<(ConfigurationId, f64)>> {
        let rounds = self.rounds.iter().filter(|round| has_default(round));
        let logarithm = |entry: &Entry| Some((entry.configuration, score_of(entry)?.ln()));
        rounds
            .map(|round| round.iter().filter_map(logarithm).collect())
            .collect()
    }

    /// Returns how many rounds in a row, the last one included, have no score of the default.
    pub(super) fn unscored_rounds(&self) -> usize {
        let rounds = self.rounds.iter().rev();
        rounds.take_while(|round| !has_default(round)).count()
    }

    /// Returns how many configurations came from a purpose.
    pub(super) fn count(&self, purpose: Purpose) -> usize {
        let is_meant = |one: &&Configuration| one.purpose == purpose;
        self.configurations.iter().filter(is_meant).count()
    }
}

fn has_default(round: &[Entry]) -> bool {
    let mut scored = round.iter().filter(|entry| score_of(entry).is_some());
    scored.any(|entry| entry.configuration == ConfigurationId::DEFAULT)
}

/// The score that counts: the default's even if it breaks a constraint.
fn score_of(entry: &Entry) -> Option<f64> {
    match &entry.outcome {
        Outcome::Score(score) => Some(*score),
        Outcome::Failure(failure) => failure
            .score
            .filter(|_| entry.configuration == ConfigurationId::DEFAULT),
    }
}
