//! The section on the ranges that trials of `threen1` completed in their time.

use crate::support::{report, spec, terminal, valid};
use trueput_record::{Durability, TrialRecord, Value};

/// A trial that did this many starts in its time.
fn timed(cell: u32, engine: &str, repeat: u32, starts: i64) -> TrialRecord {
    let mut record = valid(spec(cell, engine, Durability::Process, repeat), 1_000.0);
    let results = [
        ("starts", starts),
        ("last_start", starts + 30),
        ("longest", starts / 100),
        ("largest", 1_000 * starts),
        ("block", 100),
    ];
    let results = results.map(|(name, value)| (name.to_owned(), Value::Integer(value)));
    record.measurement.as_mut().unwrap().results = results.into();
    record
}

#[test]
fn each_contender_has_the_median_of_what_it_completed() {
    let starts = [10_000, 9_000, 8_000];
    let of = |cell, engine, factor: i64| {
        let trials = (1..).zip(starts);
        trials.map(move |(repeat, starts)| timed(cell, engine, repeat, starts * factor))
    };
    let run = report(of(0, "lmdb", 1).chain(of(1, "sqlite", 2)).collect());
    let text = terminal(&run, 120);
    assert_has!(text, "Completed ranges", "for the same time");
    let section = text.split("Completed ranges").nth(1).unwrap();
    let row = |engine: &str| {
        section
            .lines()
            .find(|line| line.starts_with(engine))
            .unwrap()
    };
    assert_has!(row("lmdb"), " 9,030 ", " 9,000 ", "9,000,000");
    assert_has!(row("sqlite"), " 18,030 ", " 18,000 ");
    assert!(
        !text.contains("returned identical results: block"),
        "{text}"
    );
}

#[test]
fn a_trial_with_a_range_of_its_own_has_no_such_section() {
    let run = report(vec![valid(
        spec(0, "lmdb", Durability::Process, 1),
        1_000.0,
    )]);
    let text = terminal(&run, 120);
    assert!(!text.contains("Completed ranges"));
    assert_has!(text, "longest 350");
}
