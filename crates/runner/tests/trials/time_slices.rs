//! Contenders that share time slices.

use crate::claims::claims;
use crate::conditions::workers;
use crate::support::{
    Bench, doubts, failure, is_empty_or_absent, is_running, is_stopped, lives, on, spec, threads,
    with,
};
use crate::toy::{ALONE, MEETINGS};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use trueput_record::measurement::Outcome;
use trueput_record::{TrialRecord, TrialSpec};
use trueput_runner::Event;

claims![
    stopped_workers_count_no_time,
    work_that_ends_by_its_count_is_done_in_time_slices_too,
    a_contender_that_dies_while_it_is_stopped_leaves_the_others_their_time_slices,
    a_group_that_is_stopped_keeps_what_all_had_measured,
    a_group_that_was_stopped_begins_again,
    the_suites_of_contenders_run_at_the_same_time,
    a_suite_that_fails_beside_others_runs_again_alone,
    the_results_of_contenders_are_verified_at_the_same_time,
];

/// Two contenders of one group that work for so long each.
fn pair(duration_s: f64) -> Vec<TrialSpec> {
    let mut first = with(spec("a", "endless"), "pause_ms", 1);
    first.conditions.duration_s = Some(duration_s);
    first.conditions.time_slice_s = Some(0.01);
    let mut second = on("null", first.clone());
    second.id = "b".to_owned();
    vec![first, second]
}

fn counts_add_up(record: &TrialRecord) {
    let measurement = record.measurement.as_ref().unwrap();
    let counts = measurement.timeline.iter().map(|second| second.counts[1]);
    assert_eq!(counts.sum::<u64>(), measurement.operations[1].count);
    assert!(measurement.operations[1].count > 0);
}

/// Each counts only its own time: together they count no more than passed. Had either counted its
/// stops, it would be half as much again.
fn stopped_workers_count_no_time() {
    for as_threads in [false, true] {
        let trials = pair(1.2)
            .into_iter()
            .map(|spec| if as_threads { threads(spec) } else { spec });
        let began = Instant::now();
        let records = Bench::new().records(trials.collect());
        let passed_s = began.elapsed().as_secs_f64();
        let mut own_s = 0.0;
        for record in &records {
            assert!(doubts(record).is_empty(), "{record:?}");
            counts_add_up(record);
            let measurement = record.measurement.as_ref().unwrap();
            // The time until a worker has woken for its slice is not its own either: on a busy
            // machine a part of each slice.
            assert!(measurement.elapsed_s >= 0.6, "{}", measurement.elapsed_s);
            let slices = measurement.time_slices.unwrap();
            assert!(slices.count > 10, "{slices:?}");
            // The machine's counters are read at the edges of slices.
            assert!(measurement.neighbors.is_some());
            own_s += measurement.elapsed_s;
        }
        assert!(own_s <= passed_s, "{own_s} s of {passed_s} s");
    }
}

fn work_that_ends_by_its_count_is_done_in_time_slices_too() {
    let mut first = with(spec("a", "store"), "pause_ms", 2);
    first.conditions.time_slice_s = Some(0.005);
    let mut second = on("null", first.clone());
    second.id = "b".to_owned();
    let records = Bench::new().records(vec![first, second]);
    for record in &records {
        assert!(doubts(record).is_empty(), "{record:?}");
        counts_add_up(record);
        // It pauses for 0.2 s, in pieces of 2 ms: it did so in time slices. A pause that a stop
        // interrupts goes on meanwhile, as a timer does.
        assert!(record.measurement.as_ref().unwrap().elapsed_s >= 0.1);
    }
    assert_eq!(records.len(), 2);
}

/// Only the first contender notes its workers. They are stopped in the slices of the other one,
/// during which this sees its progress.
fn a_contender_that_dies_while_it_is_stopped_leaves_the_others_their_time_slices() {
    let bench = Bench::new();
    let made = bench.create(pair(2.5)).unwrap();
    let (mut killed, mut stopped) = (None, Vec::new());
    bench.run(&made, |event| {
        if !is_running(event) || killed.is_some() {
            return;
        }
        stopped = workers(&bench.results());
        stopped.retain(|pid| is_stopped(*pid));
        killed = stopped.first().copied();
        if let Some(pid) = killed {
            kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
        }
    });
    assert!(killed.is_some(), "none was seen while it was stopped");
    assert!(!stopped.iter().any(|pid| lives(*pid)), "{stopped:?}");
    let records = made.records();
    let has_failed = |record: &TrialRecord| matches!(record.outcome, Outcome::Failed { .. });
    let (failed, others): (Vec<_>, Vec<_>) = records.into_iter().partition(has_failed);
    let ([failed], [other]) = (&failed[..], &others[..]) else {
        panic!("{failed:?} {others:?}");
    };
    assert_eq!(failed.spec.id, "a");
    assert!(failure(failed).contains("SIGKILL"), "{failed:?}");
    assert!(doubts(other).is_empty(), "{other:?}");
    assert!(other.measurement.as_ref().unwrap().elapsed_s >= 1.25);
}

fn a_group_that_is_stopped_keeps_what_all_had_measured() {
    let bench = Bench::new();
    let made = bench.create(pair(60.0)).unwrap();
    assert!(bench.run_and_stop(&made).0.interrupted);
    let records = made.records();
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Interrupted);
        counts_add_up(record);
        let workers = &record.measurement.as_ref().unwrap().workers;
        assert!(workers.iter().all(|worker| !lives(worker.pid)));
    }
    assert!(is_empty_or_absent(&made.folder.path().join("work")));
}

fn a_group_that_was_stopped_begins_again() {
    let bench = Bench::new();
    let made = bench.create(pair(1.5)).unwrap();
    assert!(bench.run_and_stop(&made).0.interrupted);
    bench.options.stop.store(false, Relaxed);
    let summary = bench.run(&made, |_| {});
    assert!(!summary.interrupted);
    let records = made.records();
    let ended = records
        .iter()
        .filter(|record| record.outcome != Outcome::Interrupted);
    let ids: Vec<_> = ended.map(|record| record.spec.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

/// Two contenders of one group that come to an end.
fn short_pair(act: &str, engines: [&str; 2]) -> Vec<TrialSpec> {
    let contender = |(engine, id): (&str, &str)| {
        let mut spec = on(engine, with(spec(id, act), "pause_ms", 1));
        spec.conditions.time_slice_s = Some(0.01);
        spec
    };
    engines.into_iter().zip(["a", "b"]).map(contender).collect()
}

/// Runs two contenders, and asserts that neither waited at a point for the other one in vain, as it
/// would if the other came there later.
fn meet(act: &str, engines: [&str; 2], point: &str) {
    let bench = Bench::new();
    let made = bench.create(short_pair(act, engines)).unwrap();
    bench.run(&made, |_| {});
    let records = made.records();
    assert_eq!(records.len(), 2);
    for record in &records {
        assert!(doubts(record).is_empty(), "{record:?}");
    }
    let folder = made.folder.path().join(MEETINGS).join(point);
    assert!(folder.exists() && !folder.join(ALONE).exists());
}

fn the_suites_of_contenders_run_at_the_same_time() {
    meet("store", ["meets", "meets-too"], "suites");
}

fn a_suite_that_fails_beside_others_runs_again_alone() {
    let bench = Bench::new();
    let trials = short_pair("store", ["fails-concurrently", "toy"]);
    let made = bench.create(trials).unwrap();
    let mut failures = Vec::new();
    bench.run(&made, |event| {
        if let Event::ConformanceChecked { failures: more, .. } = event {
            failures.push(more.clone());
        }
    });
    assert_eq!(failures, [Vec::<String>::new(), Vec::new()]);
    for record in &made.records() {
        assert!(doubts(record).is_empty(), "{record:?}");
    }
}

fn the_results_of_contenders_are_verified_at_the_same_time() {
    meet("meet-verify", ["toy", "null"], "verifications");
}
