//! Capacities: the highest rate at which each contender keeps an objective, from the trials of a
//! search.
//!
//! A capacity is the median of a posterior ([`CapacityEstimate`]) from all trials of a contender at
//! a rate. One failure alone proves nothing: a pause of the machine causes it at any rate. It is
//! confirmed once enough trials have narrowed the posterior down to the precision.

mod judgement;
mod posterior;

pub use judgement::{ObjectiveFigure, ObjectiveJudgement, Violation};
pub use posterior::{CapacityEstimate, MAX_DIVISOR, MAX_FACTOR};

use posterior::is_possible_rate;

use crate::disturbed_repeats::is_judged_trial_disturbed;
use crate::marks::{REFUTED, is_refuted};
use crate::power_loss::StoragePromise;
use crate::storage_models::StorageModels;
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::folder::RunManifest;
use trueput_record::host::FileSystemFacts;
use trueput_record::load_generator::LoadGenerator;
use trueput_record::search::{CapacitySettings, SearchSettings, TrialPurpose, TrialRole};
use trueput_record::stall::TrialStall;
use trueput_record::trial_time::DEFAULT_DURATION_S;
use trueput_record::{Outcome, TrialRecord, TrialSpec};

/// What is known of one contender's capacity.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Capacity {
    /// The contender, by its place in the plan, from 0.
    pub contender: u32,
    /// The trial in closed loop, which says what was measured.
    #[serde(skip)]
    pub spec: TrialSpec,
    /// What the storage of its trials leaves of the promise of the level.
    pub storage: StoragePromise,
    /// The operations per second in closed loop, as the units of an open loop count them; `None`
    /// until they are measured.
    pub closed_loop_per_s: Option<f64>,
    /// The capacity, requests per second: the median of the estimate, of three significant digits.
    /// `None` if no trial kept the objective.
    pub capacity_per_s: Option<f64>,
    /// The estimate from the trials at a rate; `None` before one has ended, and for a contender
    /// that was not measured or is not considered.
    pub estimate: Option<CapacityEstimate>,
    /// Whether the search has ended for this contender, and how.
    pub state: CapacityState,
    /// Each trial in open loop, in the order in which they ran.
    pub probes: Vec<CapacityProbe>,
}

/// How far a search for a capacity came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum CapacityState {
    /// There are trials enough, and both ends of the 90 % interval are within the precision.
    Confirmed,
    /// Trials are missing: the time was up, or the run was interrupted.
    Unconfirmed,
    /// It is not searched further, because another one is surely better.
    Led {
        /// The contender that leads it.
        by: String,
    },
    /// The interval is still too wide after the most trials.
    Imprecise,
    /// No rate kept the objective, however low, and the lowest ones were measured.
    NothingHolds,
    /// The contender could not be measured.
    Unmeasured {
        /// The reason that the record states.
        message: String,
    },
    /// The contender gave a wrong result, or an audit refuted its promise.
    Rejected {
        /// The reasons that the record states.
        message: String,
    },
}

/// One trial in open loop.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CapacityProbe {
    /// The trial.
    pub id: String,
    /// Requests per second.
    pub rate_per_s: f64,
    /// The reason for it.
    pub purpose: TrialPurpose,
    /// Its figures, and the limits that it reached.
    pub judgement: ObjectiveJudgement,
    /// Why it was not measured, as the record states it: nothing is known of the objective then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether it does not count, because other programs or the hypervisor disturbed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_left_out: bool,
}

/// Trials that were not measured, of a contender that kept the objective in none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTrials {
    /// The reason that the record of the last one states.
    pub message: String,
    /// Their number; 0 if the closed loop is the one.
    pub failed: usize,
    /// The trials at a rate.
    pub all: usize,
}

/// A capacity is not confirmed before so many trials at a rate.
pub const MIN_PROBES: usize = 12;

/// No contender is led before so many trials at a rate: one failure alone may be a disturbance.
const MIN_LED_PROBES: usize = 3;

/// So many disturbed trials of a contender do not count. Further ones do: the machine is always
/// busy.
const MAX_LEFT_OUT: usize = 6;

/// The most trials at a rate for one contender, without those that do not count.
pub const MAX_PROBES: usize = 40;

/// A contender that kept the objective at no rate is given up when so many trials at the lowest
/// rate have failed.
const MAX_FAILURES_AT_LOWEST: usize = 3;

/// A trial takes at most this many times the usual duration.
pub const MAX_DURATION_FACTOR: f64 = 6.0;

/// No rate is tried at which the longest trial would have fewer requests.
const MIN_TRIAL_REQUESTS: f64 = 30.0;

/// A contender of which this many trials at a rate were not measured, and none was, is given up.
const MAX_UNMEASURED_PROBES: usize = 3;

impl Capacity {
    /// The probes that count.
    pub fn counted(&self) -> impl Iterator<Item = &CapacityProbe> {
        self.probes.iter().filter(|probe| !probe.is_left_out)
    }

    /// The share of the probes that count and that something else made fail.
    #[must_use]
    pub fn disturbed_share_of_counted(&self) -> f64 {
        let (counted, all) = (self.counted().count() as f64, self.probes.len() as f64);
        let share = self.estimate.map_or(0.0, |it| it.disturbed_share);
        ((share * all - (all - counted)) / counted.max(1.0)).max(0.0)
    }

    /// The probe that held at the rate nearest to the capacity.
    #[must_use]
    pub fn nearest_held(&self) -> Option<&CapacityProbe> {
        let held = self.counted().filter(|probe| probe.judgement.holds());
        self.nearest_to_capacity(held)
    }

    /// The probe that failed at the rate nearest to the capacity, of those above it.
    #[must_use]
    pub fn nearest_failure_above(&self) -> Option<&CapacityProbe> {
        let capacity_per_s = self.capacity_per_s?;
        self.nearest_to_capacity(
            self.counted()
                .filter(|probe| !probe.judgement.holds() && probe.rate_per_s > capacity_per_s),
        )
    }

    fn nearest_to_capacity<'p>(
        &self,
        probes: impl Iterator<Item = &'p CapacityProbe>,
    ) -> Option<&'p CapacityProbe> {
        let capacity_ln = self.capacity_per_s?.ln();
        let distance = |probe: &CapacityProbe| (probe.rate_per_s.ln() - capacity_ln).abs();
        probes.min_by(|one, other| distance(one).total_cmp(&distance(other)))
    }

    /// Whether the contender serves a rate, per second, as far as is known: the interval of its
    /// capacity is above it, or does not exclude it and most trials at it held, or it is not above
    /// the capacity.
    #[must_use]
    pub fn serves(&self, rate_per_s: f64) -> bool {
        let at_rate = self.counted().filter(|it| it.rate_per_s == rate_per_s);
        let (held, failed): (Vec<_>, Vec<_>) = at_rate.partition(|it| it.judgement.holds());
        let is_below = self.capacity_per_s.is_some_and(|it| rate_per_s <= it);
        let estimate = self.capacity_per_s.and(self.estimate);
        estimate.is_some_and(|it| rate_per_s <= it.low_per_s)
            || held.len() > failed.len() && estimate.is_some_and(|it| rate_per_s <= it.high_per_s)
            || is_below && held.len() == failed.len()
    }

    /// The probe that came nearest to the objective; for a contender that never kept it.
    #[must_use]
    pub fn nearest(&self) -> Option<&CapacityProbe> {
        let excess = |probe: &&CapacityProbe| {
            let figures = probe.judgement.figures.iter();
            let ratios = figures.map(|figure| figure.value / figure.below);
            ratios.reduce(f64::max).unwrap_or(f64::INFINITY)
        };
        let probes = self.probes.iter();
        probes.min_by(|one, other| excess(one).total_cmp(&excess(other)))
    }

    /// The trials because of which nothing is known of the objective: the closed loop, or every
    /// trial at the lowest rates. `None` if the contender was measured there.
    #[must_use]
    pub fn failed_trials(&self) -> Option<FailedTrials> {
        let failures = || self.probes.iter().filter(|it| it.failure.is_some());
        let (failed, all) = (failures().count(), self.probes.len());
        let last = failures().next_back().and_then(|it| it.failure.clone());
        let message = match (&self.state, last) {
            (CapacityState::Unmeasured { message }, _) => message.clone(),
            (CapacityState::Unconfirmed, Some(last))
                if self.capacity_per_s.is_none() && failed == all =>
            {
                last
            }
            _ => return None,
        };
        Some(FailedTrials {
            message,
            failed,
            all,
        })
    }

    /// The reason why none of its trials at a rate was measured, if there were enough of them.
    fn failure_of_all_probes(&self) -> Option<&str> {
        let failures = self.probes.iter().map(|it| it.failure.as_deref());
        let failures: Option<Vec<_>> = failures.collect();
        let enough = failures.filter(|it| it.len() >= MAX_UNMEASURED_PROBES)?;
        enough.last().copied()
    }

    /// Why the contender is not considered: what it did wrong. `None` if nothing is known.
    #[must_use]
    pub fn rejection(&self) -> Option<&str> {
        if let CapacityState::Rejected { message } = &self.state {
            Some(message)
        } else {
            None
        }
    }

    /// The reason why no trial at the lowest rate that was tried was measured; `None` if one was.
    fn failure_at_lowest_rate(&self) -> Option<&str> {
        let probes = || self.probes.iter();
        let lowest_per_s = probes().map(|it| it.rate_per_s).reduce(f64::min)?;
        let mut lowest = probes().filter(|it| it.rate_per_s == lowest_per_s);
        let first = lowest.next()?.failure.as_deref();
        first.filter(|_| lowest.all(|it| it.failure.is_some()))
    }

    /// The lowest rate that is tried, per second.
    #[must_use]
    pub fn lowest_rate_per_s(&self) -> f64 {
        let closed_per_s = self.closed_loop_per_s.unwrap_or_default();
        round_rate((closed_per_s / MAX_DIVISOR).max(self.least_rate_per_s()))
    }

    /// The rate below which a trial would have too few requests, per second.
    #[must_use]
    pub fn least_rate_per_s(&self) -> f64 {
        let usual_s = self.spec.conditions.duration_s;
        MIN_TRIAL_REQUESTS / (usual_s.unwrap_or(DEFAULT_DURATION_S) * MAX_DURATION_FACTOR)
    }
}

/// Computes the capacities of a run, in the order of the contenders; none if it is not a search for
/// capacity.
#[must_use]
pub fn capacities(manifest: &RunManifest, trials: &[TrialRecord]) -> Vec<Capacity> {
    let Some(SearchSettings::Capacity(settings)) = &manifest.search else {
        return Vec::new();
    };
    closed_loops(manifest)
        .map(|spec| capacity(spec, settings, trials))
        .collect()
}

/// The trials in closed loop with which searches for a capacity begin, in the order of the plan.
pub fn closed_loops(manifest: &RunManifest) -> impl Iterator<Item = &TrialSpec> {
    let specs = manifest.trials.iter();
    specs.filter(|spec| {
        spec.role
            .is_some_and(|role| role.purpose == TrialPurpose::ClosedLoop)
    })
}

/// Computes the capacity of one contender, whose trial in closed loop has this specification.
#[must_use]
pub fn capacity(spec: &TrialSpec, settings: &CapacitySettings, trials: &[TrialRecord]) -> Capacity {
    let mut capacity = Capacity {
        contender: spec.role.map_or(0, |role| role.contender),
        spec: spec.clone(),
        storage: StoragePromise::default(),
        closed_loop_per_s: None,
        capacity_per_s: None,
        estimate: None,
        state: CapacityState::Unconfirmed,
        probes: Vec::new(),
    };
    let ended = trials
        .iter()
        .filter(|it| it.outcome != Outcome::Interrupted);
    let own: Vec<_> = ended.filter(|trial| is_probe_of(spec, trial)).collect();
    capacity.storage = StoragePromise::of(own.iter().copied(), &FileSystemFacts::default());
    for trial in own {
        add_trial(&mut capacity, trial, settings);
    }
    // An engine that gave a wrong result has no capacity.
    if capacity.state == CapacityState::Unconfirmed {
        estimate(&mut capacity, settings, &[]);
    }
    capacity
}

/// Estimates a capacity from its probes, and from results of other trials: their rates, per second,
/// and whether the objective held.
pub(crate) fn estimate(capacity: &mut Capacity, settings: &CapacitySettings, more: &[(f64, bool)]) {
    let probes = capacity.counted();
    let probes = probes.map(|it| (it.rate_per_s, it.judgement.holds()));
    let probes: Vec<_> = probes.collect();
    let results = || probes.iter().chain(more);
    let closed_per_s = capacity.closed_loop_per_s;
    let Some(closed_per_s) = closed_per_s.filter(|_| results().next().is_some()) else {
        return;
    };
    let has_held = results().any(|(_, held)| *held);
    let mut estimate = CapacityEstimate::of(closed_per_s, &probes, more);
    let (counted, all) = (probes.len() as f64, capacity.probes.len() as f64);
    if counted < all {
        estimate.disturbed_share = (estimate.disturbed_share * counted + all - counted) / all;
    }
    capacity.capacity_per_s = has_held.then(|| round_rate(estimate.median_per_s));
    capacity.estimate = Some(estimate);
    capacity.state = state(capacity, settings);
}

/// Whether a trial belongs to the search for the capacity of a contender, whose trial in closed
/// loop has this specification.
#[must_use]
pub fn is_probe_of(closed_loop: &TrialSpec, trial: &TrialRecord) -> bool {
    let is_same = |role: TrialRole| {
        let (contender, configuration) = (role.contender, role.configuration);
        let own = closed_loop.role;
        own.is_some_and(|it| it.contender == contender && it.configuration == configuration)
    };
    let role = trial.spec.role;
    role.is_some_and(|role| role.purpose.is_of_capacity() && is_same(role))
}

fn add_trial(capacity: &mut Capacity, trial: &TrialRecord, settings: &CapacitySettings) {
    let Some(role) = trial.spec.role else { return };
    let Some(rate_per_s) = trial.spec.conditions.rate.map(|rate| rate.per_s) else {
        capacity.closed_loop_per_s = closed_loop_per_s(trial);
        if capacity.closed_loop_per_s.is_none() {
            capacity.state = state_without_rate(trial);
        }
        return;
    };
    if !is_possible_rate(rate_per_s) {
        return;
    }
    let judgement = ObjectiveJudgement::of(trial, &settings.objective);
    let judgement = judgement.within(trial, &settings.limits);
    // Wrong results are no matter of the rate.
    if let Some(message) = wrong_results(trial) {
        capacity.state = CapacityState::Rejected { message };
    }
    let left_out = capacity.probes.iter().filter(|it| it.is_left_out).count();
    capacity.probes.push(CapacityProbe {
        id: trial.spec.id.clone(),
        rate_per_s,
        purpose: role.purpose,
        judgement,
        failure: failure(trial),
        is_left_out: left_out < MAX_LEFT_OUT && is_disturbed(trial),
    });
}

/// The state of a contender whose trial in closed loop has no rate that counts.
fn state_without_rate(trial: &TrialRecord) -> CapacityState {
    if is_refuted(trial) {
        return CapacityState::Rejected {
            message: REFUTED.to_owned(),
        };
    }
    if let Some(message) = wrong_results(trial) {
        return CapacityState::Rejected { message };
    }
    let objections = trial.outcome.objections().join("; ");
    let message = if objections.is_empty() {
        "it did no operation".to_owned()
    } else {
        objections
    };
    CapacityState::Unmeasured { message }
}

/// What an invalid trial did wrong; `None` if nothing, or only the build or the machine is at
/// fault.
pub(crate) fn wrong_results(trial: &TrialRecord) -> Option<String> {
    if !matches!(trial.outcome, Outcome::Invalid { .. }) {
        return None;
    }
    let disturbances = disturbances(trial);
    let objections = trial.outcome.objections().into_iter();
    let own: Vec<_> = objections
        .filter(|reason| !disturbances.iter().any(|one| one == reason))
        .collect();
    (!own.is_empty()).then(|| own.join("; "))
}

/// The reasons for which a trial is invalid through no fault of the contender: parts of it did not
/// run for a while.
fn disturbances(trial: &TrialRecord) -> Vec<String> {
    let Some(measurement) = &trial.measurement else {
        return Vec::new();
    };
    let hosts = measurement.load_generators.iter();
    let stalls = measurement.stalls.iter().map(TrialStall::doubt);
    stalls
        .chain(hosts.flat_map(LoadGenerator::doubts))
        .collect()
}

/// The reason why a trial at a rate says nothing of the objective; `None` if it was measured.
fn failure(trial: &TrialRecord) -> Option<String> {
    match &trial.outcome {
        Outcome::Failed { reason, .. } => Some(reason.clone()),
        Outcome::Invalid { .. } if wrong_results(trial).is_none() => {
            let disturbances = disturbances(trial);
            (!disturbances.is_empty()).then(|| disturbances.join("; "))
        }
        Outcome::Valid | Outcome::Invalid { .. } | Outcome::Interrupted => None,
    }
}

/// Whether a trial at a rate says nothing of the objective because of what else ran.
pub(crate) fn is_disturbed(trial: &TrialRecord) -> bool {
    is_judged_trial_disturbed(trial) || has_only_stalled(trial)
}

/// Whether a trial is invalid, and only because parts of it did not run for a while.
pub(crate) fn has_only_stalled(trial: &TrialRecord) -> bool {
    matches!(trial.outcome, Outcome::Invalid { .. }) && failure(trial).is_some()
}

/// The operations of a valid trial in closed loop, of all kinds, per second. What does not keep its
/// promise has none.
fn closed_loop_per_s(trial: &TrialRecord) -> Option<f64> {
    if is_refuted(trial) {
        return None;
    }
    let measurement = trial.measurement.as_ref()?;
    let operations = measurement.operations.iter();
    let per_s: f64 = operations.map(|operation| operation.per_s).sum();
    (trial.outcome.objections().is_empty() && is_possible_rate(per_s)).then_some(per_s)
}

fn state(capacity: &Capacity, settings: &CapacitySettings) -> CapacityState {
    if let Some(message) = capacity.failure_of_all_probes() {
        return CapacityState::Unmeasured {
            message: message.to_owned(),
        };
    }
    let lowest_per_s = capacity.lowest_rate_per_s();
    let at_lowest = capacity.counted();
    let at_lowest = at_lowest.filter(|probe| probe.rate_per_s <= lowest_per_s);
    let Some(estimate) = capacity.capacity_per_s.and(capacity.estimate) else {
        if at_lowest.count() < MAX_FAILURES_AT_LOWEST {
            return CapacityState::Unconfirmed;
        }
        // A trial that was not measured is none that failed the objective.
        return match capacity.failure_at_lowest_rate() {
            Some(message) => CapacityState::Unmeasured {
                message: message.to_owned(),
            },
            None => CapacityState::NothingHolds,
        };
    };
    match capacity.counted().count() {
        MIN_PROBES.. if estimate.is_within(settings.precision) => CapacityState::Confirmed,
        MAX_PROBES.. => CapacityState::Imprecise,
        _ => CapacityState::Unconfirmed,
    }
}

/// Tuned knobs are not expected to raise a capacity by this factor.
const TUNING_REACH: f64 = 4.0;

/// The highest low end of the intervals of those that kept the objective, per second, and whose it
/// is.
fn highest_low_end<'a>(
    capacities: impl IntoIterator<Item = &'a Capacity>,
) -> Option<(f64, &'a TrialSpec)> {
    let kept = capacities.into_iter().filter(|it| !it.storage.is_lost());
    let low_ends = kept.filter_map(|it| {
        let estimate = it.capacity_per_s.and(it.estimate)?;
        Some((estimate.low_per_s, &it.spec))
    });
    low_ends.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Marks the unconfirmed capacities that another one leads, and no others: even the low end of its
/// interval is above theirs. A search for the best contender leaves them early, if it runs
/// contenders side by side: of others nothing is marked.
pub fn mark_led(capacities: &mut [&mut Capacity]) {
    for capacity in capacities.iter_mut() {
        if matches!(capacity.state, CapacityState::Led { .. }) {
            capacity.state = CapacityState::Unconfirmed;
        }
    }
    let is_sliced = |it: &&mut Capacity| it.spec.conditions.time_slice_s.is_some();
    if !capacities.iter().any(is_sliced) {
        return;
    }
    let best = highest_low_end(capacities.iter().map(|it| &**it));
    let Some((best_per_s, by)) = best.map(|(per_s, spec)| (per_s, spec.contender())) else {
        return;
    };
    for capacity in capacities {
        let is_tried = capacity.counted().count() >= MIN_LED_PROBES;
        let is_below = capacity
            .estimate
            .is_some_and(|it| it.high_per_s < best_per_s);
        if is_tried && is_below && capacity.state == CapacityState::Unconfirmed {
            capacity.state = CapacityState::Led { by: by.clone() };
        }
    }
}

/// Whether the interval of a contender is so far below the best one of all that tuned knobs will
/// not make it the best.
pub fn is_out_of_reach<'a>(found: &Capacity, all: impl IntoIterator<Item = &'a Capacity>) -> bool {
    let best = highest_low_end(all).zip(found.estimate);
    best.is_some_and(|((best_per_s, _), own)| own.high_per_s * TUNING_REACH < best_per_s)
}

/// Rounds a rate to three significant digits: more would be noise.
#[must_use]
pub fn round_rate(rate_per_s: f64) -> f64 {
    format!("{rate_per_s:.2e}").parse().unwrap_or(rate_per_s)
}

/// Capacities that can be compared: the same workload, settings, durability level, workers and
/// storage models, and the same fault of the storage.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CapacityComparison {
    /// The capacities, highest first; those without one come last.
    pub capacities: Vec<Capacity>,
}

impl CapacityComparison {
    /// The contender with the highest capacity; `None` if none has one.
    #[must_use]
    pub fn best(&self) -> Option<&Capacity> {
        let first = self.capacities.first();
        first.filter(|capacity| capacity.capacity_per_s.is_some())
    }

    /// Whether a contender's interval overlaps that of the best one, so that the order of the two
    /// is not known.
    #[must_use]
    pub fn overlaps_best(&self, capacity: &Capacity) -> bool {
        let best = self.best().and_then(|best| best.estimate);
        let own = capacity.capacity_per_s.and(capacity.estimate);
        best.zip(own).is_some_and(|(best, own)| own.overlaps(&best))
    }
}

/// Groups capacities into those that can be compared, in the order of the plan.
#[must_use]
pub fn comparisons(capacities: Vec<Capacity>) -> Vec<CapacityComparison> {
    let mut groups: Vec<CapacityComparison> = Vec::new();
    for capacity in capacities {
        let group = groups.iter_mut().find(|group| {
            let first = group.capacities.first();
            first.is_some_and(|first| is_comparable(first, &capacity))
        });
        match group {
            Some(group) => group.capacities.push(capacity),
            None => groups.push(CapacityComparison {
                capacities: vec![capacity],
            }),
        }
    }
    for group in &mut groups {
        let rate = |capacity: &Capacity| capacity.capacity_per_s.unwrap_or_default();
        let order = |one: &Capacity, other: &Capacity| rate(other).total_cmp(&rate(one));
        group.capacities.sort_by(order);
    }
    groups
}

fn is_comparable(one: &Capacity, other: &Capacity) -> bool {
    let is_lost = one.storage.is_lost();
    let (one, two) = (&one.spec, &other.spec);
    is_lost == other.storage.is_lost()
        && one.workload == two.workload
        && one.settings == two.settings
        && one.workers == two.workers
        && one.durability == two.durability
        && StorageModels::of(&one.conditions) == StorageModels::of(&two.conditions)
}
