//! Databases and logs in memory, whatever their level promises about lost power.

use trueput_record::filesystem::{FileSystem, FileSystemKind};
use trueput_record::host::FileSystemFacts;
use trueput_record::{Survival, TrialRecord};

/// File systems that lose everything with the power.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Whether a trial's level makes a promise about lost power while its database or log was in
/// memory, given the file system that the run is on.
pub fn breaks_its_level(trial: &TrialRecord, usual: &FileSystemFacts) -> bool {
    let promises = trial.spec.durability.after_lost_power() != Survival::Nothing;
    promises && (data_in_memory(trial, usual) || log_in_memory(trial))
}

/// Where a trial failed before its file system was there, the request decides.
fn asked_for_memory(asked: Option<&FileSystem>) -> bool {
    asked.is_some_and(|asked| asked.kind == FileSystemKind::Tmpfs)
}

fn data_in_memory(trial: &TrialRecord, usual: &FileSystemFacts) -> bool {
    let conditions = &trial.spec.conditions;
    in_memory(data_of(trial, usual)) || asked_for_memory(conditions.file_system.as_ref())
}

fn log_in_memory(trial: &TrialRecord) -> bool {
    let conditions = &trial.spec.conditions;
    log_of(trial).is_some_and(in_memory) || asked_for_memory(conditions.log_file_system.as_ref())
}

fn in_memory(file_system: &FileSystemFacts) -> bool {
    IN_MEMORY.contains(&file_system.kind.as_str())
}

/// The file system of the database: its trial's own, or that of the run.
fn data_of<'a>(trial: &'a TrialRecord, usual: &'a FileSystemFacts) -> &'a FileSystemFacts {
    trial.file_system.as_ref().map_or(usual, |own| &own.mounted)
}

fn log_of(trial: &TrialRecord) -> Option<&FileSystemFacts> {
    Some(&trial.log_file_system.as_ref()?.mounted)
}
