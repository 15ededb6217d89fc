//! The cost of a step: changed promises, and statements of drivers and workloads about their
//! parameters.

use crate::Run;
use crate::published::{PromiseChange, promise_changes};
use crate::storage_models::StorageModels;
use crate::text::{joined, serialize_as_text};
use crate::units::{bytes, counted, number};
use trueput_record::value::Settings;
use trueput_record::{Durability, TrialRecord, TrialSpec, Value, Window};

/// The cost of a step over another. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StepCost {
    /// Promises of another level.
    #[error(
        "durability {after} instead of {before}: {}{}",
        joined(changes, "; "),
        window
            .as_ref()
            .map(|window| format!("; can be lost: {}", describe_window(window)))
            .unwrap_or_default()
    )]
    Durability {
        /// The level of the row that the step changes.
        before: Durability,
        /// Its own level.
        after: Durability,
        /// The events after which the two levels promise different things.
        changes: Vec<PromiseChange>,
        /// The most that its level can lose, if the driver states it.
        window: Option<Window>,
    },
    /// A driver's or workload's statement about a parameter.
    #[error("{name} {value}: {statement}")]
    Parameter {
        /// The parameter.
        name: String,
        /// Its value.
        value: Value,
        /// The statement.
        statement: String,
    },
    /// Storage that behaves as another device.
    #[error("another device: {before} before, {after} with the step; its price is not stated")]
    StorageModels {
        /// The storage of the row that the step changes.
        before: StorageModels,
        /// Its own storage.
        after: StorageModels,
    },
    /// A separate file system for the log.
    #[error("the log's file system: one more device that can fail")]
    LogFileSystem,
}

serialize_as_text!(StepCost);

/// Returns the costs of the second trial over the first. Only documented costs are listed: without
/// a statement by the level or a driver, the list is empty.
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
    let models = [before, after].map(|spec| StorageModels::of(&spec.conditions));
    if models[0] != models[1] {
        let [before, after] = models;
        costs.push(StepCost::StorageModels { before, after });
    }
    if before.conditions.log_file_system != after.conditions.log_file_system {
        costs.push(StepCost::LogFileSystem);
    }
    costs
}

/// Describes the most that a level can lose.
pub fn describe_window(window: &Window) -> String {
    let mut bounds = Vec::new();
    bounds.extend(window.time_s.map(|time_s| format!("{} s", number(time_s))));
    bounds.extend(window.bytes.map(|size| bytes(size as f64)));
    bounds.extend(window.commits.map(|commits| counted(commits, "commit")));
    bounds.push(format!("until {}", window.until));
    bounds.join(", ")
}
