//! The search behind a choice: which trials come next.
//!
//! It is derived from the records alone, except for the time: an interrupted one goes on with
//! whatever is missing.

use crate::capacity_search::{CapacitySearches, last_result, next_trial, open_loop, trial_id};
use crate::search_clock::SearchClock;
use crate::tuning_search::TuningSearch;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use trueput_findings::capacity::{capacity, closed_loops, is_probe_of};
use trueput_findings::choice::{
    Candidate, Choice, RUN_OFF_PAIRS, candidate, choice, run_off_trial,
};
use trueput_findings::tuning::TunedConfiguration;
use trueput_findings::units::counted;
use trueput_record::search::{
    CapacitySettings, ChoiceSettings, TrialPurpose, TrialRole, TuningSettings,
};
use trueput_record::trial_time::{DEFAULT_DURATION_S, estimated_s, expected_s, search_times_s};
use trueput_record::value::format_seconds;
use trueput_record::{RunManifest, TrialRecord, TrialSpec};
use trueput_runner::Registry;
use trueput_tuner::capacity::{fewest_trials, trial_duration_s};
use trueput_tuner::search;

/// Trials of a search for knobs at least.
pub const MIN_TUNING_TRIALS: u32 = search::MIN_TRIALS as u32;

/// The part of the time for everything but the run-off.
pub const SEARCH_PART: f64 = 0.9;

/// The part of the time for the capacities of the defaults if knobs are tuned as well.
const DEFAULT_PART: f64 = 0.4;

/// From the best contender down, each gets this part of the time that is left for tuning: most goes
/// to those that are likely to be chosen.
const SHARE: f64 = 0.25;

/// The part of a contender's share for its search for knobs; the rest is for its capacity with
/// them.
const TUNING_PART: f64 = 0.65;

/// Cells of one contender: their numbers must not meet those of another.
const CELLS: u32 = 100_000;

/// The part of the time for the capacities of the defaults.
pub fn default_part(has_tuning: bool) -> f64 {
    if has_tuning {
        DEFAULT_PART
    } else {
        SEARCH_PART
    }
}

/// Gives the tuning of a choice that is resumed before it has begun its part of the new budget: the
/// trials of the defaults so far took none of that. Returns whether it changed.
pub fn renew_tuning_time(settings: &mut ChoiceSettings, ended: &[TrialRecord]) -> bool {
    let budget_s = settings.budget_s;
    match &mut settings.tuning {
        Some(tuning) if !ended.iter().any(is_of_tuning) => {
            let spent_s: f64 = search_times_s(ended).sum();
            tuning.budget_s = budget_s + spent_s / SEARCH_PART;
            true
        }
        _ => false,
    }
}

/// A search, its time, and its contenders.
pub struct ChoiceSearch<'a> {
    settings: &'a ChoiceSettings,
    manifest: &'a RunManifest,
    registry: &'a Registry,
    /// The searches for the capacities of the defaults.
    defaults: CapacitySearches<'a>,
    end: Instant,
    /// The end of all but the run-off.
    search_end: Instant,
    /// The searches for knobs that have begun, by contender.
    begun: BTreeMap<u32, ContenderSearch<'a>>,
    news: Vec<String>,
}

/// A search for one contender's knobs, then for its capacity with them.
struct ContenderSearch<'a> {
    search: TuningSearch<'a>,
    has_ended: bool,
    /// The time for both.
    share: Duration,
    since: Instant,
    clock: SearchClock,
}

impl<'a> ChoiceSearch<'a> {
    /// The time begins now.
    pub fn new(
        settings: &'a ChoiceSettings,
        manifest: &'a RunManifest,
        registry: &'a Registry,
    ) -> Self {
        let is_default =
            |spec: &&TrialSpec| spec.role.is_some_and(|role| role.configuration.is_none());
        let budget_s = settings.budget_s;
        let part = default_part(settings.tuning.is_some());
        let now = Instant::now();
        Self {
            settings,
            manifest,
            registry,
            defaults: CapacitySearches::new(
                closed_loops(manifest).filter(is_default).collect(),
                &settings.capacity,
                budget_s * part,
                budget_s * SEARCH_PART,
            ),
            end: now + Duration::from_secs_f64(budget_s),
            search_end: now + Duration::from_secs_f64(budget_s * SEARCH_PART),
            begun: BTreeMap::new(),
            news: Vec::new(),
        }
    }

    /// Lines on what has changed since they were last taken.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The trials to run next, given all that have ended; none when the search is over.
    pub fn next(&mut self, ended: &[TrialRecord]) -> Vec<TrialSpec> {
        let contenders = self.defaults.contenders();
        let result = last_result(contenders, &self.settings.capacity, ended);
        self.news.extend(result);
        // The rate of a run-off depends on the capacities: they are not searched any longer.
        if ended.iter().any(is_of_run_off) {
            return self.next_of_run_off(ended);
        }
        // The time for tuning, and so its course, depends on the trials of the defaults: none is
        // added to them when the search is resumed.
        let has_tuning = ended.iter().any(is_of_tuning);
        if !has_tuning && let Some(spec) = self.defaults.next(ended) {
            return vec![spec];
        }
        let tuning = self.next_of_tuning(ended);
        if !tuning.is_empty() {
            return tuning;
        }
        match self.next_of_unconfirmed(ended) {
            Some(spec) => vec![spec],
            None => self.next_of_run_off(ended),
        }
    }

    /// The next trials of the first contender, from the best default down, whose knobs are not yet
    /// tuned.
    fn next_of_tuning(&mut self, ended: &[TrialRecord]) -> Vec<TrialSpec> {
        let Some(template) = &self.settings.tuning else {
            return Vec::new();
        };
        // Later trials of the defaults change neither the order nor the shares.
        let begin = ended.iter().position(is_of_tuning).unwrap_or(ended.len());
        let (before, since) = ended.split_at(begin);
        let time_s = self.tuning_time_s(template, before);
        let order = self.order(before);
        let mut visited = Vec::new();
        for (closed, left) in order.iter().zip((1..=order.len()).rev()) {
            let Some(role) = closed.role else { continue };
            // What one contender does not need is for those that follow.
            let left_s = time_s - time_before_others_s(since, &visited);
            let least_s = self.least_share_s(closed, before);
            let share_s = (left_s * SHARE.max(1.0 / left as f64)).max(least_s);
            // One that loads for long may not fit where another does.
            if share_s > left_s {
                continue;
            }
            visited.push(role.contender);
            if !self.begun.contains_key(&role.contender) {
                let Some(tuning) = self.begin(closed, share_s, before, since) else {
                    continue;
                };
                self.begun.insert(role.contender, tuning);
            }
            let next = self.next_of_contender(closed, role.contender, ended);
            if !next.is_empty() {
                return next;
            }
        }
        Vec::new()
    }

    /// The time for tuning, as the records tell it, so that a resumed search divides it alike:
    /// without that for the run-off and for the capacities of the defaults.
    fn tuning_time_s(&self, template: &TuningSettings, ended: &[TrialRecord]) -> f64 {
        let of_default = |trial: &&TrialRecord| {
            let mut defaults = self.defaults.contenders().iter();
            defaults.any(|closed| is_probe_of(closed, trial))
        };
        let timed = ended.iter().zip(search_times_s(ended));
        let own = timed.filter(|(trial, _)| of_default(trial));
        let spent_s: f64 = own.map(|(_, time_s)| time_s).sum();
        (template.budget_s * SEARCH_PART - spent_s).max(0.0)
    }

    /// The contenders with tunable knobs that could be measured, from the best default down.
    fn order(&self, ended: &[TrialRecord]) -> Vec<&'a TrialSpec> {
        let rates = self.defaults.contenders().iter().filter_map(|closed| {
            let found = capacity(closed, &self.settings.capacity, ended);
            let is_tunable = self.settings.untunable_reason(found.contender).is_none();
            let rates = (
                found.holds_per_s.unwrap_or_default(),
                found.closed_loop_per_s?,
            );
            is_tunable.then_some((rates, *closed))
        });
        let mut rates: Vec<_> = rates.collect();
        rates.sort_by(|(one, _), (other, _)| {
            other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        rates.into_iter().map(|(_, closed)| closed).collect()
    }

    /// The least time in which a contender's knobs and its capacity with them can be searched for.
    fn least_share_s(&self, closed: &TrialSpec, before: &[TrialRecord]) -> f64 {
        let confirmations = self.settings.capacity.confirmations;
        let trials = MIN_TUNING_TRIALS + fewest_trials(confirmations);
        expected_s(closed, before) * f64::from(trials)
    }

    /// Begins a contender's search for knobs, given the trials `before` any tuning and those
    /// `since`; `None` if there is no time for it.
    fn begin(
        &mut self,
        closed: &'a TrialSpec,
        share_s: f64,
        before: &[TrialRecord],
        since: &[TrialRecord],
    ) -> Option<ContenderSearch<'a>> {
        let now = Instant::now();
        let left = self.search_end.saturating_duration_since(now);
        let share = Duration::from_secs_f64(share_s).min(left);
        let has_begun = since.iter().any(|trial| is_tuning_of(closed, trial));
        // Both are rounded alike: a share is often the least one.
        let least = Duration::from_secs_f64(self.least_share_s(closed, before));
        if !has_begun && share < least {
            return None;
        }
        let budget_s = share.as_secs_f64() * TUNING_PART;
        // By the planned share, so that a resumed search has the same plan.
        let trials = (share_s * TUNING_PART / expected_s(closed, before)) as u32;
        let settings = TuningSettings {
            trials: trials.max(MIN_TUNING_TRIALS),
            budget_s,
            ..self.settings.tuning_of(closed.role?.contender)?
        };
        let name = closed.contender();
        self.news.push(format!(
            "tuning {name}: at most {} in {}",
            counted(u64::from(settings.trials), "trial"),
            format_seconds(budget_s.round())
        ));
        let search = TuningSearch::new(settings, closed.clone(), self.manifest, self.registry);
        Some(ContenderSearch {
            search: search.ok()?,
            has_ended: false,
            share,
            since: now,
            clock: SearchClock::new(share.as_secs_f64()),
        })
    }

    /// The next trials of a contender: of its search for knobs, then of its capacity with them.
    fn next_of_contender(
        &mut self,
        closed: &TrialSpec,
        contender: u32,
        ended: &[TrialRecord],
    ) -> Vec<TrialSpec> {
        let Some(tuning) = self.begun.get_mut(&contender) else {
            return Vec::new();
        };
        if !tuning.has_ended {
            let mut next = tuning.search.next(ended);
            let name = closed.contender();
            let news = tuning.search.take_news();
            self.news
                .extend(news.iter().map(|line| format!("{name}: {line}")));
            next.iter_mut()
                .for_each(|spec| spec.cell += (contender + 1) * CELLS);
            if !next.is_empty() {
                return next;
            }
            tuning.has_ended = true;
            let left = tuning.share.saturating_sub(tuning.since.elapsed());
            tuning.clock = SearchClock::new(left.as_secs_f64());
        }
        let found = candidate(closed, self.settings, self.manifest, ended).tuning;
        let Some(tuned) = found.as_ref().and_then(|found| {
            let better = found.better()?;
            Some(tuned_closed_loop(closed, better, ended))
        }) else {
            return Vec::new();
        };
        let result = last_result(&[&tuned], &self.settings.capacity, ended);
        self.news
            .extend(result.map(|line| format!("tuned, {line}")));
        let has_begun = ended.iter().any(|trial| is_probe_of(&tuned, trial));
        let next = if has_begun {
            next_trial(&tuned, &self.settings.capacity, ended)
        } else {
            Some(tuned)
        };
        let clock = &mut tuning.clock;
        let next = next.filter(|spec| clock.has_time_for(0, 1, estimated_s(spec)));
        next.into_iter().collect()
    }

    /// The next trial of a capacity that is not confirmed, with the time that tuning left: that of
    /// the best contender first, and those of defaults that tuned knobs excel last.
    fn next_of_unconfirmed(&self, ended: &[TrialRecord]) -> Option<TrialSpec> {
        let settings = &self.settings.capacity;
        let found = choice(self.manifest, ended)?;
        let of_best = |candidate: &Candidate| {
            let spec = next_trial(&candidate.best().spec, settings, ended);
            spec.or_else(|| next_of_tuned(candidate, settings, ended))
        };
        let of_default =
            |candidate: &Candidate| next_trial(&candidate.default.spec, settings, ended);
        let candidates = found.candidates.iter();
        let specs = candidates.clone().filter_map(of_best);
        let mut specs = specs.chain(candidates.filter_map(of_default));
        specs.find(|spec| {
            let needed = Duration::from_secs_f64(expected_s(spec, ended));
            Instant::now() + needed <= self.search_end
        })
    }

    /// The next pair of the run-off: the two best contenders at one rate.
    fn next_of_run_off(&mut self, ended: &[TrialRecord]) -> Vec<TrialSpec> {
        let Some(found) = choice(self.manifest, ended) else {
            return Vec::new();
        };
        self.report_run_off(&found);
        let (Some([first, second]), Some(rate_per_s)) =
            (found.highest_two(), found.run_off_rate_per_s())
        else {
            return Vec::new();
        };
        for pair in 1..=RUN_OFF_PAIRS {
            let lacks = |candidate: &&Candidate| {
                let spec = &candidate.best().spec;
                run_off_trial(spec, rate_per_s, pair, ended).is_none()
            };
            // The order alternates, so that neither always follows the other.
            let both = match pair % 2 {
                1 => [first, second],
                _ => [second, first],
            };
            let missing: Vec<_> = both.into_iter().filter(lacks).collect();
            if missing.is_empty() {
                continue;
            }
            let specs: Vec<_> = missing
                .iter()
                .zip(ended.len()..)
                .map(|(candidate, number)| self.run_off_spec(candidate, rate_per_s, pair, number))
                .collect();
            let needed_s: f64 = specs.iter().map(|spec| expected_s(spec, ended)).sum();
            let has_time = Instant::now() + Duration::from_secs_f64(needed_s) <= self.end;
            return if has_time { specs } else { Vec::new() };
        }
        Vec::new()
    }

    fn run_off_spec(
        &self,
        candidate: &Candidate,
        rate_per_s: f64,
        pair: u32,
        number: usize,
    ) -> TrialSpec {
        let closed = &candidate.best().spec;
        let settings = &self.settings.capacity;
        let mut spec = open_loop(closed, rate_per_s, settings.arrival);
        let usual_s = closed.conditions.duration_s.unwrap_or(DEFAULT_DURATION_S);
        let duration_s = trial_duration_s(rate_per_s, usual_s, &settings.objective);
        spec.conditions.duration_s = Some(duration_s);
        spec.role = closed.role.map(|role| TrialRole {
            purpose: TrialPurpose::RunOff,
            ..role
        });
        // Data and operations that no search has seen.
        spec.seed = spec.seed.wrapping_add(2);
        spec.cell = (candidate.default.contender + 2) * CELLS - 1;
        spec.repeat = pair;
        spec.id = trial_id(&spec, TrialPurpose::RunOff.name(), number);
        spec
    }

    /// Says how the run-off stands.
    fn report_run_off(&mut self, found: &Choice) {
        let (Some(run_off), Some([first, second])) = (found.run_off, found.highest_two()) else {
            return;
        };
        self.news.push(format!(
            "run-off at {}/s, {}: {} kept the objective in {}, {} in {}",
            run_off.rate_per_s,
            counted(run_off.pairs as u64, "pair"),
            first.best().spec.contender(),
            run_off.first_held,
            second.best().spec.contender(),
            run_off.second_held
        ));
    }
}

/// The trial in closed loop of a tuned contender.
fn tuned_closed_loop(
    closed: &TrialSpec,
    better: &TunedConfiguration,
    ended: &[TrialRecord],
) -> TrialSpec {
    let mut spec = closed.clone();
    spec.knobs.extend(better.changes.clone());
    spec.role = closed.role.map(|role| TrialRole {
        configuration: Some(better.number),
        ..role
    });
    spec.cell = u32::try_from(ended.len()).unwrap_or(u32::MAX);
    spec.id = trial_id(&spec, "tuned", ended.len());
    spec
}

/// The next trial for the capacity of tuned knobs that may prove to be the better ones.
fn next_of_tuned(
    candidate: &Candidate,
    settings: &CapacitySettings,
    ended: &[TrialRecord],
) -> Option<TrialSpec> {
    match &candidate.tuned {
        Some(tuned) if tuned.fails_per_s.is_none() => next_trial(&tuned.spec, settings, ended),
        Some(_) => None,
        None => {
            let better = candidate.tuning.as_ref()?.better()?;
            Some(tuned_closed_loop(&candidate.default.spec, better, ended))
        }
    }
}

fn is_of_run_off(trial: &TrialRecord) -> bool {
    let role = trial.spec.role;
    role.is_some_and(|role| role.purpose == TrialPurpose::RunOff)
}

fn is_of_tuning(trial: &TrialRecord) -> bool {
    let role = trial.spec.role;
    role.is_some_and(|role| role.purpose.is_of_tuning())
}

fn is_tuning_of(closed: &TrialSpec, trial: &TrialRecord) -> bool {
    let number = |spec: &TrialSpec| spec.role.map(|role| role.contender);
    is_of_tuning(trial) && number(&trial.spec) == number(closed)
}

/// The time that trials took before the first one that tunes another contender than these, seconds.
fn time_before_others_s(trials: &[TrialRecord], contenders: &[u32]) -> f64 {
    let is_own = |role: TrialRole| contenders.contains(&role.contender);
    let is_other =
        |trial: &TrialRecord| is_of_tuning(trial) && !trial.spec.role.is_some_and(is_own);
    let own = trials.iter().take_while(|trial| !is_other(trial)).count();
    search_times_s(&trials[..own]).sum()
}

#[cfg(test)]
mod tests;
