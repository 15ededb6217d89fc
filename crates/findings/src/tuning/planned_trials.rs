//! The trials that a search for knobs has time for.

use crate::statistics::median;
use trueput_record::folder::MAX_TRIALS;
use trueput_record::search::{TrialPurpose, TuningSettings};
use trueput_record::trial_time::{estimated_s, gap_s};
use trueput_record::{Outcome, TrialRecord};

/// The trials of a search for one engine's knobs: as many as it was planned with if each took the
/// estimated time, and after its first round as many as there is time for if each takes as long as
/// those of the round. The records alone decide, so that a resumed search has the same plan.
#[must_use]
pub fn planned_trials(settings: &TuningSettings, trials: &[TrialRecord]) -> usize {
    let planned = settings.trials as usize;
    let first_round: Vec<_> = trials.iter().filter(|it| is_of_first_round(it)).collect();
    let estimated_s = first_round.first().map(|trial| estimated_s(&trial.spec));
    match estimated_s.zip(median_time_s(&first_round)) {
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
fn median_time_s(trials: &[&TrialRecord]) -> Option<f64> {
    let pairs = trials.get(1..)?.windows(2);
    let gaps_s: Option<Vec<_>> = pairs.map(|pair| gap_s(pair[0], pair[1])).collect();
    median(gaps_s?).filter(|gap_s| *gap_s > 0.0)
}
