//! The highest rate at which a contender keeps an objective: by doubling, then by bisection; the
//! rate that is found is confirmed by repeats, and by one at 1.1 times that must fail.
//!
//! After TPC-C's response-time limits (TPC-C 5.11, clause 5.2.5.4), and wrk2, which offers requests
//! at a rate and counts their response times from when they were due.

use trueput_findings::capacity::{Capacity, CapacityState, excess_rate_per_s, round_rate};
use trueput_record::objective::Objective;
use trueput_record::search::{CapacitySettings, TrialPurpose};

/// The part of the closed loop's rate to begin with: most engines keep an objective there.
const FIRST_PART: f64 = 0.25;

/// Below half of the closed loop's rate the rate is doubled, above it raised by this factor: few
/// engines take more than in closed loop.
const SMALL_STEP: f64 = 1.25;

/// The most trials for one contender. One on which the results contradict each other is given up.
const MOST_TRIALS: usize = 60;

/// Trials that a contender usually takes: one in closed loop, three until a rate fails, five to
/// halve a factor of two down to 5 %, three confirmations, one in excess, and three for results
/// that were noise.
pub const USUAL_TRIALS: u32 = 16;

/// Trials that a contender needs at least.
pub const FEWEST_TRIALS: u32 = 10;

/// Requests beyond the objective's percentile that a trial has at least.
const TAIL_REQUESTS: f64 = 10.0;

/// A trial takes at most this many times the usual duration.
const LONGEST_FACTOR: f64 = 6.0;

/// A rate to try next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextProbe {
    /// Requests per second.
    pub rate_per_s: f64,
    /// The reason for it.
    pub purpose: TrialPurpose,
}

/// Proposes the next trial for a contender whose closed loop was measured; `None` if the search for
/// it has ended.
#[must_use]
pub fn next_probe(capacity: &Capacity, settings: &CapacitySettings) -> Option<NextProbe> {
    let is_open = capacity.state == CapacityState::Unconfirmed;
    let closed_per_s = capacity.closed_loop_per_s?;
    if !is_open || capacity.probes.len() >= MOST_TRIALS {
        return None;
    }
    let probe = |rate_per_s: f64| NextProbe {
        rate_per_s: round_rate(rate_per_s),
        purpose: TrialPurpose::Probe,
    };
    Some(match (capacity.holds_per_s, capacity.fails_per_s) {
        (None, None) => probe((closed_per_s * FIRST_PART).max(1.0)),
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

/// Returns the duration of a trial at a rate, seconds: the usual one, or as long as it takes until
/// some requests lie beyond the objective's percentile.
#[must_use]
pub fn trial_duration_s(rate_per_s: f64, usual_s: f64, objective: &Objective) -> f64 {
    let needed_s = TAIL_REQUESTS / (rate_per_s * objective.smallest_tail());
    needed_s.clamp(usual_s, usual_s * LONGEST_FACTOR).ceil()
}

#[cfg(test)]
mod tests;
