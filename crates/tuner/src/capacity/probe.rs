//! The highest rate at which a contender keeps an objective: by doubling, then by bisection; the
//! rate that is found is confirmed by repeats, and by two at 1.1 times that must fail.
//!
//! After TPC-C's response-time limits (TPC-C 5.11, clause 5.2.5.4), and wrk2, which offers requests
//! at a rate and counts their response times from when they were due.

use trueput_findings::capacity::{
    Capacity, CapacityState, MAX_DURATION_FACTOR, excess_rate_per_s, round_rate,
};
use trueput_record::objective::Objective;
use trueput_record::search::{CapacitySettings, TrialPurpose};

/// The part of the closed loop's rate to begin with: most engines keep an objective there.
const FIRST_PART: f64 = 0.25;

/// The part of the first rate at which a contender that kept the objective at no rate is tried
/// again: the same rate has failed.
const RETRY_PROBE_PART: f64 = 0.9;

/// Below half of the closed loop's rate the rate is doubled, above it raised by this factor: few
/// engines take more than in closed loop.
const SMALL_STEP: f64 = 1.25;

/// A rate that fails this many times below one that held has failed by a disturbance, probably.
const DISTURBED_FACTOR: f64 = 3.0;

/// The most trials for one contender. One on which the results contradict each other is given up.
const MAX_TRIALS: usize = 60;

/// The most confirmations that can be asked for: with more, [`MAX_TRIALS`] leaves too few others.
pub const MAX_CONFIRMATIONS: i64 = CapacitySettings::MAX_CONFIRMATIONS as i64;

/// Trials that a contender usually takes: one in closed loop, three until a rate fails, five to
/// halve a factor of two down to 5 %, the confirmations, two in excess, and three for results that
/// were noise.
#[must_use]
pub(crate) const fn usual_trials(confirmations: u32) -> u32 {
    14 + confirmations
}

/// Trials that a contender needs at least.
#[must_use]
pub(crate) const fn fewest_trials(confirmations: u32) -> u32 {
    8 + confirmations
}

/// Requests beyond the objective's percentile that a trial has at least.
const TAIL_REQUESTS: f64 = 10.0;

/// A rate to try next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NextProbe {
    /// Requests per second.
    pub rate_per_s: f64,
    /// The reason for it.
    pub purpose: TrialPurpose,
}

/// Proposes the next trial for a contender whose closed loop was measured; `None` if the search for
/// it has ended.
#[must_use]
pub(crate) fn next_probe(capacity: &Capacity, settings: &CapacitySettings) -> Option<NextProbe> {
    let is_open = capacity.state == CapacityState::Unconfirmed;
    let closed_per_s = capacity.closed_loop_per_s?;
    if !is_open || capacity.probes.len() >= MAX_TRIALS {
        return None;
    }
    let probe = |rate_per_s: f64| NextProbe {
        rate_per_s: round_rate(rate_per_s),
        purpose: TrialPurpose::Probe,
    };
    if let Some(rate_per_s) = retry_rate(capacity, settings) {
        return Some(probe(rate_per_s));
    }
    Some(match (capacity.holds_per_s, capacity.fails_per_s) {
        (None, None) => probe(first_rate_per_s(capacity, closed_per_s)),
        (None, Some(fails)) => probe(fails / 2.0),
        (Some(holds), None) if holds * 2.0 <= closed_per_s => probe(holds * 2.0),
        (Some(holds), None) => probe(holds * SMALL_STEP),
        (Some(holds), Some(fails)) if fails > holds * (1.0 + settings.precision) => {
            probe((holds * fails).sqrt())
        }
        (Some(holds), _) if !capacity.has_confirmations(settings) => NextProbe {
            rate_per_s: holds,
            purpose: TrialPurpose::Confirmation,
        },
        (Some(holds), _) => NextProbe {
            rate_per_s: excess_rate_per_s(holds),
            purpose: TrialPurpose::Excess,
        },
    })
}

fn first_rate_per_s(capacity: &Capacity, closed_loop_per_s: f64) -> f64 {
    (closed_loop_per_s * FIRST_PART).max(capacity.least_rate_per_s())
}

/// Proposes the trial with which a contender that has kept the objective at no rate so far is
/// looked at again, after the others: a disturbance of the machine can outlast the search for one
/// contender. `None` if it was, or if there is no need.
#[must_use]
pub(crate) fn retry_probe(capacity: &Capacity) -> Option<NextProbe> {
    let first_per_s = first_rate_per_s(capacity, capacity.closed_loop_per_s?);
    let rate_per_s = round_rate(first_per_s * RETRY_PROBE_PART);
    let is_given_up = matches!(
        capacity.state,
        CapacityState::Unmeasured { .. } | CapacityState::Rejected { .. }
    );
    let is_done = || capacity.probes.iter().any(|it| it.rate_per_s == rate_per_s);
    let has_failed = capacity.holds_per_s.is_none() && !capacity.probes.is_empty();
    (has_failed && !is_given_up && !is_done()).then_some(NextProbe {
        rate_per_s,
        purpose: TrialPurpose::Probe,
    })
}

/// A rate near one that held before rates far below it failed. A disturbance of the machine causes
/// that, and may have passed. There is one for each [`DISTURBED_FACTOR`] that the search has gone
/// down.
fn retry_rate(capacity: &Capacity, settings: &CapacitySettings) -> Option<f64> {
    let fails_per_s = capacity.fails_per_s?;
    let probes = || capacity.probes.iter();
    let held = probes().filter(|it| it.judgement.holds());
    let far = held.filter(|it| it.rate_per_s >= fails_per_s * DISTURBED_FACTOR);
    let held_per_s = far.map(|it| it.rate_per_s).reduce(f64::min)?;
    let returns = (held_per_s / fails_per_s).log(DISTURBED_FACTOR) as i32;
    // Each is a little lower: the rate itself may have failed as well.
    let mut rates = (1..=returns).map(|count| held_per_s / (1.0 + settings.precision).powi(count));
    rates.find(|&rate_per_s| probes().all(|it| it.rate_per_s != round_rate(rate_per_s)))
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
