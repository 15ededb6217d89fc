//! Trials for other programs.

use crate::support::{report, spec, valid};
use std::collections::BTreeSet;
use trueput_findings::Run;
use trueput_record::{Durability, Outcome};
use trueput_report::formats::openmetrics;

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
