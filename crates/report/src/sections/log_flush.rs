//! What the `log-flush` trials of a run came to, side by side, and whether the block device saw the
//! flushes that were acknowledged.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::log_flush::{LogFlushCell, commits, log_flush_cells};
use trueput_findings::units::{counted, nanoseconds, number};
use trueput_record::TrialRecord;

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

const UNSEEN: &str = "cannot be seen";

/// A heading, the table and what it warns of; nothing where no such trial counts.
pub(crate) fn blocks(trials: &[TrialRecord]) -> Vec<Block> {
    let rows = log_flush_cells(trials);
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
    let commits = commits(measured)?;
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

/// What was acknowledged without a flush at the device.
fn warning(row: &LogFlushCell<'_>) -> Option<String> {
    let seen = row.missing_flushes?;
    let [flush, bytes] = ["flush", "bytes"].map(|name| setting(row.first, name));
    let workers = row.first.spec.workers;
    Some(format!(
        "{flush} of {bytes} bytes by {}: the device completed {} flushes per flush that the \
         file system acknowledged; lost power can lose commits",
        counted(workers.into(), "worker"),
        figures(seen)
    ))
}

fn figures(value: f64) -> String {
    format!("{value:.3}")
}

fn table(rows: &[LogFlushCell<'_>]) -> Table {
    let placed = |row: &LogFlushCell<'_>| row.first.spec.conditions.file_system.clone();
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
    let row = |row: &LogFlushCell<'_>| {
        let named = |name: &str| setting(row.first, name);
        let mut cells = vec![
            named("flush"),
            named("bytes"),
            named("at"),
            named("file"),
            named("files"),
            row.first.spec.workers.to_string(),
            shown(row.commits_per_s, number),
            shown(row.p50_ns, nanoseconds),
            shown(row.p99_ns, nanoseconds),
            shown(row.commits_per_flush, |it| format!("{it:.2}")),
            row.device_flushes_per_commit
                .map_or_else(|| UNSEEN.to_owned(), figures),
        ];
        if several {
            cells.insert(0, placed(row).unwrap_or_default().to_string());
        }
        cells
    };
    Table::new(columns, rows.iter().map(row).collect())
}
