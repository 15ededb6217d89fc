//! Requirements on the runner for the engine's own compaction at the end of a trial.

use crate::claims::claims;
use crate::hangs::children;
use crate::keeper::{COMPACTED_BYTES, COMPACTION};
use crate::support::{Bench, doubts, failure, is_empty_or_absent, on, spec, threads};
use crate::toy::LOADED_BYTES;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use trueput_record::measurement::Outcome;
use trueput_record::{Measurement, TrialRecord, TrialSpec};
use trueput_runner::{Event, HANG_TIMEOUT, Phase};

claims![
    a_compaction_is_recorded_with_the_size_that_it_leaves,
    a_compaction_is_shown_as_a_phase_of_its_own,
    a_compaction_that_does_nothing_leaves_the_size_as_it_was,
    an_engine_without_a_compaction_has_none_recorded,
    a_compaction_that_fails_fails_the_trial_and_keeps_what_was_measured,
    a_compaction_that_hangs_is_ended_by_its_limit_and_the_plan_goes_on,
    a_user_who_stops_a_compaction_does_not_wait_for_it,
    a_compaction_of_nothing_is_refused_before_anything_is_made,
    without_the_condition_nothing_is_compacted_and_both_sizes_are_recorded,
];

fn storing(engine: &str) -> TrialSpec {
    threads(on(engine, spec("a", "store")))
}

fn compacting(engine: &str) -> TrialSpec {
    let mut spec = storing(engine);
    spec.conditions.compact = true;
    spec
}

fn measured(spec: TrialSpec) -> Measurement {
    let record = Bench::new().record(spec);
    assert_eq!(doubts(&record), Vec::<&str>::new());
    record.measurement.unwrap()
}

fn a_compaction_is_recorded_with_the_size_that_it_leaves() {
    let measured = measured(compacting("compacts"));
    let compaction = measured.compaction.unwrap();
    assert_eq!(compaction.means, COMPACTION);
    assert!(compaction.elapsed_s > 0.0, "{compaction:?}");
    let given_back = measured.database.apparent_bytes - compaction.database.apparent_bytes;
    assert_eq!(given_back, (LOADED_BYTES - COMPACTED_BYTES) as u64);
}

fn a_compaction_is_shown_as_a_phase_of_its_own() {
    let phases = |spec: TrialSpec| {
        let bench = Bench::new();
        let made = bench.create(vec![spec]).unwrap();
        let mut phases = Vec::new();
        bench.run(&made, |event| {
            if let Event::TrialProgress { phase, .. } = event {
                phases.push(*phase);
            }
        });
        phases
    };
    assert!(phases(compacting("compacts")).contains(&Phase::Compact));
    assert!(!phases(storing("compacts")).contains(&Phase::Compact));
}

fn a_compaction_that_does_nothing_leaves_the_size_as_it_was() {
    let measured = measured(compacting("claims-to-compact"));
    let compaction = measured.compaction.unwrap();
    assert_eq!(compaction.means, COMPACTION);
    let (before, after) = (measured.database, compaction.database);
    assert_eq!(before.apparent_bytes, after.apparent_bytes);
}

fn an_engine_without_a_compaction_has_none_recorded() {
    assert_eq!(measured(compacting("keeper")).compaction, None);
}

/// Asserts that a trial has failed in its compaction, and kept its measurement.
fn assert_measured_only(record: &TrialRecord) {
    let reason = failure(record);
    assert!(reason.starts_with("compacting the database"), "{reason}");
    let measured = record.measurement.as_ref().unwrap();
    assert!(measured.compaction.is_none() && measured.operations[1].count > 0);
    assert!(record.verification.is_none());
}

fn a_compaction_that_fails_fails_the_trial_and_keeps_what_was_measured() {
    let record = Bench::new().record(compacting("fails-to-compact"));
    assert_measured_only(&record);
    let reason = failure(&record);
    assert!(reason.contains("the keeper is stuck"), "{reason}");
}

fn a_compaction_that_hangs_is_ended_by_its_limit_and_the_plan_goes_on() {
    let mut bench = Bench::new();
    bench.options.hang_limit = Duration::from_secs(3);
    let mut last = compacting("compacts");
    last.id = "b".to_owned();
    let trials = vec![compacting("hangs-at-compaction"), last];
    let made = bench.create(trials).unwrap();
    bench.run(&made, |_| {});
    let records = made.records();
    assert_measured_only(&records[0]);
    let reason = failure(&records[0]);
    assert!(reason.contains(": no progress for"), "{reason}");
    assert!(reason.contains("the limit of this phase"), "{reason}");
    assert!(doubts(&records[1]).is_empty());
    assert!(children().is_empty(), "nobody is left behind");
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

/// It never ends by itself.
fn a_user_who_stops_a_compaction_does_not_wait_for_it() {
    let bench = Bench::new();
    let made = bench
        .create(vec![compacting("hangs-at-compaction")])
        .unwrap();
    let began = Instant::now();
    let summary = bench.run(&made, |event| {
        if let Event::TrialProgress {
            phase: Phase::Compact,
            ..
        } = event
        {
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert!(summary.interrupted && began.elapsed() < HANG_TIMEOUT);
    let record = made.record();
    assert_eq!(record.outcome, Outcome::Interrupted);
    let measured = record.measurement.unwrap();
    assert!(measured.compaction.is_none() && measured.operations[1].count > 0);
    assert!(children().is_empty(), "nobody is left behind");
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_compaction_of_nothing_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    for engine in ["toy", "null"] {
        let said = format!("compact: {engine} stores nothing");
        bench.assert_refused(vec![compacting(engine)], &[&said]);
    }
}

fn without_the_condition_nothing_is_compacted_and_both_sizes_are_recorded() {
    let measured = measured(storing("compacts"));
    assert_eq!(measured.compaction, None);
    let at_start = measured.database_at_start.unwrap();
    assert!(at_start.apparent_bytes >= LOADED_BYTES as u64);
    // The workers have written a record since.
    assert!(measured.database.apparent_bytes > at_start.apparent_bytes);
}
