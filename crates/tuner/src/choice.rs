//! The search behind a choice: the capacities of the defaults, then, from the best contender down,
//! its knobs and its capacity with them, then a run-off of the best two.

use crate::budget::{Budget, BudgetShortage, SharedBudget};
use crate::capacity::{CapacityQuestion, CapacitySearch, DEFAULT_TRIALS, MIN_TRIALS, judged_trial};
use crate::rounds;
use crate::trial_search::{SearchNews, TrialSearch, number_cells, proposal, trial_id};
use crate::tuning::TuningSearch;
use std::collections::BTreeMap;
use trueput_engine::Engine;
use trueput_findings::capacity::{capacity, closed_loops, is_out_of_reach, is_probe_of};
use trueput_findings::choice::{
    Candidate, Choice, MAX_RUN_OFF_PAIRS, candidate, choice, run_off_trial,
};
use trueput_findings::tuning::{TunedConfiguration, TuningFindings};
use trueput_record::search::{
    ChoiceSettings, SearchEnd, SearchSettings, TrialPurpose, TrialRole, TuningSettings,
    UntunableContender,
};
use trueput_record::trial::Proposal;
use trueput_record::trial_time::{estimated_s, expected_s, search_times_s};
use trueput_record::{RunManifest, TrialRecord, TrialSpec};

/// Trials of a search for knobs at least.
pub const MIN_TUNING_TRIALS: u32 = rounds::MIN_TRIALS as u32;

/// The part of the time for everything but the run-off.
const SEARCH_PART: f64 = 0.9;

/// The part of the time for the capacities of the defaults if knobs are tuned as well: what they do
/// not need is for tuning.
const DEFAULT_PART: f64 = 0.55;

/// From the best contender down, each gets this part of the time that is left for tuning: most goes
/// to those that are likely to be chosen.
const SHARE: f64 = 0.25;

/// The part of a contender's share for its search for knobs; the rest is for its capacity with
/// them.
const TUNING_PART: f64 = 0.65;

/// The part of the time for the capacities of the defaults.
#[must_use]
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

/// Whether the contenders of a choice are tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuningPolicy {
    /// Not at all.
    Never,
    /// As long as there is time.
    Possible,
    /// The time must suffice for it.
    Required,
}

/// The time for a choice among these contenders, seconds: that which is given, or else what it
/// usually takes.
///
/// # Errors
/// The given time is too short.
pub fn budget_s(
    given_s: Option<f64>,
    tuning: TuningPolicy,
    contenders: &[TrialSpec],
) -> Result<f64, BudgetShortage> {
    let one_each_s: f64 = contenders.iter().map(estimated_s).sum();
    let is_tuned = tuning != TuningPolicy::Never;
    let of_defaults = f64::from(MIN_TRIALS) / default_part(is_tuned);
    let all = f64::from(2 * MIN_TRIALS + MIN_TUNING_TRIALS) / SEARCH_PART;
    let least = if tuning == TuningPolicy::Required {
        of_defaults.max(all)
    } else {
        of_defaults
    };
    let least_s = (one_each_s * least).ceil();
    let tuned_trials = if is_tuned {
        DEFAULT_TRIALS + 2 * MIN_TUNING_TRIALS
    } else {
        0
    };
    let usual_s = one_each_s * f64::from(DEFAULT_TRIALS + tuned_trials) / SEARCH_PART;
    BudgetShortage::check(given_s, usual_s.max(least_s).ceil(), least_s)
}

/// The contenders of a choice whose knobs cannot be tuned, with the reasons.
#[must_use]
pub fn untunable(
    manifest: &RunManifest,
    engines: &[&'static dyn Engine],
) -> Vec<UntunableContender> {
    let Some(SearchSettings::Choice(settings)) = &manifest.search else {
        return Vec::new();
    };
    let Some(tuning) = &settings.tuning else {
        return Vec::new();
    };
    let untunable = |spec: &TrialSpec| {
        let engine = engine_of(spec, engines)?;
        let search = TuningSearch::new(tuning.clone(), spec.clone(), manifest, engine, 0.0);
        Some(UntunableContender {
            contender: spec.role?.contender,
            reason: search.err()?.to_string(),
        })
    };
    manifest.trials.iter().filter_map(untunable).collect()
}

/// The engine of a trial; `None` if it is not one of these.
pub(crate) fn engine_of(
    spec: &TrialSpec,
    engines: &[&'static dyn Engine],
) -> Option<&'static dyn Engine> {
    let mut engines = engines.iter().copied();
    engines.find(|engine| engine.info().name == spec.engine)
}

/// A search, its time, and its contenders.
pub(crate) struct ChoiceSearch<'a> {
    settings: &'a ChoiceSettings,
    question: CapacityQuestion<'a>,
    manifest: &'a RunManifest,
    engines: &'a [&'static dyn Engine],
    /// The searches for the capacities of the defaults.
    defaults: CapacitySearch<'a>,
    budget: Budget,
    /// The searches for knobs that have begun, by contender.
    begun: BTreeMap<u32, ContenderSearch<'a>>,
    news: Vec<SearchNews>,
    /// The number of trials that had ended when this process began; `None` before.
    known: Option<usize>,
}

/// A search for one contender's knobs, then for its capacity with them.
struct ContenderSearch<'a> {
    search: TuningSearch<'a>,
    /// The end of the search for knobs.
    end: Option<SearchEnd>,
    /// The time for both.
    share: Budget,
    /// The time for the capacity.
    rest: SharedBudget,
}

impl<'a> ChoiceSearch<'a> {
    /// The choice of a run, among contenders of these engines.
    #[must_use]
    pub fn new(
        settings: &'a ChoiceSettings,
        manifest: &'a RunManifest,
        engines: &'a [&'static dyn Engine],
    ) -> Self {
        let is_default =
            |spec: &&TrialSpec| spec.role.is_some_and(|role| role.configuration.is_none());
        let budget_s = settings.budget_s;
        let part = default_part(settings.tuning.is_some());
        let question = CapacityQuestion {
            settings: &settings.capacity,
            needed_per_s: settings.needed_per_s,
        };
        let defaults = CapacitySearch::new(
            closed_loops(manifest).filter(is_default).collect(),
            question,
            budget_s * part,
            budget_s * SEARCH_PART,
        );
        Self {
            settings,
            question,
            manifest,
            engines,
            defaults: defaults.for_the_best(),
            budget: Budget::new(0.0, budget_s),
            begun: BTreeMap::new(),
            news: Vec::new(),
            known: None,
        }
    }

    /// The trials to run next, given all that have ended; none when the search is over.
    fn next_trials(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<TrialSpec> {
        self.known.get_or_insert(ended.len());
        let news = self.defaults.news_of(ended);
        self.news.extend(news);
        // The rate of a run-off depends on the capacities: they are not searched any longer.
        if ended.iter().any(is_of_run_off) {
            return self.next_of_run_off(ended, elapsed_s);
        }
        // The time for tuning, and so its course, depends on the trials of the defaults: none is
        // added to them when the search is resumed.
        let has_tuning = ended.iter().any(is_of_tuning);
        if !has_tuning {
            let next = self.defaults.next_trials(ended, elapsed_s);
            if !next.is_empty() {
                return next;
            }
        }
        let tuning = self.next_of_tuning(ended, elapsed_s);
        if !tuning.is_empty() {
            return tuning;
        }
        match self.next_of_unconfirmed(ended, elapsed_s) {
            Some(spec) => vec![spec],
            None => self.next_of_run_off(ended, elapsed_s),
        }
    }

    /// The next trials of the first contender, from the best default down, whose knobs are not yet
    /// tuned.
    fn next_of_tuning(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<TrialSpec> {
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
                let share = ShareRequest {
                    share_s,
                    before,
                    since,
                };
                let Some(tuning) = self.begin(closed, &share, elapsed_s) else {
                    continue;
                };
                self.begun.insert(role.contender, tuning);
            }
            let next = self.next_of_contender(closed, role.contender, ended, elapsed_s);
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

    /// The contenders with tunable knobs that could be measured, from the best default down,
    /// without those that are too far behind.
    fn order(&self, ended: &[TrialRecord]) -> Vec<&'a TrialSpec> {
        let of = |closed: &&TrialSpec| capacity(closed, &self.settings.capacity, ended);
        let contenders = self.defaults.contenders();
        let all: Vec<_> = contenders.iter().map(of).collect();
        let rates = all.iter().zip(contenders).filter_map(|(found, closed)| {
            let is_tunable = self.settings.untunable_reason(found.contender).is_none();
            let rates = (
                found.capacity_per_s.unwrap_or_default(),
                found.closed_loop_per_s?,
            );
            let is_open = is_tunable && !is_out_of_reach(found, &all);
            is_open.then_some((rates, *closed))
        });
        let mut rates: Vec<_> = rates.collect();
        rates.sort_by(|(one, _), (other, _)| {
            other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        rates.into_iter().map(|(_, closed)| closed).collect()
    }

    /// The least time in which a contender's knobs and its capacity with them can be searched for.
    fn least_share_s(&self, closed: &TrialSpec, before: &[TrialRecord]) -> f64 {
        let trials = MIN_TUNING_TRIALS + MIN_TRIALS;
        expected_s(closed, before) * f64::from(trials)
    }

    /// Begins a contender's search for knobs; `None` if there is no time for it.
    fn begin(
        &mut self,
        closed: &'a TrialSpec,
        wanted: &ShareRequest<'_>,
        elapsed_s: f64,
    ) -> Option<ContenderSearch<'a>> {
        let left_s = self.budget.part(SEARCH_PART).left_s(elapsed_s);
        let share_s = wanted.share_s.min(left_s);
        let has_begun = wanted.since.iter().any(|trial| is_tuning_of(closed, trial));
        if !has_begun && share_s < self.least_share_s(closed, wanted.before) {
            return None;
        }
        let budget_s = share_s * TUNING_PART;
        // By the planned share, so that a resumed search has the same plan.
        let trials = (wanted.share_s * TUNING_PART / expected_s(closed, wanted.before)) as u32;
        let settings = TuningSettings {
            trials: trials.max(MIN_TUNING_TRIALS),
            budget_s,
            ..self.settings.tuning_of(closed.role?.contender)?
        };
        let begun = SearchNews::TuningBegun {
            contender: closed.contender(),
            trials: settings.trials,
            budget_s,
        };
        let engine = engine_of(closed, self.engines)?;
        let first = alone(closed);
        let search = TuningSearch::new(settings, first, self.manifest, engine, elapsed_s);
        let search = search.ok()?;
        self.news.push(begun);
        let share = Budget::new(elapsed_s, share_s);
        Some(ContenderSearch {
            search,
            end: None,
            share,
            rest: SharedBudget::new(share),
        })
    }

    /// The next trials of a contender: of its search for knobs, then of its capacity with them.
    fn next_of_contender(
        &mut self,
        closed: &TrialSpec,
        contender: u32,
        ended: &[TrialRecord],
        elapsed_s: f64,
    ) -> Vec<TrialSpec> {
        let Some(tuning) = self.begun.get_mut(&contender) else {
            return Vec::new();
        };
        if tuning.end.is_none() {
            let next = tuning.search.next(ended, elapsed_s);
            let news = tuning.search.take_news().into_iter();
            self.news
                .extend(news.map(|one| SearchNews::OfContender(closed.contender(), Box::new(one))));
            match next {
                Proposal::Trials(trials) => return trials,
                Proposal::End(end) => tuning.end = Some(end),
            }
            let left_s = tuning.share.left_s(elapsed_s);
            tuning.rest = SharedBudget::new(Budget::new(elapsed_s, left_s));
        }
        let candidate = candidate(closed, self.settings, self.manifest, ended);
        let next = match &candidate.tuned {
            Some(tuned) => {
                let new = ended.get(self.known.unwrap_or_default()..);
                let last = new.and_then(<[TrialRecord]>::last);
                if last.is_some_and(|last| is_probe_of(&tuned.spec, last)) {
                    self.news.push(SearchNews::Probe {
                        capacity: Box::new(tuned.clone()),
                        is_tuned: true,
                    });
                }
                self.question.next_trial(tuned, ended)
            }
            None => {
                let better = candidate.tuning.as_ref().and_then(TuningFindings::better);
                better.map(|better| tuned_closed_loop(closed, better, ended))
            }
        };
        let Some(next) = next else { return Vec::new() };
        let needed_s = estimated_s(&next);
        if tuning.rest.has_time_for(0, 1, needed_s, elapsed_s) {
            vec![next]
        } else {
            Vec::new()
        }
    }

    /// The next trial of a capacity that is not confirmed, with the time that tuning left: that of
    /// the best contender first, and those of defaults that tuned knobs excel last.
    fn next_of_unconfirmed(&self, ended: &[TrialRecord], elapsed_s: f64) -> Option<TrialSpec> {
        let found = choice(self.manifest, ended)?;
        let budget = self.budget.part(SEARCH_PART);
        let mut specs = self.unconfirmed(&found, ended);
        specs.find(|spec| budget.has_time_for(self.defaults.expected_s(spec, ended), elapsed_s))
    }

    /// The next trial of each capacity that is not confirmed.
    fn unconfirmed<'f>(
        &'f self,
        found: &'f Choice,
        ended: &'f [TrialRecord],
    ) -> impl Iterator<Item = TrialSpec> + 'f {
        let question = self.question;
        let of_best = move |candidate: &Candidate| {
            let spec = question.next_trial(candidate.best(), ended);
            spec.or_else(|| next_of_tuned(candidate, question, ended))
        };
        let of_default =
            move |candidate: &Candidate| question.next_trial(&candidate.default, ended);
        let candidates = found.candidates.iter();
        let specs = candidates.clone().filter_map(of_best);
        specs.chain(candidates.filter_map(of_default))
    }

    /// The next pair of the run-off: the two best contenders at one rate.
    fn next_of_run_off(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<TrialSpec> {
        let Some(found) = choice(self.manifest, ended) else {
            return Vec::new();
        };
        self.report_run_off(&found);
        let specs = self.missing_pair(&found, ended);
        let needed_s = specs
            .iter()
            .map(|spec| self.defaults.expected_s(spec, ended));
        let needed_s: f64 = needed_s.sum();
        if self.budget.has_time_for(needed_s, elapsed_s) {
            specs
        } else {
            Vec::new()
        }
    }

    /// What the first incomplete pair of the run-off lacks; nothing if all are complete, or there
    /// are no two contenders to compare.
    fn missing_pair(&self, found: &Choice, ended: &[TrialRecord]) -> Vec<TrialSpec> {
        let (Some([first, second]), Some(rate_per_s)) =
            (found.highest_two(), found.run_off_rate_per_s)
        else {
            return Vec::new();
        };
        let missing_of = |pair: u32| {
            // The order alternates, so that neither always follows the other.
            let both = if pair % 2 == 1 {
                [first, second]
            } else {
                [second, first]
            };
            let missing = both.into_iter().filter(|candidate| {
                let spec = &candidate.best().spec;
                run_off_trial(spec, rate_per_s, pair, ended).is_none()
            });
            let specs = missing.zip(ended.len()..);
            specs
                .map(|(candidate, number)| self.run_off_spec(candidate, rate_per_s, pair, number))
                .collect()
        };
        if found.run_off.is_some_and(|it| it.is_complete()) {
            return Vec::new();
        }
        let mut pairs = (1..=MAX_RUN_OFF_PAIRS).map(missing_of);
        let mut specs: Vec<_> = pairs
            .find(|specs: &Vec<_>| !specs.is_empty())
            .unwrap_or_default();
        number_cells(&mut specs, ended);
        specs
    }

    /// Whether something is left to do: once no trial is proposed, for lack of time.
    fn is_open(&self, ended: &[TrialRecord]) -> bool {
        let lacks_tuning = || {
            let order = self.order(ended);
            let is_untuned =
                |closed: &&TrialSpec| !ended.iter().any(|trial| is_tuning_of(closed, trial));
            self.settings.tuning.is_some() && order.iter().any(is_untuned)
        };
        // After the first trial of the run-off, capacities are not searched any longer.
        let has_run_off = ended.iter().any(is_of_run_off);
        let lacks_trials = || {
            let found = choice(self.manifest, ended);
            found.is_some_and(|found| {
                let mut candidates = found.candidates.iter();
                candidates.any(|candidate| self.is_cut_short(candidate, ended))
                    || !has_run_off && self.unconfirmed(&found, ended).next().is_some()
                    || !self.missing_pair(&found, ended).is_empty()
            })
        };
        // Later, the defaults are not looked at again.
        let are_defaults_searched = !ended
            .iter()
            .any(|trial| is_of_tuning(trial) || is_of_run_off(trial));
        are_defaults_searched && self.defaults.is_open(ended) || lacks_tuning() || lacks_trials()
    }

    /// Whether the search for a contender's knobs, or for its capacity with them, did not come to
    /// its end. Of a search that ended in an earlier process, the trials tell it: one without a
    /// winner was not compared with the default.
    fn is_cut_short(&self, candidate: &Candidate, ended: &[TrialRecord]) -> bool {
        let begun = self.begun.get(&candidate.default.contender);
        let end = begun.and_then(|tuning| tuning.end);
        let is_tuning_short = match end {
            Some(end) => end == SearchEnd::TimeUp,
            None => (candidate.tuning.as_ref()).is_some_and(|found| found.winner.is_none()),
        };
        let tuned = candidate.tuned.as_ref();
        let next = tuned.and_then(|it| self.question.next_trial(it, ended));
        is_tuning_short || next.is_some()
    }

    fn run_off_spec(
        &self,
        candidate: &Candidate,
        rate_per_s: f64,
        pair: u32,
        number: usize,
    ) -> TrialSpec {
        let closed = &candidate.best().spec;
        let mut spec = judged_trial(closed, rate_per_s, &self.settings.capacity);
        spec.role = closed.role.map(|role| TrialRole {
            purpose: TrialPurpose::RunOff,
            ..role
        });
        // Data and operations that no search has seen.
        spec.seed = spec.seed.wrapping_add(2);
        spec.repeat = pair;
        spec.id = trial_id(&spec, TrialPurpose::RunOff.name(), number);
        spec
    }

    /// Says how the run-off stands.
    fn report_run_off(&mut self, found: &Choice) {
        let (Some(run_off), Some([first, second])) = (found.run_off, found.highest_two()) else {
            return;
        };
        self.news.push(SearchNews::RunOff {
            run_off,
            first: first.best().spec.contender(),
            second: second.best().spec.contender(),
        });
    }
}

impl TrialSearch for ChoiceSearch<'_> {
    fn next(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Proposal {
        let trials = self.next_trials(records, elapsed_s);
        proposal(trials, || self.is_open(records))
    }

    fn take_news(&mut self) -> Vec<SearchNews> {
        std::mem::take(&mut self.news)
    }
}

/// What the share of a contender follows from.
struct ShareRequest<'a> {
    /// The share that is planned, seconds.
    share_s: f64,
    /// The trials before any tuning.
    before: &'a [TrialRecord],
    /// The trials since.
    since: &'a [TrialRecord],
}

/// A contender's trial that shares time slices with nobody.
fn alone(closed: &TrialSpec) -> TrialSpec {
    let mut spec = closed.clone();
    spec.conditions.time_slice_s = None;
    spec
}

/// The trial in closed loop of a tuned contender.
fn tuned_closed_loop(
    closed: &TrialSpec,
    better: &TunedConfiguration,
    ended: &[TrialRecord],
) -> TrialSpec {
    let mut spec = alone(closed);
    spec.knobs.extend(better.changes.clone());
    spec.role = closed.role.map(|role| TrialRole {
        configuration: Some(better.number),
        ..role
    });
    spec.id = trial_id(&spec, "tuned", ended.len());
    number_cells(std::slice::from_mut(&mut spec), ended);
    spec
}

/// The next trial for the capacity of tuned knobs that may prove to be the better ones.
fn next_of_tuned(
    candidate: &Candidate,
    question: CapacityQuestion<'_>,
    ended: &[TrialRecord],
) -> Option<TrialSpec> {
    match &candidate.tuned {
        Some(_) if candidate.is_tuned_refuted() => None,
        Some(tuned) => question.next_trial(tuned, ended),
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
