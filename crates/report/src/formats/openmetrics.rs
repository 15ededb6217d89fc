//! A run's trials as OpenMetrics, for monitoring systems.

use crate::sections::tpcc;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use trueput_findings::Run;
use trueput_findings::eligibility::{LastAttempts, headline, ineligibility};
use trueput_record::measurement::{LatencySummary, OpenLoop, TimelineSecond};
use trueput_record::text::escape_lines;
use trueput_record::trial_time::started_at_s;
use trueput_record::{TrialRecord, TrialSpec};

/// A trial whose samples are written.
struct TrialSample<'a> {
    trial: &'a TrialRecord,
    labels: String,
    /// Whether it is eligible for rankings.
    counts: bool,
}

/// A figure of a trial by its labels.
type Samples = Vec<(String, f64)>;

/// A family of metrics: its name, the suffix of its samples, its description, and a function for
/// its values.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&TrialSample<'_>) -> Samples,
);

/// Every family, in the units of OpenMetrics: seconds and bytes.
const FAMILIES: [Family; 13] = [
    (
        "trueput_trial_valid",
        "",
        "Whether the trial counts: 1 or 0",
        |sampled| vec![(sampled.labels.clone(), f64::from(u8::from(sampled.counts)))],
    ),
    (
        "trueput_operations_per_second",
        "",
        "Operations of a kind per second",
        |sampled| per_kind(sampled, |kind| Some(kind.per_s)),
    ),
    (
        "trueput_not_found",
        "",
        "Operations of a kind that looked for a record that was not there, if there are any",
        |sampled| {
            per_kind(sampled, |kind| {
                (kind.not_found > 0).then_some(kind.not_found as f64)
            })
        },
    ),
    (
        "trueput_service_time_seconds",
        "seconds",
        "Service time of a kind of operation, by quantile",
        latencies,
    ),
    (
        "trueput_response_time_seconds",
        "seconds",
        "Response time of a kind of request in an open loop, from when it was due, by quantile",
        response_times,
    ),
    (
        "trueput_offered_per_second",
        "",
        "Requests that became due per second in an open loop",
        offered,
    ),
    (
        "trueput_elapsed_seconds",
        "seconds",
        "How long the workers ran",
        |sampled| measured(sampled, |measured| measured.elapsed_s),
    ),
    (
        "trueput_cpu_seconds",
        "seconds",
        "CPU of the workers",
        |sampled| measured(sampled, trueput_record::Measurement::cpu_s),
    ),
    (
        "trueput_peak_pss_bytes",
        "bytes",
        "Most memory of the workers",
        |sampled| measured(sampled, |measured| measured.resources.peak_pss_bytes as f64),
    ),
    (
        "trueput_database_bytes",
        "bytes",
        "The database on disk",
        |sampled| measured(sampled, |measured| measured.database.allocated_bytes as f64),
    ),
    (
        "trueput_database_at_start_bytes",
        "bytes",
        "The database on disk before the workers opened it; on a shared load, after the trials \
         before it",
        |sampled| {
            reported(sampled, |measured| {
                Some(measured.database_at_start?.allocated_bytes as f64)
            })
        },
    ),
    (
        "trueput_compacted_database_bytes",
        "bytes",
        "The database on disk after the engine's own compaction",
        |sampled| {
            reported(sampled, |measured| {
                Some(measured.compaction.as_ref()?.database.allocated_bytes as f64)
            })
        },
    ),
    (
        "trueput_compaction_seconds",
        "seconds",
        "How long the engine's own compaction took",
        |sampled| {
            reported(sampled, |measured| {
                Some(measured.compaction.as_ref()?.elapsed_s)
            })
        },
    ),
];

/// The trials as OpenMetrics 1.0 text: gauges, a sample per trial. It ends with `# EOF`.
#[must_use]
pub fn render(reports: &[Run]) -> String {
    let mut text = String::new();
    let sampled = select_samples(reports);
    let trials = reports.iter().flat_map(|report| &report.trials);
    // OpenMetrics has no comments but descriptions.
    let notice = tpcc::notice(trials.map(|trial| trial.spec.workload.as_str()));
    let notice = notice.map(|text| format!(" {text}")).unwrap_or_default();
    for (name, unit, help, figure) in FAMILIES {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}.{notice}");
        for (labels, value) in sampled.iter().flat_map(figure) {
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    text + "# EOF\n"
}

/// A family of samples of each second: its name, its unit, its description, and a function for the
/// values of a kind of operation by quantile.
type SecondFamily = (&'static str, &'static str, &'static str, SecondFigures);

/// The values of a kind of operation in a second, or in the rest of that many seconds that ends a
/// trial, by quantile.
type SecondFigures = fn(&TimelineSecond, f64, usize) -> Vec<(&'static str, f64)>;

const SECOND_FAMILIES: [SecondFamily; 2] = [
    (
        "trueput_second_operations_per_second",
        "",
        "Rate of one kind of operation in the second of measured time, or the rest of the trial, \
         that ends at the sample's time",
        |second, length_s, kind| {
            let count = second.counts.get(kind).filter(|_| length_s > 0.0);
            let rate = count.map(|count| ("", *count as f64 / length_s));
            rate.into_iter().collect()
        },
    ),
    (
        "trueput_second_service_time_seconds",
        "seconds",
        "Service time of one kind of operation in the second of measured time that ends at the \
         sample's time, by quantile",
        |second, _, kind| {
            let quantiles = [
                ("0.5", &second.latency_p50_ns),
                ("0.99", &second.latency_p99_ns),
                ("0.999", &second.latency_p999_ns),
                ("1", &second.latency_max_ns),
            ];
            let timed = quantiles.into_iter().filter_map(|(quantile, times)| {
                let time_ns = times.get(kind).filter(|time_ns| **time_ns > 0)?;
                Some((quantile, *time_ns as f64 / 1e9))
            });
            timed.collect()
        },
    ),
];

/// A family of samples of each second of a trial, of all kinds of operation together: its name, its
/// unit, its description, and a function for the value.
type StorageFamily = (
    &'static str,
    &'static str,
    &'static str,
    fn(&TimelineSecond) -> Option<f64>,
);

const STORAGE_FAMILIES: [StorageFamily; 5] = [
    (
        "trueput_second_database_bytes",
        "bytes",
        "The database on disk at the sample's time",
        |second| Some(second.database_allocated_bytes? as f64),
    ),
    (
        "trueput_second_user_written_bytes",
        "bytes",
        "Keys and values written in the second of measured time that ends at the sample's time",
        |second| Some(second.user_written_bytes? as f64),
    ),
    (
        "trueput_second_storage_written_bytes",
        "bytes",
        "Bytes that the processes sent to the storage layer in that second",
        |second| Some(second.storage_written_bytes as f64),
    ),
    (
        "trueput_second_device_written_bytes",
        "bytes",
        "Bytes that the devices of database and log wrote in that second, for any program",
        |second| Some(second.device_written_bytes()? as f64),
    ),
    (
        "trueput_second_tombstones_passed",
        "",
        "Marks of deleted records that iterators passed over in that second",
        |second| Some(second.tombstones_passed? as f64),
    ),
];

/// Writes the seconds of the trials as OpenMetrics 1.0 text: gauges with a time, for a database of
/// time series. The samples of a set of labels are in order of time. A time is the trial's start
/// and the measured time since: pauses, as between time slices, are left out.
///
/// # Errors
/// Those of `write`, which gets the text in pieces.
pub fn write_seconds<E>(
    reports: &[Run],
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let sampled = select_samples(reports);
    for (name, unit, help, figures) in SECOND_FAMILIES {
        let series = sampled.iter().flat_map(|one| series(one, figures));
        write_family((name, unit, help), series, &mut write)?;
    }
    for (name, unit, help, figure) in STORAGE_FAMILIES {
        let series = sampled.iter().filter_map(|one| storage_series(one, figure));
        write_family((name, unit, help), series, &mut write)?;
    }
    write("# EOF\n")
}

/// A series: its labels, and the values with their times, seconds since 1970.
type Series = (String, Vec<(f64, f64)>);

/// Writes a family by its name, unit and description, with its series.
fn write_family<E>(
    (name, unit, help): (&str, &str, &str),
    series: impl Iterator<Item = Series>,
    write: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut text = String::new();
    let _ = writeln!(text, "# TYPE {name} gauge");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}.");
    write(&text)?;
    for (labels, points) in series {
        text.clear();
        for (at_s, value) in points {
            let _ = writeln!(text, "{name}{{{labels}}} {value} {at_s:.3}");
        }
        write(&text)?;
    }
    Ok(())
}

/// The series of a trial of a figure of all kinds of operation together; `None` if the trial does
/// not say when it began, or has no such figure.
fn storage_series(
    sampled: &TrialSample<'_>,
    figure: fn(&TimelineSecond) -> Option<f64>,
) -> Option<Series> {
    let measurement = sampled.trial.measurement.as_ref()?;
    let began_s = started_at_s(sampled.trial)?;
    let point = |second: &TimelineSecond| Some((began_s + second.at_s, figure(second)?));
    let points: Vec<_> = measurement.timeline.iter().filter_map(point).collect();
    (!points.is_empty()).then(|| (sampled.labels.clone(), points))
}

/// The series of a trial: their labels, and the values with their times, seconds since 1970. None
/// if the trial does not say when it began.
fn series(sampled: &TrialSample<'_>, figures: SecondFigures) -> Vec<Series> {
    let began_s = started_at_s(sampled.trial);
    let (Some(measurement), Some(began_s)) = (&sampled.trial.measurement, began_s) else {
        return Vec::new();
    };
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (index, operation) in measurement.operations.iter().enumerate() {
        let labels = format!("{},kind=\"{}\"", sampled.labels, escaped(&operation.kind));
        let mut from_s = 0.0;
        for second in &measurement.timeline {
            let at_s = began_s + second.at_s;
            let length_s = second.at_s - std::mem::replace(&mut from_s, second.at_s);
            for (quantile, value) in figures(second, length_s, index) {
                let labels = match quantile {
                    "" => labels.clone(),
                    quantile => format!("{labels},quantile=\"{quantile}\""),
                };
                series.entry(labels).or_default().push((at_s, value));
            }
        }
    }
    series.into_iter().collect()
}

/// The trials whose samples are written. A set of labels must occur only once in a family, so an
/// interrupted trial that ran again is left out, and a run that is named twice counts once.
fn select_samples(reports: &[Run]) -> Vec<TrialSample<'_>> {
    let mut seen = BTreeSet::new();
    let mut sampled = Vec::new();
    for report in reports {
        let trials = &report.trials;
        let attempts = LastAttempts::of(trials);
        let last: Vec<&TrialRecord> = trials
            .iter()
            .filter(|trial| !attempts.supersede(trial))
            .collect();
        for &trial in &last {
            let labels = labels(report, &trial.spec);
            if !seen.insert(labels.clone()) {
                continue;
            }
            let mut of_workload = last.clone();
            of_workload.retain(|other| other.spec.workload == trial.spec.workload);
            let headline = headline(&report.manifest, &of_workload);
            sampled.push(TrialSample {
                trial,
                labels,
                counts: ineligibility(trial, &headline).is_none(),
            });
        }
    }
    sampled
}

fn labels(report: &Run, spec: &TrialSpec) -> String {
    let pairs = [
        ("run", report.manifest.name.clone()),
        ("started", report.manifest.started_at.clone()),
        ("host", report.manifest.host.host_name.clone()),
        ("trial", spec.id.clone()),
        ("workload", spec.workload.clone()),
        ("contender", spec.contender()),
        ("durability", spec.durability.name().to_owned()),
        ("workers", spec.workers.to_string()),
        ("repeat", spec.repeat.to_string()),
    ];
    let written = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(&value)));
    written.join(",")
}

fn escaped(value: &str) -> String {
    escape_lines(value)
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}

fn measured(sampled: &TrialSample<'_>, figure: fn(&trueput_record::Measurement) -> f64) -> Samples {
    let measurement = sampled.trial.measurement.iter();
    measurement
        .map(|measured| (sampled.labels.clone(), figure(measured)))
        .collect()
}

/// A figure that not every trial has.
fn reported(
    sampled: &TrialSample<'_>,
    figure: fn(&trueput_record::Measurement) -> Option<f64>,
) -> Samples {
    let found = sampled.trial.measurement.as_ref().and_then(figure);
    let sample = found.map(|value| (sampled.labels.clone(), value));
    sample.into_iter().collect()
}

fn per_kind(
    sampled: &TrialSample<'_>,
    figure: fn(&trueput_record::measurement::OperationSummary) -> Option<f64>,
) -> Samples {
    let kinds = sampled
        .trial
        .measurement
        .iter()
        .flat_map(|measured| &measured.operations);
    let sample = |kind: &trueput_record::measurement::OperationSummary| {
        let labels = format!("{},kind=\"{}\"", sampled.labels, escaped(&kind.kind));
        Some((labels, figure(kind)?))
    };
    kinds.filter_map(sample).collect()
}

fn offered(sampled: &TrialSample<'_>) -> Samples {
    let open = open_loop(sampled);
    open.map(|open| (sampled.labels.clone(), open.rate_per_s))
        .collect()
}

fn open_loop<'a>(sampled: &TrialSample<'a>) -> impl Iterator<Item = &'a OpenLoop> {
    let measured = sampled.trial.measurement.iter();
    measured.filter_map(|measured| measured.open_loop.as_ref())
}

fn latencies(sampled: &TrialSample<'_>) -> Samples {
    let measured = sampled.trial.measurement.iter();
    let kinds = measured.flat_map(|measured| &measured.operations);
    let timed = kinds.filter(|kind| kind.latency.is_measured());
    timed
        .flat_map(|kind| quantiles(sampled, &kind.kind, &kind.latency))
        .collect()
}

fn response_times(sampled: &TrialSample<'_>) -> Samples {
    let kinds = open_loop(sampled).flat_map(|open| &open.responses);
    let counted = kinds.filter(|kind| kind.count > 0);
    counted
        .flat_map(|kind| quantiles(sampled, &kind.kind, &kind.latency))
        .collect()
}

fn quantiles(sampled: &TrialSample<'_>, kind: &str, times: &LatencySummary) -> Samples {
    let labels = format!("{},kind=\"{}\"", sampled.labels, escaped(kind));
    let quantiles = [
        ("0.5", times.p50_ns),
        ("0.9", times.p90_ns),
        ("0.99", times.p99_ns),
        ("0.999", times.p999_ns),
        ("1", times.max_ns),
    ];
    let sample = |(quantile, time_ns): (&str, u64)| {
        let labels = format!("{labels},quantile=\"{quantile}\"");
        (labels, time_ns as f64 / 1e9)
    };
    quantiles.map(sample).to_vec()
}
