//! Trials grouped into cells: the repeats of one contender with one set of knobs and conditions.

use crate::audits::{AuditState, audit_state};
use crate::contender::ContenderNames;
use crate::eligibility::rate;
use crate::fixed_rate::FixedRateResult;
use crate::marks::{Mark, marked, marks_of};
use crate::objective::ObjectiveResult;
use crate::statistics::{
    Comparison, Interval, MIN_REPEATS, Summary, bootstrap_median, maximum, median,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::value::Settings;
use trueput_record::{Conditions, Isolation, Promise, TrialRecord, Value, VerifyLevel, WorkerKind};

/// One contender with one set of knobs and conditions: the median repeat, and how far the repeats
/// differ.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankedCell {
    /// The cell's number in the plan.
    pub cell: u32,
    /// The engine, with its build and the knobs that distinguish it in this ranking.
    pub contender: String,
    /// The engine.
    pub engine: String,
    /// The version that the library itself reported.
    pub version: String,
    /// The library's path, or `compiled in`.
    pub origin: String,
    /// SHA-256 of the library, or of the program if the engine is compiled in; hexadecimal.
    pub sha256: String,
    /// Whether the library was compiled with its assertions; `None` if that is unknown.
    pub assertions: Option<bool>,
    /// Marks of the contender, shown wherever it is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Whether workers are processes or threads.
    pub worker_kind: WorkerKind,
    /// The engine's knobs.
    pub knobs: Settings,
    /// Run conditions of its trials.
    pub conditions: Conditions,
    /// The promise of each commit, as the engine states it.
    pub promise: Option<Promise>,
    /// The audits of that promise; `None` if nothing is promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditState>,
    /// The isolation level that its driver states; `None` if it states none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The least thorough verification of its trials; `None` if nothing was verified.
    pub verified: Option<VerifyLevel>,
    /// Trials that count.
    pub repeats: usize,
    /// The geometric mean of the repeats' rates of the headline operation, per second, by which the
    /// cells of a ranking are ordered.
    #[serde(skip)]
    pub headline_mean_per_s: f64,
    /// Its rate of the headline operation over that of the ranking's best cell: the estimate of
    /// `against_best`, from the repeats in pairs, or for fewer than three the ratio of the
    /// geometric means; `None` for the harness.
    pub relative_to_best: Option<f64>,
    /// Comparison of its repeats with those of the ranking's best cell; `None` for that cell itself
    /// and for the harness.
    pub against_best: Option<Comparison>,
    /// Its result at the offered rate; `None` if the ranking is not at one rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rate: Option<FixedRateResult>,
    /// Whether its repeats kept the objective of the plan; `None` without one, and in a closed
    /// loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<ObjectiveResult>,
    /// The figures.
    pub figures: CellFigures,
}

impl RankedCell {
    /// The contender's name with the labels of its marks, as tables and sentences have it.
    #[must_use]
    pub fn name(&self) -> String {
        marked(&self.contender, &self.marks)
    }
}

/// Repeats that are further apart than this part of their median scatter notably.
const NOTABLE_SPREAD: f64 = 0.25;

impl RankedCell {
    /// Spread of its repeats as a share of their median, if notable.
    #[must_use]
    pub fn notable_spread(&self) -> Option<f64> {
        let spread = self.figures.headline_per_s.spread;
        (self.repeats >= MIN_REPEATS && spread > NOTABLE_SPREAD).then_some(spread)
    }
}

/// The figures of a cell: medians over its repeats unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellFigures {
    /// Rate of the headline operation, per second.
    pub headline_per_s: Summary,
    /// 95 % bootstrap interval of the median of that rate; `None` for fewer than six repeats.
    pub headline_interval: Option<Interval>,
    /// Elapsed time, seconds.
    pub elapsed_s: Summary,
    /// Every kind of operation, in the workload's order.
    pub operations: Vec<OperationFigures>,
    /// User and system CPU of the workers, seconds.
    pub cpu_s: f64,
    /// CPU per operation of any kind, nanoseconds; `None` if none was done.
    pub cpu_ns_per_operation: Option<f64>,
    /// Highest proportional set size over the workers, bytes.
    pub peak_pss_bytes: f64,
    /// Blocks that the database took on its file system, bytes.
    pub database_allocated_bytes: f64,
    /// The same after the engine's own compaction; `None` if it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted_bytes: Option<f64>,
    /// Bytes that the workers sent to the storage layer.
    pub storage_written_bytes: f64,
    /// Bytes written to the database's device by any program; `None` if the device does not count
    /// them.
    pub device_written_bytes: Option<f64>,
    /// Bytes written to the devices of database and log, by any program, per commit; `None` if one
    /// of both is not counted.
    pub device_bytes_per_commit: Option<f64>,
    /// Flushes that the device completed, for whomever, per commit; `None` if one of both is not
    /// counted.
    pub flushes_per_commit: Option<f64>,
    /// The share of the elapsed time in which these flushes were under way; `None` if it is not
    /// known.
    pub flush_share: Option<f64>,
    /// The share of the elapsed time in which the busier of the devices of database and log had a
    /// request; `None` if there is no device.
    pub device_busy_share: Option<f64>,
    /// Hit ratio of the engine's own cache, 0 to 1; `None` if the engine does not report it.
    pub cache_hit_ratio: Option<f64>,
    /// Voluntary and involuntary context switches.
    pub context_switches: f64,
    /// Conflicts that the engine reported and the workload retried, deadlocks among them.
    pub conflicts: f64,
    /// Deadlocks among the conflicts, if the engine reports them.
    pub deadlocks: f64,
    /// Results of the workload that were the same in every repeat.
    pub results: BTreeMap<String, Value>,
    /// Results of the workload that are numbers with a fraction in every repeat, as rates are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub result_medians: BTreeMap<String, f64>,
}

/// One kind of operation over the repeats of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OperationFigures {
    /// The workload's name for it.
    pub kind: String,
    /// What its times are: `service`, from when a worker started an operation. Response times are
    /// in [`RankedCell::at_rate`].
    pub time: &'static str,
    /// Median count.
    pub count: f64,
    /// Median rate, per second.
    pub per_s: f64,
    /// Median over the repeats of each repeat's median latency, nanoseconds; this and the next two
    /// are `None` if no operation was timed.
    pub p50_ns: Option<f64>,
    /// Median over the repeats of each repeat's 99th percentile, nanoseconds.
    pub p99_ns: Option<f64>,
    /// The longest of all repeats, nanoseconds.
    pub max_ns: Option<f64>,
}

/// Fewest repeats for an interval of the median: with fewer, the minimum and the maximum contain
/// the true median in less than 95 % of cases (93.75 % for five repeats, 75 % for three).
const MIN_FOR_INTERVAL: usize = 6;

/// Resamples for the bootstrap interval of a median.
const RESAMPLES: usize = 2_000;

/// Separates the versions of a contender whose library changed between repeats.
pub const SEVERAL_VERSIONS: &str = " and ";

/// Summarizes the repeats of a cell; `None` if none of them measured the headline operation.
pub fn cell(
    repeats: &[&TrialRecord],
    names: &ContenderNames,
    headline: &str,
) -> Option<RankedCell> {
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
    Some(RankedCell {
        cell: spec.cell,
        contender: names.name(spec),
        engine: spec.engine.clone(),
        version: versions
            .into_iter()
            .collect::<Vec<_>>()
            .join(SEVERAL_VERSIONS),
        origin: engine.map_or_else(String::new, |engine| engine.origin.clone()),
        sha256: engine.map_or_else(String::new, |engine| engine.sha256.clone()),
        assertions: engine.and_then(|engine| engine.assertions),
        marks: marks_of(repeats.iter().copied()),
        worker_kind: spec.worker_kind,
        knobs: spec.knobs.clone(),
        conditions: spec.conditions.clone(),
        promise: engine.map(|engine| engine.promise.clone()),
        audit: audit_state(repeats),
        isolation: engine.and_then(|engine| engine.isolation),
        verified: repeats
            .iter()
            .map(verified)
            .max_by_key(thoroughness)
            .filter(|level| *level != VerifyLevel::Off),
        repeats: repeats.len(),
        headline_mean_per_s: headline_mean(repeats, headline),
        relative_to_best: None,
        against_best: None,
        at_rate: None,
        objective: None,
        figures: figures(repeats, headline)?,
    })
}

/// The geometric mean of the repeats' rates of the headline operation, per second; 0 if one is.
fn headline_mean(repeats: &[&TrialRecord], headline: &str) -> f64 {
    let rates = repeats.iter().filter_map(|trial| rate(trial, headline));
    match rates.collect::<Vec<_>>().as_slice() {
        // Exactly: logarithms would miss it by a bit.
        [one] => *one,
        rates => {
            let sum: f64 = rates.iter().map(|rate| rate.ln()).sum();
            (sum / rates.len().max(1) as f64).exp()
        }
    }
}

fn figures(repeats: &[&TrialRecord], headline: &str) -> Option<CellFigures> {
    let measured: Vec<&Measurement> = repeats
        .iter()
        .filter_map(|trial| trial.measurement.as_ref())
        .collect();
    let middle = |figure: &dyn Fn(&Measurement) -> f64| {
        median(measured.iter().map(|measurement| figure(measurement))).unwrap_or_default()
    };
    let headline = |measurement: &&Measurement| Some(measurement.operation(headline)?.per_s);
    let rates: Vec<f64> = measured.iter().filter_map(headline).collect();
    Some(CellFigures {
        headline_interval: if rates.len() < MIN_FOR_INTERVAL {
            None
        } else {
            bootstrap_median(&rates, 0.95, RESAMPLES)
        },
        headline_per_s: Summary::of(rates)?,
        elapsed_s: Summary::of(measured.iter().map(|measurement| measurement.elapsed_s))?,
        operations: operations(&measured),
        cpu_s: middle(&Measurement::cpu_s),
        cpu_ns_per_operation: median(measured.iter().filter_map(|m| cpu_ns_per_operation(m))),
        peak_pss_bytes: middle(&|m| m.resources.peak_pss_bytes as f64),
        database_allocated_bytes: middle(&|m| m.database.allocated_bytes as f64),
        compacted_bytes: median(measured.iter().filter_map(|m| compacted_bytes(m))),
        storage_written_bytes: middle(&|m| m.resources.storage_written_bytes as f64),
        device_written_bytes: median(measured.iter().filter_map(|m| device_written_bytes(m))),
        device_bytes_per_commit: median(measured.iter().filter_map(|m| bytes_per_commit(m))),
        flushes_per_commit: median(measured.iter().filter_map(|m| flushes_per_commit(m))),
        flush_share: median(measured.iter().filter_map(|m| flush_share(m))),
        device_busy_share: median(measured.iter().filter_map(|m| busy_share(m))),
        cache_hit_ratio: median(measured.iter().filter_map(|m| cache_hit_ratio(m))),
        context_switches: middle(&|m| context_switches(m) as f64),
        conflicts: middle(&|m| m.conflicts as f64),
        deadlocks: middle(&|m| m.deadlocks as f64),
        results: common_results(measured.iter().map(|one| &one.results)),
        result_medians: result_medians(&measured),
    })
}

fn compacted_bytes(measurement: &Measurement) -> Option<f64> {
    let compaction = measurement.compaction.as_ref()?;
    Some(compaction.database.allocated_bytes as f64)
}

/// The medians of the results that are numbers with a fraction in each of these.
fn result_medians(measured: &[&Measurement]) -> BTreeMap<String, f64> {
    let fraction = |one: &Measurement, name: &str| match one.results.get(name) {
        Some(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let names = measured
        .first()
        .into_iter()
        .flat_map(|first| first.results.keys());
    let of_name = |name: &String| {
        let values: Option<Vec<f64>> = measured.iter().map(|one| fraction(one, name)).collect();
        Some((name.clone(), median(values?)?))
    };
    names.filter_map(of_name).collect()
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
        let latencies = || {
            let timed = same.iter().map(|operation| &operation.latency);
            timed.filter(|latency| latency.is_measured())
        };
        OperationFigures {
            kind: kind.kind.clone(),
            time: "service",
            count: middle(&|operation| operation.count as f64),
            per_s: middle(&|operation| operation.per_s),
            p50_ns: median(latencies().map(|latency| latency.p50_ns as f64)),
            p99_ns: median(latencies().map(|latency| latency.p99_ns as f64)),
            max_ns: maximum(latencies().map(|latency| latency.max_ns as f64)),
        }
    };
    kinds.iter().map(of_kind).collect()
}

/// CPU nanoseconds of the workers per operation of any kind; `None` if none was done.
#[must_use]
pub fn cpu_ns_per_operation(measurement: &Measurement) -> Option<f64> {
    let operations: u64 = measurement
        .operations
        .iter()
        .map(|operation| operation.count)
        .sum();
    (operations > 0).then(|| measurement.cpu_s() * 1e9 / operations as f64)
}

fn device_written_bytes(measurement: &Measurement) -> Option<f64> {
    Some(measurement.device?.written_bytes as f64)
}

/// Flushes of the log's device per commit of the workload; `None` if either is not counted, or
/// there was no commit. Flushes of other programs on the device are included.
#[must_use]
pub fn flushes_per_commit(measurement: &Measurement) -> Option<f64> {
    per_commit(measurement, measurement.log_flushes()? as f64)
}

fn bytes_per_commit(measurement: &Measurement) -> Option<f64> {
    let devices = [
        measurement.device?,
        measurement.log_device.unwrap_or_default(),
    ];
    let written = devices.map(|device| device.written_bytes as f64);
    per_commit(measurement, written.iter().sum())
}

fn per_commit(measurement: &Measurement, figure: f64) -> Option<f64> {
    let commits = measurement.commits.filter(|commits| *commits > 0)?;
    Some(figure / commits as f64)
}

/// The share of the elapsed time in which the log's device flushed: all of it if several queues of
/// the device flush at once.
fn flush_share(measurement: &Measurement) -> Option<f64> {
    let device = measurement.log_device.or(measurement.device)?;
    share_of_elapsed(measurement, device.flush_s?)
}

fn busy_share(measurement: &Measurement) -> Option<f64> {
    let devices = [Some(measurement.device?), measurement.log_device];
    let busy_s = devices.iter().flatten().map(|device| device.busy_s);
    share_of_elapsed(measurement, busy_s.fold(0.0, f64::max))
}

fn share_of_elapsed(measurement: &Measurement, time_s: f64) -> Option<f64> {
    let elapsed_s = measurement.elapsed_s;
    (elapsed_s > 0.0).then(|| (time_s / elapsed_s).min(1.0))
}

/// Hit ratio of the engine's own cache, 0 to 1; `None` if the engine does not report it, or the
/// cache was not used.
#[must_use]
pub fn cache_hit_ratio(measurement: &Measurement) -> Option<f64> {
    measurement.cache?.hit_ratio()
}

/// Voluntary and involuntary context switches of a trial.
#[must_use]
pub fn context_switches(measurement: &Measurement) -> u64 {
    let resources = &measurement.resources;
    let voluntary = resources.voluntary_context_switches;
    voluntary.saturating_add(resources.involuntary_context_switches)
}

/// The results that all of these have, each with one value.
#[must_use]
pub fn common_results<'a>(
    mut all: impl Iterator<Item = &'a BTreeMap<String, Value>>,
) -> BTreeMap<String, Value> {
    let mut common = all.next().cloned().unwrap_or_default();
    for other in all {
        common.retain(|name, value| other.get(name) == Some(value));
    }
    common
}
