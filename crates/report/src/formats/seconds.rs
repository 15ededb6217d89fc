//! The trials of runs second by second, as CSV and as JSON Lines: a line for each second and kind
//! of operation. Figures of a second that are of no kind are on the line of each.

use super::csv::quoted;
use serde_json::Value;
use trueput_findings::Run;
use trueput_findings::trial_names::TrialNames;
use trueput_record::measurement::TimelineSecond;
use trueput_record::{Measurement, Outcome, TrialRecord};

/// A kind of operation in a second of a trial.
struct SecondRow<'a> {
    run: &'a Run,
    trial: &'a TrialRecord,
    contender: &'a str,
    /// The start of the second, seconds since the release.
    from_s: f64,
    second: &'a TimelineSecond,
    /// The number of the kind.
    index: usize,
    kind: &'a str,
}

/// A column: its name, which ends in the unit, and its value.
type SecondColumn = (&'static str, fn(&SecondRow<'_>) -> Value);

const COLUMNS: [SecondColumn; 29] = [
    ("run", |row| row.run.manifest.name.as_str().into()),
    ("run_started_at", |row| {
        row.run.manifest.started_at.as_str().into()
    }),
    ("host", |row| {
        row.run.manifest.host.host_name.as_str().into()
    }),
    ("program_commit", |row| {
        row.run.manifest.host.program.commit.as_str().into()
    }),
    ("trial", |row| row.trial.spec.id.as_str().into()),
    ("cell", |row| row.trial.spec.cell.into()),
    ("repeat", |row| row.trial.spec.repeat.into()),
    ("valid", |row| (row.trial.outcome == Outcome::Valid).into()),
    ("workload", |row| row.trial.spec.workload.as_str().into()),
    ("contender", |row| row.contender.into()),
    ("durability", |row| row.trial.spec.durability.name().into()),
    ("workers", |row| row.trial.spec.workers.into()),
    ("from_s", |row| row.from_s.into()),
    ("until_s", |row| row.second.at_s.into()),
    ("kind", |row| row.kind.into()),
    ("count", |row| row.count().into()),
    ("per_s", |row| {
        (row.count() as f64 / (row.second.at_s - row.from_s)).into()
    }),
    ("mean_ns", |row| row.latency_ns(&row.second.latency_mean_ns)),
    ("p50_ns", |row| row.latency_ns(&row.second.latency_p50_ns)),
    ("p99_ns", |row| row.latency_ns(&row.second.latency_p99_ns)),
    ("p999_ns", |row| row.latency_ns(&row.second.latency_p999_ns)),
    ("max_ns", |row| row.latency_ns(&row.second.latency_max_ns)),
    // From here on, of all kinds together.
    ("storage_written_bytes", |row| {
        row.second.storage_written_bytes.into()
    }),
    ("device_written_bytes", |row| {
        row.second.device_written_bytes().into()
    }),
    ("user_written_bytes", |row| {
        row.second.user_written_bytes.into()
    }),
    ("write_amplification", |row| {
        row.second.write_amplification().into()
    }),
    ("device_write_amplification", |row| {
        row.second.device_write_amplification().into()
    }),
    ("database_allocated_bytes", |row| {
        row.second.database_allocated_bytes.into()
    }),
    ("tombstones_passed", |row| {
        row.second.tombstones_passed.into()
    }),
];

impl SecondRow<'_> {
    /// Returns the number of operations.
    fn count(&self) -> u64 {
        let count = self.second.counts.get(self.index);
        count.copied().unwrap_or_default()
    }

    /// A latency of the second by kind; missing if no operation was timed.
    fn latency_ns(&self, by_kind: &[u64]) -> Value {
        let latency = by_kind.get(self.index).filter(|latency| **latency > 0);
        latency.map_or(Value::Null, |latency| (*latency).into())
    }
}

/// Writes the rows of every trial of these runs, in order, in pieces of a trial each: the seconds
/// of many long runs need not fit in memory as text.
fn write_rows<E>(
    reports: &[Run],
    row: impl Fn(&SecondRow<'_>) -> String,
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    for run in reports {
        let names = TrialNames::of(run);
        for trial in &run.trials {
            let Some(measurement) = &trial.measurement else {
                continue;
            };
            let contender = names.contender(trial);
            let mut text = String::new();
            visit_trial(run, trial, measurement, &contender, |it| text += &row(it));
            write(&text)?;
        }
    }
    Ok(())
}

fn visit_trial(
    run: &Run,
    trial: &TrialRecord,
    measurement: &Measurement,
    contender: &str,
    mut visit: impl FnMut(&SecondRow<'_>),
) {
    let mut from_s = 0.0;
    for second in &measurement.timeline {
        for (index, operation) in measurement.operations.iter().enumerate() {
            visit(&SecondRow {
                run,
                trial,
                contender,
                from_s,
                second,
                index,
                kind: &operation.kind,
            });
        }
        from_s = second.at_s;
    }
}

/// Writes the seconds of every trial, whether or not it counts, as CSV (RFC 4180).
///
/// # Errors
/// Those of `write`, which gets the text in pieces.
pub fn csv<E>(reports: &[Run], mut write: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    write(&(COLUMNS.map(|(name, _)| name).join(",") + "\r\n"))?;
    let row = |row: &SecondRow<'_>| {
        let cell = |(_, value): SecondColumn| match value(row) {
            Value::Null => String::new(),
            Value::String(words) => quoted(&words),
            other => other.to_string(),
        };
        COLUMNS.map(cell).join(",") + "\r\n"
    };
    write_rows(reports, row, write)
}

/// Writes the seconds of every trial, whether or not it counts, as JSON Lines.
///
/// # Errors
/// As [`csv`].
pub fn jsonl<E>(reports: &[Run], write: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let row = |row: &SecondRow<'_>| {
        let field = |(name, value): SecondColumn| format!("\"{name}\":{}", value(row));
        format!("{{{}}}\n", COLUMNS.map(field).join(","))
    };
    write_rows(reports, row, write)
}
