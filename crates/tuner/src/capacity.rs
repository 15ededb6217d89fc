//! The search for the capacities of several contenders: which trial comes next.

mod probe;

pub(crate) use probe::{
    DEFAULT_TRIALS, MIN_TRIALS, next_rate_per_s, retry_rate_per_s, trial_duration_s,
};

use crate::budget::{Budget, BudgetShortage, SharedBudget, TrialTimes};
use crate::trial_search::{SearchNews, TrialSearch, number_cells, proposal, trial_id};
use trueput_findings::capacity::{Capacity, capacity, is_probe_of, mark_led};
use trueput_record::conditions::{Arrival, Rate, TimeSlice};
use trueput_record::search::{CapacitySettings, TrialPurpose, TrialRole};
use trueput_record::trial::Proposal;
use trueput_record::trial_time::{DEFAULT_DURATION_S, estimated_s, expected_s};
use trueput_record::{TrialRecord, TrialSpec};

/// The length of a time slice of a trial at a rate, seconds. The first requests of a slice find
/// cold processor caches: they must be fewer than those beyond the objective's percentile.
const SLICE_S: f64 = 0.5;

/// The searches for the capacities of several contenders within a time, then once more those that
/// kept the objective at no rate. Contenders that can share time slices are searched side by side,
/// each at its own rate; others one after the other.
#[derive(Debug)]
pub(crate) struct CapacitySearch<'a> {
    contenders: Vec<&'a TrialSpec>,
    question: CapacityQuestion<'a>,
    /// The time of the first pass: in turn, each contender has a share of it.
    budget: SharedBudget,
    /// A contender's part of the time for the first pass, seconds.
    share_s: f64,
    /// The time of both passes.
    whole: Budget,
    /// The second pass, from when the first one is over.
    again: Option<SecondPass>,
    /// The times of the rounds of contenders side by side.
    rounds: TrialTimes,
    /// Whether contenders side by side whose capacities are surely below the best one leave.
    drops_led: bool,
    news: Vec<SearchNews>,
    /// The trials of which there are news, or that an earlier process ran; `None` at first.
    seen: Option<usize>,
}

/// The question of a search for a capacity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CapacityQuestion<'a> {
    /// The settings.
    pub settings: &'a CapacitySettings,
    /// The rate that the user needs, which is tried first, per second.
    pub needed_per_s: Option<f64>,
}

impl CapacityQuestion<'_> {
    /// The next trial of a contender, of which this much is known; `None` if its search has ended.
    pub fn next_trial(self, found: &Capacity, records: &[TrialRecord]) -> Option<TrialSpec> {
        let rate_per_s = next_rate_per_s(found, self.needed_per_s)?;
        Some(trial_at(&found.spec, rate_per_s, self.settings, records))
    }
}

/// The contenders that are searched again, and their time.
#[derive(Debug)]
struct SecondPass {
    budget: SharedBudget,
    /// Their places.
    contenders: Vec<usize>,
}

impl<'a> CapacitySearch<'a> {
    /// A search among contenders, whose trials in closed loop are given: `budget_s` for the first
    /// pass, and at most `longest_s` for both, seconds.
    #[must_use]
    pub fn new(
        contenders: Vec<&'a TrialSpec>,
        question: CapacityQuestion<'a>,
        budget_s: f64,
        longest_s: f64,
    ) -> Self {
        Self {
            share_s: budget_s / contenders.len().max(1) as f64,
            contenders,
            question,
            budget: SharedBudget::new(Budget::new(0.0, budget_s)),
            whole: Budget::new(0.0, longest_s),
            again: None,
            rounds: TrialTimes::default(),
            drops_led: false,
            news: Vec::new(),
            seen: None,
        }
    }

    /// Lets contenders side by side leave whose capacities are surely below the best one: which is
    /// the best is the question.
    #[must_use]
    pub fn for_the_best(mut self) -> Self {
        self.drops_led = true;
        self
    }

    /// The trial in closed loop of each contender.
    #[must_use]
    pub fn contenders(&self) -> &[&'a TrialSpec] {
        &self.contenders
    }

    /// Whether a contender's search has not ended: once no trial is proposed, for lack of time.
    pub(crate) fn is_open(&self, records: &[TrialRecord]) -> bool {
        let found = self.capacities(records);
        let mut found = found.iter();
        found.any(|it| {
            let next = self.question.next_trial(it, records);
            next.is_some() || self.retry_trial(it, records).is_some()
        })
    }

    /// What is known of each contender's capacity, in their order.
    fn capacities(&self, records: &[TrialRecord]) -> Vec<Capacity> {
        let of = |closed: &&TrialSpec| capacity(closed, self.question.settings, records);
        let mut found: Vec<_> = self.contenders.iter().map(of).collect();
        if self.drops_led {
            mark_led(&mut found.iter_mut().collect::<Vec<_>>());
        }
        found
    }

    /// The next trials; none if every search has ended, or the time is up.
    pub(crate) fn next_trials(
        &mut self,
        records: &[TrialRecord],
        elapsed_s: f64,
    ) -> Vec<TrialSpec> {
        self.rounds.end(elapsed_s);
        let first = if self.are_side_by_side() {
            self.next_round(records, elapsed_s)
        } else {
            self.next_in_turn(records, elapsed_s).into_iter().collect()
        };
        if !first.is_empty() {
            return first;
        }
        let second = self.next_of_second_pass(records, elapsed_s);
        second.into_iter().collect()
    }

    fn are_side_by_side(&self) -> bool {
        let mut slices = self.contenders.iter();
        slices.any(|closed| closed.conditions.time_slice_s.is_some())
    }

    /// The next trial of each contender whose search has not ended: those that may have the highest
    /// capacity first.
    fn open_of_first_pass(&self, records: &[TrialRecord]) -> Vec<TrialSpec> {
        let at_most_per_s = |it: &Capacity| {
            let estimate = it.estimate.map(|estimate| estimate.high_per_s);
            estimate.unwrap_or(f64::INFINITY)
        };
        let found = self.capacities(records);
        let open = found.iter().filter_map(|it| {
            let next = self.question.next_trial(it, records)?;
            Some((at_most_per_s(it), next))
        });
        let mut open: Vec<_> = open.collect();
        open.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        open.into_iter().map(|(_, spec)| spec).collect()
    }

    /// The time that a trial is expected to take, seconds: in a round of contenders side by side,
    /// each takes longer than by itself.
    pub(crate) fn expected_s(&self, spec: &TrialSpec, records: &[TrialRecord]) -> f64 {
        let mean_s = self.rounds.mean_s().unwrap_or_default();
        expected_s(spec, records).max(mean_s)
    }

    /// The next trials of all contenders whose searches have not ended, as far as there is time.
    fn next_round(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Vec<TrialSpec> {
        let mut round: Vec<TrialSpec> = Vec::new();
        let mut needed_s = 0.0;
        for mut spec in self.open_of_first_pass(records) {
            needed_s += self.expected_s(&spec, records);
            if !self.budget.whole().has_time_for(needed_s, elapsed_s) {
                break;
            }
            let number = records.len() + round.len();
            let rate_per_s = spec.conditions.rate.map_or(0.0, |rate| rate.per_s);
            spec.id = trial_id(&spec, &rate_per_s.to_string(), number);
            round.push(spec);
        }
        number_cells(&mut round, records);
        if !round.is_empty() {
            self.rounds.begin(round.len() as u32, elapsed_s);
        }
        round
    }

    /// The next trial of the first contender whose search has not ended and that has time for it.
    fn next_in_turn(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Option<TrialSpec> {
        let found = self.capacities(records);
        let next = found.iter().map(|it| self.question.next_trial(it, records));
        let next: Vec<_> = next.collect();
        let mut waiting = next.iter().flatten().count();
        for (contender, spec) in next.into_iter().enumerate() {
            let Some(spec) = spec else { continue };
            let needed_s = estimated_s(&spec);
            if self
                .budget
                .has_time_for(contender, waiting, needed_s, elapsed_s)
            {
                return Some(spec);
            }
            waiting -= 1;
        }
        None
    }

    fn next_of_second_pass(
        &mut self,
        records: &[TrialRecord],
        elapsed_s: f64,
    ) -> Option<TrialSpec> {
        let found = self.capacities(records);
        let mut again = self
            .again
            .take()
            .unwrap_or_else(|| self.second_pass(&found, records, elapsed_s));
        let mut next = None;
        for (&contender, waiting) in again
            .contenders
            .iter()
            .zip((1..=again.contenders.len()).rev())
        {
            let found = &found[contender];
            let spec = if found.capacity_per_s.is_some() {
                self.question.next_trial(found, records)
            } else {
                self.retry_trial(found, records)
            };
            let Some(spec) = spec else { continue };
            let needed_s = self.expected_s(&spec, records);
            if again
                .budget
                .has_time_for(contender, waiting, needed_s, elapsed_s)
            {
                next = Some(spec);
                break;
            }
        }
        self.again = Some(again);
        next
    }

    /// Notes the capacities to which the trials since the last time belong.
    fn note_probes(&mut self, records: &[TrialRecord]) {
        // Those of an earlier process are no news, and the closed loops before the first probe tell
        // none.
        let first = self.seen.replace(records.len()).unwrap_or(records.len());
        for trial in records.get(first..).unwrap_or_default() {
            let probed = probed_by(trial, &self.contenders, self.question.settings, records);
            self.news.extend(probed.map(|capacity| SearchNews::Probe {
                capacity: Box::new(capacity),
                is_tuned: false,
            }));
        }
    }

    /// Takes the news of the trials that have ended.
    pub(crate) fn news_of(&mut self, records: &[TrialRecord]) -> Vec<SearchNews> {
        self.note_probes(records);
        std::mem::take(&mut self.news)
    }

    /// The second pass of those that have kept the objective at no rate so far.
    fn second_pass(
        &self,
        found: &[Capacity],
        records: &[TrialRecord],
        elapsed_s: f64,
    ) -> SecondPass {
        let is_failed = |it: &Capacity| self.retry_trial(it, records).is_some();
        let failed = found.iter().enumerate().filter(|(_, it)| is_failed(it));
        let contenders: Vec<_> = failed.map(|(place, _)| place).collect();
        let budget_s = self.share_s * contenders.len() as f64;
        let budget_s = budget_s.min(self.whole.left_s(elapsed_s));
        SecondPass {
            budget: SharedBudget::new(Budget::new(elapsed_s, budget_s)),
            contenders,
        }
    }

    /// The trial with which a contender that kept the objective at no rate is looked at again.
    fn retry_trial(&self, found: &Capacity, records: &[TrialRecord]) -> Option<TrialSpec> {
        let rate_per_s = retry_rate_per_s(found)?;
        Some(trial_at(
            &found.spec,
            rate_per_s,
            self.question.settings,
            records,
        ))
    }
}

impl TrialSearch for CapacitySearch<'_> {
    fn next(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Proposal {
        self.note_probes(records);
        let next = self.next_trials(records, elapsed_s);
        proposal(next, || self.is_open(records))
    }

    fn take_news(&mut self) -> Vec<SearchNews> {
        std::mem::take(&mut self.news)
    }
}

/// The time for the search among these contenders, seconds: that which is given, or else what it
/// usually takes.
///
/// # Errors
/// The given time is too short.
pub fn budget_s(given_s: Option<f64>, contenders: &[TrialSpec]) -> Result<f64, BudgetShortage> {
    let one_each_s: f64 = contenders.iter().map(estimated_s).sum();
    let least_s = (one_each_s * f64::from(MIN_TRIALS)).ceil();
    let usual_s = (one_each_s * f64::from(DEFAULT_TRIALS)).ceil();
    BudgetShortage::check(given_s, usual_s, least_s)
}

/// Makes each trial of a plan the first one of a contender's search. Time slices whose length the
/// plan leaves open are as long as trials at a rate need.
#[must_use]
pub fn contenders(mut trials: Vec<TrialSpec>, planned: TimeSlice) -> Vec<TrialSpec> {
    for (contender, spec) in (0..).zip(&mut trials) {
        if planned == TimeSlice::Auto {
            let slice_s = &mut spec.conditions.time_slice_s;
            *slice_s = slice_s.map(|length_s| length_s.max(SLICE_S));
        }
        spec.role = Some(TrialRole {
            contender,
            purpose: TrialPurpose::ClosedLoop,
            configuration: None,
        });
    }
    trials
}

/// A trial in open loop of each contender, for checks.
#[must_use]
pub fn open_loops(closed: &[TrialSpec], arrival: Arrival) -> Vec<TrialSpec> {
    let open = closed.iter().map(|spec| open_loop(spec, 1.0, arrival));
    open.collect()
}

/// A contender's trial in open loop, at a rate per second.
#[must_use]
pub fn open_loop(closed: &TrialSpec, per_s: f64, arrival: Arrival) -> TrialSpec {
    let mut spec = closed.clone();
    spec.conditions.rate = Some(Rate { per_s, arrival });
    spec.conditions.duration_s.get_or_insert(DEFAULT_DURATION_S);
    spec
}

/// A contender's trial in open loop, long enough to judge the objective.
pub(crate) fn judged_trial(
    closed: &TrialSpec,
    rate_per_s: f64,
    settings: &CapacitySettings,
) -> TrialSpec {
    let mut spec = open_loop(closed, rate_per_s, settings.arrival);
    let usual_s = closed.conditions.duration_s.unwrap_or(DEFAULT_DURATION_S);
    let duration_s = trial_duration_s(rate_per_s, usual_s, &settings.objective);
    spec.conditions.duration_s = Some(duration_s);
    spec
}

/// A contender's trial at a rate.
fn trial_at(
    closed: &TrialSpec,
    rate_per_s: f64,
    settings: &CapacitySettings,
    records: &[TrialRecord],
) -> TrialSpec {
    let mut spec = judged_trial(closed, rate_per_s, settings);
    let is_repeat = |trial: &&TrialRecord| {
        is_probe_of(closed, trial) && trial.spec.conditions.rate == spec.conditions.rate
    };
    let last = records.iter().rfind(is_repeat);
    spec.repeat = last.map_or(1, |last| last.spec.repeat + 1);
    spec.id = trial_id(&spec, &rate_per_s.to_string(), records.len());
    spec.role = closed.role.map(|role| TrialRole {
        purpose: TrialPurpose::Probe,
        ..role
    });
    number_cells(std::slice::from_mut(&mut spec), records);
    spec
}

/// The capacity that a trial belongs to, if it is of one of these contenders.
pub(crate) fn probed_by(
    trial: &TrialRecord,
    contenders: &[&TrialSpec],
    settings: &CapacitySettings,
    records: &[TrialRecord],
) -> Option<Capacity> {
    let mut contenders = contenders.iter();
    let closed = contenders.find(|closed| is_probe_of(closed, trial))?;
    Some(capacity(closed, settings, records))
}
