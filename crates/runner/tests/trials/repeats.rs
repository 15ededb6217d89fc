//! Repeats until enough is known.

use crate::claims::claims;
use crate::support::{Bench, spec};
use std::sync::Arc;
use std::time::Duration;
use trueput_record::folder::SufficiencyReason;
use trueput_record::{RunManifest, TrialRecord, TrialSpec};
use trueput_runner::RepeatRule;

claims![
    repeats_end_between_rounds_when_every_interval_is_narrow,
    repeats_end_when_the_budget_is_spent_but_not_before_the_first,
    an_interval_that_is_never_narrow_ends_nothing,
];

/// Five repeats of two cells, by turns.
fn group_trials() -> Vec<TrialSpec> {
    let turns = (1..=5).flat_map(|repeat| [0, 1].map(|cell| (cell, repeat)));
    let trial = |(cell, repeat): (u32, u32)| TrialSpec {
        cell,
        repeat,
        id: format!("c{cell}-r{repeat}"),
        ..spec("a", "store")
    };
    turns.map(trial).collect()
}

/// A run of [`group_trials`] under a rule: how many trials ended, and why no more did.
fn run_until(
    half_width: Option<f64>,
    budget: Option<Duration>,
    widest: fn(&RunManifest, &[TrialRecord]) -> Option<f64>,
) -> (usize, Option<SufficiencyReason>) {
    let mut bench = Bench::new();
    bench.options.until = Some(RepeatRule {
        half_width,
        budget,
        widest: Arc::new(widest),
    });
    let made = bench.create(group_trials()).unwrap();
    assert_eq!(made.manifest.until.unwrap().half_width, half_width);
    bench.run(&made, |_| {});
    let end = made.folder.end().unwrap().unwrap();
    assert!(end.complete, "spared trials are not missing");
    (made.records().len(), end.stop_reason)
}

fn repeats_end_between_rounds_when_every_interval_is_narrow() {
    // Narrow from the first look on, which is after three repeats of each.
    let ended = run_until(Some(0.02), None, |_, _| Some(0.01));
    assert_eq!(ended, (6, Some(SufficiencyReason::Narrow)));
    let later = |_: &RunManifest, trials: &[TrialRecord]| Some(0.07 / trials.len() as f64);
    assert_eq!(
        run_until(Some(0.01), None, later),
        (8, Some(SufficiencyReason::Narrow))
    );
}

fn repeats_end_when_the_budget_is_spent_but_not_before_the_first() {
    let ended = run_until(None, Some(Duration::ZERO), |_, _| None);
    assert_eq!(ended, (2, Some(SufficiencyReason::Budget)));
}

fn an_interval_that_is_never_narrow_ends_nothing() {
    assert_eq!(run_until(Some(0.02), None, |_, _| Some(0.5)), (10, None));
    let long = Some(Duration::from_secs(3_600));
    assert_eq!(run_until(Some(0.02), long, |_, _| None), (10, None));
}
