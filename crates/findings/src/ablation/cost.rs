//! The cost of a step: promises, and what drivers and workloads say of their knobs.

use crate::Run;
use crate::published::{PromiseChange, promise_changes};
use crate::text::{joined, serialize_as_text};
use crate::units::{bytes, counted, number};
use trueput_record::trial::Settings;
use trueput_record::{Durability, TrialRecord, TrialSpec, Value, Window};

/// The cost of a step over another. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepCost {
    /// Promises of another level.
    #[error(
        "durability {after} instead of {before}: {}{}",
        joined(changes, "; "),
        window.as_ref().map(|window| format!("; can be lost: {}", lost(window))).unwrap_or_default()
    )]
    Durability {
        /// The level that the step stands on.
        before: Durability,
        /// Its own level.
        after: Durability,
        /// In what their promises differ.
        changes: Vec<PromiseChange>,
        /// How much its level can lose, where the driver states it.
        window: Option<Window>,
    },
    /// What a driver or a workload says of a parameter.
    #[error("{name} {value}: {statement}")]
    Parameter {
        /// The parameter.
        name: String,
        /// Its value.
        value: Value,
        /// What is said of it.
        statement: String,
    },
    /// A file system of its own for the log.
    #[error("the log's file system: one more device that can fail")]
    LogFileSystem,
}

serialize_as_text!(StepCost);

/// The costs of the second trial over the first one. Nothing is made up: where neither
/// the level nor a driver says anything, the list is empty.
pub(super) fn of(
    report: &Run,
    before: &TrialSpec,
    after: &TrialSpec,
    trials: &[&TrialRecord],
) -> Vec<StepCost> {
    let mut costs = Vec::new();
    let changes = promise_changes(before.durability, after.durability);
    if !changes.is_empty() {
        let opened = trials.iter().find_map(|trial| trial.engine.as_ref());
        costs.push(StepCost::Durability {
            before: before.durability,
            after: after.durability,
            changes,
            window: opened.and_then(|engine| engine.promise.window.clone()),
        });
    }
    let of_parameters = |owner: &str, before: &Settings, after: &Settings| {
        let changed = after.iter();
        let changed = changed.filter(|(name, value)| before.get(*name) != Some(value));
        let stated = changed.filter_map(|(name, value)| {
            let statement = report.manifest.costs.get(&format!("{owner}.{name}"))?;
            (!statement.is_empty()).then(|| StepCost::Parameter {
                name: name.clone(),
                value: value.clone(),
                statement: statement.clone(),
            })
        });
        stated.collect::<Vec<_>>()
    };
    costs.extend(of_parameters(&after.engine, &before.knobs, &after.knobs));
    costs.extend(of_parameters(
        &after.workload,
        &before.settings,
        &after.settings,
    ));
    if before.conditions.log_file_system != after.conditions.log_file_system {
        costs.push(StepCost::LogFileSystem);
    }
    costs
}

/// How much a level can lose, in words.
pub fn lost(window: &Window) -> String {
    let mut bounds = Vec::new();
    bounds.extend(window.time_s.map(|time_s| format!("{} s", number(time_s))));
    bounds.extend(window.bytes.map(|size| bytes(size as f64)));
    bounds.extend(window.commits.map(|commits| counted(commits, "commit")));
    bounds.push(format!("until {}", window.until));
    bounds.join(", ")
}
