//! The rounds of a search for knobs: a state machine that proposes trials and learns from their
//! outcomes.
//!
//! A round has the default configuration, the incumbent (the best so far) and some challengers,
//! each once. Scores are compared within their round, so what the machine does to all trials of a
//! round (drift, neighbors) cancels (duet benchmarking: Bulej et al., ICPE 2020). The same plan and
//! the same outcomes lead to the same rounds, so an interrupted search is resumed by recording its
//! outcomes again.
//!
//! - Start: the default, presets, points of Sobol's sequence.
//! - Then, if 40 or more trials are affordable: the greatest expected improvement by a random
//!   forest (SMAC: Hutter, Hoos and Leyton-Brown, LION 2011); every fourth proposal is random.
//! - Racing (irace: López-Ibáñez et al., 2016; on noisy machines also TUNA, `EuroSys` 2025): what
//!   looks good in one trial is repeated, and dropped when the interval of its score excludes that
//!   it is better than the incumbent. A single trial may discard and never crown. The last part of
//!   the trials only repeats.
//! - A quarter of the trials is left to the [`holdout`](crate::holdout).

mod archive;
mod estimates;
mod proposal;
mod racing;

pub use archive::{Configuration, ConfigurationId, Failure, FailureKind, Fate, Outcome, Purpose};
pub use estimates::Estimate;

use crate::error::RoundsError;
use crate::space::Space;
use archive::{Archive, Entry as ArchivedEntry};
use estimates::Estimates;
use serde::{Deserialize, Serialize};
use trueput_findings::statistics::Interval;
use trueput_record::random::SplitMix64;
use trueput_record::search::TuningStrategy;
use trueput_record::value::Settings;

/// The fewest trials of a search and its holdout together: with fewer, the holdout has fewer than
/// three pairs, which cannot show a difference.
pub const MIN_TRIALS: usize = 24;
/// From this number of trials on, a model proposes configurations.
const FOREST_FROM: usize = 40;
/// Challengers of a round: few enough for the results of a round to count soon, many enough for the
/// default and the incumbent not to take most of the trials.
const CHALLENGERS: usize = 6;
/// Challengers of a round that are repeats, while there is something new to try.
const RACERS: usize = 1;
/// The part of the search's trials after which challengers are only repeats.
const EXPLORATION_PART: f64 = 0.85;
/// Rounds in a row without a score of the default after which a search ends.
const MAX_UNSCORED_ROUNDS: usize = 3;

/// A named configuration from outside: an engine's tuning guide, a published table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    /// Its name in reports.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
}

/// What a search is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The trials that may be run, those of the holdout included.
    pub trials: usize,
    /// How configurations are proposed.
    pub strategy: TuningStrategy,
    /// Configurations to start with.
    pub presets: Vec<Preset>,
}

/// One trial of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The configuration to run.
    pub configuration: ConfigurationId,
    /// Why it is run now.
    pub purpose: Purpose,
}

/// Trials to run one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The number of the round, from 0.
    pub number: usize,
    /// The trials, in the order in which they are to run.
    pub entries: Vec<Entry>,
}

/// The best configuration so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Incumbent {
    /// Which it is.
    pub configuration: ConfigurationId,
    /// The estimated factor over the default's score; 1 for the default.
    pub factor: f64,
    /// The factor with its interval at 95 %; none for the default.
    pub interval: Option<Interval>,
    /// Trials with a score.
    pub repeats: usize,
}

/// One step of the search's course.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CourseStep {
    /// Trials so far.
    pub trials: usize,
    /// The best configuration then.
    pub incumbent: ConfigurationId,
    /// Its estimated factor over the default, as it was known then.
    pub factor: f64,
}

/// The rounds of a search. See the module's documentation.
#[derive(Debug)]
pub struct Rounds {
    space: Space,
    plan: SearchPlan,
    archive: Archive,
    estimates: Estimates,
    incumbent: ConfigurationId,
    pending: Option<Round>,
    course: Vec<CourseStep>,
}

impl Rounds {
    /// Starts a search. Presets that the fence refuses are left out.
    ///
    /// # Errors
    /// [`RoundsError`]: too few trials, or a configuration that the parameters do not allow.
    pub fn new(space: Space, plan: SearchPlan) -> Result<Self, RoundsError> {
        if plan.trials < MIN_TRIALS {
            return Err(RoundsError::FewTrials {
                trials: plan.trials,
                least: MIN_TRIALS,
            });
        }
        let default = Settings::new();
        space.check(&default).map_err(RoundsError::Default)?;
        let mut archive = Archive::default();
        archive.add(default, Purpose::Default, None);
        let mut search = Self {
            space,
            plan,
            archive,
            estimates: Estimates::default(),
            incumbent: ConfigurationId::DEFAULT,
            pending: None,
            course: Vec::new(),
        };
        search.admit_presets()?;
        Ok(search)
    }

    fn admit_presets(&mut self) -> Result<(), RoundsError> {
        if matches!(
            self.plan.strategy,
            TuningStrategy::Random | TuningStrategy::OneAtATime
        ) {
            return Ok(());
        }
        for preset in &self.plan.presets {
            let admitted = self.space.admit(&preset.settings);
            let settings = admitted.map_err(|refusal| RoundsError::Preset {
                name: preset.name.clone(),
                refusal,
            })?;
            if self.space.check(&settings).is_ok() && !self.archive.contains(&settings) {
                self.archive
                    .add(settings, Purpose::Preset, Some(preset.name.clone()));
            }
        }
        Ok(())
    }

    /// Returns the next trials; the same ones until their outcomes are recorded. `None` when the
    /// search is over: its trials are spent, or nothing is left to try.
    pub fn next_round(&mut self) -> Option<Round> {
        if self.pending.is_none() {
            self.pending = self.make_round();
        }
        self.pending.clone()
    }

    fn make_round(&mut self) -> Option<Round> {
        let mut entries = vec![Entry {
            configuration: ConfigurationId::DEFAULT,
            purpose: Purpose::Default,
        }];
        if self.incumbent != ConfigurationId::DEFAULT {
            entries.push(Entry {
                configuration: self.incumbent,
                purpose: Purpose::Incumbent,
            });
        }
        let left = self.search_trials() - self.archive.trials();
        let slots = CHALLENGERS.min(left.saturating_sub(entries.len()));
        let is_broken = self.archive.unscored_rounds() >= MAX_UNSCORED_ROUNDS;
        if slots == 0 || is_broken {
            return None;
        }
        let challengers = self.challengers(slots);
        if challengers.is_empty() {
            return None;
        }
        entries.extend(challengers);
        let number = self.archive.rounds().len();
        // No configuration always runs right after the same other one.
        SplitMix64::for_use(self.plan.seed, stream(number, 0)).shuffle(&mut entries);
        Some(Round { number, entries })
    }

    /// What waits for its first score, then repeats beside new proposals. The even sample at the
    /// start is not held up by repeats; where there is nothing new, repeats take its place.
    fn challengers(&mut self, slots: usize) -> Vec<Entry> {
        let mut chosen = self.waiting(slots);
        let free = slots - chosen.len();
        let explored = EXPLORATION_PART * self.search_trials() as f64;
        let repeats = if self.archive.trials() as f64 >= explored {
            free
        } else if self.is_sampling() {
            0
        } else {
            RACERS.min(free)
        };
        let mut racers = self.racers().into_iter().map(|configuration| Entry {
            configuration,
            purpose: Purpose::Racing,
        });
        chosen.extend(racers.by_ref().take(repeats));
        self.propose(slots - chosen.len(), &mut chosen);
        chosen.extend(racers.take(slots - chosen.len()));
        chosen
    }

    fn waiting(&self, slots: usize) -> Vec<Entry> {
        let all = self.archive.configurations().iter();
        let waiting = all
            .filter(|one| one.fate == Fate::Waiting && one.id != ConfigurationId::DEFAULT)
            .map(|one| Entry {
                configuration: one.id,
                purpose: one.purpose,
            });
        waiting.take(slots).collect()
    }

    /// Records what the trials of the pending round gave, in the order of its entries.
    ///
    /// # Errors
    /// [`RoundsError`]: there is no pending round, the number of outcomes is another, or a score is
    /// not a finite number above 0. Nothing is recorded then.
    pub fn record_round(&mut self, outcomes: Vec<Outcome>) -> Result<(), RoundsError> {
        let round = self.pending.as_ref().ok_or(RoundsError::NoRound)?;
        if outcomes.len() != round.entries.len() {
            return Err(RoundsError::OutcomeCount {
                round: round.number,
                trials: round.entries.len(),
                outcomes: outcomes.len(),
            });
        }
        let is_valid = |score: f64| score.is_finite() && score > 0.0;
        let mut scores = outcomes.iter().filter_map(Outcome::measured);
        if let Some(score) = scores.find(|score| !is_valid(*score)) {
            return Err(RoundsError::Score(score));
        }
        let entries = round.entries.iter().zip(outcomes);
        let entries = entries.map(|(entry, outcome)| ArchivedEntry {
            configuration: entry.configuration,
            outcome,
        });
        self.archive.record(entries.collect());
        self.pending = None;
        self.estimates = Estimates::fit(&self.archive);
        self.judge();
        self.course.push(CourseStep {
            trials: self.archive.trials(),
            incumbent: self.incumbent,
            factor: self.incumbent().factor,
        });
        Ok(())
    }

    /// Changes the trials that may be run, those of the holdout included, to at least
    /// [`MIN_TRIALS`]. The rounds so far stay as they are; so a search is resumed by changing
    /// them after the same round.
    pub fn set_trials(&mut self, trials: usize) {
        self.plan.trials = trials.max(MIN_TRIALS);
    }

    /// Returns the trials that the search may use: three quarters of all.
    #[must_use]
    pub fn search_trials(&self) -> usize {
        self.plan.trials - self.plan.trials.div_ceil(4)
    }

    /// Returns the trials that are left to the holdout: a quarter, and what the search did not use.
    #[must_use]
    pub fn holdout_trials(&self) -> usize {
        self.plan.trials.saturating_sub(self.archive.trials())
    }

    /// Returns the search space.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns every configuration, the default first, in the order of their first trials.
    #[must_use]
    pub fn configurations(&self) -> &[Configuration] {
        self.archive.configurations()
    }

    /// Returns one configuration; `None` if there is none of that number.
    #[must_use]
    pub fn configuration(&self, id: ConfigurationId) -> Option<&Configuration> {
        self.archive.configurations().get(id.0)
    }

    /// Returns the estimated gain of a configuration; `None` without a round in which it and the
    /// default have a score.
    #[must_use]
    pub fn estimate(&self, id: ConfigurationId) -> Option<Estimate> {
        self.estimates.estimate(id)
    }

    /// Returns the best so far after each round.
    #[must_use]
    pub fn course(&self) -> &[CourseStep] {
        &self.course
    }

    /// Returns the best configuration so far; the default until another one is.
    #[must_use]
    pub fn incumbent(&self) -> Incumbent {
        let estimate = self.estimate(self.incumbent);
        let is_default = self.incumbent == ConfigurationId::DEFAULT;
        Incumbent {
            configuration: self.incumbent,
            factor: estimate.map_or(1.0, |it| it.factor.estimate),
            interval: estimate.map(|it| it.factor).filter(|_| !is_default),
            repeats: self.estimates.repeats(self.incumbent),
        }
    }

    /// Returns the configuration for the holdout: the incumbent or, if that is the default, the
    /// best of the others, which few trials may have hidden; `None` if no other is left.
    #[must_use]
    pub fn winner(&self) -> Option<ConfigurationId> {
        if self.incumbent != ConfigurationId::DEFAULT {
            return Some(self.incumbent);
        }
        let repeated = self.best_of(|one| self.estimates.repeats(one.id) > 1);
        repeated.or_else(|| self.best_of(|_| true))
    }

    /// Returns the best of the configurations that were drawn without a model (random ones and
    /// Sobol's), for the holdout.
    #[must_use]
    pub fn best_random(&self) -> Option<ConfigurationId> {
        self.best_of(|one| matches!(one.purpose, Purpose::Random | Purpose::LowDiscrepancy))
    }

    /// Returns the best of the presets, for the holdout.
    #[must_use]
    pub fn best_preset(&self) -> Option<ConfigurationId> {
        self.best_of(|one| one.purpose == Purpose::Preset)
    }

    /// The greatest gain among those that did not fail.
    fn best_of(&self, is_meant: impl Fn(&Configuration) -> bool) -> Option<ConfigurationId> {
        let others = self.archive.configurations().iter().skip(1);
        let sound = others.filter(|one| one.fate != Fate::Failed && is_meant(one));
        let gains = sound.filter_map(|one| Some((self.estimates.gain(one.id)?, one.id)));
        gains
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, id)| id)
    }
}

/// Returns the number of a random stream: one for each round and use.
fn stream(round: usize, part: u64) -> u64 {
    (round as u64 + 1) * 16 + part
}

#[cfg(test)]
mod tests;
