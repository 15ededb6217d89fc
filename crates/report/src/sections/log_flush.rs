//! The results of the `log-flush` trials of a run, side by side, and whether the block device saw
//! the flushes that were acknowledged.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::log_flush::{LogFlushCell, commits, log_flush_cells};
use trueput_findings::storage_models::StorageModels;
use trueput_findings::units::{counted, nanoseconds, number};
use trueput_record::TrialRecord;

/// The trials of the workload `log-flush`.
pub(crate) struct LogFlushes;

impl Section for LogFlushes {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        let blocks = blocks(&input.run.trials);
        Part::unless_empty("Log flushes, side by side", blocks)
    }
}

const UNSEEN: &str = "cannot be seen";

/// A heading, the table and warnings; empty if no such trial counts.
pub(crate) fn blocks(trials: &[TrialRecord]) -> Vec<Block> {
    let rows = log_flush_cells(trials);
    let warnings = rows.iter().filter_map(warning).collect();
    let blocks = [Block::Table(table(&rows)), Block::Warnings(warnings)];
    let berkeley = rows.iter().filter_map(|row| berkeley(row.first));
    let berkeley = berkeley.flat_map(|lines| {
        let form = "As the test program of Berkeley DB's reference guide prints it:";
        [Block::Text(form.to_owned()), Block::List(lines.into())]
    });
    let blocks = blocks.into_iter().filter_map(Block::filled);
    blocks.chain(berkeley).collect()
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

/// A setting as text; empty if the record has no setting of that name.
fn setting(trial: &TrialRecord, name: &str) -> String {
    let value = trial.spec.settings.get(name);
    value.map(ToString::to_string).unwrap_or_default()
}

/// Warns of flushes that were acknowledged but did not reach the device.
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

fn table(cells: &[LogFlushCell<'_>]) -> Table {
    let file_system = |cell: &LogFlushCell<'_>| cell.first.spec.conditions.file_system.clone();
    let is_placed = cells.iter().any(|cell| file_system(cell).is_some());
    let models = |cell: &LogFlushCell<'_>| StorageModels::of(&cell.first.spec.conditions);
    let is_modelled = cells.iter().any(|cell| models(cell).has_model());
    let is_faulty = cells.iter().any(|cell| models(cell).fault.is_some());
    let set = |name: &'static str| move |cell: &LogFlushCell<'_>| setting(cell.first, name);
    let shown = |figure: Option<f64>, write: fn(f64) -> String| {
        figure.map_or_else(|| "–".to_owned(), write)
    };
    Table::of(cells)
        .when(is_placed, |table| {
            table.text("file system", 0, |cell| {
                file_system(cell).unwrap_or_default()
            })
        })
        .when(is_modelled, |table| {
            table.text("storage model", 0, |cell| models(cell).data)
        })
        .when(is_faulty, |table| {
            table.text("fault", 0, |cell| {
                models(cell).fault.unwrap_or_else(|| "none".to_owned())
            })
        })
        .text("flush", 0, set("flush"))
        .figures("bytes", 0, set("bytes"))
        .text("at", 3, set("at"))
        .text("file", 2, set("file"))
        .text("files", 4, set("files"))
        .figures("workers", 0, |cell| cell.first.spec.workers)
        .figures("commits/s", 0, |cell| shown(cell.commits_per_s, number))
        .figures("p50", 1, |cell| shown(cell.p50_ns, nanoseconds))
        .figures("p99", 1, |cell| shown(cell.p99_ns, nanoseconds))
        .figures("commits/flush", 1, |cell| {
            shown(cell.commits_per_flush, |it| format!("{it:.2}"))
        })
        .figures("device flushes/commit", 0, |cell| {
            let flushes = cell.device_flushes_per_commit;
            flushes.map_or_else(|| UNSEEN.to_owned(), figures)
        })
        .build()
}
