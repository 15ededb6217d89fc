//! The results of the `tpcc` trials of a run, under the names that their rates may have.

use super::{Part, Section, SectionInput};
use crate::document::{Block, Table};
use trueput_findings::marks::{marked, marks};
use trueput_findings::storage_models::StorageModels;
use trueput_findings::units::number;
use trueput_findings::workload_cells::{WorkloadCell, workload_cells};
use trueput_record::TrialRecord;

/// The trials of the workload `tpcc`.
pub(crate) struct OrdersPerMinute;

impl Section for OrdersPerMinute {
    fn part(&self, input: &SectionInput<'_>) -> Option<Part> {
        part(&input.run.trials)
    }
}

/// The notice in every output (the TPC's fair-use policy).
const NOTICE: &str = "tpcc workload, not an audited TPC-C result.";

/// Explains the rates of the table.
const COUNTED: &str = "Transactions per minute include all kinds and rolled-back new-orders. \
    New-orders per minute include committed ones only.";

/// The possible names of the workload's new-order rate, of which a trial has one.
const RATES: [&str; 4] = [
    "tpmC (not audited)",
    "new-orders per minute",
    "paced new-orders per minute (reduced cardinality)",
    "new-orders per minute (reduced cardinality)",
];

/// The notice, if any of these workloads is `tpcc`, whatever the outcome of its trials.
pub(crate) fn notice<'a>(workloads: impl IntoIterator<Item = &'a str>) -> Option<&'static str> {
    let mut workloads = workloads.into_iter();
    workloads
        .any(|workload| workload == "tpcc")
        .then_some(NOTICE)
}

/// The notice as a report's paragraph.
pub(crate) fn notice_block<'a>(workloads: impl IntoIterator<Item = &'a str>) -> Option<Block> {
    notice(workloads).map(|text| Block::Text(text.to_owned()))
}

/// A heading, the notice and the table; only the notice if no trial counts; `None` without trials
/// of `tpcc`.
fn part(trials: &[TrialRecord]) -> Option<Part> {
    let table = Block::Table(table(&workload_cells(trials, "tpcc")));
    let text = format!("{NOTICE} {COUNTED}");
    Part::with_text("Orders per minute", &text, table.filled()).or_else(|| {
        let workloads = trials.iter().map(|trial| trial.spec.workload.as_str());
        Part::without_title(notice_block(workloads))
    })
}

fn table(cells: &[WorkloadCell<'_>]) -> Table {
    let rate = |cell: &WorkloadCell<'_>| {
        let mut names = RATES.into_iter();
        names.find(|name| cell.median_result(name).is_some())
    };
    let median = |name: &str, cell: &WorkloadCell<'_>| {
        let median = cell.median_result(name);
        median.map_or_else(|| "–".to_owned(), number)
    };
    let figure = |name: &'static str| move |cell: &WorkloadCell<'_>| median(name, cell);
    let word = |name: &'static str| {
        move |cell: &WorkloadCell<'_>| cell.first_result(name).unwrap_or_default()
    };
    let models = |cell: &WorkloadCell<'_>| StorageModels::of(&cell.first.spec.conditions);
    let is_modelled = cells.iter().any(|cell| !models(cell).is_none());
    Table::of(cells)
        .text("engine", 0, |cell| {
            marked(&cell.first.spec.contender(), &marks(cell.first))
        })
        .when(is_modelled, |table| table.text("storage", 0, models))
        .text("durability", 2, |cell| cell.first.spec.durability)
        .text("store", 4, word("store"))
        .figures("warehouses", 0, word("warehouses"))
        .figures("workers", 0, |cell| cell.first.spec.workers)
        .figures(
            "transactions/min",
            0,
            figure("transactions per minute (all kinds)"),
        )
        .figures("rate", 0, |cell| {
            median(rate(cell).unwrap_or_default(), cell)
        })
        .text("which is", 0, |cell| rate(cell).unwrap_or_default())
        .figures(
            "new-order p90, ms",
            1,
            figure("90th percentile of new-order, ms"),
        )
        .text("within limits", 3, word("response times within limits"))
        .figures("conflicts, %", 1, figure("conflicts, percent of attempts"))
        .figures("deadlocks, %", 3, figure("deadlocks, percent of attempts"))
        .build()
}
