//! Checks the records of a run as it is read: a trial whose parts contradict each other becomes
//! invalid, so no reader of the run ranks it.

use std::collections::BTreeMap;
use trueput_record::consistency::{contradictions, derive_rates, is_timed};
use trueput_record::{Outcome, RunFolder, RunManifest, TrialRecord, TrialSpec};

/// The result of checking the trials of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Integrity {
    /// Contradictions in the record of each trial, one sentence each, by trial id; consistent
    /// trials have no entry.
    pub contradictions: BTreeMap<String, Vec<String>>,
    /// Number of trials that cannot be checked because their histograms are missing.
    pub unchecked: usize,
}

/// Makes each trial with contradictions invalid and lists them as reasons, then computes its rates
/// from count and elapsed time.
pub fn check(folder: &RunFolder, manifest: &RunManifest, trials: &mut [TrialRecord]) -> Integrity {
    let planned: BTreeMap<&str, &TrialSpec> = manifest
        .trials
        .iter()
        .map(|spec| (spec.id.as_str(), spec))
        .collect();
    let logged_lines = logged_lines(trials);
    let twice = ended_twice(trials);
    let mut integrity = Integrity::default();
    for (index, trial) in trials.iter_mut().enumerate() {
        let id = trial.spec.id.clone();
        let has_log = logged_lines.get(&id) == Some(&index);
        let logged = match has_log.then(|| folder.histograms(&id)).transpose() {
            Ok(logged) => logged.flatten(),
            Err(error) => {
                integrity.invalidate(trial, vec![unreadable(&error)]);
                continue;
            }
        };
        let lacks_log = logged.is_none();
        integrity.unchecked += usize::from(has_log && lacks_log);
        let planned = planned.get(id.as_str()).copied();
        let mut found = contradictions(trial, planned, logged.as_deref());
        if twice.contains_key(&id) {
            found.push("trials.jsonl has more than one line for this trial".to_owned());
        }
        integrity.invalidate(trial, found);
        if let Some(measured) = &mut trial.measurement {
            measured.lacks_histograms = has_log && lacks_log && is_timed(measured);
            derive_rates(measured);
        }
    }
    integrity
}

impl Integrity {
    /// Makes a trial invalid because of contradictions. A trial that failed or was stopped is not
    /// ranked in any case and keeps its own reason.
    fn invalidate(&mut self, trial: &mut TrialRecord, found: Vec<String>) {
        let is_ended = matches!(trial.outcome, Outcome::Valid | Outcome::Invalid { .. });
        if found.is_empty() || !is_ended {
            return;
        }
        let found = found
            .into_iter()
            .map(|sentence| format!("parts of the record disagree: {sentence}"));
        let found: Vec<_> = found.collect();
        let mut reasons = match &mut trial.outcome {
            Outcome::Invalid { reasons } => std::mem::take(reasons),
            _ => Vec::new(),
        };
        reasons.extend(found.iter().cloned());
        trial.outcome = Outcome::Invalid { reasons };
        let of_trial = self.contradictions.entry(trial.spec.id.clone());
        of_trial.or_default().extend(found);
    }
}

/// By trial, the index of the line that belongs to its histogram log: the completed attempt, or
/// else the last one with a measurement. The histograms of earlier attempts have other names.
fn logged_lines(trials: &[TrialRecord]) -> BTreeMap<String, usize> {
    let ended = |index: usize| {
        let outcome = trials.get(index).map(|trial| &trial.outcome);
        matches!(outcome, Some(Outcome::Valid | Outcome::Invalid { .. }))
    };
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        if trial.measurement.is_none() {
            continue;
        }
        let line = lines.entry(trial.spec.id.clone()).or_insert(index);
        if ended(index) || !ended(*line) {
            *line = index;
        }
    }
    lines
}

/// Trials with several lines of completed attempts, which would count several times. Interrupted
/// and failed trials may be run again.
fn ended_twice(trials: &[TrialRecord]) -> BTreeMap<String, usize> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let ended = trials
        .iter()
        .filter(|trial| matches!(trial.outcome, Outcome::Valid | Outcome::Invalid { .. }));
    for trial in ended {
        *lines.entry(trial.spec.id.clone()).or_default() += 1;
    }
    lines.retain(|_, count| *count > 1);
    lines
}

/// Why histograms cannot be read, without the folder, which the reader of a bundle does not know.
fn unreadable(error: &trueput_record::Error) -> String {
    use trueput_record::Error;
    let (path, reason) = match error {
        Error::Io { path, source } => (path, source.to_string()),
        Error::Invalid { path, message, .. } => (path, message.clone()),
        Error::TooLarge { path, problem } => (path, problem.clone()),
        other => return other.to_string(),
    };
    let name = path.file_name().unwrap_or(path.as_os_str());
    format!("{} cannot be read: {reason}", name.to_string_lossy())
}
