//! Writes a trial that has ended to the run folder: its histograms, its trace, its record. A full
//! disk must lose none of them: most often the trial's own database fills it.

use crate::Error;
use crate::context::RunContext;
use crate::trial::database_reuse::{Follower, keep_or_remove_database, remove_database};
use crate::trial::lifecycle::TrialResult;
use crate::trial::trace_folder::{self, rename_earlier};
use std::path::Path;
use std::time::{Duration, SystemTime};
use trueput_record::measurement::Outcome;
use trueput_record::{RunFolder, histogram, interval_log};

/// Stores a trial, and keeps or removes its database, once its storage fails no more. That of a
/// trial that failed is removed first, and so is that of one for which there is no room otherwise.
///
/// # Errors
/// If the trial's record cannot be written. If its histograms cannot be, the trial has failed; its
/// trace is done without.
pub(crate) fn record_trial(
    context: &mut RunContext<'_>,
    folder: &RunFolder,
    mut trial: TrialResult,
    follower: &Follower<'_>,
) -> Result<TrialResult, Error> {
    let id = &trial.record.spec.id;
    match context.faults.end(id) {
        Ok(counts) => trial.record.fault_counts = counts,
        Err(error) => context.warn(format!("trial {id}: {error}")),
    }
    let mut is_settled = matches!(trial.record.outcome, Outcome::Failed { .. });
    if is_settled {
        keep_or_remove_database(context, &trial, follower);
    }
    let mut files = StoredFiles::default();
    let mut stored = files.store(context, folder, &trial);
    if !is_settled
        && stored
            .as_ref()
            .is_err_and(trueput_record::Error::is_disk_full)
    {
        remove_database(context, &trial);
        is_settled = true;
        folder.reserve();
        stored = files.store(context, folder, &trial);
    }
    if let Err(error) = stored {
        if files.has_histograms {
            // The trial stays as it was measured.
            trace_folder::give_up(context, &trial.record.spec, &error);
        } else {
            trace_folder::remove_parts(context, &trial.record.spec);
            let reason = format!("its results cannot be stored: {error}");
            trial.record.outcome = add_failure(trial.record.outcome, reason);
        }
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

/// Returns the outcome of a trial that fails now. Why it failed before says more.
fn add_failure(outcome: Outcome, reason: String) -> Outcome {
    match outcome {
        Outcome::Failed {
            reason: first,
            bad_input,
        } => Outcome::Failed {
            reason: format!("{first}; {reason}"),
            bad_input,
        },
        _ => Outcome::Failed {
            reason,
            bad_input: false,
        },
    }
}

/// The files of a trial beside its record; nothing of a file is left that cannot be written.
#[derive(Debug, Default)]
struct StoredFiles {
    /// Whether the histograms are written: a second try must not take them for an earlier attempt.
    has_histograms: bool,
}

impl StoredFiles {
    /// Writes those that are not written yet.
    fn store(
        &mut self,
        context: &mut RunContext<'_>,
        folder: &RunFolder,
        trial: &TrialResult,
    ) -> Result<(), trueput_record::Error> {
        self.write_histograms_once(|| store_histograms(folder, trial))?;
        trace_folder::store(context, folder, &trial.record)
    }

    fn write_histograms_once(
        &mut self,
        write: impl FnOnce() -> Result<(), trueput_record::Error>,
    ) -> Result<(), trueput_record::Error> {
        if !self.has_histograms {
            write()?;
            self.has_histograms = true;
        }
        Ok(())
    }
}

fn store_histograms(folder: &RunFolder, trial: &TrialResult) -> Result<(), trueput_record::Error> {
    let Some(measurement) = &trial.record.measurement else {
        return Ok(());
    };
    let id = &trial.record.spec.id;
    let comment = format!("trueput {id}, nanoseconds");
    let began = trial.record.started_at.parse::<jiff::Timestamp>();
    let began = began.map_or_else(|_| SystemTime::now(), SystemTime::from);
    let kinds = trial.histograms.iter();
    let kinds: Vec<_> = kinds.map(|(kind, it)| (kind.as_str(), it)).collect();
    let duration = Duration::from_secs_f64(measurement.elapsed_s.max(0.0));
    store_log(folder, &folder.histogram_path(id), |path| {
        histogram::write_log(path, &comment, began, duration, &kinds)
    })?;
    let path = folder.interval_path(id);
    rename_earlier(&path).map_err(|source| trueput_record::Error::io(&path, source))?;
    // Of a trial of one entry, the log would be the same again.
    if trial.intervals.len() < 2 {
        return Ok(());
    }
    let kinds = measurement.operations.iter();
    let kinds: Vec<_> = kinds.map(|operation| operation.kind.as_str()).collect();
    let stored = store_log(folder, &path, |path| {
        interval_log::write(path, &comment, began, &kinds, &trial.intervals)
    });
    if stored.is_err() {
        // Both are written again, and a second try must not take one for an earlier attempt's.
        let _ = std::fs::remove_file(folder.histogram_path(id));
    }
    stored
}

/// Stores a log under a path where that of an earlier attempt may be; nothing is left of one that
/// cannot be written.
fn store_log(
    folder: &RunFolder,
    path: &Path,
    write: impl Fn(&Path) -> Result<(), trueput_record::Error>,
) -> Result<(), trueput_record::Error> {
    rename_earlier(path).map_err(|source| trueput_record::Error::io(path, source))?;
    let written = folder.write_with_reserve(|| write(path));
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_second_try_does_not_write_the_histograms_again() {
        let (mut files, writes) = (StoredFiles::default(), Cell::new(0));
        let mut write = |fails: bool| {
            files.write_histograms_once(|| {
                writes.set(writes.get() + 1);
                let full = std::io::ErrorKind::StorageFull.into();
                let error = trueput_record::Error::io("x", full);
                if fails { Err(error) } else { Ok(()) }
            })
        };
        assert!(write(true).is_err());
        assert!(write(false).is_ok());
        assert!(write(false).is_ok());
        assert_eq!(writes.get(), 2);
    }
}
