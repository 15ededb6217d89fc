//! Trials for other programs.

use crate::support::{report, spec, valid};
use std::collections::BTreeSet;
use std::convert::Infallible;
use trueput_findings::Run;
use trueput_record::measurement::TimelineSecond;
use trueput_record::{Durability, Outcome};
use trueput_report::formats::{openmetrics, seconds};

/// One trial that counts, one that was resumed, one that nothing verified, and one that was
/// interrupted and ran again.
fn run() -> Run {
    let trial = |repeat| valid(spec(0, "lmdb", Durability::Sync, repeat), 1_000.0);
    let (mut resumed, mut unverified, mut interrupted) = (trial(2), trial(3), trial(4));
    resumed.resumed = true;
    unverified.verification = None;
    interrupted.outcome = Outcome::Interrupted;
    report(vec![trial(1), resumed, unverified, interrupted, trial(4)])
}

/// The samples of a family by their labels.
fn samples(text: &str, family: &str) -> Vec<(String, String)> {
    let start = format!("{family}{{");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&start));
    let split = lines.map(|line| line.rsplit_once("} ").unwrap());
    split
        .map(|(labels, value)| (labels.to_owned(), value.to_owned()))
        .collect()
}

/// What is written in pieces, as a whole.
fn text(
    written: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), Infallible>) -> Result<(), Infallible>,
) -> String {
    let mut text = String::new();
    let Ok(()) = written(&mut |piece| {
        text += piece;
        Ok(())
    });
    text
}

#[test]
fn a_trial_that_does_not_count_is_not_valid_in_openmetrics() {
    let text = openmetrics::render(&[run()]);
    let valid = samples(&text, "trueput_trial_valid");
    let values: Vec<&str> = valid.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["1", "0", "0", "1"], "{text}");
}

#[test]
fn openmetrics_counts_the_operations_that_found_no_record() {
    let mut run = run();
    let family = "trueput_not_found";
    assert!(samples(&openmetrics::render(&[run.clone()]), family).is_empty());
    run.trials[0].measurement.as_mut().unwrap().operations[0].not_found = 7;
    let counted = samples(&openmetrics::render(&[run]), family);
    assert_eq!(counted.len(), 1, "{counted:?}");
    assert_eq!(counted[0].1, "7");
}

#[test]
fn a_set_of_labels_stands_but_once_in_a_family_of_openmetrics() {
    let twice = openmetrics::render(&[run(), run()]);
    assert_eq!(twice, openmetrics::render(&[run()]));
    let lines = twice.lines().filter(|line| !line.starts_with('#'));
    let labels: Vec<&str> = lines.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let different: BTreeSet<&&str> = labels.iter().collect();
    assert_eq!(labels.len(), different.len(), "{twice}");
}

/// A run of one trial of two seconds, in the second of which nothing was read.
fn of_two_seconds() -> Run {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 1_000.0);
    let second = |at_s: f64, reads: u64| TimelineSecond {
        at_s,
        counts: vec![reads, 10],
        latency_mean_ns: vec![reads * 100, 3_000],
        latency_p50_ns: vec![reads * 90, 2_000],
        latency_p99_ns: vec![reads * 500, 9_000],
        latency_p999_ns: vec![reads * 800, 9_500],
        latency_max_ns: vec![reads * 900, 9_900],
        storage_written_bytes: 3_000,
        user_written_bytes: Some(reads * 250),
        database_allocated_bytes: (reads > 0).then_some(8_192),
        tombstones_passed: Some(reads),
        ..TimelineSecond::default()
    };
    trial.started_at = "2026-11-21T22:34:45.25Z".to_owned();
    trial.measurement.as_mut().unwrap().timeline = vec![second(1.0, 4), second(1.5, 0)];
    report(vec![trial])
}

#[test]
fn each_second_and_kind_has_a_row_with_its_percentiles() {
    let run = of_two_seconds();
    let kinds: Vec<_> = run.trials[0].measurement.as_ref().unwrap().operations[..2]
        .iter()
        .map(|operation| operation.kind.clone())
        .collect();
    let csv = text(|write| seconds::csv(std::slice::from_ref(&run), write));
    let lines: Vec<&str> = csv.lines().collect();
    let titles: Vec<&str> = lines[0].split(',').collect();
    let at = |line: usize, title: &str| {
        let column = titles.iter().position(|one| *one == title).unwrap();
        lines[line].split(',').nth(column).unwrap().to_owned()
    };
    let row = |line| ["from_s", "until_s", "kind", "count", "per_s"].map(|title| at(line, title));
    assert_eq!(row(1), ["0.0", "1.0", &kinds[0], "4", "4.0"]);
    assert_eq!(row(lines.len() - 1)[..2], ["1.0", "1.5"]);
    let times = |line| ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(|title| at(line, title));
    assert_eq!(times(1), ["360", "2000", "3200", "3600"]);
    assert_eq!(times(2), ["2000", "9000", "9500", "9900"]);
    let of_second = (lines.len() - 1) / 2;
    assert_eq!(times(1 + of_second), [""; 4], "nothing was read");
    let storage = |line| {
        [
            "storage_written_bytes",
            "user_written_bytes",
            "write_amplification",
            "device_write_amplification",
            "database_allocated_bytes",
            "tombstones_passed",
        ]
        .map(|title| at(line, title))
    };
    assert_eq!(storage(1), ["3000", "1000", "3.0", "", "8192", "4"]);
    assert_eq!(storage(2), storage(1), "they are of no kind");
    assert_eq!(storage(1 + of_second), ["3000", "0", "", "", "", "0"]);

    let json = text(|write| seconds::jsonl(&[run], write));
    let rows: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), lines.len() - 1);
    assert_eq!(
        (&rows[1]["p99_ns"], &rows[1]["count"]),
        (&9_000.into(), &10.into())
    );
    assert!(rows[of_second]["p99_ns"].is_null() && rows[0]["trial"].is_string());
}

#[test]
fn openmetrics_of_seconds_have_their_times_in_order() {
    let text = text(|write| openmetrics::write_seconds(&[of_two_seconds()], write));
    assert!(text.ends_with("# EOF\n"), "{text}");
    let values = |family: &str| {
        let all = samples(&text, family).into_iter();
        all.map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(
        values("trueput_second_database_bytes"),
        ["8192 1795300486.250"]
    );
    assert_eq!(
        values("trueput_second_tombstones_passed"),
        ["4 1795300486.250", "0 1795300486.750"]
    );
    let of_quantile = |quantile: &str| {
        let all = samples(&text, "trueput_second_service_time_seconds");
        let of_update = all.into_iter().filter(|(labels, _)| {
            labels.ends_with(&format!("kind=\"update\",quantile=\"{quantile}\""))
        });
        of_update.map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(
        of_quantile("0.99"),
        ["0.000009 1795300486.250", "0.000009 1795300486.750"]
    );
    // The trial ends with half a second, which has a rate like any other.
    let rates = samples(&text, "trueput_second_operations_per_second");
    let of_update = rates.iter().filter(|(labels, _)| labels.contains("update"));
    let values: Vec<_> = of_update.map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["10 1795300486.250", "20 1795300486.750"]);
}
