//! Failures that only several writers meet: most are conflicts that a driver does not report as
//! such.

use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// What a reason has that is no error of the engine, or says already what to do.
const OTHER_CAUSES: [&str; 4] = ["was killed", "full: ", "panicked", "Error::Conflict"];

/// Whether a trial failed with several workers where the same contender passed every trial of that
/// kind with one: its driver may return a conflict as another error.
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
