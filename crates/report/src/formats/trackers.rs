//! The medians of a run's cells for the services and actions that follow benchmarks over time:
//! Bencher (its Metric Format, BMF: <https://bencher.dev/docs/reference/bencher-metric-format/>)
//! and github-action-benchmark (<https://github.com/benchmark-action/github-action-benchmark>).

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trueput_findings::Run;
use trueput_findings::cells::cpu_ns_per_operation;
use trueput_findings::eligibility::{HARNESS_ENGINE, LastAttempts, headline, ineligibility, rate};
use trueput_findings::statistics::Summary;
use trueput_findings::trial_names::TrialNames;
use trueput_record::TrialRecord;

/// A figure that a tracker follows.
struct Measure {
    /// Its slug in BMF; Bencher has `throughput` and `latency`.
    slug: &'static str,
    /// Its name where the name of a benchmark has to say it, and its unit.
    name: &'static str,
    unit: &'static str,
    figure: fn(&TrialRecord, &str) -> Option<f64>,
}

/// More of these is better.
const BIGGER: [Measure; 1] = [Measure {
    slug: "throughput",
    name: "rate",
    unit: "operations/s",
    figure: rate,
}];

/// Less of these is better.
const SMALLER: [Measure; 4] = [
    Measure {
        slug: "latency",
        name: "p50",
        unit: "ns",
        figure: |trial, kind| latency_ns(trial, kind, |latency| latency.p50_ns),
    },
    Measure {
        slug: "latency-p99",
        name: "p99",
        unit: "ns",
        figure: |trial, kind| latency_ns(trial, kind, |latency| latency.p99_ns),
    },
    Measure {
        slug: "cpu",
        name: "CPU per operation",
        unit: "ns",
        figure: |trial, _| cpu_ns_per_operation(trial.measurement.as_ref()?),
    },
    Measure {
        slug: "space",
        name: "space",
        unit: "bytes",
        figure: |trial, _| Some(trial.measurement.as_ref()?.database.allocated_bytes as f64),
    },
];

fn latency_ns(
    trial: &TrialRecord,
    kind: &str,
    of: fn(&trueput_record::measurement::LatencySummary) -> u64,
) -> Option<f64> {
    let latency = &trial.measurement.as_ref()?.operation(kind)?.latency;
    latency.is_measured().then(|| of(latency) as f64)
}

/// The trials of a cell that count, with the cell's name and headline operation.
struct Benchmark<'a> {
    name: String,
    headline: String,
    trials: Vec<&'a TrialRecord>,
}

impl Benchmark<'_> {
    fn summary(&self, measure: &Measure) -> Option<Summary> {
        let trials = self.trials.iter();
        Summary::of(trials.filter_map(|trial| (measure.figure)(trial, &self.headline)))
    }
}

/// The cells of runs, in their order, the run's name before them if there are several.
fn benchmarks(runs: &[Run]) -> Vec<Benchmark<'_>> {
    let mut found = Vec::new();
    for run in runs {
        let names = TrialNames::of(run);
        let attempts = LastAttempts::of(&run.trials);
        let mut cells: BTreeMap<u32, Benchmark<'_>> = BTreeMap::new();
        for trial in run.trials.iter().filter(|trial| !attempts.supersede(trial)) {
            let headline = headline(&run.manifest, &[trial]);
            let is_harness = trial.spec.engine == HARNESS_ENGINE;
            if is_harness || ineligibility(trial, &headline).is_some() {
                continue;
            }
            let cell = cells.entry(trial.spec.cell);
            let cell = cell.or_insert_with(|| Benchmark {
                name: names.cell(trial),
                headline,
                trials: Vec::new(),
            });
            cell.trials.push(trial);
        }
        let cells = cells.into_values().map(|cell| match runs {
            [_] => cell,
            _ => Benchmark {
                name: format!("{}: {}", run.manifest.name, cell.name),
                ..cell
            },
        });
        found.extend(cells);
    }
    found
}

/// The medians of the cells in Bencher's Metric Format, with the lowest and highest repeat. It ends
/// with a newline.
#[must_use]
pub fn bencher(runs: &[Run]) -> String {
    let mut document = Map::new();
    for benchmark in benchmarks(runs) {
        let measures = BIGGER.iter().chain(&SMALLER).filter_map(|measure| {
            let summary = benchmark.summary(measure)?;
            let value = json!({
                "value": summary.median,
                "lower_value": summary.min,
                "upper_value": summary.max,
            });
            Some((measure.slug.to_owned(), value))
        });
        let measures: Map<String, Value> = measures.collect();
        document.insert(benchmark.name.clone(), measures.into());
    }
    format!("{:#}\n", Value::from(document))
}

/// The rates of the cells for github-action-benchmark's `customBiggerIsBetter`.
#[must_use]
pub fn github_bigger(runs: &[Run]) -> String {
    github(runs, &BIGGER)
}

/// Latencies, CPU and space of the cells for its `customSmallerIsBetter`.
#[must_use]
pub fn github_smaller(runs: &[Run]) -> String {
    github(runs, &SMALLER)
}

fn github(runs: &[Run], measures: &[Measure]) -> String {
    let benchmarks = benchmarks(runs);
    let entries = benchmarks.iter().flat_map(|benchmark| {
        measures.iter().filter_map(move |measure| {
            let summary = benchmark.summary(measure)?;
            Some(json!({
                "name": format!("{}: {}", benchmark.name, measure.name),
                "unit": measure.unit,
                "value": summary.median,
                "range": format!("{} to {}", summary.min, summary.max),
                "extra": format!("{} repeats", benchmark.trials.len()),
            }))
        })
    });
    let entries: Vec<Value> = entries.collect();
    format!("{:#}\n", Value::from(entries))
}
