//! The folder of a trial's database, and what is in it when the trial begins.

use crate::context::{DatabaseFolderError, RunContext};
use crate::plan::resolution::ResolvedTrial;
use crate::trial::prepared_copy;
use crate::trial::prepared_database::PreparedDatabase;
use crate::trial::trial_storage::{is_in_work_folder, storage_key};
use trueput_host::trial_file_system::{self, TrialFileSystems};
use trueput_record::{Conditions, TrialSpec};
use trueput_workloads::ExistingDatabase;

/// The database of a trial that begins.
pub(crate) struct TrialDatabase {
    /// The trial whose folder it is in.
    pub id: String,
    /// The number of trials that ran on this load before.
    pub generation: u32,
    /// Its folder and the file systems.
    pub place: TrialFileSystems,
    /// What is in it.
    pub existing: ExistingDatabase,
    /// The copy that is in it; `None` if it is none.
    pub prepared: Option<PreparedDatabase>,
}

/// Returns the key of the load of a trial: trials with the same key that follow each other share
/// the database.
pub(crate) fn compute_load_key(context: &RunContext<'_>, spec: &TrialSpec) -> Option<String> {
    let resolved = context.resolve(spec).ok()?;
    load_key_of(spec, &resolved)
}

fn load_key_of(spec: &TrialSpec, resolved: &ResolvedTrial) -> Option<String> {
    // A database after a crash, a compaction or a fault is not a load for other trials.
    let Conditions {
        crash_and_recover,
        compact,
        fault,
        ..
    } = &spec.conditions;
    if *crash_and_recover || *compact || fault.is_some() {
        return None;
    }
    let load = resolved.job.load_key()?;
    let knobs = serde_json::to_string(&spec.knobs).ok()?;
    let (contender, workload, seed) = (spec.contender(), &spec.workload, spec.seed);
    let durability = spec.durability;
    // The load decides on which node each page of the page cache is.
    let Conditions { cpus, numa, .. } = &spec.conditions;
    let setup = format!("{cpus:?} {numa:?} {}", storage_key(&spec.conditions));
    Some(format!(
        "{contender} {durability} {knobs} {workload} {load} {seed} {setup}"
    ))
}

/// Returns whether a trial begins with the copy that an earlier repeat of its cell has prepared,
/// even if the trial before it has left a database.
pub(crate) fn begins_with_copy(context: &RunContext<'_>, spec: &TrialSpec) -> bool {
    let resolved = context.resolve(spec);
    let is_continuation = resolved.is_ok_and(|resolved| resolved.job.is_continuation());
    context.known.prepared.has_copy_of(spec) && !is_continuation
}

/// Returns the folder of a trial's database: one with a copy of what an earlier repeat prepared,
/// that of an earlier trial with the same load, or a new one.
///
/// # Errors
/// [`DatabaseFolderError`], if a folder cannot be made or removed.
pub(crate) fn open_database_folder(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
) -> Result<TrialDatabase, DatabaseFolderError> {
    if let Some(left) = load_key_of(spec, resolved).and_then(|key| context.take_reusable(&key)) {
        // No other trial has changed the copy.
        let needs_none = begins_with_copy(context, spec);
        if !needs_none && resolved.job.goes_on_after(&left.spec, spec) {
            let folder = context.area.trial_folder(&left.id)?.0;
            return Ok(TrialDatabase {
                id: left.id,
                generation: left.generation,
                place: trial_file_system::find_existing(&folder),
                existing: ExistingDatabase::Loaded,
                prepared: None,
            });
        }
        context.drop_database(&left);
    }
    if let Some((copy, directory)) = prepared_copy::restore(context, spec) {
        return Ok(TrialDatabase {
            id: copy.id.clone(),
            generation: 0,
            place: trial_file_system::find_existing(&directory),
            existing: ExistingDatabase::Loaded,
            prepared: Some(copy),
        });
    }
    new_folder(context, spec, resolved)
}

/// Makes the folder of a trial's own database, or finds an unfinished one that it resumes.
fn new_folder(
    context: &RunContext<'_>,
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
) -> Result<TrialDatabase, DatabaseFolderError> {
    let database = |place, existing| TrialDatabase {
        id: spec.id.clone(),
        generation: 0,
        place,
        existing,
        prepared: None,
    };
    let (directory, existing) = context.area.trial_folder(&spec.id)?;
    let conditions = &spec.conditions;
    let is_here = is_in_work_folder(conditions);
    if existing && is_here && context.options.resume_databases && resolved.job.is_resumable() {
        let place = TrialFileSystems::in_folder(&directory);
        return Ok(database(place, ExistingDatabase::Unfinished));
    }
    if existing {
        context.remove_database(&spec.id, spec)?;
    }
    let (directory, _) = context.area.trial_folder(&spec.id)?;
    let needed = needed_bytes(context, spec, resolved);
    let place = context.area.create_file_systems(&directory, spec, needed)?;
    let place = context.faults.serve(spec, &directory, place)?;
    Ok(database(place, ExistingDatabase::Nothing))
}

/// Returns the bytes that must be free before a trial's database is made.
pub(crate) fn needed_bytes(
    context: &RunContext<'_>,
    spec: &TrialSpec,
    resolved: &ResolvedTrial,
) -> u64 {
    let factor = context.options.disk_factor;
    resolved.disk_space(spec, factor).needed_bytes
}
