//! What a comparison says of results, and what a narrow terminal keeps of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::{report, spec, valid};
use trueput_analysis::compare::{Compared, Selector, Side, compare_sides, render};
use trueput_analysis::{Format, Style};
use trueput_record::{Durability, TrialRecord};

/// Repeats of a cell, the last of which is far off: their median is not their mean.
fn cell(cell: u32, level: Durability, workers: u32, rates: [f64; 3]) -> Vec<TrialRecord> {
    let trial = |(repeat, rate): (u32, f64)| {
        let mut spec = spec(cell, "lmdb", level, repeat);
        spec.workers = workers;
        spec.id = format!("{cell}-r{repeat}");
        valid(spec, rate)
    };
    (1..).zip(rates).map(trial).collect()
}

/// Two runs of wild repeats, the second of them at a factor of the first's rates.
fn compared(levels: &[Durability], workers: u32, factor: f64) -> Vec<Compared> {
    of(levels, workers, [1_000.0, 2_000.0, 8_000.0], factor)
}

fn of(levels: &[Durability], workers: u32, rates: [f64; 3], factor: f64) -> Vec<Compared> {
    let side = |label: &str, factor: f64| {
        let cells = (0..).zip(levels);
        let trials = cells.flat_map(|(number, level)| {
            cell(number, *level, workers, rates.map(|rate| rate * factor))
        });
        let mut report = report(trials.collect());
        report.shown_as = label.into();
        Side::new(label, report, Selector::default()).unwrap()
    };
    compare_sides(&side("a", 1.0), &[side("b", factor)]).unwrap()
}

fn at(compared: &[Compared], width: u16) -> String {
    let style = Style {
        width: Some(width),
        ..Style::default()
    };
    render(compared, Format::Terminal, style)
}

/// The lines of the table of results, with its heading and what is said below it.
fn results(text: &str) -> &str {
    let start = text.find("Results").unwrap();
    &text[start..text[start..].find("Other figures").unwrap() + start]
}

#[test]
fn what_tells_rows_apart_outlives_the_rates_on_a_narrow_terminal() {
    let two = compared(&[Durability::Sync, Durability::Process], 4, 0.9);
    let text = at(&two, 80);
    let table = results(&text);
    assert!(
        table.contains(" sync ") && table.contains(" process "),
        "{table}"
    );
    assert!(
        table.contains("A wider terminal or --json shows them."),
        "{table}"
    );
    assert!(!text.contains("--format csv"), "{text}");
    // The control: where all rows are of one level it makes room for the others.
    let one = at(&compared(&[Durability::Sync], 4, 0.9), 60);
    let left_out = results(&one).split("Left out").nth(1).unwrap();
    assert!(left_out.contains("level"), "{one}");
}

#[test]
fn the_rates_are_the_means_that_the_ratio_is_of() {
    let text = at(&compared(&[Durability::Sync], 4, 0.5), 400);
    let table = results(&text);
    // The geometric means are 2,520 and 1,260; the medians 2,000 and 1,000.
    for words in ["A mean/s", "2,520", "1,260", "0.500", "geometric mean"] {
        assert!(table.contains(words), "'{words}' is not in {table}");
    }
}

#[test]
fn one_worker_is_one() {
    let text = at(&compared(&[Durability::Sync], 1, 0.5), 400);
    assert!(text.contains("sync, 1 worker:"), "{text}");
}

#[test]
fn why_nothing_is_claimed_is_told_reason_by_reason() {
    let said = |factor: f64| at(&compared(&[Durability::Sync], 4, factor), 400);
    let noise = said(0.95);
    assert!(
        noise.contains("4 workers: no significant difference; these repeats can detect "),
        "{noise}"
    );
    let few = said(0.05);
    assert!(
        few.contains(
            "4 workers: too few repeats: B looks slower by 95.0 % (in every pair of repeats); use "
        ),
        "{few}"
    );
    let same = of(&[Durability::Sync], 4, [1_000.0, 1_000.1, 999.9], 1.005);
    let same = at(&same, 400);
    assert!(same.contains("4 workers: equal within 1 %"), "{same}");
}
