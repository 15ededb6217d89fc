//! Copies of prepared databases: the later repeats of a cell begin with a copy of what its first
//! one prepared, instead of preparing the same once more.
//!
//! The copy is restored to the same path, because engines keep paths in their files. So each repeat
//! has a database that no other one has changed, and processes of its own.

use crate::context::{DatabaseFolderError, RunContext};
use crate::evidence::database_size::measure_database;
use crate::plan::log_directory::is_log_elsewhere;
use crate::trial::prepared_database::PreparedDatabase;
use crate::trial::trial_storage::is_in_work_folder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use trueput_host::folder_copy::copy_contents;
use trueput_host::read_free_bytes;
use trueput_record::TrialSpec;
use trueput_record::measurement::EngineReport;

/// A larger database is prepared anew: its copy would take as long, and fill the page cache.
const MAX_BYTES: u64 = 1 << 30;

/// As many times its size must be free for a copy.
const FREE_FACTOR: u64 = 4;

/// Returns whether a later repeat of a trial's cell can begin with a copy of its database.
pub(crate) fn is_wanted(context: &RunContext<'_>, spec: &TrialSpec) -> bool {
    let options = context.options;
    let is_kept = options.keep_databases || options.resume_databases || options.keep_unfinished;
    let is_here = is_in_work_folder(&spec.conditions)
        && !spec.is_on_users_server()
        && !is_log_elsewhere(&spec.knobs);
    let copies = &context.known.prepared;
    is_here
        && !is_kept
        && !spec.conditions.crash_and_recover
        && copies.is_repeated(spec)
        && !copies.has_copy_of(spec)
}

/// Copies the database of a trial, which nobody has open, if it is small enough. A copy that fails
/// is no loss: the next repeat prepares its own.
pub(crate) fn keep(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
    (id, directory): (&str, &Path),
    engine: EngineReport,
) {
    let size_bytes = measure_database(directory).map_or(u64::MAX, |size| size.allocated_bytes);
    let free_bytes = read_free_bytes(directory).unwrap_or(u64::MAX);
    if size_bytes > MAX_BYTES || size_bytes.saturating_mul(FREE_FACTOR) > free_bytes {
        return;
    }
    let copy_id = copy_id(id);
    let Ok((folder, false)) = context.area.trial_folder(&copy_id) else {
        return;
    };
    let stop = Arc::clone(&context.options.stop);
    if let Err(error) = copy_contents(directory, &folder, &|| !stop.load(Relaxed)) {
        context.warn(format!("each repeat prepares its database anew: {error}"));
        let _ = context.area.remove_trial(&copy_id);
        return;
    }
    let copy = PreparedDatabase {
        id: id.to_owned(),
        engine,
        folder,
    };
    context.known.prepared.of_cells.insert(spec.cell, copy);
}

/// Puts the copy of a cell into the folder in which its database was prepared; returns it with that
/// folder. `None` if there is no copy, or if it cannot be put there: it is not tried again.
pub(crate) fn restore(
    context: &mut RunContext<'_>,
    spec: &TrialSpec,
) -> Option<(PreparedDatabase, PathBuf)> {
    let copy = context.known.prepared.of_cells.get(&spec.cell)?.clone();
    let restored = restore_in(context, spec, &copy);
    if let Err(error) = restored {
        context.known.prepared.forget(spec.cell);
        // Neither is of use to anybody, and a full disk needs their room.
        for id in [copy_id(&copy.id), copy.id.clone()] {
            let _ = context.area.remove_trial(&id);
        }
        context.warn(format!(
            "trial {} prepares its database anew: {error}",
            spec.id
        ));
        return None;
    }
    Some((copy, restored.ok()?))
}

fn restore_in(
    context: &RunContext<'_>,
    spec: &TrialSpec,
    copy: &PreparedDatabase,
) -> Result<PathBuf, DatabaseFolderError> {
    context.remove_database(&copy.id, spec)?;
    let (directory, _) = context.area.trial_folder(&copy.id)?;
    copy_contents(&copy.folder, &directory, &|| !context.stopped())?;
    Ok(directory)
}

/// Removes the copies that a killed part of the run has left.
pub(crate) fn remove_earlier(context: &mut RunContext<'_>, trials: &[TrialSpec]) {
    for spec in trials {
        if let Err(error) = context.area.remove_trial(&copy_id(&spec.id)) {
            context.warn(error.to_string());
        }
    }
}

/// Removes all copies, and the databases that were kept for next trials.
pub(crate) fn remove_all(context: &mut RunContext<'_>) {
    context.drop_reusable_except(&[]);
    remove_copies(context);
}

/// Removes all copies: later repeats prepare their own databases.
pub(crate) fn remove_copies(context: &mut RunContext<'_>) {
    for (_, copy) in std::mem::take(&mut context.known.prepared.of_cells) {
        if let Err(error) = context.area.remove_trial(&copy_id(&copy.id)) {
            context.warn(error.to_string());
        }
    }
}

fn copy_id(id: &str) -> String {
    format!("{id}-prepared")
}
