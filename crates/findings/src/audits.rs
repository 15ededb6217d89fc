//! Audits of the promises behind a ranking: whether simulated power cuts refuted them, for the
//! builds and the knobs of its contenders. A trial's record has what its user knew when it ran.

use crate::eligibility::{HARNESS_ENGINE, STORAGE_ENGINE};
use crate::units::{counted, thousands};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use trueput_record::audit::StorageModel;
use trueput_record::audit_standing::{AuditStanding, ModelStanding};
use trueput_record::{Durability, TrialRecord};

/// The audits of a contender's promise at its level. Its `Display` is for a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AuditState {
    /// Nothing is known.
    NotAudited,
    /// No state refuted it on usual storage.
    NotRefuted {
        /// The states that were tried.
        states: u64,
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

impl Display for AuditState {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAudited => formatter.write_str("not audited"),
            Self::NotRefuted { states, .. } => write!(formatter, "{}", counted(*states, "state")),
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
        match standing.is_refuted() {
            true => Self::Refuted {
                refuted: sum(|model| model.refuted),
                states: sum(|model| model.states),
                models: standing.refutations().map(|model| model.model).collect(),
            },
            false => Self::NotRefuted {
                states: standing.states(),
                refuted_by: refuted.map(|model| model.model).collect(),
            },
        }
    }
}

/// The audits behind a ranking. Its `Display` follows the level: `sync (not audited)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AuditCoverage {
    /// The contenders whose promise was audited.
    pub audited: usize,
    /// The contenders.
    pub contenders: usize,
    /// The fewest states of an audited one.
    pub fewest_states: u64,
    /// The most states of an audited one.
    pub most_states: u64,
}

impl Display for AuditCoverage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let [fewest, most] = [self.fewest_states, self.most_states].map(thousands);
        match self.audited {
            0 => formatter.write_str("not audited"),
            all if all == self.contenders && fewest == most => {
                write!(formatter, "audited: {}", counted(self.most_states, "state"))
            }
            all if all == self.contenders => {
                write!(formatter, "audited: {fewest} to {most} states")
            }
            audited => write!(formatter, "{audited} of {} audited", self.contenders),
        }
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
        AuditState::NotAudited => None,
        AuditState::NotRefuted { states, .. } | AuditState::Refuted { states, .. } => Some(*states),
    });
    let audited: Vec<u64> = audited.collect();
    (!states.is_empty()).then(|| AuditCoverage {
        audited: audited.len(),
        contenders: states.len(),
        fewest_states: audited.iter().copied().min().unwrap_or(0),
        most_states: audited.iter().copied().max().unwrap_or(0),
    })
}

/// A contender whose promise was audited at a level.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
