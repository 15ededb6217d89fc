//! Choices: which contender keeps an objective at the highest rate, with its default knobs or
//! tuned, and what it costs beside the others.

use crate::capacity::{
    Capacity, CapacityState, ObjectiveJudgement, capacity, closed_loops, estimate, is_disturbed,
    is_out_of_reach, mark_led, round_rate, wrong_results,
};
use crate::limits::peak_memory_bytes;
use crate::tuning::{TuningFindings, importance_of, tuning_of};
use schemars::JsonSchema;
use serde::Serialize;
use trueput_record::folder::RunManifest;
use trueput_record::search::{ChoiceSettings, SearchSettings, TrialPurpose, TrialRole};
use trueput_record::{Isolation, Outcome, TrialRecord, TrialSpec};

/// The contenders of a choice, and the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// The contenders, that with the highest capacity first; those without one come last.
    pub candidates: Vec<Candidate>,
    /// The comparison of the two with the highest capacities; `None` before it ends a pair, or if
    /// there are no two.
    pub run_off: Option<RunOff>,
    /// The rate at which the two with the highest capacities are compared: between their
    /// capacities, or the higher one if they are near each other. `None` if there are no two.
    #[serde(skip)]
    pub run_off_rate_per_s: Option<f64>,
    /// Why the two with the highest capacities have no order; `None` if they have one, or if there
    /// are no two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<NoOrderReason>,
    /// The contender that is recommended; `None` if none keeps the objective, if the trials do not
    /// tell which one, and if the storage does not keep the level.
    pub recommended: Option<u32>,
}

/// One contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// Its capacity with the knobs of the plan, or the engine's defaults.
    pub default: Capacity,
    /// The search for its knobs; `None` before it begins.
    pub tuning: Option<TuningFindings>,
    /// Its capacity with the knobs that the search found; `None` if they are no better, or were not
    /// measured.
    pub tuned: Option<Capacity>,
    /// Whether the tuned knobs are the better ones, by the search: a run-off does not change it.
    #[serde(skip)]
    uses_tuned: bool,
    /// Its costs at its capacity; `None` without one.
    pub costs: Option<CandidateCosts>,
}

/// What a contender takes at its capacity, and what it promises there.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CandidateCosts {
    /// Peak memory of the workers and the engine's server, bytes.
    pub memory_bytes: u64,
    /// Size of the database on disk, bytes.
    pub space_bytes: u64,
    /// The isolation that its driver states; `None` if it states none.
    pub isolation: Option<Isolation>,
    /// A fault of the engine that can lose records or return wrong results, as a clause.
    pub known_defect: Option<String>,
}

/// The two best contenders at one rate, alternately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RunOff {
    /// Requests per second.
    pub rate_per_s: f64,
    /// Pairs of trials.
    pub pairs: usize,
    /// Trials in which that with the highest capacity kept the objective.
    pub first_held: usize,
    /// Trials in which the other did.
    pub second_held: usize,
    /// What the trials show so far.
    pub result: RunOffResult,
}

/// Capacities that differ by less are near each other: noise of a tenth is usual, so that no rate
/// between them separates them.
const NEAR_FACTOR: f64 = 1.2;

/// Pairs of trials in a run-off. If one contender holds in all and the other in none, chance
/// explains that in 1 of 16 cases at most (sign test, two-sided).
pub const RUN_OFF_PAIRS: u32 = 5;

/// Pairs that are run at most: so many more do not count if something disturbed them.
pub const MAX_RUN_OFF_PAIRS: u32 = RUN_OFF_PAIRS + 3;

/// The result of a run-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunOffResult {
    /// That with the highest capacity kept the objective in every trial, the other in none.
    Confirmed,
    /// The other did.
    Overruled,
    /// Neither: it is not known which takes more.
    Unsure,
}

/// The reason why two contenders have no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoOrderReason {
    /// Most trials in the search for the capacity of one of them were disturbed.
    Disturbance,
    /// Their intervals overlap, and no run-off tells.
    Overlap,
    /// The run-off lowered the two so that one that was not in it is above both.
    Outsider,
    /// The same after a whole run-off, and both intervals are as narrow as the search makes them:
    /// they are equal.
    Equal,
}

/// A contender of whose trials a larger share was disturbed has no place in an order.
const MAX_DISTURBED_SHARE: f64 = 0.5;

impl RunOff {
    /// Whether it has all its pairs.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.pairs >= RUN_OFF_PAIRS as usize
    }

    fn add(&mut self, first_held: bool, second_held: bool) {
        self.pairs += 1;
        self.first_held += usize::from(first_held);
        self.second_held += usize::from(second_held);
        let all = RUN_OFF_PAIRS as usize;
        self.result = match (self.first_held, self.second_held) {
            (held, 0) if held >= all => RunOffResult::Confirmed,
            (0, held) if held >= all => RunOffResult::Overruled,
            _ => RunOffResult::Unsure,
        };
    }
}

impl Candidate {
    /// Whether nothing of it survives lost power, although the level promises it: the storage
    /// keeps nothing.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.best().storage.is_lost()
    }

    /// Its capacity with the better knobs. Tuned knobs are better only if their capacity is not
    /// within the default's interval or below.
    #[must_use]
    pub fn best(&self) -> &Capacity {
        self.tuned
            .as_ref()
            .filter(|_| self.is_tuned_better())
            .unwrap_or(&self.default)
    }

    /// Whether its capacity is that of the tuned knobs.
    #[must_use]
    pub fn is_tuned_better(&self) -> bool {
        self.uses_tuned
    }

    /// Whether the interval of the tuned knobs is below the capacity of the default: they are no
    /// better.
    #[must_use]
    pub fn is_tuned_refuted(&self) -> bool {
        let tuned = self.tuned.as_ref().and_then(|it| it.estimate);
        let default_per_s = self.default.capacity_per_s;
        tuned
            .zip(default_per_s)
            .is_some_and(|(tuned, default)| tuned.high_per_s < default)
    }
}

impl Choice {
    /// The contender to choose: that which the run-off confirmed, or else that with the highest
    /// capacity. `None` if none keeps the objective, or if the trials do not tell which one.
    #[must_use]
    pub fn first(&self) -> Option<&Candidate> {
        if self.inconclusive.is_some() {
            return None;
        }
        let first = self.keeping(usize::from(self.is_reversed()));
        first.or_else(|| self.keeping(0))
    }

    /// The next best contender; `None` if no second one keeps the objective.
    #[must_use]
    pub fn second(&self) -> Option<&Candidate> {
        self.keeping(usize::from(!self.is_reversed()))
    }

    /// The two contenders with the highest capacities, the highest first; `None` if there are no
    /// two that keep the objective.
    #[must_use]
    pub fn highest_two(&self) -> Option<[&Candidate; 2]> {
        Some([self.keeping(0)?, self.keeping(1)?])
    }

    /// The contenders that were not in the run-off, and whose intervals reach up to that of the
    /// recommended one: they may take as much.
    #[must_use]
    pub fn rivals(&self) -> Vec<&Candidate> {
        let first = self.first().and_then(|it| it.best().estimate);
        let reaches = |candidate: &&Candidate| {
            let best = candidate.best();
            let own = best.estimate.filter(|_| best.rejection().is_none());
            own.zip(first)
                .is_some_and(|(own, first)| own.high_per_s >= first.low_per_s)
        };
        self.others().filter(reaches).collect()
    }

    /// The contenders that are not in the run-off, on storage that keeps as much.
    pub fn others(&self) -> impl Iterator<Item = &Candidate> {
        let is_lost = self.candidates.first().is_some_and(Candidate::is_lost);
        let others = self.candidates.iter().skip(2);
        others.filter(move |it| it.is_lost() == is_lost)
    }

    /// Whether a contender is too far behind with its default knobs to be tuned.
    #[must_use]
    pub fn is_out_of_reach(&self, candidate: &Candidate) -> bool {
        let defaults = self.candidates.iter().map(|it| &it.default);
        is_out_of_reach(&candidate.default, defaults)
    }

    fn keeping(&self, place: usize) -> Option<&Candidate> {
        let candidate = self.candidates.get(place)?;
        let is_of_first = self.candidates[0].is_lost() == candidate.is_lost();
        (is_of_first && candidate.best().capacity_per_s.is_some()).then_some(candidate)
    }

    /// Whether the second place is better than the first one: by the run-off, or by the capacities,
    /// to which its trials belong.
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        match self.run_off.map(|run_off| run_off.result) {
            None | Some(RunOffResult::Confirmed) => false,
            Some(RunOffResult::Overruled) => true,
            Some(RunOffResult::Unsure) => self.highest_two().is_some_and(|both| {
                let [first, second] = both.map(|it| it.best().capacity_per_s);
                second > first
            }),
        }
    }
}

fn run_off_rate_per_s(choice: &Choice) -> Option<f64> {
    let [first, second] = choice.highest_two()?;
    let (first_per_s, second_per_s) = (first.best().capacity_per_s?, second.best().capacity_per_s?);
    Some(if first_per_s > second_per_s * NEAR_FACTOR {
        round_rate((first_per_s * second_per_s).sqrt())
    } else {
        first_per_s
    })
}

/// Computes the choice of a run; `None` if the run is none.
#[must_use]
pub fn choice(manifest: &RunManifest, trials: &[TrialRecord]) -> Option<Choice> {
    let Some(SearchSettings::Choice(settings)) = &manifest.search else {
        return None;
    };
    let defaults = closed_loops(manifest).filter(|spec| configuration(spec).is_none());
    let candidates = defaults.map(|spec| {
        let mut candidate = candidate(spec, settings, manifest, trials);
        if let (Some(found), Some(tuning)) = (&mut candidate.tuning, &settings.tuning) {
            let contender = candidate.default.contender;
            found.importance = importance_of(contender, tuning, manifest, trials);
        }
        candidate
    });
    let mut candidates: Vec<_> = candidates.collect();
    mark_led_defaults(&mut candidates);
    candidates.sort_by(|one, other| {
        let rate = |candidate: &Candidate| candidate.best().capacity_per_s.unwrap_or_default();
        // What the storage does not keep is no alternative to what it keeps.
        let kept_first = one.is_lost().cmp(&other.is_lost());
        kept_first.then(rate(other).total_cmp(&rate(one)))
    });
    let mut choice = Choice {
        candidates,
        run_off: None,
        run_off_rate_per_s: None,
        inconclusive: None,
        recommended: None,
    };
    choice.run_off_rate_per_s = run_off_rate_per_s(&choice);
    choice.run_off = run_off(&choice, settings, trials);
    if let Some(run_off) = choice.run_off {
        add_run_off(&mut choice.candidates, run_off, settings);
        mark_led_defaults(&mut choice.candidates);
    }
    choice.inconclusive = inconclusive(&choice, settings);
    let first = choice.first().filter(|first| !first.is_lost());
    choice.recommended = first.map(|first| first.default.contender);
    Some(choice)
}

fn mark_led_defaults(candidates: &mut [Candidate]) {
    let defaults = candidates.iter_mut().map(|it| &mut it.default);
    mark_led(&mut defaults.collect::<Vec<_>>());
}

/// Why it is not known which contender is the best. A clear run-off orders the two with the highest
/// capacities, whatever the search found.
fn inconclusive(choice: &Choice, settings: &ChoiceSettings) -> Option<NoOrderReason> {
    let both = choice.highest_two()?.map(Candidate::best);
    let per_s = |capacity: &Capacity| capacity.capacity_per_s.unwrap_or_default();
    let highest_per_s = per_s(both[0]).max(per_s(both[1]));
    if choice.others().any(|it| per_s(it.best()) > highest_per_s) {
        return Some(NoOrderReason::Outsider);
    }
    let result = choice.run_off.map(|it| it.result);
    if result.is_some_and(|result| result != RunOffResult::Unsure) {
        return None;
    }
    let is_disturbed = |it: &Capacity| it.disturbed_share_of_counted() > MAX_DISTURBED_SHARE;
    if both.into_iter().any(is_disturbed) {
        return Some(NoOrderReason::Disturbance);
    }
    let (first, second) = (both[0].estimate?, both[1].estimate?);
    if !first.overlaps(&second) {
        return None;
    }
    let is_complete = choice.run_off.is_some_and(|it| it.is_complete());
    let precision = settings.capacity.precision;
    let is_narrow = first.is_within(precision) && second.is_within(precision);
    Some(if is_complete && is_narrow {
        NoOrderReason::Equal
    } else {
        NoOrderReason::Overlap
    })
}

/// Computes what is known of one contender, whose default's trial in closed loop has this
/// specification.
#[must_use]
pub fn candidate(
    spec: &TrialSpec,
    settings: &ChoiceSettings,
    manifest: &RunManifest,
    trials: &[TrialRecord],
) -> Candidate {
    let number = spec.role.map_or(0, |role| role.contender);
    let tuned = trials.iter().map(|trial| &trial.spec).find(|other| {
        let is_tuned = |role: TrialRole| {
            let is_first = role.purpose == TrialPurpose::ClosedLoop;
            is_first && role.contender == number && role.configuration.is_some()
        };
        other.role.is_some_and(is_tuned)
    });
    let tuning = settings.tuning_of(number);
    let mut tuning = tuning.and_then(|it| tuning_of(number, &it, manifest, trials));
    if let Some(found) = &mut tuning {
        // The time that the contender gets decides, and only the search knows it.
        found.planned_trials = found.search_trials + found.holdout_trials;
    }
    let mut candidate = Candidate {
        default: capacity(spec, &settings.capacity, trials),
        tuning,
        tuned: tuned.map(|spec| capacity(spec, &settings.capacity, trials)),
        uses_tuned: false,
        costs: None,
    };
    disqualify(&mut candidate, trials);
    candidate.uses_tuned = is_tuned_better(&candidate);
    candidate.costs = costs(candidate.best(), trials);
    candidate
}

/// Whether the capacity of the tuned knobs is above the interval of the default's, and the
/// default's below that of the tuned knobs.
fn is_tuned_better(candidate: &Candidate) -> bool {
    let kept = |it: &Capacity| it.capacity_per_s.zip(it.estimate);
    let Some((tuned_per_s, tuned)) = candidate.tuned.as_ref().and_then(kept) else {
        return false;
    };
    kept(&candidate.default).is_none_or(|(default_per_s, default)| {
        tuned_per_s >= default.high_per_s && tuned.low_per_s > default_per_s
    })
}

/// Adds the trials of the run-off to the evidence for the capacities of its two contenders.
fn add_run_off(candidates: &mut [Candidate], run_off: RunOff, settings: &ChoiceSettings) {
    let held = [run_off.first_held, run_off.second_held];
    for (candidate, held) in candidates.iter_mut().zip(held) {
        let results = (0..run_off.pairs).map(|trial| (run_off.rate_per_s, trial < held));
        let results: Vec<_> = results.collect();
        let tuned = candidate.tuned.as_mut().filter(|_| candidate.uses_tuned);
        let best = tuned.unwrap_or(&mut candidate.default);
        estimate(best, &settings.capacity, &results);
    }
}

/// Takes the capacity of a contender whose trial in a run-off was invalid: a wrong result is no
/// matter of the rate.
fn disqualify(candidate: &mut Candidate, trials: &[TrialRecord]) {
    let Candidate { default, tuned, .. } = candidate;
    for capacity in std::iter::once(default).chain(tuned) {
        let of_run_off = capacity.spec.role.map(|role| TrialRole {
            purpose: TrialPurpose::RunOff,
            ..role
        });
        let mut own = trials.iter().filter(|it| it.spec.role == of_run_off);
        if let Some(message) = own.find_map(wrong_results) {
            (capacity.capacity_per_s, capacity.estimate) = (None, None);
            capacity.state = CapacityState::Rejected { message };
        }
    }
}

fn configuration(spec: &TrialSpec) -> Option<u32> {
    spec.role.and_then(|role| role.configuration)
}

/// The costs in the trial nearest to the capacity in which the objective held.
fn costs(capacity: &Capacity, trials: &[TrialRecord]) -> Option<CandidateCosts> {
    let nearest = capacity.nearest_held()?;
    let trial = trials
        .iter()
        .find(|trial| trial.spec.id == nearest.id && trial.outcome != Outcome::Interrupted)?;
    let measurement = trial.measurement.as_ref()?;
    let engine = trial.engine.as_ref();
    Some(CandidateCosts {
        memory_bytes: peak_memory_bytes(measurement),
        space_bytes: measurement.database.allocated_bytes,
        isolation: engine.and_then(|engine| engine.isolation),
        known_defect: engine.and_then(|engine| engine.known_defect.clone()),
    })
}

/// The run-off of the first two contenders, as far as its trials have ended in pairs.
fn run_off(choice: &Choice, settings: &ChoiceSettings, trials: &[TrialRecord]) -> Option<RunOff> {
    let rate_per_s = choice.run_off_rate_per_s?;
    let [first, second] = choice.highest_two()?;
    let mut run_off = RunOff {
        rate_per_s,
        pairs: 0,
        first_held: 0,
        second_held: 0,
        result: RunOffResult::Unsure,
    };
    let held = |trial: &TrialRecord| {
        let judgement = ObjectiveJudgement::of(trial, &settings.capacity.objective);
        judgement.within(trial, &settings.capacity.limits).holds()
    };
    let mut left_out = 0;
    for pair in 1..=MAX_RUN_OFF_PAIRS {
        let trial = |of: &Candidate| run_off_trial(&of.best().spec, rate_per_s, pair, trials);
        let (Some(one), Some(other)) = (trial(first), trial(second)) else {
            break;
        };
        if (is_disturbed(one) || is_disturbed(other))
            && left_out < MAX_RUN_OFF_PAIRS - RUN_OFF_PAIRS
        {
            left_out += 1;
        } else if !run_off.is_complete() {
            run_off.add(held(one), held(other));
        }
    }
    (run_off.pairs > 0).then_some(run_off)
}

/// The trial of a contender in a pair of the run-off at a rate; `None` if it has not ended.
#[must_use]
pub fn run_off_trial<'a>(
    closed_loop: &TrialSpec,
    rate_per_s: f64,
    pair: u32,
    trials: &'a [TrialRecord],
) -> Option<&'a TrialRecord> {
    let wanted = closed_loop.role.map(|role| TrialRole {
        purpose: TrialPurpose::RunOff,
        ..role
    });
    trials.iter().find(|trial| {
        let spec = &trial.spec;
        spec.role == wanted
            && spec.repeat == pair
            && trial.outcome != Outcome::Interrupted
            && spec.conditions.rate.map(|rate| rate.per_s) == Some(rate_per_s)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(first_held: usize, second_held: usize, pairs: usize) -> RunOffResult {
        let mut run_off = RunOff {
            rate_per_s: 100.0,
            pairs: 0,
            first_held: 0,
            second_held: 0,
            result: RunOffResult::Unsure,
        };
        for pair in 0..pairs {
            run_off.add(pair < first_held, pair < second_held);
        }
        run_off.result
    }

    #[test]
    fn a_run_off_decides_only_if_every_trial_agrees() {
        assert_eq!(result(5, 0, 5), RunOffResult::Confirmed);
        assert_eq!(result(0, 5, 5), RunOffResult::Overruled);
        for (first, second, pairs) in [(5, 1, 5), (4, 0, 5), (4, 0, 4), (0, 0, 5), (5, 5, 5)] {
            assert_eq!(result(first, second, pairs), RunOffResult::Unsure);
        }
    }
}
