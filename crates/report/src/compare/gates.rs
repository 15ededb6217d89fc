//! Gates and their verdicts, in words.

use crate::document::{Block, Column, ColumnRole, Table};
use crate::formats::{Format, Style, markdown, terminal};
use trueput_findings::gate::{GateResult, GateVerdict};
use trueput_findings::statistics::Interval;
use trueput_findings::units::{bytes, counted, nanoseconds, number, per_cent};
use trueput_record::gate::{GateLimit, GateUnit};

/// Stands for a figure that is not known.
const NOTHING: &str = "–";

const HOW_TO_READ: &str = "A gate fails if the whole interval is beyond its limit, and passes if \
    the whole interval keeps it. Otherwise the repeats do not tell: more of them narrow the \
    interval. The level of the intervals rises with the number of gates, so that all of them \
    together fail contenders that keep the limits in fewer than 1 of 20 comparisons.";

/// Writes the verdicts of gates, the answer first. It ends with a newline.
#[must_use]
pub fn render_gates(results: &[GateResult], format: Format, style: Style) -> String {
    let blocks = blocks(results);
    match format {
        Format::Markdown => markdown::render(&blocks),
        _ => terminal::render_with(&blocks, style, "--json"),
    }
}

/// The verdict of all gates together in a sentence: `Failed: rate<-3% on rocksdb; 3 passed.`
#[must_use]
pub fn gate_sentence(results: &[GateResult]) -> String {
    let of = |verdict: GateVerdict| {
        let of = results.iter().filter(move |it| it.verdict == verdict);
        of.collect::<Vec<_>>()
    };
    let named = |results: &[&GateResult]| {
        let names = results.iter();
        let names: Vec<_> = names
            .map(|it| format!("{} on {}", it.rule, it.second))
            .collect();
        names.join(", ")
    };
    let [failed, undecided, passed] = [
        GateVerdict::Failed,
        GateVerdict::Undecided,
        GateVerdict::Passed,
    ]
    .map(of);
    let mut clauses = Vec::new();
    if !failed.is_empty() {
        clauses.push(format!("Failed: {}", named(&failed)));
    }
    if !undecided.is_empty() {
        clauses.push(format!("Undecided: {}", named(&undecided)));
    }
    if clauses.is_empty() {
        return format!("Passed: {}.", counted(passed.len() as u64, "gate"));
    }
    if !passed.is_empty() {
        clauses.push(format!("{} passed", passed.len()));
    }
    format!("{}.", clauses.join("; "))
}

fn blocks(results: &[GateResult]) -> Vec<Block> {
    vec![
        Block::Heading(1, "Gates".to_owned()),
        Block::Text(gate_sentence(results)),
        Block::Table(table(results)),
        Block::Text(HOW_TO_READ.to_owned()),
    ]
}

fn table(results: &[GateResult]) -> Table {
    let figure = |value: Option<f64>, result: &GateResult| {
        let value = value.map(|value| match result.rule.metric.unit() {
            GateUnit::PerSecond => format!("{}/s", number(value)),
            GateUnit::Nanoseconds => nanoseconds(value),
            GateUnit::Bytes => bytes(value),
            GateUnit::Number => number(value),
        });
        value.unwrap_or_else(|| NOTHING.to_owned())
    };
    let name = Column::text("gate", 0).in_role(ColumnRole::Name);
    Table::of(results)
        .column(name, |it| it.rule.to_string())
        .text("verdict", 0, |it| verdict_word(it.verdict).to_owned())
        .text("contender", 0, |it| it.second.clone())
        .figures("A", 0, |it| figure(it.first_median, it))
        .figures("B", 0, |it| figure(it.second_median, it))
        .figures("difference", 0, |it| {
            it.ratio
                .map_or_else(|| NOTHING.to_owned(), |ratio| difference(it, ratio))
        })
        .figures("repeats", 1, |it| it.repeats.to_string())
        .build()
}

fn verdict_word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Passed => "passed",
        GateVerdict::Undecided => "undecided",
        GateVerdict::Failed => "FAILED",
    }
}

/// The interval of a change, and what it is relative to if that is the limit.
fn difference(result: &GateResult, ratio: Interval) -> String {
    let signed = |ratio: f64| {
        // Rounding errors have no sign.
        let sign = if ratio < 1.0 - 1e-6 { "-" } else { "+" };
        format!("{sign}{}", per_cent((ratio - 1.0).abs()))
    };
    let of = match result.rule.limit {
        GateLimit::Change(_) => "",
        GateLimit::Value(_) => " of the limit",
    };
    format!("{} to {}{of}", signed(ratio.low), signed(ratio.high))
}
