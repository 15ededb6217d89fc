//! Finds the unfinished run of a killed command.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use trueput_record::{Outcome, RunFolder, RunManifest, TrialSpec};
use trueput_runner::{check_folder, has_worked_in};

/// The newest unfinished run in `results` that has exactly these trials.
///
/// # Errors
/// A usage error if there is none, or if it would write outside `work`, the folder for databases
/// that the user named.
pub fn unfinished(
    results: &Path,
    trials: &[TrialSpec],
    work: Option<&Path>,
) -> Result<(RunFolder, RunManifest), Failure> {
    let entries = std::fs::read_dir(results).map_err(|error| {
        Failure::Usage(format!("results folder {}: {error}", results.display()))
    })?;
    let folders = entries
        .flatten()
        .filter_map(|entry| RunFolder::open(&entry.path()).ok());
    let newest = folders
        .filter(|(folder, manifest)| manifest.trials == trials && !is_finished(folder, manifest))
        .max_by(|(_, one), (_, other)| one.started_at.cmp(&other.started_at))
        .ok_or_else(|| {
            Failure::Usage(format!(
                "nothing to resume: {} has no unfinished run of this command and input",
                results.display()
            ))
        })?;
    check_folder(&newest.0)?;
    match &newest.1.work {
        Some(named) if work.is_none() && !has_worked_in(named, &newest.0) => {
            Err(Failure::Usage(format!(
                "{} had its databases in {}, which is empty now: name their directory with --work",
                newest.0.path().display(),
                named.display()
            )))
        }
        _ => Ok(newest),
    }
}

/// Whether the last word on every trial is that it ran to its end. A folder whose lines cannot be
/// read is skipped.
fn is_finished(folder: &RunFolder, manifest: &RunManifest) -> bool {
    let Ok(stored) = folder.trials() else {
        return true;
    };
    let last: BTreeMap<_, _> = stored
        .trials
        .iter()
        .map(|trial| (&trial.spec.id, &trial.outcome))
        .collect();
    let ended = |spec: &TrialSpec| {
        matches!(
            last.get(&spec.id),
            Some(Outcome::Valid | Outcome::Invalid { .. })
        )
    };
    manifest.trials.iter().all(ended)
}
