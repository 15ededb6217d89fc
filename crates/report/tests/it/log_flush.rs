//! The section on `log-flush` trials.

use crate::support::{self, report, spec, valid};
use trueput_record::accounting::Device;
use trueput_record::measurement::OperationSummary;
use trueput_record::{Durability, TrialRecord, Value};
use trueput_report::log_flush::berkeley;
use trueput_report::{Format, RunReport, Style};

/// A trial of 1,000 commits with 400 flushes, of which the device saw this many.
fn trial(cell: u32, flush: &str, level: Durability, seen: Option<u64>) -> TrialRecord {
    let mut spec = spec(cell, "storage", level, 1);
    spec.workload = "log-flush".to_owned();
    spec.workers = 1;
    spec.settings = [("flush", flush), ("at", "place"), ("bytes", "256")]
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .into();
    let mut record = valid(spec, 1.0);
    let measured = record.measurement.as_mut().unwrap();
    let operation = |kind: &str, count: u64| OperationSummary {
        kind: kind.to_owned(),
        count,
        per_s: count as f64 / 2.0,
        ..OperationSummary::default()
    };
    measured.elapsed_s = 2.0;
    measured.operations = vec![operation("commit", 1_000), operation("flush", 400)];
    measured.device = seen.map(|flushes| Device {
        flushes: Some(flushes),
        ..Device::default()
    });
    record
}

fn said(trials: Vec<TrialRecord>) -> String {
    report(trials).render(Format::Markdown, Style::default())
}

#[test]
fn commits_flushes_and_the_devices_flushes_stand_side_by_side() {
    let report = said(vec![trial(0, "fsync", Durability::Sync, Some(410))]);
    assert_has!(report, "Log flushes, side by side", "500", "2.50", "0.410");
    assert!(!report.contains("lost power can lose commits"), "{report}");
}

#[test]
fn a_flush_that_the_device_never_saw_is_warned_of() {
    let silent = said(vec![trial(0, "fsync", Durability::Sync, Some(3))]);
    assert_has!(silent, "0.007 flushes per flush");
    let unseen = said(vec![trial(0, "fsync", Durability::Sync, None)]);
    assert_has!(unseen, "cannot be seen");
    let no_cause = [
        trial(0, "fsync", Durability::Sync, None),
        trial(0, "none", Durability::None, Some(0)),
        trial(0, "direct-dsync", Durability::Sync, Some(0)),
    ];
    for trial in no_cause {
        assert!(!said(vec![trial]).contains("lost power can lose commits"));
    }
}

#[test]
fn a_test_in_place_is_also_told_as_berkeley_dbs_program_does() {
    let in_place = trial(0, "fsync", Durability::Sync, None);
    let lines = [
        "running: 1000 ops",
        "Elapsed time: 2.000000 seconds",
        "1000 ops:  500.00 ops per second",
    ];
    assert_eq!(berkeley(&in_place), Some(lines.map(str::to_owned)));
    assert!(said(vec![in_place.clone()]).contains(lines[1]));
    let mut several = in_place;
    several.spec.workers = 2;
    assert_eq!(berkeley(&several), None);
}

#[test]
fn what_lay_in_memory_is_said_not_to_survive_lost_power() {
    let said = "nothing survives lost power at any level: lmdb (sync)";
    let levels = [Durability::Sync, Durability::Process];
    let trials = levels.map(|level| valid(spec(0, "lmdb", level, 1), 1.0));
    let mut report = report(trials.to_vec());
    let text = |report: &trueput_findings::Run| support::terminal(report, 200);
    assert!(!text(&report).contains("In memory"), "{}", text(&report));
    report.manifest.host.file_system.kind = "tmpfs".to_owned();
    let told = text(&report);
    assert!(
        told.contains(said) && !told.contains("lmdb (process)"),
        "{told}"
    );
}
