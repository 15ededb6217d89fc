//! Trials grouped into cells (the repeats of one contender) and cells into rankings.
//!
//! A ranking holds only what may be compared: one workload with one set of settings, one number of
//! workers, one durability level.

use crate::statistics::{Summary, maximum, median};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::folder::RunManifest;
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::trial::Settings;
use trueput_record::{
    Durability, Outcome, Promise, TrialRecord, TrialSpec, Value, VerifyLevel, WorkerKind,
};

/// The engine that keeps nothing: what is measured on it is the harness, so it is never ranked.
pub const HARNESS_ENGINE: &str = "null";

/// Cells that may be compared with each other, best first, and what stands beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The workload.
    pub workload: String,
    /// Its settings.
    pub settings: Settings,
    /// How many workers.
    pub workers: u32,
    /// What each commit promises.
    pub durability: Durability,
    /// Why these settings differ from the plan's general ones, one sentence each.
    pub notes: Vec<String>,
    /// The kind of operation whose rate the cells are sorted by.
    pub headline: String,
    /// The cells with at least one trial that counts, best first.
    pub cells: Vec<Cell>,
    /// The null engine's cells: the harness's own cost.
    pub harness: Vec<Cell>,
    /// Trials that do not count, with the reason.
    pub unranked: Vec<Unranked>,
}

/// One contender with one set of knobs: the median repeat, and how far the repeats differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The cell's number in the plan.
    pub cell: u32,
    /// The engine, with its build and the knobs that tell it apart in this ranking.
    pub contender: String,
    /// The engine.
    pub engine: String,
    /// The version that the library itself reported.
    pub version: String,
    /// What a worker is.
    pub worker_kind: WorkerKind,
    /// The engine's knobs.
    pub knobs: Settings,
    /// What each commit promised, as the engine put it.
    pub promise: Option<Promise>,
    /// How much of each trial was verified; the least thorough where trials differ. `None` where
    /// nothing was.
    pub verified: Option<VerifyLevel>,
    /// Trials that count.
    pub repeats: usize,
    /// The median rate of the headline operation, over that of the ranking's best cell; `None` for
    /// the harness.
    pub relative_to_best: Option<f64>,
    /// The figures.
    pub figures: Figures,
}

/// The figures of a cell: medians over its repeats unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Rate of the headline operation, per second.
    pub headline_per_s: Summary,
    /// Elapsed time, seconds.
    pub elapsed_s: Summary,
    /// Every kind of operation, in the workload's order.
    pub operations: Vec<OperationFigures>,
    /// User and system CPU of the workers, seconds.
    pub cpu_s: f64,
    /// CPU per operation of any kind, nanoseconds; `None` where none was done.
    pub cpu_ns_per_operation: Option<f64>,
    /// Highest proportional set size over the workers, bytes.
    pub peak_pss_bytes: f64,
    /// Blocks that the database took on its file system, bytes.
    pub database_allocated_bytes: f64,
    /// Bytes that the workers sent to the storage layer.
    pub storage_written_bytes: f64,
    /// Voluntary and involuntary context switches.
    pub context_switches: f64,
    /// Conflicts that the engine reported and the workload retried.
    pub conflicts: f64,
    /// Results of the workload that were the same in every repeat.
    pub results: BTreeMap<String, Value>,
}

/// One kind of operation over the repeats of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperationFigures {
    /// The workload's name for it.
    pub kind: String,
    /// Median count.
    pub count: f64,
    /// Median rate, per second.
    pub per_s: f64,
    /// Median over the repeats of each repeat's median latency, nanoseconds.
    pub p50_ns: f64,
    /// Median over the repeats of each repeat's 99th percentile, nanoseconds.
    pub p99_ns: f64,
    /// The longest of all repeats, nanoseconds.
    pub max_ns: f64,
}

/// A trial that does not count, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unranked {
    /// The trial.
    pub id: String,
    /// The contender.
    pub contender: String,
    /// `INVALID`, `FAILED`, `interrupted`, `resumed` or `unverified`.
    pub status: &'static str,
    /// Why it does not count, one sentence or several.
    pub reason: String,
    /// Rate of the headline operation per second, where the number itself can be believed.
    pub headline_per_s: Option<f64>,
}

impl Unranked {
    /// Whether something went wrong, rather than was left out by the user's wish.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        matches!(self.status, "INVALID" | "FAILED")
    }
}

/// Sorts the trials into rankings: by workload in the plan's order, then by durability, strongest
/// first, then by settings in the plan's order, then by workers.
#[must_use]
pub fn rankings(manifest: &RunManifest, trials: &[TrialRecord]) -> Vec<Ranking> {
    let mut groups: Vec<Vec<&TrialRecord>> = Vec::new();
    for trial in trials.iter().filter(|trial| !superseded(trial, trials)) {
        match groups
            .iter_mut()
            .find(|group| comparable(&group[0].spec, &trial.spec))
        {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    let first = |matches: &dyn Fn(&TrialSpec) -> bool| {
        manifest
            .trials
            .iter()
            .position(matches)
            .unwrap_or(usize::MAX)
    };
    groups.sort_by_cached_key(|group| {
        let spec = &group[0].spec;
        let workload = first(&|other| other.workload == spec.workload);
        let settings =
            first(&|other| other.workload == spec.workload && other.settings == spec.settings);
        (workload, spec.durability, settings, spec.workers)
    });
    groups
        .iter()
        .map(|group| ranking(manifest, group))
        .collect()
}

/// An interrupted trial that was run again later: the later line speaks for it.
fn superseded(trial: &TrialRecord, trials: &[TrialRecord]) -> bool {
    trial.outcome == Outcome::Interrupted
        && trials
            .iter()
            .any(|other| other.spec.id == trial.spec.id && other.outcome != Outcome::Interrupted)
}

fn comparable(one: &TrialSpec, other: &TrialSpec) -> bool {
    one.workload == other.workload
        && one.settings == other.settings
        && one.workers == other.workers
        && one.durability == other.durability
}

fn ranking(manifest: &RunManifest, trials: &[&TrialRecord]) -> Ranking {
    let spec = &trials[0].spec;
    let headline = headline(manifest, trials);
    let names = ContenderNames::of(trials);
    let mut by_cell: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    let mut unranked = Vec::new();
    for trial in trials {
        match why_unranked(trial, &headline) {
            None => by_cell.entry(trial.spec.cell).or_default().push(trial),
            Some((status, reason)) => {
                unranked.push(unranked_trial(trial, &names, &headline, status, reason));
            }
        }
    }
    let cells = by_cell
        .values()
        .filter_map(|repeats| cell(repeats, &names, &headline));
    let (harness, mut cells): (Vec<_>, Vec<_>) =
        cells.partition(|cell| cell.engine == HARNESS_ENGINE);
    let rate = |cell: &Cell| cell.figures.headline_per_s.median;
    cells.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    let best = cells.first().map(rate);
    for cell in &mut cells {
        cell.relative_to_best = best
            .filter(|best| *best > 0.0)
            .map(|best| rate(cell) / best);
    }
    let notes: BTreeSet<_> = trials
        .iter()
        .filter_map(|trial| trial.spec.note.clone())
        .collect();
    Ranking {
        workload: spec.workload.clone(),
        settings: spec.settings.clone(),
        workers: spec.workers,
        durability: spec.durability,
        notes: notes.into_iter().collect(),
        headline,
        cells,
        harness,
        unranked,
    }
}

/// The kind of operation to rank by: as the manifest says, else the workload's first kind.
fn headline(manifest: &RunManifest, trials: &[&TrialRecord]) -> String {
    let stated = manifest.headlines.get(&trials[0].spec.workload).cloned();
    let first_kind = || {
        let measured = trials.iter().find_map(|trial| trial.measurement.as_ref());
        measured
            .and_then(|measured| measured.operations.first())
            .map(|first| first.kind.clone())
    };
    stated
        .or_else(first_kind)
        .unwrap_or_else(|| "operation".to_owned())
}

/// The status and reason of a trial that does not count; `None` for one that does. The null engine
/// keeps nothing that could be verified, so its trials count if they ended well.
fn why_unranked(trial: &TrialRecord, headline: &str) -> Option<(&'static str, String)> {
    match &trial.outcome {
        Outcome::Failed { reason } => return Some(("FAILED", reason.clone())),
        Outcome::Invalid { reasons } => return Some(("INVALID", reasons.join("; "))),
        Outcome::Interrupted => return Some(("interrupted", "the user stopped it".to_owned())),
        Outcome::Valid => {}
    }
    if trial.resumed {
        let reason = "it continued an interrupted trial: its rates speak of the remainder only";
        return Some(("resumed", reason.to_owned()));
    }
    let Some(measurement) = &trial.measurement else {
        return Some(("INVALID", "its line holds no measurement".to_owned()));
    };
    if measurement.operation(headline).is_none() {
        return Some((
            "INVALID",
            format!("its line has no operation '{headline}' to rank by"),
        ));
    }
    if trial.spec.engine == HARNESS_ENGINE || trial.is_rankable() {
        return None;
    }
    match &trial.verification {
        Some(verification) => Some(("INVALID", verification.failures().join("; "))),
        None => Some(("unverified", "nothing was verified".to_owned())),
    }
}

fn unranked_trial(
    trial: &TrialRecord,
    names: &ContenderNames,
    headline: &str,
    status: &'static str,
    reason: String,
) -> Unranked {
    let believable = matches!(status, "resumed" | "unverified");
    let measured = trial.measurement.as_ref().filter(|_| believable);
    Unranked {
        id: trial.spec.id.clone(),
        contender: names.name(&trial.spec),
        status,
        reason,
        headline_per_s: measured
            .and_then(|measurement| measurement.operation(headline))
            .map(|operation| operation.per_s),
    }
}

fn cell(repeats: &[&TrialRecord], names: &ContenderNames, headline: &str) -> Option<Cell> {
    let spec = &repeats.first()?.spec;
    let engine = repeats.iter().find_map(|trial| trial.engine.as_ref());
    let versions: BTreeSet<_> = repeats
        .iter()
        .filter_map(|trial| trial.engine.as_ref().map(|engine| engine.version.as_str()))
        .collect();
    let verified = |trial: &&TrialRecord| {
        trial
            .verification
            .as_ref()
            .map_or(VerifyLevel::Off, |verification| verification.level)
    };
    let thoroughness =
        |level: &VerifyLevel| VerifyLevel::ALL.iter().position(|other| other == level);
    Some(Cell {
        cell: spec.cell,
        contender: names.name(spec),
        engine: spec.engine.clone(),
        version: versions.into_iter().collect::<Vec<_>>().join(", "),
        worker_kind: spec.worker_kind,
        knobs: spec.knobs.clone(),
        promise: engine.map(|engine| engine.promise.clone()),
        verified: repeats
            .iter()
            .map(verified)
            .max_by_key(thoroughness)
            .filter(|level| *level != VerifyLevel::Off),
        repeats: repeats.len(),
        relative_to_best: None,
        figures: figures(repeats, headline)?,
    })
}

fn figures(repeats: &[&TrialRecord], headline: &str) -> Option<Figures> {
    let measured: Vec<&Measurement> = repeats
        .iter()
        .filter_map(|trial| trial.measurement.as_ref())
        .collect();
    let middle = |figure: &dyn Fn(&Measurement) -> f64| {
        median(measured.iter().map(|measurement| figure(measurement))).unwrap_or_default()
    };
    let headline = |measurement: &&Measurement| Some(measurement.operation(headline)?.per_s);
    Some(Figures {
        headline_per_s: Summary::of(measured.iter().filter_map(headline))?,
        elapsed_s: Summary::of(measured.iter().map(|measurement| measurement.elapsed_s))?,
        operations: operations(&measured),
        cpu_s: middle(&Measurement::cpu_s),
        cpu_ns_per_operation: median(measured.iter().filter_map(|m| cpu_ns_per_operation(m))),
        peak_pss_bytes: middle(&|m| m.resources.peak_pss_bytes as f64),
        database_allocated_bytes: middle(&|m| m.database.allocated_bytes as f64),
        storage_written_bytes: middle(&|m| m.resources.storage_written_bytes as f64),
        context_switches: middle(&|m| context_switches(m) as f64),
        conflicts: middle(&|m| m.conflicts as f64),
        results: common_results(&measured),
    })
}

fn operations(measured: &[&Measurement]) -> Vec<OperationFigures> {
    let kinds = measured
        .first()
        .map(|first| first.operations.as_slice())
        .unwrap_or_default();
    let of_kind = |kind: &OperationSummary| {
        let same: Vec<_> = measured
            .iter()
            .filter_map(|m| m.operation(&kind.kind))
            .collect();
        let middle = |figure: &dyn Fn(&OperationSummary) -> f64| {
            median(same.iter().map(|operation| figure(operation))).unwrap_or_default()
        };
        OperationFigures {
            kind: kind.kind.clone(),
            count: middle(&|operation| operation.count as f64),
            per_s: middle(&|operation| operation.per_s),
            p50_ns: middle(&|operation| operation.latency.p50_ns as f64),
            p99_ns: middle(&|operation| operation.latency.p99_ns as f64),
            max_ns: maximum(same.iter().map(|operation| operation.latency.max_ns as f64))
                .unwrap_or_default(),
        }
    };
    kinds.iter().map(of_kind).collect()
}

/// CPU nanoseconds of the workers per operation of any kind; `None` where none was done.
#[must_use]
pub fn cpu_ns_per_operation(measurement: &Measurement) -> Option<f64> {
    let operations: u64 = measurement
        .operations
        .iter()
        .map(|operation| operation.count)
        .sum();
    (operations > 0).then(|| measurement.cpu_s() * 1e9 / operations as f64)
}

/// Voluntary and involuntary context switches of a trial.
#[must_use]
pub fn context_switches(measurement: &Measurement) -> u64 {
    let resources = &measurement.resources;
    resources.voluntary_context_switches + resources.involuntary_context_switches
}

fn common_results(measured: &[&Measurement]) -> BTreeMap<String, Value> {
    let Some((first, others)) = measured.split_first() else {
        return BTreeMap::new();
    };
    let everywhere = |name: &str, value: &Value| {
        others
            .iter()
            .all(|other| other.results.get(name) == Some(value))
    };
    let kept = first
        .results
        .iter()
        .filter(|(name, value)| everywhere(name, value));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Names contenders so that no two cells of a ranking have the same name: where an engine stands in
/// it with several settings of a knob, the knob is named.
struct ContenderNames {
    varying: BTreeMap<String, BTreeSet<String>>,
    several_kinds: BTreeSet<String>,
}

impl ContenderNames {
    fn of(trials: &[&TrialRecord]) -> Self {
        let mut first: BTreeMap<String, &TrialSpec> = BTreeMap::new();
        let mut varying: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut several_kinds = BTreeSet::new();
        for spec in trials.iter().map(|trial| &trial.spec) {
            let contender = spec.contender();
            let other = *first.entry(contender.clone()).or_insert(spec);
            if other.worker_kind != spec.worker_kind {
                several_kinds.insert(contender.clone());
            }
            let names = spec.knobs.keys().chain(other.knobs.keys());
            let differing = names.filter(|&name| spec.knobs.get(name) != other.knobs.get(name));
            varying
                .entry(contender)
                .or_default()
                .extend(differing.cloned());
        }
        Self {
            varying,
            several_kinds,
        }
    }

    fn name(&self, spec: &TrialSpec) -> String {
        let contender = spec.contender();
        let knobs = self.varying.get(&contender).into_iter().flatten();
        let mut told_apart: Vec<String> = knobs
            .filter_map(|name| Some(format!("{name}={}", spec.knobs.get(name)?)))
            .collect();
        if self.several_kinds.contains(&contender) {
            told_apart.push(spec.worker_kind.name().to_owned());
        }
        match told_apart.is_empty() {
            true => contender,
            false => format!("{contender} ({})", told_apart.join(", ")),
        }
    }
}
