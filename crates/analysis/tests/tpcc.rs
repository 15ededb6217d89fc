//! What a report says of `tpcc` trials.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use support::{report, spec, valid};
use trueput_analysis::{Format, Style};
use trueput_record::{Durability, TrialRecord, Value};

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
    for words in ["not an audited TPC-C result", "1,876", "4,321"] {
        assert!(unpaced.contains(words), "{words} in {unpaced}");
    }
    assert!(!unpaced.contains("tpmC"), "{unpaced}");
    let paced = said(vec![trial(0, "tpmC (not audited)", 12.5)]);
    assert!(
        paced.contains("tpmC (not audited)") && paced.contains("12.5"),
        "{paced}"
    );
}

#[test]
fn a_run_of_other_workloads_says_nothing_of_orders() {
    let other = valid(spec(0, "lmdb", Durability::Sync, 1), 1.0);
    assert!(!said(vec![other]).contains("Orders per minute"));
}
