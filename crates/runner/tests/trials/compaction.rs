//! Requirements on the runner for the engine's own compaction at the end of a trial.

use crate::claims::claims;
use crate::hangs::{children, kill_process, youngest_child};
use crate::keeper::{COMPACTED_BYTES, COMPACTION};
use crate::support::{Bench, CreatedRun, doubts, failure, is_empty_or_absent, on, spec, threads};
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
    a_killed_compaction_fails_the_trial_with_the_reason_and_the_plan_goes_on,
    a_killed_compaction_leaves_the_other_contender_of_time_slices_its_own,
    a_user_who_stops_a_compaction_does_not_wait_for_it,
    a_user_who_stops_a_compaction_keeps_what_all_contenders_of_time_slices_had_measured,
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
    let made = bench.create(hanging_and_other()).unwrap();
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

/// Whether the database of the trial `a` is being compacted.
fn is_compacting(event: &Event) -> bool {
    let now = Phase::Compact;
    matches!(event, Event::TrialProgress { id, phase, .. } if *phase == now && id == "a")
}

/// Runs trials, and kills the process that compacts the database of the first. Returns its number.
fn kill_compaction(bench: &Bench, made: &CreatedRun) -> u32 {
    let mut killed = None;
    bench.run(made, |event| {
        if is_compacting(event) && killed.is_none() {
            // The youngest: workers of another contender may be there.
            killed = youngest_child();
            killed.into_iter().for_each(kill_process);
        }
    });
    killed.unwrap()
}

/// Two trials, of which the first never ends its compaction.
fn hanging_and_other() -> Vec<TrialSpec> {
    let contenders = [("a", "hangs-at-compaction"), ("b", "compacts")];
    let trials = contenders.map(|(id, engine)| TrialSpec {
        id: id.to_owned(),
        ..compacting(engine)
    });
    trials.to_vec()
}

/// The same side by side.
fn sliced() -> Vec<TrialSpec> {
    let mut trials = hanging_and_other();
    for trial in &mut trials {
        trial.conditions.time_slice_s = Some(0.01);
    }
    trials
}

fn assert_killed_alone(trials: Vec<TrialSpec>) {
    let bench = Bench::new();
    let made = bench.create(trials).unwrap();
    let pid = kill_compaction(&bench, &made);
    let mut records = made.records();
    records.sort_by(|one, other| one.spec.id.cmp(&other.spec.id));
    assert_measured_only(&records[0]);
    let said = format!("compacting the database (process {pid}): it was killed by SIGKILL");
    assert!(failure(&records[0]).starts_with(&said), "{:?}", records[0]);
    assert_eq!(doubts(&records[1]), Vec::<&str>::new());
    let measured = records[1].measurement.as_ref().unwrap();
    assert!(measured.compaction.is_some());
    assert!(children().is_empty(), "nobody is left behind");
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_killed_compaction_fails_the_trial_with_the_reason_and_the_plan_goes_on() {
    assert_killed_alone(hanging_and_other());
}

fn a_killed_compaction_leaves_the_other_contender_of_time_slices_its_own() {
    assert_killed_alone(sliced());
}

fn a_user_who_stops_a_compaction_keeps_what_all_contenders_of_time_slices_had_measured() {
    let bench = Bench::new();
    let made = bench.create(sliced()).unwrap();
    let summary = bench.run(&made, |event| {
        if is_compacting(event) {
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert!(summary.interrupted);
    let records = made.records();
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Interrupted);
        let measured = record.measurement.as_ref().unwrap();
        assert!(measured.operations[1].count > 0, "{record:?}");
    }
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
        if is_compacting(event) {
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
