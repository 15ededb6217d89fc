//! The search for one contender's knobs: which trials come next, in rounds, in the holdout and in
//! the ablation.

mod knobs;

pub use knobs::{SearchSpace, searched_knobs};

use crate::ablation::ablation;
use crate::budget::{Budget, BudgetShortage, TrialTimes};
use crate::error::SearchError;
use crate::holdout::{Holdout, Role};
use crate::rounds::{
    ConfigurationId, Failure as TrialFailure, FailureKind, MIN_TRIALS, Outcome, Preset, Rounds,
    SearchPlan,
};
use crate::trial_search::{SearchNews, TrialSearch, number_cells, proposal};
use trueput_engine::Engine;
use trueput_findings::tuning::{planned_trials, score, tuning_of};
use trueput_record::folder::MAX_TRIALS;
use trueput_record::search::{
    SearchSettings, TrialPurpose, TrialRole, TuningLimits, TuningPreset, TuningSettings,
};
use trueput_record::trial::Proposal;
use trueput_record::trial_time::estimated_s;
use trueput_record::value::Settings;
use trueput_record::{Outcome as TrialOutcome, RunManifest, TrialRecord, TrialSpec};

/// The part of the time after which the search leaves the rest to the holdout.
const SEARCH_PART: f64 = 0.7;

/// The part after which the holdout leaves the rest to the ablation, if there is to be one.
const HOLDOUT_PART: f64 = 0.9;

/// The fewest rounds of an ablation: fewer show no difference.
const ABLATION_ROUNDS: usize = 3;

/// A search for the knobs of one contender.
#[derive(Debug)]
pub(crate) struct TuningSearch<'a> {
    search: Rounds,
    settings: TuningSettings,
    first: TrialSpec,
    manifest: &'a RunManifest,
    budget: Budget,
    times: TrialTimes,
    news: Vec<SearchNews>,
    reported_rounds: usize,
    /// Whether there was no time for trials that were planned.
    was_short_of_time: bool,
}

/// A configuration to run in a round.
struct WantedTrial {
    configuration: u32,
    /// What differs from the default.
    changes: Settings,
    purpose: TrialPurpose,
    round: u32,
}

/// The part of a search that a trial belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPart {
    Rounds,
    Holdout,
    Ablation,
}

impl<'a> TuningSearch<'a> {
    /// The search for the knobs of an engine, whose first trial has the default configuration. Its
    /// time begins at a moment of the whole search.
    ///
    /// # Errors
    /// [`SearchError`]: the engine has no knobs that can be searched, or a preset does not fit
    /// them.
    pub fn new(
        settings: TuningSettings,
        first: TrialSpec,
        manifest: &'a RunManifest,
        engine: &'static dyn Engine,
        begin_s: f64,
    ) -> Result<Self, SearchError> {
        let space = SearchSpace {
            engine,
            first: &first,
            window_s: settings.limits.window_s,
            memory_bytes: manifest.host.memory_bytes,
            searched: &settings.searched,
        };
        let space = space.space()?;
        let plan = SearchPlan {
            seed: settings.seed,
            trials: (settings.trials - settings.ablation_trials()) as usize,
            strategy: settings.strategy,
            presets: presets(&settings),
        };
        Ok(Self {
            search: Rounds::new(space, plan)?,
            budget: Budget::new(begin_s, settings.budget_s),
            settings,
            first,
            manifest,
            times: TrialTimes::default(),
            news: Vec::new(),
            reported_rounds: 0,
            was_short_of_time: false,
        })
    }

    /// The trials to run next; none when the search is over.
    fn next_trials(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<TrialSpec> {
        self.times.end(elapsed_s);
        let has = |part| {
            let mut own = ended.iter().filter(|trial| self.is_own(trial));
            own.any(|trial| part_of(trial) == part)
        };
        let has_ablation = has(SearchPart::Ablation);
        let has_holdout = has_ablation || has(SearchPart::Holdout);
        let mut wanted = self.search_trials(ended, has_holdout, elapsed_s);
        if wanted.is_empty() && !has_ablation {
            wanted = self.holdout_trials(ended, elapsed_s);
        }
        if wanted.is_empty() && !has_ablation {
            wanted.extend(self.acceptance_trial(ended));
        }
        if wanted.is_empty() {
            wanted = self.ablation_trials(ended, elapsed_s);
        }
        let numbered = wanted.iter().zip(ended.len()..);
        let mut specs: Vec<_> = numbered
            .map(|(wanted, number)| self.spec(wanted, number))
            .collect();
        number_cells(&mut specs, ended);
        // The conformance suite would make the next trials seem too long.
        let is_acceptance = |it: &WantedTrial| it.purpose == TrialPurpose::Acceptance;
        if !wanted.iter().any(is_acceptance) {
            let count = u32::try_from(specs.len()).unwrap_or(1);
            self.times.begin(count, elapsed_s);
        }
        specs
    }

    /// Records the rounds that have ended, and returns the trials that the next one lacks; none if
    /// the search is over.
    fn search_trials(
        &mut self,
        ended: &[TrialRecord],
        has_holdout: bool,
        elapsed_s: f64,
    ) -> Vec<WantedTrial> {
        while let Some(round) = self.search.next_round() {
            let number = u32::try_from(round.number).unwrap_or(u32::MAX) + 1;
            let entries = round.entries.iter();
            let found: Vec<Option<Outcome>> = entries
                .clone()
                .map(|entry| self.outcome(ended, entry.configuration, number, SearchPart::Rounds))
                .collect();
            if let Some(outcomes) = found.iter().cloned().collect::<Option<Vec<_>>>() {
                if self.search.record_round(outcomes).is_err() {
                    return Vec::new();
                }
                if number == 1 {
                    self.plan_trials(ended);
                }
                continue;
            }
            self.report_round();
            if has_holdout {
                // The time for the search was up before it was resumed.
                self.was_short_of_time = true;
                return Vec::new();
            }
            let missing = entries.zip(found).filter(|(_, outcome)| outcome.is_none());
            let missing: Vec<_> = missing
                .filter_map(|(entry, _)| {
                    wanted(
                        &self.search,
                        entry.configuration,
                        TrialPurpose::Tuning,
                        number,
                    )
                })
                .collect();
            return self.if_time(SEARCH_PART, round.entries.len(), missing, elapsed_s);
        }
        self.report_round();
        Vec::new()
    }

    /// Plans as many trials as there is time for, as the first round shows. In a choice the time of
    /// a trial is known before.
    fn plan_trials(&mut self, ended: &[TrialRecord]) {
        if !matches!(self.manifest.search, Some(SearchSettings::Tuning(_))) {
            return;
        }
        let before = self.settings.trials as usize;
        let trials = planned_trials(&self.settings, ended).max(MIN_TRIALS);
        if trials == before {
            return;
        }
        self.settings.trials = u32::try_from(trials).unwrap_or(u32::MAX);
        let ablation = self.settings.ablation_trials() as usize;
        self.search.set_trials(trials - ablation);
        self.news.push(SearchNews::Replanned {
            before,
            planned: trials,
        });
    }

    /// The trials that the next pair of the holdout lacks; none if it is over.
    fn holdout_trials(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<WantedTrial> {
        let Some(holdout) = Holdout::new(&self.search) else {
            return Vec::new();
        };
        for pair in 0..holdout.pairs {
            let number = u32::try_from(pair).unwrap_or(u32::MAX) + 1;
            let entries = holdout.round(pair);
            let count = entries.len();
            let missing: Vec<_> = entries
                .into_iter()
                .filter(|it| {
                    self.outcome(ended, it.configuration, number, SearchPart::Holdout)
                        .is_none()
                })
                .filter_map(|entry| {
                    let purpose = match entry.role {
                        Role::Winner => TrialPurpose::Winner,
                        _ => TrialPurpose::Holdout,
                    };
                    wanted(&self.search, entry.configuration, purpose, number)
                })
                .collect();
            if !missing.is_empty() {
                let part = match self.settings.ablation_trials() {
                    0 => 1.0,
                    _ => HOLDOUT_PART,
                };
                return self.if_time(part, count, missing, elapsed_s);
            }
        }
        Vec::new()
    }

    /// The trial before which a winner that the holdout claims has to pass the conformance suite;
    /// `None` if it has ended, or no winner is claimed.
    fn acceptance_trial(&self, ended: &[TrialRecord]) -> Option<WantedTrial> {
        let is_acceptance = |trial: &&TrialRecord| {
            let purpose = trial.spec.role.map(|role| role.purpose);
            let is_over = trial.outcome != TrialOutcome::Interrupted;
            purpose == Some(TrialPurpose::Acceptance) && is_over
        };
        let mut own = ended.iter().filter(|trial| self.is_own(trial));
        if own.any(|trial| is_acceptance(&trial)) {
            return None;
        }
        let contender = self.first.role.map_or(0, |role| role.contender);
        let found = tuning_of(contender, &self.settings, self.manifest, ended)?;
        let winner = ConfigurationId(found.better()?.number as usize);
        let pairs = Holdout::new(&self.search)?.pairs;
        let round = u32::try_from(pairs).unwrap_or(u32::MAX) + 1;
        wanted(&self.search, winner, TrialPurpose::Acceptance, round)
    }

    /// The trials that the next round of the ablation lacks: the winner, and the winner with one
    /// knob at its default; none if it is over, or if no winner was claimed.
    fn ablation_trials(&mut self, ended: &[TrialRecord], elapsed_s: f64) -> Vec<WantedTrial> {
        let Some((holdout, entries)) = self.ablation_entries(ended) else {
            return Vec::new();
        };
        for round in 0..self.ablation_budget(ended) / entries.len() {
            // Rounds go on counting after the acceptance, so that each repeat has its number.
            let number = u32::try_from(holdout.pairs + round).unwrap_or(u32::MAX) + 2;
            let mut in_order: Vec<_> = entries.iter().collect();
            in_order.rotate_left(round % entries.len());
            let missing: Vec<_> = in_order
                .into_iter()
                .filter(|(id, _)| {
                    let id = ConfigurationId(*id as usize);
                    self.outcome(ended, id, number, SearchPart::Ablation)
                        .is_none()
                })
                .map(|(configuration, changes)| WantedTrial {
                    configuration: *configuration,
                    changes: changes.clone(),
                    purpose: TrialPurpose::Ablation,
                    round: number,
                })
                .collect();
            if !missing.is_empty() {
                return self.if_time(1.0, entries.len(), missing, elapsed_s);
            }
        }
        Vec::new()
    }

    /// The configurations of an ablation, the winner first; the others are numbered after those of
    /// the search. `None` if no winner with two or more changes was claimed, or trials are too few.
    fn ablation_entries(&self, ended: &[TrialRecord]) -> Option<(Holdout, Vec<(u32, Settings)>)> {
        let contender = self.first.role.map_or(0, |role| role.contender);
        let found = tuning_of(contender, &self.settings, self.manifest, ended)?;
        let winner = found.better()?.number;
        let id = ConfigurationId(winner as usize);
        let changes = self.search.configuration(id)?.settings.clone();
        let most = self.ablation_budget(ended) / ABLATION_ROUNDS;
        if self.settings.ablation_trials() == 0 || changes.len() < 2 || most < 2 {
            return None;
        }
        let steps = ablation(&self.search, id).into_iter().take(most - 1);
        let first = u32::try_from(self.search.configurations().len()).ok()?;
        let steps = (first..).zip(steps.map(|step| step.settings));
        let entries = std::iter::once((winner, changes)).chain(steps).collect();
        Some((Holdout::new(&self.search)?, entries))
    }

    /// The trials of the ablation: those that are kept for it, and those that are left.
    fn ablation_budget(&self, ended: &[TrialRecord]) -> usize {
        let before = ended
            .iter()
            .filter(|trial| self.is_own(trial) && part_of(trial) != SearchPart::Ablation);
        (self.settings.trials as usize).saturating_sub(before.count())
    }

    /// What is missing of so many trials, if all of them end within a part of the time. They are
    /// expected to take the mean of those before: a configuration that hangs once is not tried
    /// again.
    fn if_time(
        &mut self,
        part: f64,
        trials: usize,
        missing: Vec<WantedTrial>,
        elapsed_s: f64,
    ) -> Vec<WantedTrial> {
        let mean_s = self.times.mean_s();
        let trial_s = mean_s.unwrap_or_else(|| estimated_s(&self.first));
        let budget = self.budget.part(part);
        if budget.has_time_for(trial_s * trials as f64, elapsed_s) {
            missing
        } else {
            self.was_short_of_time = true;
            Vec::new()
        }
    }

    /// Whether a trial belongs to this contender's search, its holdout or its ablation.
    fn is_own(&self, trial: &TrialRecord) -> bool {
        let contender = self.first.role.map(|role| role.contender);
        let role = trial.spec.role;
        role.is_some_and(|role| role.purpose.is_of_tuning() && Some(role.contender) == contender)
    }

    /// Whether a trial has the knobs that this search gives a configuration; those that an ablation
    /// adds are not among the search's.
    fn has_knobs_of(&self, trial: &TrialRecord, configuration: ConfigurationId) -> bool {
        let known = self.search.configuration(configuration);
        known.is_none_or(|known| {
            let mut knobs = self.first.knobs.clone();
            knobs.extend(known.settings.clone());
            trial.spec.knobs == knobs
        })
    }

    /// What the trial of a configuration in a round gave; `None` if it has not ended.
    fn outcome(
        &self,
        ended: &[TrialRecord],
        configuration: ConfigurationId,
        round: u32,
        part: SearchPart,
    ) -> Option<Outcome> {
        let find = |configuration: ConfigurationId| {
            ended.iter().find(|trial| {
                let number = trial.spec.role.and_then(|role| role.configuration);
                self.has_knobs_of(trial, configuration)
                    && self.is_own(trial)
                    && number.map(|number| number as usize) == Some(configuration.0)
                    && trial.spec.repeat == round
                    && part_of(trial) == part
                    && trial.outcome != TrialOutcome::Interrupted
            })
        };
        let trial = find(configuration)?;
        let default = find(ConfigurationId::DEFAULT);
        Some(match score(trial, default, &self.settings, self.manifest) {
            Ok(score) => Outcome::Score(score),
            Err(error) => Outcome::Failure(TrialFailure {
                kind: failure_kind(&trial.outcome),
                reason: error.to_string(),
                score: self.score_without_limits(trial),
            }),
        })
    }

    fn score_without_limits(&self, trial: &TrialRecord) -> Option<f64> {
        let settings = TuningSettings {
            limits: TuningLimits::default(),
            ..self.settings.clone()
        };
        score(trial, None, &settings, self.manifest).ok()
    }

    fn spec(&self, wanted: &WantedTrial, number: usize) -> TrialSpec {
        let mut spec = self.first.clone();
        spec.knobs.extend(wanted.changes.clone());
        let id = wanted.configuration;
        let is_holdout = wanted.purpose != TrialPurpose::Tuning;
        // The holdout has data and operations that the search has not seen.
        spec.seed = spec.seed.wrapping_add(u64::from(is_holdout));
        spec.repeat = wanted.round;
        spec.id = format!(
            "{:04}-{}-{}-w{}-{}-c{id}-r{}",
            number + 1,
            spec.engine,
            spec.durability,
            spec.workers,
            wanted.purpose.name(),
            wanted.round
        );
        spec.role = Some(TrialRole {
            contender: self.first.role.map_or(0, |role| role.contender),
            purpose: wanted.purpose,
            configuration: Some(id),
        });
        spec
    }

    /// Says how the search stands, once for each round.
    fn report_round(&mut self) {
        let search = &self.search;
        let rounds = search.course().len();
        if rounds <= self.reported_rounds {
            return;
        }
        self.reported_rounds = rounds;
        let best = search.incumbent();
        let settings = search.configuration(best.configuration);
        let promised = search.winner().and_then(|it| search.estimate(it));
        let gain = promised.map(|it| it.factor.estimate - 1.0);
        self.news.push(SearchNews::Round {
            rounds,
            changes: settings.map_or_else(Settings::new, |it| it.settings.clone()),
            promised_gain: gain.filter(|gain| *gain > 0.0),
            best,
        });
    }
}

impl TrialSearch for TuningSearch<'_> {
    fn next(&mut self, records: &[TrialRecord], elapsed_s: f64) -> Proposal {
        let trials = self.next_trials(records, elapsed_s);
        proposal(trials, || self.was_short_of_time)
    }

    fn take_news(&mut self) -> Vec<SearchNews> {
        std::mem::take(&mut self.news)
    }
}

/// The trials of a search for knobs that a time suffices for, seconds.
///
/// # Errors
/// The time is too short for [`MIN_TRIALS`].
pub fn affordable_trials(budget_s: f64, first: &TrialSpec) -> Result<u32, BudgetShortage> {
    let trial_s = estimated_s(first);
    let trials = (budget_s / trial_s) as u32;
    if trials as usize >= MIN_TRIALS {
        Ok(trials.min(u32::try_from(MAX_TRIALS).unwrap_or(u32::MAX)))
    } else {
        Err(BudgetShortage {
            given_s: budget_s,
            least_s: (trial_s * MIN_TRIALS as f64).ceil(),
        })
    }
}

fn part_of(trial: &TrialRecord) -> SearchPart {
    match trial.spec.role.map(|role| role.purpose) {
        Some(TrialPurpose::Tuning) => SearchPart::Rounds,
        Some(TrialPurpose::Ablation) => SearchPart::Ablation,
        _ => SearchPart::Holdout,
    }
}

/// A trial of a configuration of the search.
fn wanted(
    search: &Rounds,
    configuration: ConfigurationId,
    purpose: TrialPurpose,
    round: u32,
) -> Option<WantedTrial> {
    Some(WantedTrial {
        configuration: u32::try_from(configuration.0).ok()?,
        changes: search.configuration(configuration)?.settings.clone(),
        purpose,
        round,
    })
}

fn failure_kind(outcome: &TrialOutcome) -> FailureKind {
    match outcome {
        TrialOutcome::Invalid { .. } => FailureKind::Invalid,
        TrialOutcome::Failed {
            bad_input: true, ..
        } => FailureKind::Refused,
        TrialOutcome::Failed { .. } => FailureKind::Crash,
        TrialOutcome::Valid | TrialOutcome::Interrupted => FailureKind::Constraint,
    }
}

/// The published advice to begin with.
fn presets(settings: &TuningSettings) -> Vec<Preset> {
    let presets = settings.presets.iter();
    let usable = presets.filter(|preset| !preset.settings.is_empty());
    let preset = |preset: &TuningPreset| Preset {
        name: preset.name.clone(),
        settings: preset.settings.clone(),
    };
    usable.map(preset).collect()
}

#[cfg(test)]
mod tests;
