//! A contender's cells as steps, each on top of the one before it: what a step changed, and what
//! that costs.

use std::collections::BTreeMap;
use trueput_record::ablation::AblationKind;
use trueput_record::{Durability, TrialRecord, TrialSpec};

/// What the first cell of a contender is called.
const FIRST: &str = "before any step";

/// By cell, what it changed.
pub(super) struct Steps(BTreeMap<u32, Step>);

struct Step {
    changed: String,
    cost: Option<String>,
}

impl Steps {
    /// The steps of each contender, in the order of its cells.
    pub(super) fn of(trials: &[&TrialRecord]) -> Self {
        let mut cells: BTreeMap<u32, &TrialSpec> = BTreeMap::new();
        for trial in trials {
            cells.entry(trial.spec.cell).or_insert(&trial.spec);
        }
        let mut grounds: BTreeMap<String, &TrialSpec> = BTreeMap::new();
        let mut steps = BTreeMap::new();
        for (cell, spec) in cells {
            let ground = grounds.get(&spec.contender()).copied();
            if ground.is_none() || !is_one_at_a_time(spec) {
                grounds.insert(spec.contender(), spec);
            }
            let step = match ground {
                None => Step {
                    changed: FIRST.to_owned(),
                    cost: None,
                },
                Some(before) => Step {
                    changed: named(spec, &changes(before, spec).join(", ")),
                    cost: given_up(before.durability, spec.durability),
                },
            };
            steps.insert(cell, step);
        }
        Self(steps)
    }

    /// What a cell changed.
    pub(super) fn of_cell(&self, cell: u32) -> Option<String> {
        self.0.get(&cell).map(|step| step.changed.clone())
    }

    /// The cost of a cell over the one before it, as far as the levels of durability tell.
    pub(super) fn cost(&self, cell: u32) -> Option<String> {
        self.0.get(&cell)?.cost.clone()
    }
}

/// Whether a step stands on the base alone.
pub(super) fn is_one_at_a_time(spec: &TrialSpec) -> bool {
    let step = spec.step.as_ref();
    step.is_some_and(|step| step.ablation == AblationKind::OneAtATime)
}

/// What a step changed, after its name in the plan where it has one.
fn named(spec: &TrialSpec, changes: &str) -> String {
    match &spec.step {
        Some(step) => format!("{} ({changes})", step.name),
        None => changes.to_owned(),
    }
}

/// What the second trial was given otherwise than the first, a phrase each.
pub fn changes(before: &TrialSpec, after: &TrialSpec) -> Vec<String> {
    let mut found = Vec::new();
    let mut change = |name: &str, old: String, new: String| {
        if old != new {
            found.push(format!("{name} {old} to {new}"));
        }
    };
    change(
        "durability",
        before.durability.to_string(),
        after.durability.to_string(),
    );
    change(
        "workers",
        before.workers.to_string(),
        after.workers.to_string(),
    );
    let settings = before.settings.keys().chain(after.settings.keys());
    let knobs = before.knobs.keys().chain(after.knobs.keys());
    let mut names: Vec<_> = settings.chain(knobs).collect();
    names.sort();
    names.dedup();
    let value = |spec: &TrialSpec, name: &String| {
        let value = spec.knobs.get(name).or_else(|| spec.settings.get(name));
        value.map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    for name in names {
        change(name, value(before, name), value(after, name));
    }
    let conditions = before.conditions.named().into_iter();
    for ((name, old), (_, new)) in conditions.zip(after.conditions.named()) {
        change(name, old, new);
    }
    found
}

/// What the second level does not promise that the first does, or otherwise; `None` if they
/// are one.
pub fn given_up(before: Durability, after: Durability) -> Option<String> {
    if before == after {
        return None;
    }
    let lost = [
        (
            "killed processes",
            before.after_killed_processes(),
            after.after_killed_processes(),
        ),
        (
            "lost power",
            before.after_lost_power(),
            after.after_lost_power(),
        ),
    ];
    let changed = lost.iter().filter(|(_, old, new)| old != new);
    let told: Vec<_> = changed
        .map(|(what, old, new)| format!("after {what}: {new}, not {old}"))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}
