//! Contenders that take turns.

use crate::claims::claims;
use crate::conditions::worker;
use crate::support::{Bench, doubts, failure, is_empty_or_absent, lives, on, spec, threads, with};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use trueput_record::measurement::Outcome;
use trueput_record::{TrialRecord, TrialSpec};
use trueput_runner::{Event, Phase};

claims![
    those_who_rest_count_no_time,
    work_that_ends_by_its_count_is_done_in_turns_too,
    a_contender_that_dies_leaves_the_others_to_their_turns,
    who_stops_a_round_keeps_what_all_had_measured,
    a_round_begins_again_where_it_was_stopped,
];

/// Two contenders of one round that work for so long each.
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
    let told = measurement.timeline.iter().map(|second| second.counts[1]);
    assert_eq!(told.sum::<u64>(), measurement.operations[1].count);
    assert!(measurement.operations[1].count > 0);
}

/// Each counts its own time alone: together they count no more than passed. Had either counted its
/// rests, it would be half as much again.
fn those_who_rest_count_no_time() {
    for as_threads in [false, true] {
        let trials = pair(1.2).into_iter().map(|spec| match as_threads {
            true => threads(spec),
            false => spec,
        });
        let began = Instant::now();
        let records = Bench::new().records(trials.collect());
        let passed_s = began.elapsed().as_secs_f64();
        let mut own_s = 0.0;
        for record in &records {
            assert!(doubts(record).is_empty(), "{record:?}");
            counts_add_up(record);
            let measurement = record.measurement.as_ref().unwrap();
            // Until a worker has woken for its turn is no time of its own either: on a busy machine
            // a part of each turn.
            assert!(measurement.elapsed_s >= 0.6, "{}", measurement.elapsed_s);
            // What the machine's counters say is everybody's.
            assert!(measurement.device.is_none() && measurement.neighbors.is_none());
            own_s += measurement.elapsed_s;
        }
        assert!(own_s <= passed_s, "{own_s} s of {passed_s} s");
    }
}

fn work_that_ends_by_its_count_is_done_in_turns_too() {
    let mut first = with(spec("a", "store"), "pause_ms", 2);
    first.conditions.time_slice_s = Some(0.005);
    let mut second = on("null", first.clone());
    second.id = "b".to_owned();
    let records = Bench::new().records(vec![first, second]);
    for record in &records {
        assert!(doubts(record).is_empty(), "{record:?}");
        counts_add_up(record);
        // It pauses for 0.2 s, in pieces of 2 ms: it was in turns that it did so.
        assert!(record.measurement.as_ref().unwrap().elapsed_s >= 0.2);
    }
    assert_eq!(records.len(), 2);
}

fn a_contender_that_dies_leaves_the_others_to_their_turns() {
    let bench = Bench::new();
    let made = bench.create(pair(2.5)).unwrap();
    let killed = Cell::new(None);
    bench.run(&made, |event| {
        if let Event::TrialProgress {
            phase: Phase::Run, ..
        } = event
            && killed.get().is_none()
            && let Some(pid) = worker(&bench.results())
        {
            killed.set(Some(pid));
            kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
        }
    });
    let records = made.records();
    let failed: Vec<_> = records
        .iter()
        .filter(|record| matches!(record.outcome, Outcome::Failed { .. }))
        .collect();
    assert_eq!(failed.len(), 1, "{records:?}");
    assert!(failure(failed[0]).contains("SIGKILL"), "{:?}", failed[0]);
    let other = records.iter().find(|one| one.spec.id != failed[0].spec.id);
    let other = other.unwrap();
    assert!(doubts(other).is_empty(), "{other:?}");
    assert!(other.measurement.as_ref().unwrap().elapsed_s >= 1.25);
}

fn who_stops_a_round_keeps_what_all_had_measured() {
    let bench = Bench::new();
    let made = bench.create(pair(60.0)).unwrap();
    let summary = bench.run(&made, |event| {
        if let Event::TrialProgress {
            phase: Phase::Run, ..
        } = event
        {
            bench.options.stop.store(true, Relaxed);
        }
    });
    assert!(summary.interrupted);
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

fn a_round_begins_again_where_it_was_stopped() {
    let bench = Bench::new();
    let made = bench.create(pair(1.5)).unwrap();
    let stop_at_first = |event: &Event| {
        if let Event::TrialProgress {
            phase: Phase::Run, ..
        } = event
        {
            bench.options.stop.store(true, Relaxed);
        }
    };
    assert!(bench.run(&made, stop_at_first).interrupted);
    bench.options.stop.store(false, Relaxed);
    let summary = bench.run(&made, |_| {});
    assert!(!summary.interrupted);
    let ended = made.records();
    let ended = ended
        .iter()
        .filter(|record| record.outcome != Outcome::Interrupted);
    let ids: Vec<_> = ended.map(|record| record.spec.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}
