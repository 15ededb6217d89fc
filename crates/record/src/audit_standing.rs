//! The state of knowledge about a promise: the audits of a build at a level, by storage model.

use crate::audit::{AuditResult, Damage, ModelResult, StorageModel};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The audits of a build of an engine at a level with knobs, as far as they are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditStanding {
    /// The moment at which the latest audit ended, RFC 3339 in UTC.
    pub audited_at: String,
    /// One row for each storage model that was tried, strongest storage first.
    pub models: Vec<ModelStanding>,
}

/// The audit of a promise on one storage model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelStanding {
    /// The model.
    pub model: StorageModel,
    /// The states that were tried.
    pub states: u64,
    /// The states among them whose files differ.
    pub distinct: u64,
    /// The states that showed damage.
    pub refuted: u64,
    /// The smallest counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<CounterexampleSummary>,
}

/// A counterexample in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterexampleSummary {
    /// The damage.
    pub damage: Damage,
    /// What is missing, one line each.
    pub words: Vec<String>,
    /// The argument of `trueput audit --replay` that reproduces it; absent if it cannot be
    /// repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<PathBuf>,
}

impl AuditStanding {
    /// Creates the standing after an audit whose record lies in `folder`; `None` if no state was
    /// tried.
    #[must_use]
    pub fn of(result: &AuditResult, folder: &Path) -> Option<Self> {
        let tried = result.models.iter().filter(|model| model.states > 0);
        let models: Vec<_> = tried
            .map(|model| ModelStanding::of(model, folder))
            .collect();
        (!models.is_empty()).then(|| Self {
            audited_at: result.ended_at.clone(),
            models,
        })
    }

    /// Returns the standing after a later audit of the same. For each model a refutation stands;
    /// otherwise the audit with more states counts.
    #[must_use]
    pub fn after(self, later: Self) -> Self {
        let mut models = later.models;
        for earlier in self.models {
            let same = models.iter_mut().find(|it| it.model == earlier.model);
            match same {
                None => models.push(earlier),
                Some(it) if (earlier.refuted > 0, earlier.states) > (it.refuted > 0, it.states) => {
                    *it = earlier;
                }
                Some(_) => {}
            }
        }
        models.sort_by_key(|model| model.model);
        Self {
            audited_at: later.audited_at,
            models,
        }
    }

    /// Returns the number of states of usual storage that were tried.
    #[must_use]
    pub fn states(&self) -> u64 {
        let usual = self.models.iter().filter(|model| model.model.is_usual());
        usual.map(|model| model.states).sum()
    }

    /// Returns the models that refute the promise on usual storage, which therefore is not kept.
    pub fn refutations(&self) -> impl Iterator<Item = &ModelStanding> {
        let refuted = self.models.iter().filter(|model| model.refuted > 0);
        refuted.filter(|model| model.model.is_usual())
    }

    /// Returns whether the promise is not kept on usual storage.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.refutations().next().is_some()
    }
}

impl ModelStanding {
    fn of(result: &ModelResult, folder: &Path) -> Self {
        let summary = |counterexample: &crate::audit::Counterexample| CounterexampleSummary {
            damage: counterexample.damage.clone(),
            words: counterexample.words.clone(),
            // A kill comes at a random moment and cannot be repeated.
            replay: (result.model.loses_power()).then(|| folder.join(&counterexample.id)),
        };
        Self {
            model: result.model,
            states: result.states,
            distinct: result.distinct,
            refuted: result.refuted,
            counterexample: result.counterexample.as_ref().map(summary),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(at: &str, models: &[(StorageModel, u64, u64)]) -> AuditStanding {
        let model = |&(model, states, refuted)| ModelStanding {
            model,
            states,
            distinct: states,
            refuted,
            counterexample: None,
        };
        AuditStanding {
            audited_at: at.to_owned(),
            models: models.iter().map(model).collect(),
        }
    }

    #[test]
    fn a_later_audit_adds_states_and_never_removes_a_refutation() {
        let earlier = [
            (StorageModel::Prefix, 900, 0),
            (StorageModel::Journal, 10, 1),
            (StorageModel::Posix, 5, 0),
        ];
        let later = [
            (StorageModel::Kill, 3, 0),
            (StorageModel::Prefix, 100, 0),
            (StorageModel::Journal, 2_000, 0),
            (StorageModel::Posix, 6, 2),
        ];
        let both = standing("1", &earlier).after(standing("2", &later));
        let expected = [
            (StorageModel::Kill, 3, 0),
            (StorageModel::Prefix, 900, 0),
            (StorageModel::Journal, 10, 1),
            (StorageModel::Posix, 6, 2),
        ];
        assert_eq!(both, standing("2", &expected));
        assert_eq!(both.states(), 913);
    }

    #[test]
    fn storage_weaker_than_usual_does_not_refute_a_promise() {
        let weak = [(StorageModel::Posix, 9, 1), (StorageModel::Torn, 9, 9)];
        assert!(!standing("1", &weak).is_refuted());
        for model in [
            StorageModel::Kill,
            StorageModel::Prefix,
            StorageModel::Journal,
        ] {
            assert!(standing("1", &[(model, 9, 1)]).is_refuted(), "{model}");
        }
    }
}
