//! A ledger of knobs: what each of a list of steps changes, and which step a trial is of.

use crate::conditions::ConditionLists;
use crate::trial::Settings;
use crate::{Durability, TrialSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name of the trial that no step has changed.
pub const BASE: &str = "base";

/// What the steps of a ledger stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AblationKind {
    /// Each on top of the one before it.
    Cumulative,
    /// Each on the base alone.
    OneAtATime,
}

impl AblationKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Cumulative, Self::OneAtATime];

    /// The kind's name, as in plan files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cumulative => "cumulative",
            Self::OneAtATime => "one-at-a-time",
        }
    }
}

impl fmt::Display for AblationKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// Which step of a ledger a trial is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AblationStep {
    /// What the steps stand on.
    pub ledger: AblationKind,
    /// The cell of the trial that no step has changed: steps with one base are one ledger.
    pub base: u32,
    /// Which step, from 1; 0 is the base.
    pub index: u32,
    /// The step's name in the plan; [`BASE`] for the base.
    pub name: String,
}

/// A step of a plan's ledger: the changes that it makes, on whichever engines they concern.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// What the step is called.
    pub name: String,
    /// The engines that it is for; empty: all.
    pub engines: Vec<String>,
    /// The promise that commits make from then on: the first of these levels that the engine has.
    /// Empty: as before.
    pub durability: Vec<Durability>,
    /// Settings of the workload.
    pub settings: Settings,
    /// Knobs by engine. One that a step does not name is not changed by it.
    pub knobs: BTreeMap<String, Settings>,
    /// What surrounds the trial: of each list that is not empty, its one value.
    pub conditions: ConditionLists,
}

impl Step {
    /// Whether it names no change on any engine.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let unnamed = Self {
            name: self.name.clone(),
            engines: self.engines.clone(),
            ..Self::default()
        };
        *self == unnamed
    }

    /// The trial as it is with this step's changes, at the first of its levels for which `has` says
    /// that there is such; where there is none, at the first of all. Names are not checked.
    #[must_use]
    pub fn applied(&self, before: &TrialSpec, has: impl Fn(Durability) -> bool) -> TrialSpec {
        let mut spec = before.clone();
        if !self.engines.is_empty() && !self.engines.contains(&spec.engine) {
            return spec;
        }
        let mut levels = self.durability.iter().copied();
        let first = levels.clone().next();
        let level = levels.find(|level| has(*level)).or(first);
        spec.durability = level.unwrap_or(spec.durability);
        spec.settings.extend(self.settings.clone());
        let knobs = self.knobs.get(&spec.engine).into_iter().flatten();
        spec.knobs
            .extend(knobs.map(|(name, value)| (name.clone(), value.clone())));
        spec.conditions = self.conditions.over(&spec.conditions);
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{Conditions, Start};

    #[test]
    fn conditions_that_a_step_does_not_name_stay_as_they_were() {
        let before = Conditions {
            warm_up_s: 2.0,
            duration_s: Some(10.0),
            memory_bytes: Some(1 << 30),
            ..Conditions::default()
        };
        let step = Step {
            conditions: ConditionLists {
                start: vec![Start::Cold],
                ..ConditionLists::default()
            },
            ..Step::default()
        };
        let after = step.conditions.over(&before);
        assert_eq!(after.start, Start::Cold);
        let back = Conditions {
            start: Start::Warm,
            ..after
        };
        assert_eq!(back, before);
        assert_eq!(Step::default().conditions.over(&before), before);
        assert!(!step.is_empty() && Step::default().is_empty());
    }
}
