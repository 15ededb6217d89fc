//! The searches for the capacities of contenders: which trial comes next.

use crate::search_clock::SearchClock;
use std::time::{Duration, Instant};
use trueput_findings::capacity::{capacity, is_probe_of};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::search::{CapacitySettings, TrialPurpose, TrialRole};
use trueput_record::trial_time::{DEFAULT_DURATION_S, estimated_s, expected_s};
use trueput_record::{TrialRecord, TrialSpec};
use trueput_tuner::capacity::{NextProbe, next_probe, retry_probe, trial_duration_s};

/// The searches for the capacities of several contenders within a time: one after the other, then
/// once more those that kept the objective at no rate.
pub struct CapacitySearches<'a> {
    contenders: Vec<&'a TrialSpec>,
    settings: &'a CapacitySettings,
    clock: SearchClock,
    /// A contender's part of the time for the first pass, seconds.
    share_s: f64,
    end: Instant,
    /// The second pass, from when the first one is over.
    again: Option<SecondPass>,
}

/// The contenders that are searched again, and their time.
struct SecondPass {
    clock: SearchClock,
    /// Their places.
    contenders: Vec<usize>,
}

impl<'a> CapacitySearches<'a> {
    /// The time begins now: `budget_s` for the first pass, and at most `longest_s` for both.
    pub fn new(
        contenders: Vec<&'a TrialSpec>,
        settings: &'a CapacitySettings,
        budget_s: f64,
        longest_s: f64,
    ) -> Self {
        Self {
            share_s: budget_s / contenders.len().max(1) as f64,
            contenders,
            settings,
            clock: SearchClock::new(budget_s),
            end: Instant::now() + Duration::from_secs_f64(longest_s),
            again: None,
        }
    }

    /// The trial in closed loop of each contender.
    pub fn contenders(&self) -> &[&'a TrialSpec] {
        &self.contenders
    }

    /// The next trial; `None` if every search has ended, or the time is up.
    pub fn next(&mut self, ended: &[TrialRecord]) -> Option<TrialSpec> {
        self.next_of_first_pass(ended)
            .or_else(|| self.next_of_second_pass(ended))
    }

    /// The next trial of the first contender whose search has not ended and that has time for it.
    fn next_of_first_pass(&mut self, ended: &[TrialRecord]) -> Option<TrialSpec> {
        let mut numbered = self.contenders.iter().enumerate();
        numbered.find_map(|(contender, closed)| {
            let spec = next_trial(closed, self.settings, ended)?;
            let left = open_searches(&self.contenders[contender..], self.settings, ended);
            let has_time = self.clock.has_time_for(contender, left, estimated_s(&spec));
            has_time.then_some(spec)
        })
    }

    fn next_of_second_pass(&mut self, ended: &[TrialRecord]) -> Option<TrialSpec> {
        if self.again.is_none() {
            let places = 0..self.contenders.len();
            let failed = places.filter(|place| self.retry_probe(*place, ended).is_some());
            let contenders: Vec<_> = failed.collect();
            let left = self.end.saturating_duration_since(Instant::now());
            let budget_s = self.share_s * contenders.len() as f64;
            self.again = Some(SecondPass {
                clock: SearchClock::new(budget_s.min(left.as_secs_f64())),
                contenders,
            });
        }
        let mut again = self.again.take()?;
        let left = (1..=again.contenders.len()).rev();
        let next = again
            .contenders
            .iter()
            .zip(left)
            .find_map(|(&contender, left)| {
                let closed = self.contenders[contender];
                let has_held = capacity(closed, self.settings, ended).holds_per_s.is_some();
                let spec = if has_held {
                    next_trial(closed, self.settings, ended)
                } else {
                    self.retry_probe(contender, ended)
                };
                let expected_s = expected_s(closed, ended);
                spec.filter(|_| again.clock.has_time_for(contender, left, expected_s))
            });
        self.again = Some(again);
        next
    }

    /// The trial with which a contender that kept the objective at no rate is looked at again.
    fn retry_probe(&self, contender: usize, ended: &[TrialRecord]) -> Option<TrialSpec> {
        let closed = self.contenders[contender];
        let probe = retry_probe(&capacity(closed, self.settings, ended))?;
        Some(trial_at(closed, probe, self.settings, ended))
    }
}

/// Makes each trial of a plan the first one of a contender's search.
pub fn contenders(mut trials: Vec<TrialSpec>) -> Vec<TrialSpec> {
    for (contender, spec) in (0..).zip(&mut trials) {
        spec.role = Some(TrialRole {
            contender,
            purpose: TrialPurpose::ClosedLoop,
            configuration: None,
        });
    }
    trials
}

/// A trial in open loop of each contender, for checks.
pub fn open_loops(closed: &[TrialSpec], arrival: Arrival) -> Vec<TrialSpec> {
    let open = closed.iter().map(|spec| open_loop(spec, 1.0, arrival));
    open.collect()
}

/// A contender's trial in open loop.
pub fn open_loop(closed: &TrialSpec, per_s: f64, arrival: Arrival) -> TrialSpec {
    let mut spec = closed.clone();
    spec.conditions.rate = Some(Rate { per_s, arrival });
    spec.conditions.duration_s.get_or_insert(DEFAULT_DURATION_S);
    spec
}

/// The next trial of a contender, whose trial in closed loop is given; `None` if its search has
/// ended.
pub fn next_trial(
    closed: &TrialSpec,
    settings: &CapacitySettings,
    ended: &[TrialRecord],
) -> Option<TrialSpec> {
    let probe = next_probe(&capacity(closed, settings, ended), settings)?;
    Some(trial_at(closed, probe, settings, ended))
}

/// A contender's trial at a rate.
fn trial_at(
    closed: &TrialSpec,
    probe: NextProbe,
    settings: &CapacitySettings,
    ended: &[TrialRecord],
) -> TrialSpec {
    let mut spec = open_loop(closed, probe.rate_per_s, settings.arrival);
    let usual_s = closed.conditions.duration_s.unwrap_or(DEFAULT_DURATION_S);
    let duration_s = trial_duration_s(probe.rate_per_s, usual_s, &settings.objective);
    spec.conditions.duration_s = Some(duration_s);
    let is_repeat = |trial: &&TrialRecord| {
        is_probe_of(closed, trial) && trial.spec.conditions.rate == spec.conditions.rate
    };
    let mut repeats = ended.iter().filter(is_repeat).map(|trial| &trial.spec);
    (spec.cell, spec.repeat) = match repeats.next_back() {
        Some(last) => (last.cell, last.repeat + 1),
        None => (u32::try_from(ended.len()).unwrap_or(u32::MAX), 1),
    };
    spec.id = trial_id(&spec, &probe.rate_per_s.to_string(), ended.len());
    spec.role = closed.role.map(|role| TrialRole {
        purpose: probe.purpose,
        ..role
    });
    spec
}

/// The number of contenders whose search has not ended.
fn open_searches(
    contenders: &[&TrialSpec],
    settings: &CapacitySettings,
    ended: &[TrialRecord],
) -> usize {
    let is_open = |closed: &&&TrialSpec| next_trial(closed, settings, ended).is_some();
    contenders.iter().filter(is_open).count()
}

/// The id of a trial that is proposed after so many have ended.
pub fn trial_id(spec: &TrialSpec, purpose: &str, ended: usize) -> String {
    let (engine, durability) = (&spec.engine, spec.durability);
    let (workers, repeat) = (spec.workers, spec.repeat);
    format!(
        "{:04}-{engine}-{durability}-w{workers}-{purpose}-r{repeat}",
        ended + 1
    )
}

/// The result of the last trial, in a line, if it belongs to the search for the capacity of one of
/// these contenders.
pub fn last_result(
    contenders: &[&TrialSpec],
    settings: &CapacitySettings,
    ended: &[TrialRecord],
) -> Option<String> {
    let last = ended.last()?;
    let mut contenders = contenders.iter();
    let closed = contenders.find(|closed| is_probe_of(closed, last))?;
    trueput_report::last_probe(&capacity(closed, settings, ended))
}
