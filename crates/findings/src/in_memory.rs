//! Detects trials whose data or log was on a RAM file system although their level promises to
//! survive power loss.

use trueput_record::filesystem::{FileSystem, FileSystemKind};
use trueput_record::host::FileSystemFacts;
use trueput_record::{Survival, TrialRecord};

/// File systems that lose everything at power loss.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Whether a trial's level promises to survive power loss although its database or log was on a
/// RAM file system; `run_file_system` is that of the run.
pub fn violates_durability(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> bool {
    let promises = trial.spec.durability.after_lost_power() != Survival::Nothing;
    promises && (data_in_memory(trial, run_file_system) || log_in_memory(trial))
}

/// If a trial failed before its file system was mounted, the requested kind decides.
fn requests_memory(requested: Option<&FileSystem>) -> bool {
    requested.is_some_and(|it| it.kind == FileSystemKind::Tmpfs)
}

fn data_in_memory(trial: &TrialRecord, run_file_system: &FileSystemFacts) -> bool {
    let conditions = &trial.spec.conditions;
    in_memory(database_file_system(trial, run_file_system))
        || requests_memory(conditions.file_system.as_ref())
}

fn log_in_memory(trial: &TrialRecord) -> bool {
    let conditions = &trial.spec.conditions;
    log_file_system(trial).is_some_and(in_memory)
        || requests_memory(conditions.log_file_system.as_ref())
}

fn in_memory(file_system: &FileSystemFacts) -> bool {
    IN_MEMORY.contains(&file_system.kind.as_str())
}

/// The file system of the database: the trial's own, or that of the run.
fn database_file_system<'a>(
    trial: &'a TrialRecord,
    run_file_system: &'a FileSystemFacts,
) -> &'a FileSystemFacts {
    trial
        .file_system
        .as_ref()
        .map_or(run_file_system, |own| &own.mounted)
}

fn log_file_system(trial: &TrialRecord) -> Option<&FileSystemFacts> {
    Some(&trial.log_file_system.as_ref()?.mounted)
}
