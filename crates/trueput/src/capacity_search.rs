//! The search for a contender's capacity: which trial comes next.

use crate::search_run::USUAL_DURATION_S;
use trueput_findings::capacity::{capacity, is_probe_of};
use trueput_record::conditions::{Arrival, Rate};
use trueput_record::search::{CapacitySettings, TrialPurpose, TrialRole};
use trueput_record::{TrialRecord, TrialSpec};
use trueput_tuner::capacity::{next_probe, trial_duration_s};

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
    spec.conditions.duration_s.get_or_insert(USUAL_DURATION_S);
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
    let mut spec = open_loop(closed, probe.rate_per_s, settings.arrival);
    let usual_s = closed.conditions.duration_s.unwrap_or(USUAL_DURATION_S);
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
    Some(spec)
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
