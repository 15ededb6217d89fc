//! The rates at which a contender's capacity is searched for: where the posterior over it
//! ([`trueput_findings::capacity::CapacityEstimate`]) can learn most.
//!
//! After TPC-C's response-time limits (TPC-C 5.11, clause 5.2.5.4), and wrk2, which offers requests
//! at a rate and counts their response times from when they were due.

use trueput_findings::capacity::{
    Capacity, CapacityState, MAX_DURATION_FACTOR, MAX_FACTOR, MIN_PROBES, round_rate,
};
use trueput_record::objective::Objective;

/// While the 90 % interval spans more than this factor, its median is tried, and then its quartiles
/// in turn.
const WIDE_FACTOR: f64 = std::f64::consts::E;

/// The part of the closed loop's rate at which a contender that kept the objective at no rate is
/// tried again.
const RETRY_PART: f64 = 0.3;

/// Trials that a contender usually takes: one in closed loop, and those at a rate.
pub(crate) const DEFAULT_TRIALS: u32 = 24;

/// Trials that a contender needs at least.
pub(crate) const MIN_TRIALS: u32 = 1 + MIN_PROBES as u32;

/// Trials at the needed rate before the search, as long as none holds: one failure alone may be a
/// disturbance.
const MAX_NEEDED_PROBES: usize = 2;

/// Requests beyond the objective's percentile that a trial has at least.
const TAIL_REQUESTS: f64 = 10.0;

/// Proposes the next rate for a contender whose closed loop was measured, per second: first the one
/// that is needed, if one is. `None` if the search for it has ended.
#[must_use]
pub(crate) fn next_rate_per_s(capacity: &Capacity, needed_per_s: Option<f64>) -> Option<f64> {
    let is_open = capacity.state == CapacityState::Unconfirmed;
    let closed_per_s = capacity.closed_loop_per_s?;
    if !is_open {
        return None;
    }
    if let Some(needed_per_s) = needed_per_s.filter(|it| is_needed_open(capacity, *it)) {
        return Some(needed_per_s);
    }
    let lowest_per_s = capacity.lowest_rate_per_s();
    let Some(estimate) = capacity.estimate else {
        return Some(round_rate(closed_per_s / 3.0).max(lowest_per_s));
    };
    let [lower, upper] = estimate.quartiles_per_s;
    let next = if estimate.high_per_s > estimate.low_per_s * WIDE_FACTOR {
        estimate.median_per_s
    } else if capacity.probes.len().is_multiple_of(2) {
        lower
    } else {
        upper
    };
    // A contender that keeps the objective at no rate is to be found out soon.
    let failed = capacity.counted().map(|it| it.rate_per_s);
    let half = failed.reduce(f64::min).map_or(next, |lowest| lowest / 2.0);
    let next = if capacity.capacity_per_s.is_none() {
        next.min(half)
    } else {
        next
    };
    Some(round_rate(next).max(lowest_per_s))
}

/// Whether the needed rate is to be tried before any other.
fn is_needed_open(capacity: &Capacity, needed_per_s: f64) -> bool {
    let closed_per_s = capacity.closed_loop_per_s.unwrap_or_default();
    let possible = capacity.least_rate_per_s()..=closed_per_s * MAX_FACTOR;
    let mut tried = capacity.counted().take(MAX_NEEDED_PROBES);
    possible.contains(&needed_per_s)
        && capacity.counted().count() < MAX_NEEDED_PROBES
        && tried.all(|it| it.rate_per_s == needed_per_s && !it.judgement.holds())
}

/// Proposes the rate at which a contender that has kept the objective at no rate so far is looked
/// at again, after the others: a disturbance of the machine can outlast the search for one
/// contender. `None` if it was, or if there is no need.
#[must_use]
pub(crate) fn retry_rate_per_s(capacity: &Capacity) -> Option<f64> {
    let part = round_rate(capacity.closed_loop_per_s? * RETRY_PART);
    let rate_per_s = part.max(capacity.lowest_rate_per_s());
    let is_given_up = matches!(
        capacity.state,
        CapacityState::Unmeasured { .. } | CapacityState::Rejected { .. }
    );
    let is_done = || capacity.probes.iter().any(|it| it.rate_per_s == rate_per_s);
    let has_failed = capacity.capacity_per_s.is_none() && capacity.counted().next().is_some();
    (has_failed && !is_given_up && !is_done()).then_some(rate_per_s)
}

/// Returns the duration of a trial at a rate, seconds: the usual one, or as long as it takes until
/// some requests lie beyond the objective's percentile.
#[must_use]
pub(crate) fn trial_duration_s(rate_per_s: f64, usual_s: f64, objective: &Objective) -> f64 {
    let needed_s = TAIL_REQUESTS / (rate_per_s * objective.smallest_tail());
    if needed_s <= usual_s {
        usual_s
    } else {
        needed_s.ceil().min(usual_s * MAX_DURATION_FACTOR)
    }
}

#[cfg(test)]
mod tests;
