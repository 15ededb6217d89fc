//! Writes a trial that has ended to the run folder: its histograms, its trace, its record. A full
//! disk must lose none of them: most often the trial's own database fills it.

use crate::Error;
use crate::context::RunContext;
use crate::database_reuse::{Follower, keep_or_remove_database, remove_database};
use crate::trace_folder::{self, rename_earlier};
use crate::trial::TrialResult;
use std::time::{Duration, SystemTime};
use trueput_record::measurement::Outcome;
use trueput_record::{RunFolder, histogram};

/// Stores a trial, and keeps or removes its database. That of a trial that failed is removed first,
/// and so is that of one for which there is no room otherwise.
///
/// # Errors
/// If the trial's record cannot be written. If another file cannot be, the trial has failed.
pub(crate) fn record_trial(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    mut trial: TrialResult,
    follower: &Follower<'_>,
) -> Result<TrialResult, Error> {
    let mut is_settled = matches!(trial.record.outcome, Outcome::Failed { .. });
    if is_settled {
        keep_or_remove_database(context, &trial, follower);
    }
    let mut stored = store_files(context, folder, &trial);
    if !is_settled
        && stored
            .as_ref()
            .is_err_and(trueput_record::Error::is_disk_full)
    {
        remove_database(context, &trial);
        is_settled = true;
        folder.reserve();
        stored = store_files(context, folder, &trial);
    }
    if let Err(error) = stored {
        trace_folder::remove_parts(context, &trial.record.spec);
        trial.record.outcome = Outcome::Failed {
            reason: format!("its results cannot be stored: {error}"),
            bad_input: false,
        };
    }
    match folder.append(&trial.record) {
        Err(error) if !is_settled && error.is_disk_full() => {
            remove_database(context, &trial);
            is_settled = true;
            folder.append(&trial.record)?;
        }
        appended => appended?,
    }
    if !is_settled {
        keep_or_remove_database(context, &trial, follower);
    }
    Ok(trial)
}

/// Writes the files of a trial beside its record; nothing of a file is left that cannot be written.
fn store_files(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    trial: &TrialResult,
) -> Result<(), trueput_record::Error> {
    store_histograms(folder, trial)?;
    trace_folder::store(context, folder, &trial.record)
}

fn store_histograms(folder: &RunFolder, trial: &TrialResult) -> Result<(), trueput_record::Error> {
    let Some(measurement) = &trial.record.measurement else {
        return Ok(());
    };
    let path = folder.histogram_path(&trial.record.spec.id);
    rename_earlier(&path).map_err(|source| trueput_record::Error::io(&path, source))?;
    let kinds: Vec<_> = trial
        .histograms
        .iter()
        .map(|(kind, latencies)| (kind.as_str(), latencies))
        .collect();
    let comment = format!("trueput {}, nanoseconds", trial.record.spec.id);
    let duration = Duration::from_secs_f64(measurement.elapsed_s.max(0.0));
    let began = trial.record.started_at.parse::<jiff::Timestamp>();
    let began = began.map_or_else(|_| SystemTime::now(), SystemTime::from);
    let written = folder
        .write_with_reserve(|| histogram::write_log(&path, &comment, began, duration, &kinds));
    if written.is_err() {
        let _ = std::fs::remove_file(&path);
    }
    written
}
