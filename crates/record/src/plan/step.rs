//! A step of a plan: the changes that it makes to a trial.

use crate::conditions::ConditionLists;
use crate::value::Settings;
use crate::{Durability, TrialSpec};
use std::collections::BTreeMap;

/// A step of a plan's ablation: the changes that it makes, on whichever engines they concern.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanStep {
    /// The name of the step.
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
    /// The run conditions: of each list that is not empty, its one value.
    pub conditions: ConditionLists,
}

impl PlanStep {
    /// Returns whether it changes nothing on any engine.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let unnamed = Self {
            name: self.name.clone(),
            engines: self.engines.clone(),
            ..Self::default()
        };
        *self == unnamed
    }

    /// Returns the trial with this step's changes, at the first of its levels for which `has`
    /// returns true, or else at the first level. Names are not checked.
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
        let step = PlanStep {
            conditions: ConditionLists {
                start: vec![Start::Cold],
                ..ConditionLists::default()
            },
            ..PlanStep::default()
        };
        let after = step.conditions.over(&before);
        assert_eq!(after.start, Start::Cold);
        let back = Conditions {
            start: Start::Warm,
            ..after
        };
        assert_eq!(back, before);
        assert_eq!(PlanStep::default().conditions.over(&before), before);
        assert!(!step.is_empty() && PlanStep::default().is_empty());
    }
}
