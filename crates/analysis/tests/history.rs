//! What is said of many runs, on runs that are made up.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::PathBuf;
use support::{invalid, report, spec, valid};
use trueput_analysis::charts::Charts;
use trueput_analysis::compare::Selector;
use trueput_analysis::history::{History, history, render};
use trueput_analysis::{Format, Report, Style};
use trueput_record::Durability;

/// Rates of repeats around a level of 1.
const REPEATS: [f64; 3] = [0.99, 1.0, 1.01];

/// A run of lmdb at a level, made in its turn.
fn night(index: usize, level: f64) -> Report {
    let trials = REPEATS.iter().zip(1..).map(|(part, repeat)| {
        valid(
            spec(0, "lmdb", Durability::Sync, repeat),
            1_000.0 * level * part,
        )
    });
    let mut report = report(trials.collect());
    report.manifest.started_at = format!("2026-11-{:02}T00:00:00Z", index + 1);
    report.shown_as = PathBuf::from(format!("night-{index}"));
    report
}

fn told(runs: &[Report]) -> (History, String) {
    let runs = runs.iter().cloned().map(Ok).collect();
    let history = history(runs, &Selector::default());
    let style = Style {
        width: None,
        colour: false,
        charts: Charts::Off,
    };
    let text = render(&history, Format::Markdown, style);
    (history, text)
}

#[test]
fn a_run_without_a_trial_that_counts_and_one_that_comes_twice_are_named() {
    let mut useless = night(1, 1.0);
    for trial in &mut useless.trials {
        *trial = invalid(trial.spec.clone(), 1.0, "a record is missing");
    }
    let mut bundle = night(0, 1.0);
    bundle.shown_as = PathBuf::from("night-0.tar.gz");
    let (history, _) = told(&[night(0, 1.0), useless, bundle]);
    assert_eq!(history.series[0].points.len(), 1);
    assert_eq!(
        history.left_out,
        [
            "night-0.tar.gz: the same run as night-0",
            "night-1: no trial of it counts"
        ]
    );
}
