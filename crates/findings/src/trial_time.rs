//! The time that a trial of a search takes, and the trials that a search for knobs has time for.

use crate::statistics::median;
use jiff::Timestamp;
use trueput_record::folder::MAX_TRIALS;
use trueput_record::search::{TrialPurpose, TuningSettings};
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// The duration of a trial if neither the plan nor the command line gives one, seconds.
pub const DEFAULT_DURATION_S: f64 = 5.0;

/// The time that a trial takes beside its duration and warm-up, for estimates, seconds: opening,
/// verifying, and a part of the load. On two cores most engines need less for 100,000 records.
pub const OVERHEAD_S: f64 = 1.5;

/// The time that a trial takes, for estimates, seconds.
#[must_use]
pub fn trial_s(spec: &TrialSpec) -> f64 {
    let conditions = &spec.conditions;
    conditions.duration_s.unwrap_or(DEFAULT_DURATION_S) + conditions.warm_up_s + OVERHEAD_S
}

/// The trials of a search for one engine's knobs: as many as it was planned with if each took the
/// estimated time, and after its first round as many as there is time for if each takes as long as
/// those of the round. The records alone decide, so that a resumed search has the same plan.
#[must_use]
pub fn planned_trials(settings: &TuningSettings, trials: &[TrialRecord]) -> usize {
    let planned = settings.trials as usize;
    let first_round: Vec<_> = trials.iter().filter(|it| is_of_first_round(it)).collect();
    let estimated_s = first_round.first().map(|trial| trial_s(&trial.spec));
    match estimated_s.zip(median_trial_s(&first_round)) {
        Some((estimated_s, taken_s)) => {
            let trials = (planned as f64 * estimated_s / taken_s) as usize;
            trials.min(MAX_TRIALS)
        }
        None => planned,
    }
}

fn is_of_first_round(trial: &TrialRecord) -> bool {
    let purpose = trial.spec.role.map(|role| role.purpose);
    let has_ended = trial.outcome != Outcome::Interrupted;
    purpose == Some(TrialPurpose::Tuning) && trial.spec.repeat == 1 && has_ended
}

/// The median time from the start of a trial to the start of the next one, seconds; `None` if the
/// records do not tell it. The first trial is left out, for the conformance suite may be in it.
fn median_trial_s(trials: &[&TrialRecord]) -> Option<f64> {
    let starts = trials.iter().skip(1).map(|trial| trial.started_at.parse());
    let starts: Vec<Timestamp> = starts.collect::<Result<_, _>>().ok()?;
    let gaps = starts.windows(2);
    let gaps_s = gaps.map(|gap| gap[1].duration_since(gap[0]).as_secs_f64());
    median(gaps_s).filter(|gap_s| *gap_s > 0.0)
}
