//! What the storage below trials leaves of the promise of their level at lost power.

use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::TrialRecord;
use trueput_record::filesystem::{FileSystem, FileSystemKind};
use trueput_record::host::FileSystemFacts;
use trueput_record::storage::{LevelOnStorage, PowerLoss};

/// What the storage below several trials of one level leaves of its promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoragePromise {
    /// Why nothing survives lost power, each reason once; empty if something may.
    pub lost: Vec<String>,
    /// Where the storage could not be resolved, each reason once.
    pub unresolved: Vec<String>,
    /// Whether that concerns every trial.
    pub all_unresolved: bool,
}

impl StoragePromise {
    /// Summarizes trials; `run_file_system` is that of the run.
    #[must_use]
    pub fn of<'a>(
        trials: impl IntoIterator<Item = &'a TrialRecord>,
        run_file_system: &FileSystemFacts,
    ) -> Self {
        let mut found = Self {
            all_unresolved: true,
            ..Self::default()
        };
        for trial in trials {
            let (list, reason) = match level_on_storage(trial, run_file_system) {
                LevelOnStorage::Kept => {
                    found.all_unresolved = false;
                    continue;
                }
                LevelOnStorage::Unresolved(reason) => (&mut found.unresolved, reason),
                LevelOnStorage::Lost { reason, .. } => {
                    found.all_unresolved = false;
                    (&mut found.lost, reason)
                }
            };
            if !list.contains(&reason) {
                list.push(reason);
            }
        }
        found.all_unresolved &= !found.unresolved.is_empty();
        found
    }

    /// Combines those of several contenders.
    #[must_use]
    pub fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut found = Self::default();
        let mut are_unresolved = Vec::new();
        for one in all {
            are_unresolved.push(one.all_unresolved);
            let lists = [
                (&mut found.lost, &one.lost),
                (&mut found.unresolved, &one.unresolved),
            ];
            for (list, reasons) in lists {
                let new = reasons.iter().filter(|reason| !list.contains(reason));
                let new: Vec<_> = new.cloned().collect();
                list.extend(new);
            }
        }
        found.all_unresolved = !are_unresolved.is_empty() && are_unresolved.iter().all(|it| *it);
        found
    }

    /// Whether nothing survives lost power.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        !self.lost.is_empty()
    }
}

/// What the storage of a trial leaves of the promise of its level; `run_file_system` is that of the
/// run, which speaks for older records.
#[must_use]
pub fn level_on_storage(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> LevelOnStorage {
    let level = trial.spec.durability;
    match &trial.storage {
        Some(stack) => stack.power_loss.at(level),
        None => of_mounts(trial, run_file_system).at(level),
    }
}

/// Whether a trial's level promises something at lost power, and its storage keeps nothing.
#[must_use]
pub fn violates_durability(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> bool {
    let left = level_on_storage(trial, run_file_system);
    matches!(left, LevelOnStorage::Lost { .. })
}

/// Likewise, because its database or its log was on a file system in memory.
#[must_use]
pub fn is_in_memory(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> bool {
    let left = level_on_storage(trial, run_file_system);
    matches!(left, LevelOnStorage::Lost { in_memory, .. } if in_memory)
}

/// What the mounts of a trial without a recorded stack say: older records, and trials that failed
/// before they had a folder.
fn of_mounts(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> PowerLoss {
    let of = |facts: &FileSystemFacts| {
        let place = format!("its {}", facts.kind);
        PowerLoss::of_mount(&place, &facts.kind, &facts.options)
    };
    let data = trial.file_system.as_ref();
    let data = of(data.map_or(run_file_system, |own| &own.mounted));
    let log = trial.log_file_system.as_ref();
    let log = log.map_or(PowerLoss::Survives, |own| of(&own.mounted));
    let conditions = &trial.spec.conditions;
    let wanted = [&conditions.file_system, &conditions.log_file_system];
    let wanted = wanted.into_iter().flatten().map(of_request);
    wanted.fold(data.worse(log), PowerLoss::worse)
}

/// If a trial failed before its file system was mounted, the requested kind decides.
fn of_request(requested: &FileSystem) -> PowerLoss {
    match requested.kind {
        FileSystemKind::Tmpfs => PowerLoss::of_mount("its tmpfs", "tmpfs", ""),
        _ => PowerLoss::Survives,
    }
}
