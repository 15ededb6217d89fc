//! Figures of a ranking that its table has no columns for: operations that are rare or of many
//! kinds, and the workload's own results.

use super::columns;
use crate::document::{Block, Column, ColumnRole, Table};
use std::collections::BTreeSet;
use trueput_findings::cells::{CellFigures, OperationFigures, RankedCell, common_results};
use trueput_findings::rankings::Ranking;
use trueput_findings::units::{number, separate};
use trueput_record::{Measurement, Value};

/// A workload's result that is a sentence about it, and no answer.
const NOTICE: &str = "notice";

/// The tables, each below its heading; none if the ranking's own table has everything.
pub(super) fn blocks(ranking: &Ranking) -> Vec<Block> {
    let tables = [
        ("Other operations", operations(ranking)),
        ("Results of the workload", results(ranking)),
    ];
    let with_heading = |(title, table): (&str, Option<Table>)| {
        let table = table?.captioned(title);
        Some([Block::Heading(3, title.to_owned()), Block::Table(table)])
    };
    tables
        .into_iter()
        .filter_map(with_heading)
        .flatten()
        .collect()
}

/// Whether a result explains something, and is no figure.
pub(super) fn is_sentence(name: &str) -> bool {
    [NOTICE, Measurement::EMULATED].contains(&name)
}

/// A result for people.
pub(super) fn result_text(value: &Value) -> String {
    match value {
        Value::Float(fraction) if *fraction >= 0.0 => number(*fraction),
        other => separate(&other.to_string()),
    }
}

/// The rates and latencies of the kinds of operation that have no columns for their latencies.
fn operations(ranking: &Ranking) -> Option<Table> {
    let timed = columns::timed_kinds(ranking);
    let mut rows: Vec<(&RankedCell, &OperationFigures)> = Vec::new();
    for cell in ranking.contenders() {
        let operations = cell.figures.operations.iter();
        let others = operations.filter(|one| one.count > 0.0 && !timed.contains(&&*one.kind));
        rows.extend(others.map(|one| (cell, one)));
    }
    // All contenders of a kind stand together.
    let place = |kind: &str| rows.iter().position(|(_, one)| one.kind == kind);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|index| place(&rows[*index].1.kind));
    let rows: Vec<_> = order.into_iter().map(|index| rows[index]).collect();
    let time = if ranking.rate_per_s.is_some() {
        "service "
    } else {
        ""
    };
    let name = Column::text("contender", 0).in_role(ColumnRole::Name);
    let table = Table::of(&rows)
        .column(name, |(cell, _)| cell.name())
        .text("operation", 0, |(_, one)| &one.kind)
        .figures("per s", 0, |(_, one)| number(one.per_s))
        .figures(format!("{time}p50"), 1, |(_, one)| {
            columns::latency(one.p50_ns)
        })
        .figures(format!("{time}p99"), 0, |(_, one)| {
            columns::latency(one.p99_ns)
        })
        .figures(format!("{time}max"), 2, |(_, one)| {
            columns::latency(one.max_ns)
        });
    (!rows.is_empty()).then(|| table.build())
}

/// The results that the contenders do not share, a column each.
fn results(ranking: &Ranking) -> Option<Table> {
    let cells: Vec<_> = ranking.contenders().collect();
    let common = common_results(cells.iter().map(|cell| &cell.figures.results));
    let figures = cells.iter().map(|cell| &cell.figures);
    let names: BTreeSet<&String> = figures
        .flat_map(|figures| figures.results.keys().chain(figures.result_medians.keys()))
        .filter(|name| !common.contains_key(*name) && !is_sentence(name))
        .collect();
    let name = Column::text("contender", 0).in_role(ColumnRole::Name);
    let mut table = Table::of(&cells).column(name, |cell| cell.name());
    for name in &names {
        table = table.figures(name.as_str(), 1, |cell| result(&cell.figures, name));
    }
    (!names.is_empty()).then(|| table.build())
}

/// A result of a cell: the median of fractions, or what all repeats returned; else empty.
fn result(figures: &CellFigures, name: &str) -> String {
    let median = figures.result_medians.get(name).copied();
    let median = median.map(Value::Float);
    let value = median.as_ref().or_else(|| figures.results.get(name));
    value.map_or_else(String::new, result_text)
}
