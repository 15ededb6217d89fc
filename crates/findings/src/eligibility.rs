//! Eligibility of trials: which are ranked, compared and charted.

use crate::marks::NO_HISTOGRAMS;
use crate::text::serialize_as_text;
use std::collections::HashMap;
use trueput_record::folder::RunManifest;
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// The engine that stores nothing: it measures the harness and is never ranked.
pub const HARNESS_ENGINE: &str = "null";

/// The name that stands for the engine of workloads that need none.
pub const STORAGE_ENGINE: &str = "storage";

/// The last attempt at each trial that was not interrupted, by the trial's id.
pub struct LastAttempts<'a>(HashMap<&'a str, &'a TrialRecord>);

/// The class of a trial that does not count. Its `Display` is the word that JSON has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnrankedStatus {
    /// It ended with an error.
    #[error("FAILED")]
    Failed,
    /// Its figures must not be believed.
    #[error("INVALID")]
    Invalid,
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// It went on with a trial that was interrupted.
    #[error("resumed")]
    Resumed,
    /// Its figures may be right, but nothing shows it.
    #[error("unverified")]
    Unverified,
}

impl UnrankedStatus {
    /// Whether something went wrong, rather than was left out by the user's wish.
    #[must_use]
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Invalid)
    }
}

/// Why a trial does not count. Its `Display` is the sentence that JSON has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ineligibility {
    /// It failed.
    #[error("{reason}{}", if *.is_unreported_conflict { UNREPORTED_CONFLICT } else { "" })]
    Failed {
        /// The error.
        reason: String,
        /// Whether an unreported conflict of several writers explains it; see
        /// [`is_unreported_conflict`].
        is_unreported_conflict: bool,
    },
    /// It is invalid, for these reasons.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The user stopped it.
    #[error("the user stopped it")]
    Interrupted,
    /// It went on with a trial that was interrupted.
    #[error("it resumed an interrupted trial: its rates cover only the rest")]
    Resumed,
    /// Its record has no measurement.
    #[error("its record has no measurement")]
    NoMeasurement,
    /// Its record lacks the kind of operation to rank by.
    #[error("its record has no operation '{0}' to rank by")]
    NoOperation(String),
    /// Its histograms are missing.
    #[error("{NO_HISTOGRAMS}")]
    NoHistograms,
    /// Its verification failed, with these differences.
    #[error("{}", .0.join("; "))]
    FailedVerification(Vec<String>),
    /// Nothing was verified.
    #[error("nothing was verified")]
    NoVerification,
}

serialize_as_text!(UnrankedStatus, Ineligibility);

/// Advice to the author of a driver that fails only with several writers.
const UNREPORTED_CONFLICT: &str = "; fails only with several writers: if another transaction was \
    in the way, the driver must return Error::Conflict, which is counted and retried \
    (docs/ADDING_AN_ENGINE.md)";

impl Ineligibility {
    /// The class of the trial.
    #[must_use]
    pub fn status(&self) -> UnrankedStatus {
        match self {
            Self::Failed { .. } => UnrankedStatus::Failed,
            Self::Invalid(_)
            | Self::NoMeasurement
            | Self::NoOperation(_)
            | Self::FailedVerification(_) => UnrankedStatus::Invalid,
            Self::Interrupted => UnrankedStatus::Interrupted,
            Self::Resumed => UnrankedStatus::Resumed,
            Self::NoHistograms | Self::NoVerification => UnrankedStatus::Unverified,
        }
    }
}

impl<'a> LastAttempts<'a> {
    /// Sorts the trials of a run, in the order in which they ended.
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

/// Why a trial does not count; `None` for one that does. The null engine keeps nothing that could
/// be verified, so its trials count if they ended well.
pub fn ineligibility(trial: &TrialRecord, headline: &str) -> Option<Ineligibility> {
    match &trial.outcome {
        Outcome::Failed { reason, .. } => {
            return Some(Ineligibility::Failed {
                reason: reason.clone(),
                is_unreported_conflict: false,
            });
        }
        Outcome::Invalid { reasons } => return Some(Ineligibility::Invalid(reasons.clone())),
        Outcome::Interrupted => return Some(Ineligibility::Interrupted),
        Outcome::Valid if trial.resumed => return Some(Ineligibility::Resumed),
        Outcome::Valid => {}
    }
    let Some(measurement) = &trial.measurement else {
        return Some(Ineligibility::NoMeasurement);
    };
    if measurement.operation(headline).is_none() {
        return Some(Ineligibility::NoOperation(headline.to_owned()));
    }
    if measurement.lacks_histograms {
        return Some(Ineligibility::NoHistograms);
    }
    if trial.spec.engine == HARNESS_ENGINE || trial.is_rankable() {
        return None;
    }
    Some(match &trial.verification {
        Some(verification) => Ineligibility::FailedVerification(verification.failures()),
        None => Ineligibility::NoVerification,
    })
}

/// A trial's rate of a kind of operation, per second.
pub fn rate(trial: &TrialRecord, kind: &str) -> Option<f64> {
    Some(trial.measurement.as_ref()?.operation(kind)?.per_s)
}

/// Parts of failure messages that have another cause, or already say what to do.
const OTHER_CAUSES: [&str; 4] = ["was killed", "full: ", "panicked", "Error::Conflict"];

/// Whether a trial failed with several workers although the same contender passed every trial of
/// that kind with one: its driver may return a conflict as another error.
pub(crate) fn is_unreported_conflict(failed: &TrialRecord, trials: &[TrialRecord]) -> bool {
    let Outcome::Failed { reason, .. } = &failed.outcome else {
        return false;
    };
    let mut of_one = trials
        .iter()
        .filter(|trial| trial.spec.workers == 1 && same_but_workers(&trial.spec, &failed.spec))
        .filter(|trial| trial.outcome != Outcome::Interrupted)
        .peekable();
    let passes_alone = of_one.peek().is_some()
        && of_one.all(|trial| !matches!(trial.outcome, Outcome::Failed { .. }));
    let is_other = OTHER_CAUSES.iter().any(|cause| reason.contains(cause));
    failed.spec.workers > 1 && passes_alone && !is_other
}

fn same_but_workers(one: &TrialSpec, other: &TrialSpec) -> bool {
    one.workload == other.workload
        && one.settings == other.settings
        && one.durability == other.durability
        && one.contender() == other.contender()
        && one.knobs == other.knobs
}
