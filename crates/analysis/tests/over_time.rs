//! What a report tells of trials second by second.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{report, spec, terminal, valid};
use trueput_record::measurement::TimelineSecond;
use trueput_record::{Durability, TrialRecord};

/// A trial of an engine that tells what it does by itself.
fn told(cell: u32, workers: u32) -> TrialRecord {
    let mut trial = valid(spec(cell, "lmdb", Durability::Sync, 1), 3_000.0);
    trial.spec.workers = workers;
    let second = |at: u32| TimelineSecond {
        at_s: f64::from(at),
        counts: vec![4_000, 3_000],
        ..TimelineSecond::default()
    };
    let measured = trial.measurement.as_mut().unwrap();
    measured.events = Some(Vec::new());
    measured.timeline = (1..=10).map(second).collect();
    trial
}

#[test]
fn trials_that_differ_in_their_workers_alone_are_told_apart() {
    let both = terminal(&report(vec![told(0, 1), told(1, 2)]), 100);
    assert!(
        both.contains("lmdb w1 r1") && both.contains("lmdb w2 r1"),
        "{both}"
    );
    let alone = terminal(&report(vec![told(0, 2)]), 100);
    assert!(alone.contains("lmdb r1"), "{alone}");
}
