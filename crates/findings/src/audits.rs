//! Audits of the promises behind a ranking: whether simulated power cuts refuted them, for the
//! builds and the knobs of its contenders. A trial's record has what its user knew when it ran.

use crate::eligibility::{HARNESS_ENGINE, STORAGE_ENGINE};
use crate::units::thousands;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding, StandingVerdict};
use trueput_record::{Durability, TrialRecord};

/// The audits of a contender's promise at its level. Its `Display` is for a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AuditState {
    /// Nothing is known.
    NotAudited,
    /// Audited without an answer: it depends on flushes of which nobody knows what they covered.
    Undecided,
    /// No state refuted it on usual storage.
    NotRefuted {
        /// The states of usual storage that were tried.
        states: u64,
        /// The states of each model, in each form.
        models: Vec<TriedStates>,
        /// The models, weaker than usual storage, on which a state refuted it.
        refuted_by: Vec<StorageModel>,
    },
    /// A state refuted it on usual storage.
    Refuted {
        /// The states that showed damage.
        refuted: u64,
        /// The states that were tried on the models that refute it.
        states: u64,
        /// Those models.
        models: Vec<StorageModel>,
    },
}

/// The states of a model that were tried in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TriedStates {
    /// The model.
    pub model: StorageModel,
    /// The file system below which they were tried, in the block form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The states.
    pub states: u64,
    /// Those that showed damage.
    pub refuted: u64,
}

impl Display for TriedStates {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let states = thousands(self.states);
        match self.refuted {
            0 => write!(formatter, "{} {states}", self.model),
            refuted => write!(
                formatter,
                "{} {} of {states}",
                self.model,
                thousands(refuted)
            ),
        }
    }
}

/// Lists the states of each model, those of the block form with their file system.
fn list(models: &[TriedStates]) -> String {
    let forms = models.iter().map(|model| model.file_system.as_deref());
    let forms: BTreeSet<Option<&str>> = forms.collect();
    let of_form = forms.into_iter().map(|form| {
        let models = models.iter();
        let models = models.filter(|model| model.file_system.as_deref() == form);
        let states: Vec<_> = models.map(ToString::to_string).collect();
        in_form(form, states.join(", "))
    });
    of_form.collect::<Vec<_>>().join("; ")
}

impl Display for AuditState {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAudited => formatter.write_str("not audited"),
            Self::Undecided => formatter.write_str("undecided"),
            Self::NotRefuted { models, .. } => formatter.write_str(&list(models)),
            Self::Refuted {
                refuted, states, ..
            } => {
                let (refuted, states) = (thousands(*refuted), thousands(*states));
                write!(formatter, "REFUTED in {refuted} of {states}")
            }
        }
    }
}

impl AuditState {
    /// The state of knowledge after these audits.
    #[must_use]
    pub fn of(standing: &AuditStanding) -> Self {
        let sum = |figure: fn(&ModelStanding) -> u64| standing.refutations().map(figure).sum();
        let refuted = standing.models.iter().filter(|model| model.refuted > 0);
        match standing.verdict() {
            StandingVerdict::Refuted => Self::Refuted {
                refuted: sum(|model| model.refuted),
                states: sum(|model| model.states),
                models: standing.refutations().map(|model| model.model).collect(),
            },
            StandingVerdict::Undecided => Self::Undecided,
            StandingVerdict::RefutedOnWeakerStorage | StandingVerdict::NotRefuted => {
                Self::NotRefuted {
                    states: standing.states(),
                    models: standing.decided().map(TriedStates::of).collect(),
                    refuted_by: refuted.map(|model| model.model).collect(),
                }
            }
        }
    }
}

impl TriedStates {
    fn of(standing: &ModelStanding) -> Self {
        Self {
            model: standing.model,
            file_system: standing.file_system.clone(),
            states: standing.states,
            refuted: standing.refuted,
        }
    }
}

/// The audits behind a ranking. Its `Display` follows the level: `sync (not audited)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditCoverage {
    /// The contenders whose promise was audited.
    pub audited: usize,
    /// Those of them whose promise was refuted.
    pub refuted: usize,
    /// The contenders.
    pub contenders: usize,
    /// The fewest states of an audited one.
    pub fewest_states: u64,
    /// The most states of an audited one.
    pub most_states: u64,
    /// The states of each model in each form, of the audited ones that were not refuted.
    pub models: Vec<ModelCoverage>,
}

/// The states of a model behind a ranking, in one form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelCoverage {
    /// The model.
    pub model: StorageModel,
    /// The file system below which they were tried, in the block form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// The contenders that were audited so.
    pub contenders: usize,
    /// The fewest states of one.
    pub fewest_states: u64,
    /// The most states of one.
    pub most_states: u64,
}

impl Display for ModelCoverage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let [fewest, most] = [self.fewest_states, self.most_states].map(thousands);
        if fewest == most {
            write!(formatter, "{} {most}", self.model)
        } else {
            write!(formatter, "{} {fewest} to {most}", self.model)
        }
    }
}

impl AuditCoverage {
    /// The states that were tried, in a sentence: `Audited states: kill 26, journal 306; in the
    /// block form on ext4: journal 50 (1 of 2).`; `None` if there are none to tell.
    #[must_use]
    pub fn states(&self) -> Option<String> {
        let standing = self.audited - self.refuted;
        let with_count = |model: &ModelCoverage| {
            if model.contenders == standing {
                model.to_string()
            } else {
                format!("{model} ({} of {standing})", model.contenders)
            }
        };
        let forms = self.models.iter().map(|model| model.file_system.as_deref());
        let forms: BTreeSet<Option<&str>> = forms.collect();
        let clauses = forms.into_iter().map(|form| {
            let models = self.models.iter();
            let models = models.filter(|model| model.file_system.as_deref() == form);
            let models = models.map(with_count).collect::<Vec<_>>().join(", ");
            in_form(form, models)
        });
        let clauses: Vec<_> = clauses.collect();
        (!clauses.is_empty()).then(|| format!("Audited states: {}.", clauses.join("; ")))
    }
}

/// States with the form in which they were tried.
fn in_form(file_system: Option<&str>, states: String) -> String {
    if let Some(kind) = file_system {
        return format!("in the block form on {kind}: {states}");
    }
    states
}

impl Display for AuditCoverage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.audited {
            0 => formatter.write_str("not audited")?,
            all if all == self.contenders => formatter.write_str("audited")?,
            audited => write!(formatter, "{audited} of {} audited", self.contenders)?,
        }
        if self.refuted > 0 {
            write!(formatter, "; {} refuted", self.refuted)?;
        }
        Ok(())
    }
}

/// The standing of a contender's promise, from its trials; `None` if it promises nothing.
#[must_use]
pub fn audit_state(trials: &[&TrialRecord]) -> Option<AuditState> {
    let spec = &trials.first()?.spec;
    let is_engine = ![HARNESS_ENGINE, STORAGE_ENGINE].contains(&spec.engine.as_str());
    if !is_engine || spec.durability.promises_nothing() {
        return None;
    }
    // An audit can end between two trials of a run: the last one knows more.
    let known = trials.iter().rev().find_map(|trial| trial.audit.as_ref());
    Some(known.map_or(AuditState::NotAudited, AuditState::of))
}

/// Summarizes the audits of a ranking's contenders; `None` if none of them promises anything.
#[must_use]
pub fn coverage<'a>(states: impl Iterator<Item = &'a AuditState>) -> Option<AuditCoverage> {
    let states: Vec<_> = states.collect();
    let audited = states.iter().filter_map(|state| match state {
        AuditState::NotAudited | AuditState::Undecided => None,
        AuditState::NotRefuted { states, models, .. } => Some((*states, models.as_slice())),
        AuditState::Refuted { states, .. } => Some((*states, [].as_slice())),
    });
    let audited: Vec<(u64, &[TriedStates])> = audited.collect();
    let all = || audited.iter().map(|(states, _)| *states);
    (!states.is_empty()).then(|| AuditCoverage {
        audited: audited.len(),
        refuted: states
            .iter()
            .filter(|state| matches!(state, AuditState::Refuted { .. }))
            .count(),
        contenders: states.len(),
        fewest_states: all().min().unwrap_or(0),
        most_states: all().max().unwrap_or(0),
        models: model_coverages(audited.iter().flat_map(|(_, models)| *models)),
    })
}

/// The states of each model in each form. A contender has one row for both.
fn model_coverages<'a>(tried: impl Iterator<Item = &'a TriedStates>) -> Vec<ModelCoverage> {
    let mut found: BTreeMap<(StorageModel, Option<&str>), Vec<u64>> = BTreeMap::new();
    for one in tried {
        let key = (one.model, one.file_system.as_deref());
        found.entry(key).or_default().push(one.states);
    }
    let coverage = |((model, file_system), states): ((_, Option<&str>), Vec<u64>)| ModelCoverage {
        model,
        file_system: file_system.map(str::to_owned),
        contenders: states.len(),
        fewest_states: states.iter().copied().min().unwrap_or(0),
        most_states: states.iter().copied().max().unwrap_or(0),
    };
    found.into_iter().map(coverage).collect()
}

/// A contender whose promise was audited at a level.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AuditedPromise {
    /// The contender, with its marks.
    pub contender: String,
    /// The level.
    pub durability: Durability,
    /// The audits.
    pub standing: AuditStanding,
}

/// The audits of all contenders of a run, each once, in the order of the trials.
#[must_use]
pub fn audited_promises(
    trials: &[TrialRecord],
    name: impl Fn(&TrialRecord) -> String,
) -> Vec<AuditedPromise> {
    let mut found: Vec<AuditedPromise> = Vec::new();
    for trial in trials {
        let Some(standing) = &trial.audit else {
            continue;
        };
        let (contender, durability) = (name(trial), trial.spec.durability);
        let same =
            |it: &&mut AuditedPromise| it.contender == contender && it.durability == durability;
        match found.iter_mut().find(same) {
            Some(known) => known.standing = standing.clone(),
            None => found.push(AuditedPromise {
                contender,
                durability,
                standing: standing.clone(),
            }),
        }
    }
    found.sort_by_key(|promise| promise.durability);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(model: StorageModel, states: u64) -> AuditState {
        AuditState::NotRefuted {
            states,
            models: vec![TriedStates {
                model,
                file_system: None,
                states,
                refuted: 0,
            }],
            refuted_by: Vec::new(),
        }
    }

    fn refuted() -> AuditState {
        AuditState::Refuted {
            refuted: 3,
            states: 26,
            models: vec![StorageModel::Kill],
        }
    }

    fn words(states: &[AuditState]) -> String {
        coverage(states.iter()).unwrap().to_string()
    }

    fn states(states: &[AuditState]) -> Option<String> {
        coverage(states.iter()).unwrap().states()
    }

    #[test]
    fn an_audited_level_says_how_many_were_refuted_and_has_no_counts() {
        let kill = || tried(StorageModel::Kill, 26);
        assert_eq!(words(&[kill(), kill()]), "audited");
        assert_eq!(words(&[kill(), refuted()]), "audited; 1 refuted");
        assert_eq!(words(&[refuted(), refuted()]), "audited; 2 refuted");
        let open = AuditState::NotAudited;
        assert_eq!(words(&[refuted(), open]), "1 of 2 audited; 1 refuted");
        assert_eq!(words(&[AuditState::NotAudited]), "not audited");
    }

    #[test]
    fn the_states_of_every_form_are_named_with_the_contenders_that_have_them() {
        let kill = |states| tried(StorageModel::Kill, states);
        let said = states(&[kill(26), kill(1_300), refuted(), AuditState::NotAudited]);
        assert_eq!(said.unwrap(), "Audited states: kill 26 to 1,300.");
        assert_eq!(states(&[refuted(), AuditState::NotAudited]), None);
        let mut block = kill(9);
        if let AuditState::NotRefuted { models, .. } = &mut block {
            models.push(TriedStates {
                model: StorageModel::Journal,
                file_system: Some("ext4".to_owned()),
                states: 50,
                refuted: 0,
            });
        }
        assert_eq!(
            block.to_string(),
            "kill 9; in the block form on ext4: journal 50"
        );
        assert_eq!(
            states(&[kill(26), block]).unwrap(),
            "Audited states: kill 9 to 26; in the block form on ext4: journal 50 (1 of 2)."
        );
    }
}
