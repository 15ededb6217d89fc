//! The state of knowledge about a promise: the audits of a build at a level, by storage model.

use crate::audit::{AuditResult, Damage, ModelResult, StorageModel};
use crate::value::saturating_sum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The audits of a build of an engine at a level with knobs, as far as they are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditStanding {
    /// The moment at which the latest audit ended, RFC 3339 in UTC.
    pub audited_at: String,
    /// One row for each storage model that was tried, strongest storage first.
    pub models: Vec<ModelStanding>,
}

/// The audit of a promise on one storage model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelStanding {
    /// The model.
    pub model: StorageModel,
    /// The file system below which it was tried, in the block form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The states that were tried.
    pub states: u64,
    /// The states among them whose files differ.
    pub distinct: u64,
    /// The states that showed damage.
    pub refuted: u64,
    /// Whether the promise depends on flushes of which nobody knows the part that they covered:
    /// then this is no audit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// The smallest counterexample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<CounterexampleSummary>,
}

/// What audits say of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandingVerdict {
    /// A state of usual storage refuted it: it is not kept.
    Refuted,
    /// It depends on flushes of which nobody knows what they covered.
    Undecided,
    /// States refuted it, on storage weaker than usual only.
    RefutedOnWeakerStorage,
    /// No state refuted it.
    NotRefuted,
}

impl StandingVerdict {
    fn of<'a>(models: impl Iterator<Item = &'a ModelStanding>, is_undecided: bool) -> Self {
        let refuting: Vec<_> = models.filter(|model| model.refuted > 0).collect();
        if refuting.iter().any(|model| model.model.is_usual()) {
            Self::Refuted
        } else if is_undecided {
            Self::Undecided
        } else if refuting.is_empty() {
            Self::NotRefuted
        } else {
            Self::RefutedOnWeakerStorage
        }
    }
}

/// A counterexample in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
            .map(|model| ModelStanding::of(model, result.file_system.as_deref(), folder))
            .collect();
        (!models.is_empty()).then(|| Self {
            audited_at: result.ended_at.clone(),
            models,
        })
    }

    /// Returns the standing after a later audit of the same. For each model and form the worst
    /// verdict stands; of equal ones, the audit with more states counts.
    #[must_use]
    pub fn after(self, later: Self) -> Self {
        let mut models = later.models;
        for earlier in self.models {
            let is_same = |it: &&mut ModelStanding| {
                it.model == earlier.model && it.file_system == earlier.file_system
            };
            let same = models.iter_mut().find(is_same);
            match same {
                None => models.push(earlier),
                Some(it) if earlier.weight() > it.weight() => *it = earlier,
                Some(_) => {}
            }
        }
        models.sort_by(|one, other| {
            (one.model, &one.file_system).cmp(&(other.model, &other.file_system))
        });
        Self {
            audited_at: later.audited_at,
            models,
        }
    }

    /// Returns the audits that count: those that decided something.
    pub fn decided(&self) -> impl Iterator<Item = &ModelStanding> {
        self.models.iter().filter(|model| model.is_decided())
    }

    /// Returns what the audits in all forms say of the promise. It is undecided if what data may be
    /// missing after lost power was tried in no form that decided it.
    #[must_use]
    pub fn verdict(&self) -> StandingVerdict {
        let is_open = self.models.iter().any(|model| !model.is_decided());
        let mut decided = self.decided();
        let is_tried = decided.any(|model| model.model == StorageModel::Journal);
        StandingVerdict::of(self.models.iter(), is_open && !is_tried)
    }

    /// Returns whether the promise is not kept on usual storage.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.verdict() == StandingVerdict::Refuted
    }

    /// Returns the models that were tried in a form: below a file system in an image, or in files.
    pub fn models_in<'a>(
        &'a self,
        file_system: Option<&'a str>,
    ) -> impl Iterator<Item = &'a ModelStanding> {
        let models = self.models.iter();
        models.filter(move |model| model.file_system.as_deref() == file_system)
    }

    /// Returns what the audit in one form says of the promise. Alone it is undecided if one of its
    /// models is.
    #[must_use]
    pub fn verdict_in(&self, file_system: Option<&str>) -> StandingVerdict {
        let is_open = self.models_in(file_system).any(|model| model.undecided);
        StandingVerdict::of(self.models_in(file_system), is_open)
    }

    /// Returns the number of states of usual storage that were tried, in all forms.
    #[must_use]
    pub fn states(&self) -> u64 {
        let usual = self.decided().filter(|model| model.model.is_usual());
        saturating_sum(usual.map(|model| model.states))
    }

    /// Returns the models that refute the promise on usual storage, which therefore is not kept.
    pub fn refutations(&self) -> impl Iterator<Item = &ModelStanding> {
        let refuted = self.models.iter().filter(|model| model.refuted > 0);
        refuted.filter(|model| model.model.is_usual())
    }
}

impl ModelStanding {
    fn is_decided(&self) -> bool {
        !self.undecided || self.refuted > 0
    }

    /// What decides which of two audits counts.
    fn weight(&self) -> (bool, bool, u64) {
        (self.refuted > 0, self.undecided, self.states)
    }

    fn of(result: &ModelResult, file_system: Option<&str>, folder: &Path) -> Self {
        let summary = |counterexample: &crate::audit::Counterexample| CounterexampleSummary {
            damage: counterexample.damage.clone(),
            words: counterexample.words.clone(),
            // A kill comes at a random moment and cannot be repeated.
            replay: (result.model.loses_power()).then(|| folder.join(&counterexample.id)),
        };
        Self {
            model: result.model,
            file_system: file_system.map(str::to_owned),
            states: result.states,
            distinct: result.distinct,
            refuted: result.refuted,
            undecided: result.undecided.is_some(),
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
            file_system: None,
            states,
            distinct: states,
            refuted,
            undecided: false,
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
    fn every_form_counts_and_the_worst_verdict_wins() {
        let folder = standing("1", &[(StorageModel::Journal, 2_063, 0)]);
        let mut block = standing("2", &[(StorageModel::Journal, 151, 106)]);
        block.models[0].file_system = Some("ext4".to_owned());
        let both = folder.clone().after(block.clone());
        assert_eq!(both.models.len(), 2);
        assert_eq!(both.verdict(), StandingVerdict::Refuted);
        assert_eq!(both.models, block.after(folder).models);
    }

    #[test]
    fn what_was_not_decided_is_no_audit_until_another_form_decides_it() {
        let kill = (StorageModel::Kill, 9, 0);
        let mut open = standing("1", &[kill, (StorageModel::Journal, 100, 0)]);
        open.models[1].undecided = true;
        let undecided = StandingVerdict::Undecided;
        assert_eq!((open.verdict(), open.states()), (undecided, 9));
        // More states of the same form that found nothing do not decide it.
        let more = standing("2", &[(StorageModel::Journal, 900, 0)]);
        assert_eq!(open.clone().after(more).verdict(), undecided);
        let mut block = standing("3", &[(StorageModel::Journal, 50, 0)]);
        block.models[0].file_system = Some("ext4".to_owned());
        let decided = open.after(block);
        let not_refuted = StandingVerdict::NotRefuted;
        assert_eq!((decided.verdict(), decided.states()), (not_refuted, 59));
        let by_form = [None, Some("ext4")].map(|form| decided.verdict_in(form));
        assert_eq!(by_form, [undecided, not_refuted]);
    }

    #[test]
    fn storage_weaker_than_usual_does_not_refute_a_promise() {
        let weak = [(StorageModel::Posix, 9, 1), (StorageModel::Torn, 9, 9)];
        let verdict = standing("1", &weak).verdict();
        assert_eq!(verdict, StandingVerdict::RefutedOnWeakerStorage);
        for model in [
            StorageModel::Kill,
            StorageModel::Prefix,
            StorageModel::Journal,
        ] {
            let verdict = standing("1", &[(model, 9, 1)]).verdict();
            assert_eq!(verdict, StandingVerdict::Refuted, "{model}");
        }
    }
}
