//! What the `log-flush` trials of a run came to, side by side, and whether the block device saw the
//! flushes that were acknowledged.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::units::{counted, nanoseconds, number};
use trueput_findings::workload_cells::{WorkloadCell, workload_cells};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::{Durability, TrialRecord};

/// The trials of the workload `log-flush`.
pub(crate) struct LogFlushes;

impl Section for LogFlushes {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        let blocks = blocks(&findings.run.trials);
        Part::unless_empty("Log flushes, side by side", blocks)
            .into_iter()
            .collect()
    }
}

/// Fewer flushes at the device than this part of those that were asked for mean that most were
/// acknowledged without one.
const FEW: f64 = 0.1;

const UNSEEN: &str = "cannot be seen";

/// A heading, the table and what it warns of; nothing where no such trial counts.
pub(crate) fn blocks(trials: &[TrialRecord]) -> Vec<Block> {
    let rows = workload_cells(trials, "log-flush");
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Table(table(&rows))];
    let warnings: Vec<_> = rows.iter().filter_map(warning).collect();
    if !warnings.is_empty() {
        blocks.push(Block::Warnings(warnings));
    }
    for row in &rows {
        if let Some(lines) = berkeley(row.first) {
            let form = "As the test program of Berkeley DB's reference guide prints it:";
            blocks.push(Block::Text(form.to_owned()));
            blocks.push(Block::List(lines.to_vec()));
        }
    }
    blocks
}

/// The three lines that Berkeley DB's test program prints; `None` for another form of the test.
#[must_use]
pub fn berkeley(trial: &TrialRecord) -> Option<[String; 3]> {
    let in_place = setting(trial, "at") == "place" && trial.spec.workers == 1;
    let measured = trial.measurement.as_ref().filter(|_| in_place)?;
    let commits = commit(measured)?;
    Some([
        format!("running: {} ops", commits.count),
        format!("Elapsed time: {:.6} seconds", measured.elapsed_s),
        format!(
            "{} ops: {:7.2} ops per second",
            commits.count, commits.per_s
        ),
    ])
}

/// A setting in words; empty where the record has none of that name.
fn setting(trial: &TrialRecord, name: &str) -> String {
    let value = trial.spec.settings.get(name);
    value.map(ToString::to_string).unwrap_or_default()
}

fn device_flushes_per_commit(row: &WorkloadCell<'_>) -> Option<f64> {
    row.median(|one| per(device_flushes(one)?, commits(one)?))
}

/// What was acknowledged without a flush at the device. Direct writes may pass its cache by
/// themselves, and then need none.
fn warning(row: &WorkloadCell<'_>) -> Option<String> {
    let flush = setting(row.first, "flush");
    if row.first.spec.durability != Durability::Sync || flush == "direct-dsync" {
        return None;
    }
    let seen = row.median(|one| per(device_flushes(one)?, asked_for(one)?))?;
    if seen >= FEW {
        return None;
    }
    let bytes = setting(row.first, "bytes");
    let workers = row.first.spec.workers;
    Some(format!(
        "{flush} of {bytes} bytes by {}: the device completed {} flushes per flush that the \
         file system acknowledged; lost power can lose commits",
        counted(workers.into(), "worker"),
        figures(seen)
    ))
}

fn device_flushes(measured: &Measurement) -> Option<f64> {
    measured.log_flushes().map(|count| count as f64)
}

fn commit(measured: &Measurement) -> Option<&OperationSummary> {
    measured.operation("commit")
}

fn commits(measured: &Measurement) -> Option<f64> {
    Some(commit(measured)?.count as f64)
}

/// Flushes that were asked for: with group commit fewer than commits.
fn asked_for(measured: &Measurement) -> Option<f64> {
    match measured.operation("flush") {
        Some(flushes) => Some(flushes.count as f64),
        None => commits(measured),
    }
}

fn per(of: f64, one: f64) -> Option<f64> {
    (one > 0.0).then(|| of / one)
}

fn figures(value: f64) -> String {
    format!("{value:.3}")
}

fn table(rows: &[WorkloadCell<'_>]) -> Table {
    let placed = |row: &WorkloadCell<'_>| row.first.spec.conditions.file_system.clone();
    let several = rows.iter().any(|row| placed(row).is_some());
    let mut columns = vec![
        Column::text("flush", 0),
        Column::figures("bytes", 0),
        Column::text("at", 3),
        Column::text("file", 2),
        Column::text("files", 4),
        Column::figures("workers", 0),
        Column::figures("commits/s", 0),
        Column::figures("p50", 1),
        Column::figures("p99", 1),
        Column::figures("commits/flush", 1),
        Column::figures("device flushes/commit", 0),
    ];
    if several {
        columns.insert(0, Column::text("file system", 0));
    }
    let shown = |figure: Option<f64>, write: fn(f64) -> String| {
        figure.map_or_else(|| "–".to_owned(), write)
    };
    let row = |row: &WorkloadCell<'_>| {
        let named = |name: &str| setting(row.first, name);
        let mut cells = vec![
            named("flush"),
            named("bytes"),
            named("at"),
            named("file"),
            named("files"),
            row.first.spec.workers.to_string(),
            shown(row.median(|one| Some(commit(one)?.per_s)), number),
            shown(
                row.median(|one| Some(commit(one)?.latency.p50_ns as f64)),
                nanoseconds,
            ),
            shown(
                row.median(|one| Some(commit(one)?.latency.p99_ns as f64)),
                nanoseconds,
            ),
            shown(
                row.median(|one| per(commits(one)?, asked_for(one)?)),
                |it| format!("{it:.2}"),
            ),
            device_flushes_per_commit(row).map_or_else(|| UNSEEN.to_owned(), figures),
        ];
        if several {
            cells.insert(0, placed(row).unwrap_or_default().to_string());
        }
        cells
    };
    Table {
        columns,
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}
