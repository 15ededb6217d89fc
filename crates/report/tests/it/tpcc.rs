//! The section on `tpcc` trials.

use crate::support::{report, spec, valid, whole_folder};
use trueput_findings::Run;
use trueput_findings::compare::{Selector, Side, compare_sides};
use trueput_record::measurement::{OperationSummary, Outcome};
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::formats::openmetrics;
use trueput_report::{Format, RunReport, Style, compare, history};

fn trial(cell: u32, rate: &str, of: f64) -> TrialRecord {
    let mut spec = spec(cell, "lmdb", Durability::Sync, 1);
    spec.workload = "tpcc".to_owned();
    let mut record = valid(spec, 1.0);
    let results = [
        (rate, Value::Float(of)),
        ("transactions per minute (all kinds)", Value::Float(4_321.0)),
        ("warehouses", Value::Integer(3)),
    ];
    record.measurement.as_mut().unwrap().results =
        results.map(|(name, value)| (name.to_owned(), value)).into();
    record
}

fn said(trials: Vec<TrialRecord>) -> String {
    report(trials).render(Format::Markdown, Style::default())
}

#[test]
fn rates_stand_under_the_name_that_the_workload_gave_them() {
    let unpaced = said(vec![trial(0, "new-orders per minute", 1_876.0)]);
    assert_has!(unpaced, "not an audited TPC-C result", "1,876", "4,321");
    assert!(!unpaced.contains("tpmC"), "{unpaced}");
    let paced = said(vec![trial(0, "tpmC (not audited)", 12.5)]);
    assert_has!(paced, "tpmC (not audited)", "12.5");
}

const NOTICE: &str = "tpcc workload, not an audited TPC-C result";

#[test]
fn the_notice_stands_wherever_a_trial_of_tpcc_is_told_of_whatever_became_of_it() {
    let mut failed = trial(0, "new-orders per minute", 1_876.0);
    failed.measurement = None;
    failed.outcome = Outcome::Failed {
        reason: "no room".to_owned(),
        bad_input: false,
    };
    let mut unverified = trial(1, "new-orders per minute", 1_876.0);
    unverified.verification = None;
    let mut invalid = trial(2, "new-orders per minute", 1_876.0);
    invalid.outcome = Outcome::Invalid {
        reasons: vec!["too noisy".to_owned()],
    };
    let other = || valid(spec(3, "lmdb", Durability::Sync, 1), 1.0);
    for one in [failed, unverified, invalid] {
        let report = report(vec![other(), one]);
        assert!(report.page().contains(NOTICE));
        let metrics = openmetrics::render(std::slice::from_ref(&report));
        assert!(metrics.contains(NOTICE), "{metrics}");
        let text = report.render(Format::Markdown, Style::default());
        assert!(text.contains(NOTICE), "{text}");
    }
    let none = report(vec![other()]);
    assert!(!none.page().contains(NOTICE));
    assert!(!openmetrics::render(&[none]).contains(NOTICE));
}

#[test]
fn the_notice_stands_in_comparisons_and_histories_of_tpcc() {
    let style = Style::default();
    for (workload, is_told) in [("tpcc", true), ("micro", false)] {
        let trials = |per_s: f64| -> Vec<TrialRecord> {
            let record = |repeat| {
                let mut one = trial(0, "new-orders per minute", per_s);
                one.spec.workload = workload.to_owned();
                one.spec.repeat = repeat;
                one.spec.id = format!("000{repeat}-lmdb-sync-w4-r{repeat}");
                one
            };
            (1..=3).map(record).collect()
        };
        let side = |label: &str, per_s| {
            let mut run = report(trials(per_s));
            run.shown_as = label.into();
            Side::new(label, run, Selector::default()).unwrap()
        };
        let compared = compare_sides(&side("a", 100.0), &[side("b", 110.0)]).unwrap();
        let text = compare::render(&compared, Format::Markdown, style);
        assert_eq!(text.contains(NOTICE), is_told, "{text}");
        let (place, _run) = whole_folder(&trials(100.0));
        let runs = trueput_findings::history::runs_in(&[place.path().to_owned()]).unwrap();
        let runs = runs.iter().map(|run| Ok(Run::load(run).unwrap()));
        let history = trueput_findings::history::history(runs.collect(), &Selector::default());
        let text = history::render(&history, Format::Markdown, style);
        assert_eq!(text.contains(NOTICE), is_told, "{text}");
    }
}

#[test]
fn a_run_of_other_workloads_says_nothing_of_orders() {
    let other = valid(spec(0, "lmdb", Durability::Sync, 1), 1.0);
    assert!(!said(vec![other]).contains("Orders per minute"));
}

/// A trial of tpcc with this many of its kinds of operation.
fn mixed(kinds: &[&str]) -> TrialRecord {
    let mut record = trial(0, "new-orders per minute", 1_876.0);
    let measurement = record.measurement.as_mut().unwrap();
    let like = measurement.operations[1].clone();
    let operation = |kind: &&str| OperationSummary {
        kind: (*kind).to_owned(),
        ..like.clone()
    };
    measurement.operations = kinds.iter().map(operation).collect();
    record
}

const KINDS: [&str; 5] = [
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

#[test]
fn of_five_kinds_of_operation_only_the_headlines_latencies_have_columns() {
    let latencies = |text: &str, kinds: &[&str]| -> Vec<bool> {
        let shown = |kind: &&str| text.contains(&format!("{kind} p99"));
        kinds.iter().map(shown).collect()
    };
    let one = [true, false, false, false, false];
    let five = report(vec![mixed(&KINDS)]);
    for text in [
        five.render(Format::Markdown, Style::default()),
        five.render(Format::Terminal, Style::default()),
        five.page(),
    ] {
        assert_eq!(latencies(&text, &KINDS), one, "{text}");
        assert!(text.contains("Other operations"), "{text}");
        assert!(text.contains("payments/s") && text.contains("deliveries/s"));
    }
    let csv = five.render(Format::Csv, Style::default());
    assert!(
        KINDS
            .iter()
            .all(|kind| csv.contains(&format!("{kind}_p99_ns"))),
        "{csv}"
    );

    let four = said(vec![mixed(&KINDS[..4])]);
    assert_eq!(latencies(&four, &KINDS[..4]), [true; 4]);
    assert!(!four.contains("CSV and JSON list"));
}
