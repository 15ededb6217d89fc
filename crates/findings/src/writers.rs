//! Failures that occur only with several writers: most are conflicts that a driver reports as
//! another error.

use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// Parts of failure messages that have another cause, or already say what to do.
const OTHER_CAUSES: [&str; 4] = ["was killed", "full: ", "panicked", "Error::Conflict"];

/// Whether a trial failed with several workers although the same contender passed every trial of
/// that kind with one: its driver may return a conflict as another error.
pub fn is_unreported_conflict(failed: &TrialRecord, trials: &[TrialRecord]) -> bool {
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
