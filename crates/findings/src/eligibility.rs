//! Which trials count, and for what.

use crate::marks::NO_HISTOGRAMS;
use std::collections::HashMap;
use trueput_record::folder::RunManifest;
use trueput_record::{Outcome, TrialRecord};

/// The engine that keeps nothing: what is measured on it is the harness, so it is never ranked.
pub const HARNESS_ENGINE: &str = "null";

/// The last attempt at each trial that was not interrupted, by the trial's id.
pub struct LastAttempts<'a>(HashMap<&'a str, &'a TrialRecord>);

impl<'a> LastAttempts<'a> {
    /// Those of a run's trials, in the order in which they ended.
    pub fn of(trials: &'a [TrialRecord]) -> Self {
        let ended = trials
            .iter()
            .filter(|trial| trial.outcome != Outcome::Interrupted);
        Self(ended.map(|trial| (&*trial.spec.id, trial)).collect())
    }

    /// Whether a trial did not run to its end and was run again later: the later line speaks for
    /// it.
    pub fn supersede(&self, trial: &TrialRecord) -> bool {
        let last = self.0.get(&*trial.spec.id);
        match trial.outcome {
            Outcome::Interrupted => last.is_some(),
            Outcome::Failed { .. } => last.is_some_and(|last| *last != trial),
            Outcome::Valid | Outcome::Invalid { .. } => false,
        }
    }
}

/// The kind of operation to rank by: as the manifest says, else the workload's first kind.
pub fn headline(manifest: &RunManifest, trials: &[&TrialRecord]) -> String {
    let stated = manifest.headlines.get(&trials[0].spec.workload).cloned();
    let first_kind = || {
        let measured = trials.iter().find_map(|trial| trial.measurement.as_ref());
        measured
            .and_then(|measured| measured.operations.first())
            .map(|first| first.kind.clone())
    };
    stated
        .or_else(first_kind)
        .unwrap_or_else(|| "operation".to_owned())
}

/// The status and reason of a trial that does not count; `None` for one that does. The null engine
/// keeps nothing that could be verified, so its trials count if they ended well.
pub fn why_unranked(trial: &TrialRecord, headline: &str) -> Option<(&'static str, String)> {
    match &trial.outcome {
        Outcome::Failed { reason, .. } => return Some(("FAILED", reason.clone())),
        Outcome::Invalid { reasons } => return Some(("INVALID", reasons.join("; "))),
        Outcome::Interrupted => return Some(("interrupted", "the user stopped it".to_owned())),
        Outcome::Valid => {}
    }
    if trial.resumed {
        let reason = "it resumed an interrupted trial: its rates cover only the rest";
        return Some(("resumed", reason.to_owned()));
    }
    let Some(measurement) = &trial.measurement else {
        return Some(("INVALID", "its record has no measurement".to_owned()));
    };
    if measurement.operation(headline).is_none() {
        return Some((
            "INVALID",
            format!("its record has no operation '{headline}' to rank by"),
        ));
    }
    if measurement.lacks_histograms {
        return Some(("unverified", NO_HISTOGRAMS.to_owned()));
    }
    if trial.spec.engine == HARNESS_ENGINE || trial.is_rankable() {
        return None;
    }
    match &trial.verification {
        Some(verification) => Some(("INVALID", verification.failures().join("; "))),
        None => Some(("unverified", "nothing was verified".to_owned())),
    }
}

/// A trial's rate of a kind of operation, per second.
pub fn rate(trial: &TrialRecord, kind: &str) -> Option<f64> {
    Some(trial.measurement.as_ref()?.operation(kind)?.per_s)
}
