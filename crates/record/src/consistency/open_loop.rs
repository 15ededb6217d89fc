//! Checks an open loop against its rate and its time: a rate that was written by hand would make a
//! contender the best.

use crate::TrialRecord;
use crate::latency::OpenLoop;
use crate::measurement::Measurement;

/// The part of the requests that clocks, rounding and the ends of workers account for.
const TOLERANCE: f64 = 0.02;

/// Standard deviations of a random number of arrivals that are believed.
const DEVIATIONS: f64 = 6.0;

/// Returns what the counts of an open loop contradict.
pub(super) fn contradictions(record: &TrialRecord, measured: &Measurement) -> Vec<String> {
    let Some(open) = &measured.open_loop else {
        return Vec::new();
    };
    let checks = [check_rate, check_responses];
    checks
        .iter()
        .filter_map(|check| check(record, measured, open))
        .collect()
}

/// Checks the requests that became due against the rate and the time of each worker.
fn check_rate(record: &TrialRecord, measured: &Measurement, open: &OpenLoop) -> Option<String> {
    // A trace states its own times.
    if open.is_recorded() {
        return None;
    }
    let workers = f64::from(record.spec.workers.max(1));
    let times_s = scheduled_s(record, measured);
    let due = open.issued as f64 + open.backlog as f64;
    let expected_of = |times_s: &[f64]| open.rate_per_s * times_s.iter().sum::<f64>() / workers;
    // Each worker may be at a request when it begins and when it ends.
    let slack_of = |expected: f64| {
        2.0 * workers + DEVIATIONS * expected.max(0.0).sqrt() + TOLERANCE * expected
    };
    let expected = expected_of(&times_s);
    let is_too_many = due > expected + slack_of(expected);
    // Work of a fixed amount ends at its count, however late that is.
    let conditions = &record.spec.conditions;
    let timed_s = conditions
        .duration_s
        .filter(|_| conditions.time_slice_s.is_none());
    let is_too_few = timed_s.is_some_and(|timed_s| {
        let is_over = |time_s: &f64| *time_s >= timed_s * (1.0 - TOLERANCE);
        let over_s: Vec<_> = times_s.iter().copied().filter(is_over).collect();
        let least = expected_of(&over_s);
        due < least - slack_of(least)
    });
    (is_too_many || is_too_few).then(|| {
        format!(
            "{due} requests became due in {} s, and at {}/s it would be about {}",
            measured.elapsed_s,
            open.rate_per_s,
            expected.round()
        )
    })
}

/// The seconds of each worker that kept a schedule; those that the job adds keep none.
fn scheduled_s(record: &TrialRecord, measured: &Measurement) -> Vec<f64> {
    let planned = record.spec.workers;
    if measured.workers.is_empty() {
        return vec![measured.elapsed_s; planned.max(1) as usize];
    }
    let scheduled = measured.workers.iter().filter(|one| one.index < planned);
    scheduled.map(|one| one.elapsed_s).collect()
}

/// Checks the requests that were begun against those that ended.
fn check_responses(
    record: &TrialRecord,
    measured: &Measurement,
    open: &OpenLoop,
) -> Option<String> {
    let ended: u128 = open.responses.iter().map(|one| u128::from(one.count)).sum();
    let done = ended.saturating_sub(u128::from(open.backlog));
    // Those that a fault or the end of the time cut off have no response.
    let faults = record.spec.conditions.faults.faults().len() as u128 + 1;
    let cut_off = u128::from(record.spec.workers) * 2 * faults;
    let undone = u128::from(measured.conflicts);
    let issued = u128::from(open.issued);
    (issued > done + cut_off + undone).then(|| {
        format!("{issued} requests are said to have begun, and {done} have response times")
    })
}
