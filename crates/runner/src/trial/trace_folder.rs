//! The folder in which the workers of a trial leave their parts of a trace, and the trace that
//! these become in the run folder.

use crate::context::RunContext;
use crate::workers::trace_file::merge;
use std::io;
use std::path::{Path, PathBuf};
use trueput_host::run_work_folder::TrialFolderError;
use trueput_record::{Error, RunFolder, TrialRecord, TrialSpec};

/// Makes the folder for the workers' parts of a trial's trace; `None` if none is recorded.
///
/// # Errors
/// [`TrialFolderError`], if it cannot be made.
pub(crate) fn make(
    context: &RunContext<'_>,
    spec: &TrialSpec,
) -> Result<Option<PathBuf>, TrialFolderError> {
    if spec.conditions.record_trace_bytes.is_none() {
        return Ok(None);
    }
    let name = folder_name(&spec.id);
    // An earlier attempt may have left parts.
    context.area.remove_trial(&name)?;
    let (folder, _) = context.area.trial_folder(&name)?;
    Ok(Some(folder))
}

fn folder_name(trial_id: &str) -> String {
    format!("{trial_id}-trace")
}

/// Stores the trace of a trial in its run folder, as `traces/ID.csv`, and removes its parts. Warns
/// if it ends before the trial, and of parts that cannot be removed.
///
/// # Errors
/// The error of the operating system.
pub(crate) fn store(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    record: &TrialRecord,
) -> Result<(), Error> {
    let spec = &record.spec;
    if spec.conditions.record_trace_bytes.is_none() {
        return Ok(());
    }
    let name = folder_name(&spec.id);
    let path = folder
        .path()
        .join("traces")
        .join(format!("{}.csv", spec.id));
    let failed = |source| Error::io(&path, source);
    let other = |error: TrialFolderError| failed(io::Error::other(error));
    if record.measurement.is_some() {
        let (parts, _) = context.area.trial_folder(&name).map_err(other)?;
        rename_earlier(&path).map_err(failed)?;
        // Without the reserve, which is for the record.
        let written = merge(&parts, &path).map_err(|source| {
            // Nothing else has this name: it is made here, or was renamed before.
            let _ = std::fs::remove_file(&path);
            failed(source)
        })?;
        if written.is_cut {
            context.warn(format!(
                "the trace of {} ends before the trial, after {} requests: a worker's buffer was \
                 full; give record_trace more",
                spec.id, written.requests
            ));
        }
    }
    remove_parts(context, spec);
    Ok(())
}

/// Says that the trace of a trial is lost, and removes its parts.
pub(crate) fn give_up(context: &mut RunContext<'_>, spec: &TrialSpec, error: &Error) {
    remove_parts(context, spec);
    context.warn(describe_loss(&spec.id, error));
}

fn describe_loss(trial_id: &str, error: &Error) -> String {
    let why = if error.is_disk_full() {
        "no room: "
    } else {
        ""
    };
    format!("{trial_id}: trace not kept: {why}{error}")
}

/// Removes the parts of a trial's trace that cannot be stored.
pub(crate) fn remove_parts(context: &mut RunContext<'_>, spec: &TrialSpec) {
    if let Err(error) = context.area.remove_trial(&folder_name(&spec.id)) {
        context.warn(error.to_string());
    }
}

/// Renames the file of an earlier attempt at the same trial: no measurement is overwritten.
pub(crate) fn rename_earlier(path: &Path) -> io::Result<()> {
    // A link counts as an existing file, wherever it leads.
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if !is_there(path) {
        return Ok(());
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let aside = |attempt: u32| path.with_extension(format!("attempt-{attempt}.{ending}"));
    let free = (1..u32::MAX).map(aside).find(|aside| !is_there(aside));
    free.map_or(Ok(()), |aside| std::fs::rename(path, aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_lost_for_want_of_room_is_said_so() {
        let said = |kind: io::ErrorKind| describe_loss("0001", &Error::io("1.csv", kind.into()));
        let full = said(io::ErrorKind::StorageFull);
        assert!(
            full.starts_with("0001: trace not kept: no room: 1.csv"),
            "{full}"
        );
        let denied = said(io::ErrorKind::PermissionDenied);
        assert!(
            denied.starts_with("0001: trace not kept: 1.csv"),
            "{denied}"
        );
    }
}
