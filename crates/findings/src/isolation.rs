//! The isolation that contenders state: how rankings show it, and are split by it.

use crate::eligibility::HARNESS_ENGINE;
use trueput_record::{Isolation, TrialRecord};

/// The text for an isolation level that is not stated.
pub const NOT_STATED: &str = "not stated";

/// The isolation level that a trial's engine states. If the trial never opened the engine, another
/// repeat of its cell is used.
pub fn of_trial(trial: &TrialRecord, trials: &[TrialRecord]) -> Option<Isolation> {
    let stated = |trial: &TrialRecord| trial.engine.as_ref()?.isolation;
    let repeats = || {
        let mut repeats = trials.iter().filter(|it| it.spec.cell == trial.spec.cell);
        repeats.find_map(stated)
    };
    stated(trial).or_else(repeats)
}

/// The isolation level that the engines of all these trials state, except trials that never opened
/// theirs; `None` if they differ or one states none.
pub fn of_all(trials: &[&TrialRecord]) -> Option<Isolation> {
    let contenders = trials.iter().filter(|it| it.spec.engine != HARNESS_ENGINE);
    let mut stated = contenders.filter_map(|trial| Some(trial.engine.as_ref()?.isolation));
    let first = stated.next()??;
    stated.all(|other| other == Some(first)).then_some(first)
}

/// A level, in words.
pub fn word(isolation: Option<Isolation>) -> &'static str {
    isolation.map_or(NOT_STATED, Isolation::name)
}
