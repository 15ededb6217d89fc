//! Searches for knobs: the configurations that were tried, and whether the best one is better than
//! the default on data that the search has not seen.

mod importance;
mod planned_trials;

pub use crate::limits::BrokenLimit;
pub use importance::{FAILURE_FACTOR, KnobImportance, KnobShare};
pub use planned_trials::planned_trials;

use crate::eligibility::{headline, rate};
use crate::fixed_rate::{all_kept, worst_times};
use crate::limits::{check_limits, check_space_factor, frequent_kinds, peak_memory_bytes};
use crate::marks::{REFUTED, is_refuted};
use crate::statistics::{
    Comparison, Interval, Verdict, compare, compare_among, log_ratio_paired, median,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering::Equal;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::folder::RunManifest;
use trueput_record::measurement::Measurement;
use trueput_record::search::{
    SearchSettings, TrialPurpose, TrialRole, TuningLimits, TuningScore, TuningSettings,
};
use trueput_record::value::Settings;
use trueput_record::{Outcome, TrialRecord, Value};

/// Nanoseconds in a second.
const NS_PER_S: f64 = 1e9;

/// The configurations of a search, and its holdout.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TuningFindings {
    /// Every configuration, the default first.
    pub configurations: Vec<TunedConfiguration>,
    /// The configuration that the search found best; `None` before the holdout.
    pub winner: Option<u32>,
    /// The winner over the default in the holdout; `None` before it has ended a pair.
    pub holdout: Option<Comparison>,
    /// The winner's failures in the holdout and its acceptance, one sentence each.
    pub holdout_failures: Vec<String>,
    /// The part of the search's gain that the holdout did not confirm: 0 if it confirmed all, 1 if
    /// nothing was left; by logarithms. `None` without pairs, and if the search saw no gain.
    pub shrinkage: Option<f64>,
    /// Trials of the search, those of the holdout not included.
    pub search_trials: usize,
    /// Trials of the holdout.
    pub holdout_trials: usize,
    /// The trials that the search and the holdout may take; in [`tuning_of`] those that were
    /// planned before the first round.
    pub planned_trials: usize,
    /// Each trial of the search, in the order in which they ran.
    pub course: Vec<CourseTrial>,
    /// The winner over itself with one knob at its default; none if no winner was claimed.
    pub ablation: Vec<KnobGain>,
    /// How much each knob matters; `None` with too few scores, and in [`tuning_of`].
    pub importance: Option<KnobImportance>,
}

/// A trial of the search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CourseTrial {
    /// The configuration.
    pub number: u32,
    /// Its score over the default's in the same round; `None` if it failed, or the default did.
    pub factor: Option<f64>,
    /// The best factor of a configuration so far, by the geometric mean of at least two trials; 1
    /// for the default.
    pub best: f64,
}

/// The gain of one knob of a winner, given the others.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KnobGain {
    /// The knob.
    pub knob: String,
    /// The winner's value.
    pub value: Value,
    /// The default, which the other side of the pairs has.
    pub default: Option<Value>,
    /// The winner over the other side; the comparisons share one error budget.
    pub comparison: Comparison,
    /// The geometric mean of the ratios; `None` without a pair.
    pub factor: Option<f64>,
    /// The reasons why trials with the default have no score, one sentence each.
    pub failures: Vec<String>,
}

impl TuningFindings {
    /// The eligible configurations that no other one excels in score, memory, space and
    /// recovery at once, the highest score first.
    #[must_use]
    pub fn front(&self) -> Vec<&TunedConfiguration> {
        let scored = || self.configurations.iter().filter(|it| it.is_eligible());
        let mut front: Vec<_> = scored()
            .filter(|it| !scored().any(|other| other.dominates(it)))
            .collect();
        front.sort_by(|one, other| other.factor.partial_cmp(&one.factor).unwrap_or(Equal));
        front
    }

    /// The winner, if it is better than the default on data that the search has not seen.
    #[must_use]
    pub fn better(&self) -> Option<&TunedConfiguration> {
        let is_better = is_claimed(self.holdout.as_ref(), &self.holdout_failures);
        let number = self.winner.filter(|_| is_better)?;
        self.configurations.iter().find(|it| it.number == number)
    }
}

/// Compares a winner with the default by their scores in the holdout, which are paired by round;
/// `None` without a pair.
#[must_use]
pub fn compare_holdout(default: &[f64], winner: &[f64]) -> Option<Comparison> {
    (!default.is_empty()).then(|| compare(default, winner, true))
}

/// Whether a holdout claims that the winner is better than the default: its scores are, and none of
/// its trials failed.
#[must_use]
pub fn is_claimed(holdout: Option<&Comparison>, failures: &[String]) -> bool {
    let is_faster = holdout.is_some_and(|it| it.verdict == Verdict::Faster);
    is_faster && failures.is_empty()
}

/// One configuration of knobs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TunedConfiguration {
    /// Its number; 0 is the default.
    pub number: u32,
    /// The knobs that differ from the default's, with their values.
    pub changes: BTreeMap<String, Value>,
    /// The preset that it is, if it is one.
    pub preset: Option<String>,
    /// Trials in the search.
    pub trials: usize,
    /// Its score over the default's in the same rounds; `None` without a score.
    pub factor: Option<f64>,
    /// The interval of the factor, at 95 %; `None` with fewer than three rounds.
    pub interval: Option<Interval>,
    /// Its score over the default's in the holdout; `None` if it was not in it.
    pub holdout_factor: Option<f64>,
    /// Median over the holdout of the 99th percentile of the slowest kind of operation, from its
    /// start to its end, or at a rate from when it was due, seconds; `None` if no trial of the
    /// holdout passed.
    pub holdout_p99_s: Option<f64>,
    /// The reasons why trials have no score, one sentence each.
    pub failures: Vec<String>,
    /// Median of the peak memory of its trials in the search, bytes.
    pub memory_bytes: Option<f64>,
    /// Median of the size of its database on disk, bytes.
    pub space_bytes: Option<f64>,
    /// Median of the time from killing every process to an open database, seconds; `None` if the
    /// trials did not measure it.
    pub recovery_s: Option<f64>,
}

impl TunedConfiguration {
    /// Whether it has a score, and none of its trials failed or broke a limit. That of the default
    /// may: the others are compared with it.
    #[must_use]
    pub fn is_eligible(&self) -> bool {
        self.factor.is_some() && (self.number == 0 || self.failures.is_empty())
    }

    /// Whether it is at least as good as another one in everything, and better in something.
    fn dominates(&self, other: &Self) -> bool {
        let figures = |it: &Self| {
            let costs = [it.memory_bytes, it.space_bytes, it.recovery_s];
            let [memory, space, recovery] = costs.map(|cost| -cost.unwrap_or_default());
            [it.factor.unwrap_or_default(), memory, space, recovery]
        };
        let (own, others) = (figures(self), figures(other));
        let mut both = own.iter().zip(&others);
        both.clone().all(|(own, other)| own >= other) && both.any(|(own, other)| own > other)
    }
}

/// Computes the findings of a search for knobs; `None` if the run is none.
#[must_use]
pub fn tuning(manifest: &RunManifest, trials: &[TrialRecord]) -> Option<TuningFindings> {
    let Some(SearchSettings::Tuning(settings)) = &manifest.search else {
        return None;
    };
    let mut found = tuning_of(0, settings, manifest, trials)?;
    found.importance = importance_of(0, settings, manifest, trials);
    let planned = TuningSettings {
        trials: u32::try_from(planned_trials(settings, trials)).unwrap_or(u32::MAX),
        ..settings.clone()
    };
    found.planned_trials = (planned.trials - planned.ablation_trials()) as usize;
    Some(found)
}

/// Computes how much each knob matters in the search for one contender's knobs; `None` with too few
/// scores. It takes longer than [`tuning_of`], which a search calls after each round.
pub(crate) fn importance_of(
    contender: u32,
    settings: &TuningSettings,
    manifest: &RunManifest,
    trials: &[TrialRecord],
) -> Option<KnobImportance> {
    let is_search = |trial: &&TrialRecord| purpose(trial) == Some(TrialPurpose::Tuning);
    let search: Vec<_> = ended_trials(contender, trials).filter(is_search).collect();
    importance::importance(&search, &Scores::of(&search, settings, manifest))
}

/// Computes the findings of the search for one contender's knobs; `None` if it has not begun.
#[must_use]
pub fn tuning_of(
    contender: u32,
    settings: &TuningSettings,
    manifest: &RunManifest,
    trials: &[TrialRecord],
) -> Option<TuningFindings> {
    let ended = ended_trials(contender, trials);
    let is_ablation = |trial: &&TrialRecord| purpose(trial) == Some(TrialPurpose::Ablation);
    let (ablation, ended): (Vec<_>, Vec<_>) = ended.partition(is_ablation);
    let is_acceptance = |trial: &&TrialRecord| purpose(trial) == Some(TrialPurpose::Acceptance);
    let (acceptance, ended): (Vec<_>, Vec<_>) = ended.into_iter().partition(is_acceptance);
    let is_search = |trial: &&&TrialRecord| purpose(trial) == Some(TrialPurpose::Tuning);
    let (search, holdout): (Vec<_>, Vec<_>) = ended.iter().partition(|it| is_search(it));
    let default = ended.iter().find(|trial| configuration(trial) == Some(0))?;
    let numbers: BTreeSet<u32> = ended.iter().filter_map(|it| configuration(it)).collect();
    let scored = |trials: &[&TrialRecord]| Scores::of(trials, settings, manifest);
    let (in_search, in_holdout) = (scored(&search), scored(&holdout));
    let configurations = numbers.iter().filter_map(|&number| {
        let mut of_number = ended.iter().filter(|it| configuration(it) == Some(number));
        let knobs = &of_number.next()?.spec.knobs;
        let (base, own) = in_search.pairs(0, number);
        let changes = changes(&default.spec.knobs, knobs);
        let mut presets = settings.presets.iter();
        let preset = presets.find(|preset| number > 0 && preset.settings == changes);
        Some(TunedConfiguration {
            number,
            preset: preset.map(|preset| preset.name.clone()),
            changes,
            trials: in_search.count(number),
            factor: geometric_factor(&base, &own),
            interval: log_ratio_paired(&base, &own, 0.95).filter(|_| number > 0),
            holdout_factor: {
                let (base, own) = in_holdout.pairs(0, number);
                geometric_factor(&base, &own)
            },
            holdout_p99_s: holdout_p99_s(&holdout, number),
            failures: in_search.failures(number),
            memory_bytes: cost(&search, number, |it| peak_memory_bytes(it) as f64),
            space_bytes: cost(&search, number, |it| it.database.allocated_bytes as f64),
            recovery_s: recovery_s(&search, number),
        })
    });
    let winner = holdout
        .iter()
        .find(|it| purpose(it) == Some(TrialPurpose::Winner));
    let winner = winner.and_then(|trial| configuration(trial));
    let pairs = winner.map(|winner| in_holdout.pairs(0, winner));
    let configurations: Vec<_> = configurations.collect();
    let best = configurations.iter().find(|it| Some(it.number) == winner);
    Some(TuningFindings {
        shrinkage: best.and_then(shrinkage),
        ablation: best.map_or_else(Vec::new, |best| {
            knob_gains(best, default, &ablation, settings, manifest)
        }),
        configurations,
        winner,
        holdout: pairs.and_then(|(base, own)| compare_holdout(&base, &own)),
        holdout_failures: winner.map_or_else(Vec::new, |it| {
            let mut failures = in_holdout.failures(it);
            let objections = acceptance.iter().filter_map(|trial| objection(trial));
            failures.extend(objections.map(|objection| objection.to_string()));
            failures
        }),
        search_trials: search.len(),
        holdout_trials: holdout.len(),
        planned_trials: settings.trials.saturating_sub(settings.ablation_trials()) as usize,
        course: course(&search, &in_search),
        importance: None,
    })
}

/// Why a trial has no score. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// It failed or is invalid.
    #[error("{}", reasons.join("; "))]
    NotPassed {
        /// As its record states them.
        reasons: Vec<String>,
    },
    /// An audit refuted what it promises.
    #[error("{REFUTED}")]
    Refuted,
    /// It has no measurement.
    #[error("it was not measured")]
    NotMeasured,
    /// It broke a limit.
    #[error(transparent)]
    Limit(#[from] BrokenLimit),
    /// Its requests came later than they became due.
    #[error("it did not keep the rate")]
    RateNotKept,
    /// It has no rate or no times.
    #[error("it did no operation")]
    NoOperation,
}

/// Why a trial did not pass; `None` if it did.
fn objection(trial: &TrialRecord) -> Option<ScoreError> {
    let reasons = trial.outcome.objections();
    (!reasons.is_empty()).then(|| ScoreError::NotPassed {
        reasons: reasons.into_iter().map(str::to_owned).collect(),
    })
}

/// The trials of one contender's search that have ended.
fn ended_trials(contender: u32, trials: &[TrialRecord]) -> impl Iterator<Item = &TrialRecord> {
    let is_own = move |role: TrialRole| role.contender == contender && role.purpose.is_of_tuning();
    trials.iter().filter(move |trial| {
        trial.outcome != Outcome::Interrupted && trial.spec.role.is_some_and(is_own)
    })
}

/// The measurements of a configuration.
fn costs<'a>(trials: &'a [&'a TrialRecord], number: u32) -> impl Iterator<Item = &'a Measurement> {
    let own = trials
        .iter()
        .filter(move |trial| configuration(trial) == Some(number));
    own.filter_map(|trial| trial.measurement.as_ref())
}

fn cost(trials: &[&TrialRecord], number: u32, of: fn(&Measurement) -> f64) -> Option<f64> {
    median(costs(trials, number).map(of))
}

/// The median of the 99th percentile of a configuration's slowest kind of operation, seconds;
/// `None` if no trial passed.
fn holdout_p99_s(holdout: &[&TrialRecord], number: u32) -> Option<f64> {
    let passed = holdout.iter().copied();
    let passed: Vec<_> = passed.filter(|trial| objection(trial).is_none()).collect();
    let times_s = costs(&passed, number).filter_map(|measurement| {
        let longest_ns = match &measurement.open_loop {
            Some(open) => {
                let responses = frequent_kinds(&open.responses, |it| it.count);
                responses.map(|it| it.latency.p99_ns).max()
            }
            None => {
                let operations = frequent_kinds(&measurement.operations, |it| it.count);
                operations.map(|it| it.latency.p99_ns).max()
            }
        };
        Some(longest_ns? as f64 / NS_PER_S)
    });
    median(times_s)
}

/// The median time of a configuration from killing every process to an open database, seconds.
fn recovery_s(trials: &[&TrialRecord], number: u32) -> Option<f64> {
    let recoveries = costs(trials, number).filter_map(|it| it.recovery.as_ref());
    median(recoveries.map(|recovery| recovery.recovery_s))
}

fn course(trials: &[&TrialRecord], scores: &Scores) -> Vec<CourseTrial> {
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut course = Vec::new();
    for trial in trials {
        let Some(number) = configuration(trial).filter(|number| *number > 0) else {
            continue;
        };
        let factor = scores.factor(trial.spec.repeat, number);
        if let Some(factor) = factor {
            logs.entry(number).or_default().push(factor.ln());
        }
        let means = logs.values().filter(|logs| logs.len() > 1);
        let means = means.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
        let best = means.fold(1.0, f64::max);
        course.push(CourseTrial {
            number,
            factor,
            best,
        });
    }
    course
}

fn shrinkage(winner: &TunedConfiguration) -> Option<f64> {
    let gain = winner.factor?.ln();
    let confirmed = winner.holdout_factor?.ln();
    (gain > 0.0).then(|| 1.0 - confirmed / gain)
}

/// The gains of the winner's knobs, the greatest first.
fn knob_gains(
    winner: &TunedConfiguration,
    default: &TrialRecord,
    trials: &[&TrialRecord],
    settings: &TuningSettings,
    manifest: &RunManifest,
) -> Vec<KnobGain> {
    // Limits were judged in the search and the holdout. A knob's gain is its gain in any case.
    let unlimited = TuningSettings {
        limits: TuningLimits::default(),
        ..settings.clone()
    };
    let scores = Scores::of(trials, &unlimited, manifest);
    let mut steps: BTreeMap<u32, &TrialRecord> = BTreeMap::new();
    for trial in trials {
        if let Some(number) = configuration(trial).filter(|number| *number != winner.number) {
            steps.entry(number).or_insert(trial);
        }
    }
    let gain = |(&number, step): (&u32, &&TrialRecord)| {
        let left = changes(&default.spec.knobs, &step.spec.knobs);
        let mut removed = winner.changes.iter();
        let (knob, value) = removed.find(|(name, _)| !left.contains_key(*name))?;
        let (base, own) = scores.pairs(number, winner.number);
        Some(KnobGain {
            knob: knob.clone(),
            value: value.clone(),
            default: default.spec.knobs.get(knob).cloned(),
            comparison: compare_among(&base, &own, true, steps.len()),
            factor: geometric_factor(&base, &own),
            failures: scores.failures(number),
        })
    };
    let mut gains: Vec<_> = steps.iter().filter_map(gain).collect();
    let factor = |gain: &KnobGain| gain.factor.unwrap_or_default();
    gains.sort_by(|one, other| factor(other).total_cmp(&factor(one)));
    gains
}

/// The score of a trial: higher is better. `default` is the default's trial in the same round, for
/// limits that are multiples of what it takes.
///
/// # Errors
/// A [`ScoreError`] if it has none.
pub fn score(
    trial: &TrialRecord,
    default: Option<&TrialRecord>,
    settings: &TuningSettings,
    manifest: &RunManifest,
) -> Result<f64, ScoreError> {
    if let Some(objection) = objection(trial) {
        return Err(objection);
    }
    // The others are compared with the default even if its promise was refuted.
    if configuration(trial) != Some(0) && is_refuted(trial) {
        return Err(ScoreError::Refuted);
    }
    let measurement = trial.measurement.as_ref();
    let measurement = measurement.ok_or(ScoreError::NotMeasured)?;
    check_limits(measurement, &settings.limits)?;
    check_space_factor(measurement, default, &settings.limits)?;
    let found = match settings.score {
        TuningScore::Rate => rate(trial, &headline(manifest, &[trial])),
        TuningScore::P99 if !all_kept(&[trial]) => {
            return Err(ScoreError::RateNotKept);
        }
        TuningScore::P99 => {
            let times = worst_times(&[trial], &[trial]);
            times.and_then(|(_, times)| times.into_values().next().map(|time_ns| 1e9 / time_ns))
        }
    };
    let is_score = |score: &f64| score.is_finite() && *score > 0.0;
    found.filter(is_score).ok_or(ScoreError::NoOperation)
}

/// The scores of trials by round and configuration.
struct Scores {
    rounds: BTreeMap<u32, BTreeMap<u32, Result<f64, ScoreError>>>,
}

impl Scores {
    fn of(trials: &[&TrialRecord], settings: &TuningSettings, manifest: &RunManifest) -> Self {
        let mut rounds: BTreeMap<u32, BTreeMap<_, _>> = BTreeMap::new();
        // The others are compared with the default even if it breaks a limit.
        let without_limits = TuningSettings {
            limits: TuningLimits::default(),
            ..settings.clone()
        };
        for trial in trials {
            if let Some(number) = configuration(trial) {
                let default = trials
                    .iter()
                    .find(|it| configuration(it) == Some(0) && it.spec.repeat == trial.spec.repeat);
                let round = rounds.entry(trial.spec.repeat).or_default();
                let settings = match number {
                    0 => &without_limits,
                    _ => settings,
                };
                let score = score(trial, default.copied(), settings, manifest);
                round.insert(number, score);
            }
        }
        Self { rounds }
    }

    /// The scores of two configurations in the rounds in which both have one.
    fn pairs(&self, base: u32, number: u32) -> (Vec<f64>, Vec<f64>) {
        let score = |round: &BTreeMap<u32, Result<f64, ScoreError>>, number| {
            round.get(&number)?.as_ref().ok().copied()
        };
        let rounds = self.rounds.values();
        let both = rounds.filter_map(|round| Some((score(round, base)?, score(round, number)?)));
        both.unzip()
    }

    /// A score over the default's in the same round.
    fn factor(&self, round: u32, number: u32) -> Option<f64> {
        let round = self.rounds.get(&round)?;
        let score = |number| round.get(number)?.as_ref().ok().copied();
        Some(score(&number)? / score(&0)?)
    }

    /// The logarithm of a score over the default's in the same round: `Some(None)` if the
    /// configuration failed, `None` if the default has no score.
    fn gain(&self, round: u32, number: u32) -> Option<Option<f64>> {
        let default = self.rounds.get(&round)?.get(&0)?;
        default.as_ref().ok()?;
        Some(self.factor(round, number).map(f64::ln))
    }

    fn count(&self, number: u32) -> usize {
        let rounds = self.rounds.values();
        rounds.filter(|round| round.contains_key(&number)).count()
    }

    fn failures(&self, number: u32) -> Vec<String> {
        let rounds = self.rounds.values();
        let results = rounds.filter_map(|round| round.get(&number));
        let failures = results.filter_map(|result| result.as_ref().err());
        failures.map(ToString::to_string).collect()
    }
}

fn purpose(trial: &TrialRecord) -> Option<TrialPurpose> {
    trial.spec.role.map(|role| role.purpose)
}

fn configuration(trial: &TrialRecord) -> Option<u32> {
    trial.spec.role.and_then(|role| role.configuration)
}

fn changes(default: &Settings, knobs: &Settings) -> BTreeMap<String, Value> {
    let differs = |(name, value): &(&String, &Value)| default.get(*name) != Some(value);
    let changed = knobs.iter().filter(differs);
    changed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The geometric mean of the ratios; `None` without a pair.
fn geometric_factor(base: &[f64], own: &[f64]) -> Option<f64> {
    let ratios = base.iter().zip(own).map(|(base, own)| (own / base).ln());
    let sum: f64 = ratios.sum();
    (!base.is_empty()).then(|| (sum / base.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_winner_that_is_slower_or_failed_in_the_holdout_is_not_claimed() {
        let default = [100.0, 101.0, 99.0, 102.0, 98.0, 100.0, 103.0, 97.0];
        let winner = [201.0, 199.0, 200.0, 203.0, 198.0, 202.0, 204.0, 197.0];
        let holdout = compare_holdout(&default, &winner);
        assert!(is_claimed(holdout.as_ref(), &[]));
        let failures = ["killed by signal 11".to_owned()];
        assert!(!is_claimed(holdout.as_ref(), &failures));
        let slower = compare_holdout(&winner, &default);
        assert!(!is_claimed(slower.as_ref(), &[]));
        assert!(compare_holdout(&[], &[]).is_none() && !is_claimed(None, &[]));
    }
}
