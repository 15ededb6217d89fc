//! Searches for knobs: the configurations that were tried, and whether the best one is better than
//! the default on data that the search has not seen.

use crate::eligibility::{headline, rate};
use crate::fixed_rate::{all_kept, worst_times};
use crate::statistics::{Comparison, Interval, Verdict, compare, log_ratio_paired};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::folder::RunManifest;
use trueput_record::measurement::Measurement;
use trueput_record::search::{
    SearchSettings, TrialPurpose, TrialRole, TuningLimits, TuningScore, TuningSettings,
};
use trueput_record::trial::Settings;
use trueput_record::{Outcome, TrialRecord, Value};

/// The configurations of a search, and its holdout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuningFindings {
    /// Every configuration, the default first.
    pub configurations: Vec<TunedConfiguration>,
    /// The configuration that the search found best; `None` before the holdout, and if none was
    /// better than the default.
    pub winner: Option<u32>,
    /// The winner over the default in the holdout; `None` before it has ended a pair.
    pub holdout: Option<Comparison>,
    /// The winner's failures in the holdout, one sentence each.
    pub holdout_failures: Vec<String>,
    /// Trials of the search, those of the holdout not included.
    pub search_trials: usize,
}

impl TuningFindings {
    /// The winner, if it is better than the default on data that the search has not seen.
    #[must_use]
    pub fn better(&self) -> Option<&TunedConfiguration> {
        let verdict = self.holdout.as_ref().map(|it| it.verdict);
        let is_better = verdict == Some(Verdict::Faster) && self.holdout_failures.is_empty();
        let number = self.winner.filter(|_| is_better)?;
        self.configurations.iter().find(|it| it.number == number)
    }
}

/// One configuration of knobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TunedConfiguration {
    /// Its number; 0 is the default.
    pub number: u32,
    /// The knobs that differ from the default's, with their values.
    pub changes: BTreeMap<String, Value>,
    /// Trials in the search.
    pub trials: usize,
    /// Its score over the default's in the same rounds; `None` without a score.
    pub factor: Option<f64>,
    /// The interval of the factor, at 95 %; `None` with fewer than three rounds.
    pub interval: Option<Interval>,
    /// Its score over the default's in the holdout; `None` if it was not in it.
    pub holdout_factor: Option<f64>,
    /// The reasons why trials have no score, one sentence each.
    pub failures: Vec<String>,
}

/// Computes the findings of a search for knobs; `None` if the run is none.
#[must_use]
pub fn tuning(manifest: &RunManifest, trials: &[TrialRecord]) -> Option<TuningFindings> {
    let Some(SearchSettings::Tuning(settings)) = &manifest.search else {
        return None;
    };
    tuning_of(0, settings, manifest, trials)
}

/// Computes the findings of the search for one contender's knobs; `None` if it has not begun.
#[must_use]
pub fn tuning_of(
    contender: u32,
    settings: &TuningSettings,
    manifest: &RunManifest,
    trials: &[TrialRecord],
) -> Option<TuningFindings> {
    let is_meant = |trial: &&TrialRecord| {
        let of_contender =
            |role: TrialRole| role.contender == contender && role.purpose.is_of_tuning();
        trial.outcome != Outcome::Interrupted && trial.spec.role.is_some_and(of_contender)
    };
    let ended: Vec<_> = trials.iter().filter(is_meant).collect();
    let is_holdout = |trial: &&&TrialRecord| purpose(trial) != Some(TrialPurpose::Tuning);
    let (holdout, search): (Vec<_>, Vec<_>) = ended.iter().partition(|it| is_holdout(it));
    let default = ended.iter().find(|trial| configuration(trial) == Some(0))?;
    let numbers: BTreeSet<u32> = ended.iter().filter_map(|it| configuration(it)).collect();
    let scored = |trials: &[&TrialRecord]| Scores::of(trials, settings, manifest);
    let (in_search, in_holdout) = (scored(&search), scored(&holdout));
    let configurations = numbers.iter().filter_map(|&number| {
        let mut of_number = ended.iter().filter(|it| configuration(it) == Some(number));
        let knobs = &of_number.next()?.spec.knobs;
        let (base, own) = in_search.pairs(number);
        Some(TunedConfiguration {
            number,
            changes: changes(&default.spec.knobs, knobs),
            trials: in_search.count(number),
            factor: geometric_factor(&base, &own),
            interval: log_ratio_paired(&base, &own, 0.95).filter(|_| number > 0),
            holdout_factor: {
                let (base, own) = in_holdout.pairs(number);
                geometric_factor(&base, &own)
            },
            failures: in_search.failures(number),
        })
    });
    let winner = holdout
        .iter()
        .find(|trial| purpose(trial) == Some(TrialPurpose::Winner))
        .and_then(|trial| configuration(trial));
    let pairs = winner.map(|winner| in_holdout.pairs(winner));
    Some(TuningFindings {
        configurations: configurations.collect(),
        winner,
        holdout: pairs
            .filter(|(base, _)| !base.is_empty())
            .map(|(base, own)| compare(&base, &own, true)),
        holdout_failures: winner.map_or_else(Vec::new, |it| in_holdout.failures(it)),
        search_trials: search.len(),
    })
}

/// The score of a trial: higher is better.
///
/// # Errors
/// One sentence, if it has none: it failed, is invalid, or broke a limit.
pub fn score(
    trial: &TrialRecord,
    settings: &TuningSettings,
    manifest: &RunManifest,
) -> Result<f64, String> {
    let objections = trial.outcome.objections();
    if !objections.is_empty() {
        return Err(objections.join("; "));
    }
    let measurement = trial.measurement.as_ref().ok_or("it was not measured")?;
    check_limits(measurement, &settings.limits)?;
    let found = match settings.score {
        TuningScore::Rate => rate(trial, &headline(manifest, &[trial])),
        TuningScore::P99 if !all_kept(&[trial]) => {
            return Err("it did not keep the rate".to_owned());
        }
        TuningScore::P99 => {
            let times = worst_times(&[trial], &[trial]);
            times.and_then(|(_, times)| times.into_values().next().map(|time_ns| 1e9 / time_ns))
        }
    };
    let is_score = |score: &f64| score.is_finite() && *score > 0.0;
    found
        .filter(is_score)
        .ok_or_else(|| "it did no operation".to_owned())
}

fn check_limits(measurement: &Measurement, limits: &TuningLimits) -> Result<(), String> {
    let memory_bytes = peak_memory_bytes(measurement);
    let space_bytes = measurement.database.allocated_bytes;
    let recovery = measurement.recovery.as_ref();
    let recovery_s = recovery.map(|recovery| recovery.recovery_s);
    let exceeded = |found: f64, limit: Option<f64>| limit.is_some_and(|limit| found >= limit);
    let number = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    if exceeded(memory_bytes as f64, number(limits.memory_bytes)) {
        return Err(format!("its memory peaked at {memory_bytes} bytes"));
    }
    if exceeded(space_bytes as f64, number(limits.space_bytes)) {
        return Err(format!("its database took {space_bytes} bytes"));
    }
    match recovery_s {
        Some(recovery_s) if exceeded(recovery_s, limits.recovery_s) => {
            Err(format!("it took {recovery_s:.2} s to recover"))
        }
        _ => Ok(()),
    }
}

/// The peak memory of a trial's workers and its engine's server, bytes.
#[must_use]
pub fn peak_memory_bytes(measurement: &Measurement) -> u64 {
    let resources = &measurement.resources;
    match resources.peak_pss_bytes {
        0 => resources.peak_rss_bytes,
        peak_bytes => peak_bytes,
    }
}

/// The scores of trials by round and configuration.
struct Scores {
    rounds: BTreeMap<u32, BTreeMap<u32, Result<f64, String>>>,
}

impl Scores {
    fn of(trials: &[&TrialRecord], settings: &TuningSettings, manifest: &RunManifest) -> Self {
        let mut rounds: BTreeMap<u32, BTreeMap<_, _>> = BTreeMap::new();
        for trial in trials {
            if let Some(number) = configuration(trial) {
                let round = rounds.entry(trial.spec.repeat).or_default();
                round.insert(number, score(trial, settings, manifest));
            }
        }
        Self { rounds }
    }

    /// The scores of the default and of a configuration in the rounds in which both have one.
    fn pairs(&self, number: u32) -> (Vec<f64>, Vec<f64>) {
        let score = |round: &BTreeMap<u32, Result<f64, String>>, number| {
            round.get(&number)?.as_ref().ok().copied()
        };
        let rounds = self.rounds.values();
        let both = rounds.filter_map(|round| Some((score(round, 0)?, score(round, number)?)));
        both.unzip()
    }

    fn count(&self, number: u32) -> usize {
        let rounds = self.rounds.values();
        rounds.filter(|round| round.contains_key(&number)).count()
    }

    fn failures(&self, number: u32) -> Vec<String> {
        let rounds = self.rounds.values();
        let results = rounds.filter_map(|round| round.get(&number));
        let failures = results.filter_map(|result| result.as_ref().err());
        failures.cloned().collect()
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
