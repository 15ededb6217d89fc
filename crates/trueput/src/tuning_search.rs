//! The search, brought to where its records are, and its next trials.

use crate::failure::Failure;
use std::time::{Duration, Instant};
use trueput_findings::tuning::score;
use trueput_record::search::{TrialPurpose, TrialRole, TuningLimits, TuningSettings};
use trueput_record::{Outcome as TrialOutcome, RunManifest, TrialRecord, TrialSpec};
use trueput_runner::Registry;
use trueput_tuner::fence::knob_space;
use trueput_tuner::holdout::{Holdout, Role};
use trueput_tuner::search::{
    ConfigurationId, Failure as TrialFailure, FailureKind, Outcome, Search, SearchPlan, Strategy,
};

/// The part of the time after which the search leaves the rest to the holdout.
const SEARCH_PART: f64 = 0.75;

/// Sizes are searched up to this part of the memory: the trial's limit, or else the machine's.
const MEMORY_PART: f64 = 0.5;

/// A search and its next trials.
pub struct TuningSearch<'a> {
    search: Search,
    settings: TuningSettings,
    first: TrialSpec,
    manifest: &'a RunManifest,
    began: Instant,
    /// The longest time between two proposals, per trial.
    longest: Duration,
    proposed: Option<(Instant, u32)>,
    news: Vec<String>,
    rounds_told: usize,
}

/// A configuration to run in a round.
struct WantedTrial {
    configuration: ConfigurationId,
    purpose: TrialPurpose,
    round: u32,
}

impl<'a> TuningSearch<'a> {
    /// The search of a run whose first trial has the default configuration.
    pub fn new(
        settings: TuningSettings,
        first: TrialSpec,
        manifest: &'a RunManifest,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let engine = registry.engine(&first.engine).map_err(Failure::usage)?;
        let memory_bytes = first.conditions.memory_bytes;
        let memory_bytes = memory_bytes.unwrap_or(manifest.host.memory_bytes);
        let most_bytes = memory_bytes as f64 * MEMORY_PART;
        let (fixed, window_s) = (&first.knobs, settings.limits.window_s);
        let space = knob_space(engine, first.durability, fixed, window_s, most_bytes)
            .map_err(Failure::usage)?;
        let plan = SearchPlan {
            seed: settings.seed,
            trials: settings.trials as usize,
            strategy: Strategy::Model,
            presets: Vec::new(),
        };
        Ok(Self {
            search: Search::new(space, plan).map_err(Failure::usage)?,
            settings,
            first,
            manifest,
            began: Instant::now(),
            longest: Duration::ZERO,
            proposed: None,
            news: Vec::new(),
            rounds_told: 0,
        })
    }

    /// The trials to run next, given all that have ended; none when the search is over.
    pub fn next(&mut self, ended: &[TrialRecord]) -> Vec<TrialSpec> {
        if let Some((since, count)) = self.proposed.take() {
            self.longest = self.longest.max(since.elapsed() / count.max(1));
        }
        let has_holdout = ended
            .iter()
            .any(|trial| self.is_own(trial) && !is_search(trial));
        let mut wanted = self.search_trials(ended, has_holdout);
        if wanted.is_empty() {
            wanted = self.holdout_trials(ended);
        }
        let specs: Vec<_> = wanted
            .iter()
            .zip(ended.len()..)
            .filter_map(|(wanted, number)| self.spec(wanted, number))
            .collect();
        self.proposed = Some((Instant::now(), u32::try_from(specs.len()).unwrap_or(1)));
        specs
    }

    /// Lines on what has changed since they were last taken.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Records the rounds that have ended, and returns the trials that the next one lacks; none if
    /// the search is over.
    fn search_trials(&mut self, ended: &[TrialRecord], has_holdout: bool) -> Vec<WantedTrial> {
        while let Some(round) = self.search.next_round() {
            let number = u32::try_from(round.number).unwrap_or(u32::MAX) + 1;
            let entries = round.entries.iter();
            let found: Vec<Option<Outcome>> = entries
                .clone()
                .map(|entry| self.outcome(ended, entry.configuration, number, true))
                .collect();
            if let Some(outcomes) = found.iter().cloned().collect::<Option<Vec<_>>>() {
                if self.search.record_round(outcomes).is_err() {
                    return Vec::new();
                }
                continue;
            }
            self.tell();
            if has_holdout || !self.has_time(SEARCH_PART, round.entries.len()) {
                return Vec::new();
            }
            let missing = entries.zip(found).filter(|(_, outcome)| outcome.is_none());
            return missing
                .map(|(entry, _)| WantedTrial {
                    configuration: entry.configuration,
                    purpose: TrialPurpose::Tuning,
                    round: number,
                })
                .collect();
        }
        self.tell();
        Vec::new()
    }

    /// The trials that the next pair of the holdout lacks; none if it is over.
    fn holdout_trials(&self, ended: &[TrialRecord]) -> Vec<WantedTrial> {
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
                    self.outcome(ended, it.configuration, number, false)
                        .is_none()
                })
                .map(|entry| WantedTrial {
                    configuration: entry.configuration,
                    purpose: match entry.role {
                        Role::Winner => TrialPurpose::Winner,
                        _ => TrialPurpose::Holdout,
                    },
                    round: number,
                })
                .collect();
            if !missing.is_empty() {
                return match self.has_time(1.0, count) {
                    true => missing,
                    false => Vec::new(),
                };
            }
        }
        Vec::new()
    }

    /// Whether so many trials end within a part of the time.
    fn has_time(&self, part: f64, trials: usize) -> bool {
        let budget = Duration::from_secs_f64(self.settings.budget_s * part);
        let needed = self.longest * u32::try_from(trials).unwrap_or(u32::MAX);
        self.began.elapsed() + needed <= budget
    }

    /// Whether a trial belongs to this contender's search or its holdout.
    fn is_own(&self, trial: &TrialRecord) -> bool {
        let contender = self.first.role.map(|role| role.contender);
        let role = trial.spec.role;
        role.is_some_and(|role| role.purpose.is_of_tuning() && Some(role.contender) == contender)
    }

    /// What the trial of a configuration in a round gave; `None` if it has not ended.
    fn outcome(
        &self,
        ended: &[TrialRecord],
        configuration: ConfigurationId,
        round: u32,
        in_search: bool,
    ) -> Option<Outcome> {
        let is_meant = |trial: &&TrialRecord| {
            let number = trial.spec.role.and_then(|role| role.configuration);
            self.is_own(trial)
                && number.map(|number| number as usize) == Some(configuration.0)
                && trial.spec.repeat == round
                && is_search(trial) == in_search
                && trial.outcome != TrialOutcome::Interrupted
        };
        let trial = ended.iter().find(is_meant)?;
        Some(match score(trial, &self.settings, self.manifest) {
            Ok(score) => Outcome::Score(score),
            Err(reason) => Outcome::Failure(TrialFailure {
                kind: failure_kind(&trial.outcome),
                reason,
                score: self.score_without_limits(trial),
            }),
        })
    }

    fn score_without_limits(&self, trial: &TrialRecord) -> Option<f64> {
        let settings = TuningSettings {
            limits: TuningLimits::default(),
            ..self.settings.clone()
        };
        score(trial, &settings, self.manifest).ok()
    }

    fn spec(&self, wanted: &WantedTrial, number: usize) -> Option<TrialSpec> {
        let configuration = self.search.configuration(wanted.configuration)?;
        let mut spec = self.first.clone();
        spec.knobs.extend(configuration.settings.clone());
        let id = u32::try_from(wanted.configuration.0).ok()?;
        let is_holdout = wanted.purpose != TrialPurpose::Tuning;
        // The holdout has data and operations that the search has not seen.
        spec.seed = spec.seed.wrapping_add(u64::from(is_holdout));
        spec.cell = id * 2 + u32::from(is_holdout);
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
        Some(spec)
    }

    /// Says how the search stands, once for each round.
    fn tell(&mut self) {
        let search = &self.search;
        let rounds = search.course().len();
        if rounds <= self.rounds_told {
            return;
        }
        self.rounds_told = rounds;
        let best = search.incumbent();
        let settings = search.configuration(best.configuration);
        let changes = settings.map(|it| it.settings.iter());
        let changes: Vec<_> = changes
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let line = match changes.is_empty() {
            true => format!("round {rounds}: nothing better than the default yet"),
            false => format!(
                "round {rounds}: best so far {:+.0} % in {} trials: {}",
                (best.factor - 1.0) * 100.0,
                best.repeats,
                changes.join(", ")
            ),
        };
        self.news.push(line);
    }
}

/// Whether a trial belongs to the search itself.
fn is_search(trial: &TrialRecord) -> bool {
    let role = trial.spec.role;
    role.is_some_and(|role| role.purpose == TrialPurpose::Tuning)
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
