//! A report says which operations looked for records that were not there, which reads were compared
//! whole, and whether the stated isolation was checked.

use crate::support::{flat, report, spec, terminal_line, valid};
use trueput_findings::answer::Answer;
use trueput_record::measurement::{Check, IsolationCheck};
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};

/// A terminal in which no line is cut.
fn wide() -> Layout {
    Layout {
        width: 200,
        ..Layout::default()
    }
}

fn trial() -> TrialRecord {
    valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0)
}

/// The report of a trial, and its first screen.
fn told(trial: TrialRecord) -> [String; 2] {
    let run = report(vec![trial]);
    let screen = Answer::of(&run).render(wide(), &[]);
    [terminal_line(&run), flat(&screen)]
}

#[test]
fn operations_that_find_no_record_are_told_with_their_share() {
    let mut missed = trial();
    let measured = missed.measurement.as_mut().unwrap();
    let operation = &mut measured.operations[0];
    operation.not_found = operation.count / 4;
    let records = [("records", 1_000_i64), ("records_at_end", 3)];
    let records = records.map(|(name, count)| (name.to_owned(), count.into()));
    measured.results.extend(records);
    for text in told(missed) {
        assert_has!(
            text,
            "Records not found: lmdb: 25",
            "The workload empties its database: 1,000 records at the start, 3 at the end."
        );
    }
    // A workload that empties its database on purpose, one record at a time, finds each.
    let mut on_purpose = trial();
    let results = &mut on_purpose.measurement.as_mut().unwrap().results;
    let records = [("records", 1_000_i64), ("records_at_end", 0)];
    results.extend(records.map(|(name, count)| (name.to_owned(), count.into())));
    for text in told(on_purpose) {
        assert!(
            !text.contains("not found") && !text.contains("empties"),
            "{text}"
        );
    }
}

#[test]
fn the_null_engine_that_keeps_no_record_is_not_said_to_miss_any() {
    let mut null = valid(spec(1, "null", Durability::None, 1), 9_000.0);
    for operation in &mut null.measurement.as_mut().unwrap().operations {
        operation.not_found = operation.count;
    }
    let run = report(vec![trial(), null]);
    let screen = flat(&Answer::of(&run).render(wide(), &[]));
    for text in [terminal_line(&run), screen] {
        assert_has!(text, "null");
        assert!(!text.contains("not found"), "{text}");
    }
}

#[test]
fn the_first_line_says_what_reads_were_compared_with() {
    let with_check = |detail: &str| {
        let mut record = trial();
        let verification = record.verification.as_mut().unwrap();
        verification.checks.push(Check::new("reads", true, detail));
        told(record)[1].clone()
    };
    let whole = with_check("9 reads saw what they may, every byte compared");
    assert_has!(
        whole,
        "every read and every stored record verified to the last byte"
    );
    let header = with_check("9 reads saw what they may");
    assert_has!(header, "every stored record verified");
    assert!(!header.contains("to the last byte"), "{header}");
    let unknown = with_check(&format!(
        "9 reads saw what they may, every byte compared; {}",
        Check::STALE_UNKNOWN
    ));
    assert!(!unknown.contains("to the last byte"), "{unknown}");
}

#[test]
fn reads_that_no_check_compared_are_not_said_to_be_compared() {
    let screen = |engine: &str| {
        let mut compared = trial();
        let verification = compared.verification.as_mut().unwrap();
        let detail = "9 reads saw what they may, every byte compared";
        verification.checks.push(Check::new("reads", true, detail));
        let other = valid(spec(1, engine, Durability::Sync, 1), 1_000.0);
        let run = report(vec![compared, other]);
        flat(&Answer::of(&run).render(wide(), &[]))
    };
    assert_has!(screen("null"), "to the last byte");
    let other = screen("sqlite");
    assert_has!(other, "every stored record verified");
    assert!(!other.contains("to the last byte"), "{other}");
}

#[test]
fn an_isolation_that_could_not_be_checked_is_marked() {
    let mut unchecked = trial();
    unchecked.isolation_check = Some(IsolationCheck {
        checked_at: "2026-11-27T10:00:00Z".to_owned(),
        schedules: 0,
        cached: false,
        not_run: Some("no answer within 180 s".to_owned()),
        hung_after_s: Some(180),
    });
    let [full, screen] = told(unchecked.clone());
    assert_has!(
        full,
        "lmdb [isolation not checked]",
        "could not be run (no answer within 180 s)"
    );
    assert_has!(screen, "isolation not checked");
    if let Some(check) = &mut unchecked.isolation_check {
        (check.schedules, check.not_run) = (31, None);
    }
    for text in told(unchecked).into_iter().chain(told(trial())) {
        assert!(!text.contains("isolation not checked"), "{text}");
    }
}

#[test]
fn a_promise_that_a_known_fault_breaks_at_times_is_marked_and_ranked() {
    let mut doubted = trial();
    if let Some(engine) = &mut doubted.engine {
        engine.promise.doubt = Some("a torn page is not always restored".to_owned());
    }
    let other = valid(spec(1, "sqlite", Durability::Sync, 1), 1_000.0);
    let run = report(vec![doubted, other]);
    let answer = Answer::of(&run);
    let rows = answer.rankings[0].rows.iter();
    let ranks: Vec<_> = rows.map(|row| (row.rank, row.contender.as_str())).collect();
    // One repeat shows no difference, so both have the first place.
    let expected = [(Some(1), "lmdb [promise in doubt]"), (Some(1), "sqlite")];
    assert_eq!(ranks, expected);
    assert_has!(terminal_line(&run), "a torn page is not always restored");
    let screen = flat(&answer.render(wide(), &[]));
    assert_has!(screen, "[promise in doubt]: a known fault at times breaks");
    for text in told(trial()) {
        assert!(!text.contains("in doubt"), "{text}");
    }
}
