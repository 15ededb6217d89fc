//! Verdicts of gates: whether the second side of a comparison is beyond a limit, by all repeats
//! and never by a point estimate.
//!
//! A gate is a comparison with the first side's figure, moved to the limit. In a run that goes on
//! until it is decided, [`SequentialRule`] makes it, at the same looks as a ranking: so the chance
//! that it fails what keeps the limit is bounded however early the run ends. Elsewhere it is one
//! interval.

use crate::cells::{cpu_ns_per_operation, flushes_per_commit};
use crate::eligibility::{HARNESS_ENGINE, ineligibility, rate};
use crate::rankings::{groups, left_out_trials};
use crate::statistics::{
    ALPHA, Interval, Observation, SequentialRule, StandingKind, geometric_mean, log_ratio_paired,
    log_ratio_unpaired, median,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::gate::{GateDirection, GateLimit, GateMetric, GateRule};
use trueput_record::latency::LatencySummary;
use trueput_record::{Measurement, RunManifest, TrialRecord};

/// Whether a gate lets the second side pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// The limit is kept: the whole interval is on its good side.
    Passed,
    /// The repeats do not tell.
    Undecided,
    /// The limit is not kept: the whole interval is beyond it.
    Failed,
}

/// A gate's verdict on a contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateResult {
    /// The gate.
    pub rule: GateRule,
    /// The workload.
    pub workload: String,
    /// The contender of the first side.
    pub first: String,
    /// That of the second side, which is judged.
    pub second: String,
    /// The median of the first side's figures, in the metric's unit.
    pub first_median: Option<f64>,
    /// The median of the second side's figures.
    pub second_median: Option<f64>,
    /// The second side's figure over the first's, or over the limit if that is a value, with the
    /// interval behind the verdict; `None` if the repeats are too few.
    pub ratio: Option<Interval>,
    /// The repeats of the second side that count.
    pub repeats: usize,
    /// The verdict.
    pub verdict: GateVerdict,
}

/// No trial of a side has the figure that a gate limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: no trial of {contender} has this figure{known}")]
pub struct AbsentFigure {
    /// The gate, as text.
    pub rule: String,
    /// The contender without the figure.
    pub contender: String,
    /// The kinds of operation that it has, as a clause; empty if they do not matter.
    pub known: String,
}

/// The trials of one contender that count.
#[derive(Debug, Clone)]
pub struct GateSide<'a> {
    /// The contender.
    pub contender: String,
    /// The kind of operation whose rate ranks contenders.
    pub headline: &'a str,
    /// The trials, each of another repeat.
    pub trials: Vec<&'a TrialRecord>,
}

/// How the repeats of two sides belong together.
#[derive(Debug)]
pub enum RepeatRelation<'a> {
    /// They are of separate runs.
    Separate,
    /// They are of one run, which measures them side by side.
    Paired,
    /// They are of one run that goes on until it is decided by this rule.
    Sequential(&'a SequentialRule),
}

impl GateSide<'_> {
    /// The figure of each repeat that has it.
    fn figures(&self, rule: &GateRule) -> BTreeMap<u32, f64> {
        let kind = rule.kind.as_deref().unwrap_or(self.headline);
        let of = |trial: &TrialRecord| {
            let measurement = trial.measurement.as_ref()?;
            match rule.metric {
                GateMetric::Rate => rate(trial, kind),
                GateMetric::Space => Some(measurement.database.allocated_bytes as f64),
                GateMetric::Memory => Some(measurement.resources.peak_pss_bytes as f64),
                GateMetric::Cpu => cpu_ns_per_operation(measurement),
                GateMetric::Flushes => flushes_per_commit(measurement),
                GateMetric::P50
                | GateMetric::P90
                | GateMetric::P99
                | GateMetric::P999
                | GateMetric::Max => latency_ns(measurement, rule, kind),
            }
        };
        let trials = self.trials.iter();
        trials
            .filter_map(|trial| Some((trial.spec.repeat, of(trial)?)))
            .collect()
    }

    fn absent(&self, rule: &GateRule) -> AbsentFigure {
        let measured = self.trials.iter().filter_map(|it| it.measurement.as_ref());
        let kinds = measured.flat_map(|it| &it.operations).map(|it| &it.kind);
        let kinds: BTreeSet<&str> = kinds.map(String::as_str).collect();
        let known = if rule.metric.is_of_operations() && !kinds.is_empty() {
            let kinds: Vec<_> = kinds.into_iter().collect();
            format!("; its operations are {}", kinds.join(", "))
        } else {
            String::new()
        };
        AbsentFigure {
            rule: rule.to_string(),
            contender: self.contender.clone(),
            known,
        }
    }
}

/// The latency of a kind of operation. An open loop has response times; without a kind, those of
/// the kind that waited longest.
fn latency_ns(measurement: &Measurement, rule: &GateRule, kind: &str) -> Option<f64> {
    let of = |latency: &LatencySummary| match rule.metric {
        GateMetric::P50 => latency.p50_ns as f64,
        GateMetric::P90 => latency.p90_ns as f64,
        GateMetric::P999 => latency.p999_ns as f64,
        GateMetric::Max => latency.max_ns as f64,
        _ => latency.p99_ns as f64,
    };
    match &measurement.open_loop {
        None => {
            let latency = &measurement.operation(kind)?.latency;
            latency.is_measured().then(|| of(latency))
        }
        Some(open) => {
            let counted = open.responses.iter().filter(|it| it.count > 0);
            let chosen = counted.filter(|it| rule.kind.is_none() || it.kind == kind);
            chosen.map(|it| of(&it.latency)).reduce(f64::max)
        }
    }
}

/// Judges the second side by gates, as some of `comparisons` that are read together: the more there
/// are, the wider the intervals, so that all gates together fail what keeps its limits in fewer
/// than one of twenty comparisons.
///
/// # Errors
/// [`AbsentFigure`] if no trial of a side has the figure of a gate.
pub fn judge(
    rules: &[GateRule],
    [first, second]: [&GateSide<'_>; 2],
    relation: &RepeatRelation<'_>,
    comparisons: usize,
) -> Result<Vec<GateResult>, AbsentFigure> {
    let judged = rules.iter().map(|rule| {
        let (ours, theirs) = (first.figures(rule), second.figures(rule));
        for (side, figures) in [(first, &ours), (second, &theirs)] {
            if figures.is_empty() && !side.trials.is_empty() {
                return Err(side.absent(rule));
            }
        }
        let base = base(rule, &ours, &theirs);
        let ratio = of_base(&base, &theirs, relation, comparisons);
        let verdict = match (verdict_on_zeros(rule, &base, &theirs), ratio) {
            (Some(verdict), _) => verdict,
            (None, Some(ratio)) => verdict(rule.direction, &ratio),
            (None, None) => GateVerdict::Undecided,
        };
        let scale = match rule.limit {
            GateLimit::Change(part) => 1.0 + part,
            GateLimit::Value(_) => 1.0,
        };
        let trial = second.trials.first().or(first.trials.first());
        Ok(GateResult {
            rule: rule.clone(),
            workload: trial.map_or_else(String::new, |it| it.spec.workload.clone()),
            first: first.contender.clone(),
            second: second.contender.clone(),
            first_median: median(ours.into_values()),
            second_median: median(theirs.values().copied()),
            ratio: ratio.map(|ratio| scaled(ratio, scale)),
            repeats: theirs.len(),
            verdict,
        })
    });
    judged.collect()
}

/// The cells of a run that gates of its own need more repeats of: those of a pair that is not
/// decided before the last look.
#[must_use]
pub fn open_cells(manifest: &RunManifest, trials: &[TrialRecord]) -> BTreeSet<u32> {
    let mut open = BTreeSet::new();
    let Some(settings) = manifest.decision().filter(|_| !manifest.gates.is_empty()) else {
        return open;
    };
    let left_out = left_out_trials(manifest, trials);
    let pairs: Vec<[GateSide<'_>; 2]> = groups(manifest, trials)
        .iter()
        .flat_map(|group| pairs(manifest, group, &left_out))
        .collect();
    let comparisons = pairs.len() * manifest.gates.len();
    let rule = SequentialRule::new(settings.max_repeats, 0.0).among(comparisons);
    let relation = RepeatRelation::Sequential(&rule);
    for [first, second] in &pairs {
        let judged = judge(&manifest.gates, [first, second], &relation, comparisons);
        let is_open = judged.is_ok_and(|results| {
            let mut verdicts = results.iter().map(|result| result.verdict);
            verdicts.any(|verdict| verdict == GateVerdict::Undecided)
        });
        let repeats = first.trials.len().min(second.trials.len()) as u32;
        if is_open && rule.look_from(repeats + 1).is_some() {
            let trials = first.trials.iter().chain(&second.trials);
            open.extend(trials.map(|trial| trial.spec.cell));
        }
    }
    open
}

/// The first contender of a ranking's trials, in the plan's order, with each of the others that has
/// trials that count.
fn pairs<'a>(
    manifest: &'a RunManifest,
    group: &[&'a TrialRecord],
    left_out: &BTreeSet<&str>,
) -> Vec<[GateSide<'a>; 2]> {
    let workload = group[0].spec.workload.as_str();
    let Some(headline) = manifest.headlines.get(workload) else {
        return Vec::new();
    };
    let counted = group.iter().copied().filter(|trial| {
        let is_left_out = left_out.contains(trial.spec.id.as_str());
        let is_harness = trial.spec.engine == HARNESS_ENGINE;
        !is_left_out && !is_harness && ineligibility(trial, headline).is_none()
    });
    let mut cells: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in counted {
        cells.entry(trial.spec.cell).or_default().push(trial);
    }
    let sides = cells.into_values().map(|trials| GateSide {
        contender: trials[0].spec.contender(),
        headline,
        trials,
    });
    let sides: Vec<GateSide<'_>> = sides.collect();
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let others = others.iter();
    others.map(|other| [first.clone(), other.clone()]).collect()
}

/// What the second side is compared with, by repeat: the first side's figures moved to the limit,
/// or the limit itself.
fn base(
    rule: &GateRule,
    first: &BTreeMap<u32, f64>,
    second: &BTreeMap<u32, f64>,
) -> BTreeMap<u32, f64> {
    match rule.limit {
        GateLimit::Change(part) => {
            let moved = first.iter();
            moved
                .map(|(repeat, figure)| (*repeat, figure * (1.0 + part)))
                .collect()
        }
        GateLimit::Value(value) => second.keys().map(|repeat| (*repeat, value)).collect(),
    }
}

/// The verdict where figures are 0 and have no ratio; `None` where the interval decides.
fn verdict_on_zeros(
    rule: &GateRule,
    base: &BTreeMap<u32, f64>,
    second: &BTreeMap<u32, f64>,
) -> Option<GateVerdict> {
    let are_zero = |figures: &BTreeMap<u32, f64>| {
        let mut figures = figures.values();
        figures.len() > 0 && figures.all(|figure| *figure == 0.0)
    };
    let is_below = rule.direction == GateDirection::Below;
    let of = |is_failed: bool| {
        if is_failed {
            GateVerdict::Failed
        } else {
            GateVerdict::Passed
        }
    };
    match (are_zero(base), are_zero(second)) {
        (true, true) => Some(GateVerdict::Passed),
        (false, true) => Some(of(is_below)),
        (true, false) => Some(of(!is_below)),
        (false, false) => None,
    }
}

/// The second side's figures over those of the base; `None` if the repeats are too few.
fn of_base(
    base: &BTreeMap<u32, f64>,
    second: &BTreeMap<u32, f64>,
    relation: &RepeatRelation<'_>,
    comparisons: usize,
) -> Option<Interval> {
    let level = 1.0 - ALPHA / comparisons.max(1) as f64;
    let values = |figures: &BTreeMap<u32, f64>| figures.values().copied().collect::<Vec<f64>>();
    let is_constant = base
        .values()
        .all(|value| Some(value) == base.values().next());
    match relation {
        RepeatRelation::Sequential(rule) => sequential(rule, base, second),
        _ if is_constant => {
            let limit = base.values().next()?;
            Some(scaled(geometric_mean(&values(second), level)?, 1.0 / limit))
        }
        RepeatRelation::Separate => log_ratio_unpaired(&values(base), &values(second), level),
        RepeatRelation::Paired => {
            let both = base.iter();
            let both = both.filter_map(|(repeat, one)| Some((*one, *second.get(repeat)?)));
            let (base, second): (Vec<f64>, Vec<f64>) = both.unzip();
            log_ratio_paired(&base, &second, level)
        }
    }
}

/// The same by the rule of a run that decides, at its last look. `None` before the first.
fn sequential(
    rule: &SequentialRule,
    base: &BTreeMap<u32, f64>,
    second: &BTreeMap<u32, f64>,
) -> Option<Interval> {
    let last = base.keys().chain(second.keys()).max().copied()?;
    let observations = |figures: &BTreeMap<u32, f64>| -> Vec<Observation> {
        let of = |repeat: u32| match figures.get(&repeat) {
            None => Observation::Disturbed,
            Some(figure) if *figure > 0.0 => Observation::LogRate(figure.ln()),
            Some(_) => Observation::Invalid,
        };
        (1..=last).map(of).collect()
    };
    let judgement = rule.judge(&[observations(base), observations(second)]);
    let [base, second] = judgement.standings.as_slice() else {
        return None;
    };
    match (base.kind, second.kind) {
        (StandingKind::Leader, _) => Some(second.ratio?.inverted()),
        (_, StandingKind::Leader) => base.ratio,
        _ => None,
    }
}

fn verdict(direction: GateDirection, ratio: &Interval) -> GateVerdict {
    let (is_above, is_below) = (ratio.low > 1.0, ratio.high < 1.0);
    match direction {
        GateDirection::Above if is_above => GateVerdict::Failed,
        GateDirection::Below if is_below => GateVerdict::Failed,
        GateDirection::Above if ratio.high <= 1.0 => GateVerdict::Passed,
        GateDirection::Below if ratio.low >= 1.0 => GateVerdict::Passed,
        _ => GateVerdict::Undecided,
    }
}

fn scaled(interval: Interval, factor: f64) -> Interval {
    Interval {
        estimate: interval.estimate * factor,
        low: interval.low * factor,
        high: interval.high * factor,
        level: interval.level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::random::SplitMix64;
    use trueput_record::{Durability, testing};

    /// The trials of a cell at these rates.
    fn trials(cell: u32, rates: &[f64]) -> Vec<TrialRecord> {
        let repeats = (1..).zip(rates);
        repeats
            .map(|(repeat, rate)| {
                let spec = testing::spec(cell, "lmdb", Durability::Sync, repeat);
                testing::valid(spec, *rate)
            })
            .collect()
    }

    fn verdict_of(gate: &str, rates: [&[f64]; 2], relation: &RepeatRelation<'_>) -> GateVerdict {
        let [first, second] = [trials(0, rates[0]), trials(1, rates[1])];
        let sides = [&first, &second].map(|trials| GateSide {
            contender: "lmdb".to_owned(),
            headline: "update",
            trials: trials.iter().collect(),
        });
        let rules = [gate.parse().unwrap()];
        let results = judge(&rules, [&sides[0], &sides[1]], relation, 1).unwrap();
        results[0].verdict
    }

    #[test]
    fn a_gate_needs_the_whole_interval_on_one_side_of_its_limit() {
        let first: &[f64] = &[1_000.0, 1_010.0, 990.0, 1_005.0];
        let paired = RepeatRelation::Paired;
        for (gate, second, expected) in [
            (
                "rate<-3%",
                [1_000.0, 1_010.0, 990.0, 1_005.0],
                GateVerdict::Passed,
            ),
            (
                "rate<-3%",
                [900.0, 909.0, 891.0, 904.0],
                GateVerdict::Failed,
            ),
            (
                "rate<-3%",
                [970.0, 985.0, 955.0, 979.0],
                GateVerdict::Undecided,
            ),
            (
                "rate>+3%",
                [1_100.0, 1_111.0, 1_089.0, 1_105.0],
                GateVerdict::Failed,
            ),
            (
                "rate<950/s",
                [1_000.0, 1_010.0, 990.0, 1_005.0],
                GateVerdict::Passed,
            ),
            (
                "rate<1100/s",
                [1_000.0, 1_010.0, 990.0, 1_005.0],
                GateVerdict::Failed,
            ),
            (
                "rate<1000/s",
                [1_000.0, 1_010.0, 990.0, 1_005.0],
                GateVerdict::Undecided,
            ),
        ] {
            let found = verdict_of(gate, [first, &second], &paired);
            assert_eq!(found, expected, "{gate} {second:?}");
        }
        // Two repeats tell nothing.
        let few = verdict_of("rate<-3%", [&first[..2], &[500.0, 505.0]], &paired);
        assert_eq!(few, GateVerdict::Undecided);
    }

    /// The share of simulated runs that go on until the gate `rate<-3%` is decided and end with
    /// each verdict: failed, passed, undecided. The second side's true rate is this part of the
    /// first's, and repeats scatter by 3 %.
    fn shares(part: f64) -> [f64; 3] {
        const RUNS: u32 = 400;
        let rule = SequentialRule::new(60, 0.0);
        let relation = RepeatRelation::Sequential(&rule);
        let mut random = SplitMix64::new(43);
        let mut counts = [0; 3];
        for _ in 0..RUNS {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let mut verdict = GateVerdict::Undecided;
            for repeat in 1..=60 {
                first.push(1_000.0 * (0.03 * random.normal()).exp());
                second.push(1_000.0 * part * (0.03 * random.normal()).exp());
                if rule.look_from(repeat) != Some(repeat) {
                    continue;
                }
                verdict = verdict_of("rate<-3%", [&first, &second], &relation);
                if verdict != GateVerdict::Undecided {
                    break;
                }
            }
            counts[match verdict {
                GateVerdict::Failed => 0,
                GateVerdict::Passed => 1,
                GateVerdict::Undecided => 2,
            }] += 1;
        }
        counts.map(|count| f64::from(count) / f64::from(RUNS))
    }

    #[test]
    fn early_ends_neither_fail_equals_nor_pass_what_is_slower() {
        // Exactly at the limit neither verdict is right: each is reached in 2.5 % of the runs at
        // most, and three deviations of that.
        let [failed, passed, _] = shares(0.97);
        assert!(failed < 0.05 && passed < 0.05, "{failed} {passed}");
        let [failed, passed, _] = shares(1.0);
        assert!(failed < 0.01 && passed > 0.9, "{failed} {passed}");
        let [failed, passed, _] = shares(0.90);
        assert!(failed > 0.95 && passed == 0.0, "{failed} {passed}");
    }

    #[test]
    fn figures_of_0_have_verdicts_of_their_own() {
        let of = |base: f64, second: f64, gate: &str| {
            let figures = |value: f64| BTreeMap::from([(1, value), (2, value)]);
            let rule: GateRule = gate.parse().unwrap();
            verdict_on_zeros(&rule, &figures(base), &figures(second))
        };
        assert_eq!(of(0.0, 0.0, "flushes>+5%"), Some(GateVerdict::Passed));
        assert_eq!(of(0.0, 1.0, "flushes>+5%"), Some(GateVerdict::Failed));
        assert_eq!(of(1.0, 0.0, "flushes>+5%"), Some(GateVerdict::Passed));
        assert_eq!(of(1.0, 0.0, "flushes<-5%"), Some(GateVerdict::Failed));
        assert_eq!(of(1.0, 1.0, "flushes>+5%"), None);
    }
}
