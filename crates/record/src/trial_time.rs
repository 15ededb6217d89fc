//! The time that a trial takes: an estimate from its specification, and what the records of a run
//! tell of it.

use crate::median::median;
use crate::{TrialRecord, TrialSpec};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// The duration of a trial if neither the plan nor the command line gives one, seconds.
pub const DEFAULT_DURATION_S: f64 = 5.0;

/// The time that a trial takes beside its duration and warm-up, for estimates, seconds: opening,
/// verifying, and a part of the load. On two cores most engines need less for 100,000 records.
pub const OVERHEAD_S: f64 = 1.5;

/// A longer time between two trials is a pause of the run, seconds.
const MAX_PAUSE_S: f64 = 60.0;

/// The time that a trial with this specification takes, seconds, if nothing is known of others.
#[must_use]
pub fn estimated_s(spec: &TrialSpec) -> f64 {
    let conditions = &spec.conditions;
    conditions.duration_s.unwrap_or(DEFAULT_DURATION_S) + conditions.warm_up_s + OVERHEAD_S
}

/// When the workers of a trial were released, seconds since 1970; `None` if the record does not
/// say.
#[must_use]
pub fn started_at_s(trial: &TrialRecord) -> Option<f64> {
    let started_at: Timestamp = trial.started_at.parse().ok()?;
    Some(started_at.as_duration().as_secs_f64())
}

/// The time that a contender's trial with a new database takes, seconds, from the load of its first
/// one and from what its trials took beside their duration.
#[must_use]
pub fn expected_s(spec: &TrialSpec, trials: &[TrialRecord]) -> f64 {
    let contender = spec.role.map(|role| role.contender);
    let is_own = |trial: &TrialRecord| trial.spec.role.map(|role| role.contender) == contender;
    let mut own = trials.iter().filter(|trial| is_own(trial));
    let load_s = own.find_map(|trial| Some(trial.load.as_ref()?.elapsed_s));
    let timed = trials.iter().zip(search_times_s(trials));
    let own = timed.filter(|(trial, _)| is_own(trial));
    let overheads_s: Vec<_> = own.map(|(trial, time_s)| time_s - work_s(trial)).collect();
    let overhead_s = median(&overheads_s).map_or(OVERHEAD_S, |it| it.max(0.0));
    estimated_s(spec) - OVERHEAD_S + overhead_s + load_s.unwrap_or_default()
}

/// The time that each trial of a search took, seconds: to the start of the next one, if that is
/// shorter than the estimate. It is longer where the search was interrupted.
pub fn search_times_s(trials: &[TrialRecord]) -> impl Iterator<Item = f64> {
    trials.iter().enumerate().map(move |(place, trial)| {
        let next = trials.get(place + 1);
        let gap_s = next.and_then(|next| gap_s(trial, next));
        let measured_s = trial.measurement.as_ref().map(|it| it.elapsed_s);
        let least_s = measured_s.unwrap_or_default();
        (work_s(trial) + OVERHEAD_S).min(gap_s.unwrap_or(f64::INFINITY).max(least_s))
    })
}

/// The time that a trial of a plan took, seconds: to the start of the next one, or as far as its
/// own record says; `None` if it was not measured.
#[must_use]
pub fn plan_time_s(trial: &TrialRecord, next: Option<&TrialRecord>) -> Option<f64> {
    trial.measurement.as_ref()?;
    let checked_s = trial.verification.as_ref().map(|it| it.elapsed_s);
    let own_s = work_s(trial) + checked_s.unwrap_or_default();
    Some(match next.and_then(|next| gap_s(trial, next)) {
        // Contenders that share time slices are released together.
        Some(gap_s) if gap_s > own_s && gap_s - own_s < MAX_PAUSE_S => gap_s,
        _ => own_s,
    })
}

/// The time from the start of a trial to that of the next one, seconds; `None` if the records do
/// not tell it.
#[must_use]
pub fn gap_s(trial: &TrialRecord, next: &TrialRecord) -> Option<f64> {
    Some(started_at_s(next)? - started_at_s(trial)?)
}

/// The time from one repeat of a plan to the next, seconds: the median, so that a pause of the run
/// does not count. `None` if the records do not tell it.
pub fn repeat_s<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Option<f64> {
    let mut first: BTreeMap<u32, &TrialRecord> = BTreeMap::new();
    for trial in trials {
        first.entry(trial.spec.repeat).or_insert(trial);
    }
    let first: Vec<_> = first.values().collect();
    let gaps = first.windows(2).filter_map(|two| gap_s(two[0], two[1]));
    let gaps: Vec<_> = gaps.filter(|gap_s| *gap_s > 0.0).collect();
    median(&gaps)
}

/// The time of a trial's load, warm-up and measurement, seconds.
fn work_s(trial: &TrialRecord) -> f64 {
    let measured_s = trial.measurement.as_ref().map(|it| it.elapsed_s);
    let load_s = trial.load.as_ref().map(|it| it.elapsed_s);
    let warm_up_s = trial.spec.conditions.warm_up_s;
    measured_s.unwrap_or_default() + load_s.unwrap_or_default() + warm_up_s
}
