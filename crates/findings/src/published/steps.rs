//! A contender's cells as steps, each on top of the one before it, with their changes and costs.

use crate::text::{joined, serialize_as_text};
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::ablation::AblationKind;
use trueput_record::{Durability, Survival, TrialRecord, TrialSpec};

/// The name of a contender's first cell.
const FIRST: &str = "before any step";

/// The changes of each step, by cell.
pub(super) struct Steps(BTreeMap<u32, Step>);

struct Step {
    changed: String,
    promises: Vec<PromiseChange>,
}

impl Steps {
    /// The steps of each contender, in the order of its cells.
    pub(super) fn of(trials: &[&TrialRecord]) -> Self {
        let mut cells: BTreeMap<u32, &TrialSpec> = BTreeMap::new();
        for trial in trials {
            cells.entry(trial.spec.cell).or_insert(&trial.spec);
        }
        let mut baselines: BTreeMap<String, &TrialSpec> = BTreeMap::new();
        let mut steps = BTreeMap::new();
        for (cell, spec) in cells {
            let baseline = baselines.get(&spec.contender()).copied();
            if baseline.is_none() || !is_one_at_a_time(spec) {
                baselines.insert(spec.contender(), spec);
            }
            let step = match baseline {
                None => Step {
                    changed: FIRST.to_owned(),
                    promises: Vec::new(),
                },
                Some(before) => Step {
                    changed: describe_step(spec, &joined(&changes(before, spec), ", ")),
                    promises: promise_changes(before.durability, spec.durability),
                },
            };
            steps.insert(cell, step);
        }
        Self(steps)
    }

    /// Describes the changes of a cell.
    pub(super) fn of_cell(&self, cell: u32) -> Option<String> {
        self.0.get(&cell).map(|step| step.changed.clone())
    }

    /// The cost of a cell over the one before it, as far as the levels of durability show.
    pub(super) fn cost(&self, cell: u32) -> Option<String> {
        let promises = &self.0.get(&cell)?.promises;
        (!promises.is_empty()).then(|| joined(promises, "; "))
    }
}

/// Whether a step changes the base only.
pub(super) fn is_one_at_a_time(spec: &TrialSpec) -> bool {
    let step = spec.step.as_ref();
    step.is_some_and(|step| step.ablation == AblationKind::OneAtATime)
}

/// Describes the changes of a step, after its name in the plan if it has one.
fn describe_step(spec: &TrialSpec, changes: &str) -> String {
    match &spec.step {
        Some(step) => format!("{} ({changes})", step.name),
        None => changes.to_owned(),
    }
}

/// A parameter that has another value in one trial than in another. Its `Display` is the phrase
/// that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {before} to {after}")]
pub struct ParameterChange {
    /// Its name.
    pub name: String,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

serialize_as_text!(ParameterChange);

/// Returns the parameters in which the second trial differs from the first.
pub fn changes(before: &TrialSpec, after: &TrialSpec) -> Vec<ParameterChange> {
    let of = |name: &str, before: String, after: String| ParameterChange {
        name: name.to_owned(),
        before,
        after,
    };
    let levels = [before.durability, after.durability].map(|level| level.to_string());
    let workers = [before.workers, after.workers].map(|workers| workers.to_string());
    let plain = [("durability", levels), ("workers", workers)].into_iter();
    let plain = plain.map(|(name, [before, after])| of(name, before, after));
    let settings = before.settings.keys().chain(after.settings.keys());
    let knobs = before.knobs.keys().chain(after.knobs.keys());
    let names: BTreeSet<_> = settings.chain(knobs).collect();
    let value = |spec: &TrialSpec, name: &str| {
        let value = spec.knobs.get(name).or_else(|| spec.settings.get(name));
        value.map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    let named = names.into_iter();
    let named = named.map(|name| of(name, value(before, name), value(after, name)));
    let conditions = before.conditions.named().into_iter();
    let conditions = conditions.zip(after.conditions.named());
    let conditions = conditions.map(|((name, old), (_, new))| of(name, old, new));
    let all = plain.chain(named).chain(conditions);
    all.filter(|change| change.before != change.after).collect()
}

/// The durability of commits after an event, at two levels. `Display` is a clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("after {event}: {after}, not {before}")]
pub struct PromiseChange {
    /// The event.
    pub event: &'static str,
    /// The commits that survive at the first level.
    pub before: Survival,
    /// The commits that survive at the second level.
    pub after: Survival,
}

/// Returns the events after which the two levels promise different things.
pub fn promise_changes(before: Durability, after: Durability) -> Vec<PromiseChange> {
    type Event = (&'static str, fn(Durability) -> Survival);
    let events: [Event; 2] = [
        ("killed processes", Durability::after_killed_processes),
        ("lost power", Durability::after_lost_power),
    ];
    let changes = events.map(|(event, survival)| PromiseChange {
        event,
        before: survival(before),
        after: survival(after),
    });
    let differing = changes.into_iter();
    differing
        .filter(|change| change.before != change.after)
        .collect()
}
