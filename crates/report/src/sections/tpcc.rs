//! What the `tpcc` trials of a run came to, under the names that their rates may have.

use super::{Findings, Part, Section};
use crate::document::{Block, Column, Table};
use trueput_findings::marks::{marked, marks};
use trueput_findings::statistics::median;
use trueput_findings::units::number;
use trueput_record::measurement::Measurement;
use trueput_record::{TrialRecord, Value};

/// The trials of the workload `tpcc`.
pub(crate) struct OrdersPerMinute;

impl Section for OrdersPerMinute {
    fn parts(&self, findings: &Findings<'_>) -> Vec<Part> {
        part(&findings.run.trials).into_iter().collect()
    }
}

/// What is in every output (the TPC's fair-use policy).
const NOTICE: &str = "tpcc workload, not an audited TPC-C result.";

/// What the table's rates count.
const COUNTED: &str = "Transactions per minute include all kinds and rolled-back new-orders. \
    New-orders per minute include committed ones only.";

/// The names that the workload gives to the rate of new-orders, of which a trial has one.
const RATES: [&str; 4] = [
    "tpmC (not audited)",
    "new-orders per minute",
    "paced new-orders per minute (reduced cardinality)",
    "new-orders per minute (reduced cardinality)",
];

/// The trials of one cell.
struct Row<'a> {
    first: &'a TrialRecord,
    measured: Vec<&'a Measurement>,
}

/// The notice, where any of these workloads is `tpcc`, whatever became of its trials.
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

/// A heading, the notice and the table; the notice alone where no such trial counts; nothing where
/// there is none.
fn part(trials: &[TrialRecord]) -> Option<Part> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let of_workload = |trial: &&TrialRecord| trial.spec.workload == "tpcc";
    for trial in trials.iter().filter(of_workload) {
        let Some(measured) = trial.measurement.as_ref().filter(|_| trial.is_rankable()) else {
            continue;
        };
        let same = |row: &&mut Row<'_>| row.first.spec.cell == trial.spec.cell;
        match rows.iter_mut().find(same) {
            Some(row) => row.measured.push(measured),
            None => rows.push(Row {
                first: trial,
                measured: vec![measured],
            }),
        }
    }
    if rows.is_empty() {
        let workloads = trials.iter().map(|trial| trial.spec.workload.as_str());
        return Part::without_title(notice_block(workloads).into_iter().collect());
    }
    Part::with_text(
        "Orders per minute",
        &format!("{NOTICE} {COUNTED}"),
        vec![Block::Table(table(&rows))],
    )
}

impl Row<'_> {
    /// The median of a result that is a number.
    fn median(&self, name: &str) -> Option<f64> {
        let values = self
            .measured
            .iter()
            .filter_map(|one| match one.results.get(name)? {
                Value::Float(value) => Some(*value),
                Value::Integer(value) => Some(*value as f64),
                _ => None,
            });
        median(values)
    }

    fn shown(&self, name: &str) -> String {
        self.median(name).map_or_else(|| "–".to_owned(), number)
    }

    fn word(&self, name: &str) -> String {
        let value = self.measured.first().and_then(|one| one.results.get(name));
        value.map(ToString::to_string).unwrap_or_default()
    }

    fn cells(&self) -> Vec<String> {
        let spec = &self.first.spec;
        let rate = RATES.into_iter().find(|name| self.median(name).is_some());
        let rate = rate.unwrap_or_default();
        vec![
            marked(&spec.contender(), &marks(self.first)),
            spec.durability.to_string(),
            self.word("store"),
            self.word("warehouses"),
            spec.workers.to_string(),
            self.shown("transactions per minute (all kinds)"),
            self.shown(rate),
            rate.to_owned(),
            self.shown("90th percentile of new-order, ms"),
            self.word("response times within limits"),
            self.shown("conflicts, percent of attempts"),
            self.shown("deadlocks, percent of attempts"),
        ]
    }
}

fn table(rows: &[Row<'_>]) -> Table {
    Table {
        columns: vec![
            Column::text("engine", 0),
            Column::text("durability", 2),
            Column::text("store", 4),
            Column::figures("warehouses", 0),
            Column::figures("workers", 0),
            Column::figures("transactions/min", 0),
            Column::figures("rate", 0),
            Column::text("which is", 0),
            Column::figures("new-order p90, ms", 1),
            Column::text("within limits", 3),
            Column::figures("conflicts, %", 1),
            Column::figures("deadlocks, %", 3),
        ],
        rows: rows.iter().map(Row::cells).collect(),
        ..Table::default()
    }
}
