//! The section on trials second by second.

use crate::support::{report, spec, terminal, valid};
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

/// A trial whose rate falls to a third in the middle.
fn falling(tells: bool) -> TrialRecord {
    let mut trial = told(0, 4);
    let measured = trial.measurement.as_mut().unwrap();
    let second = |at: u32| TimelineSecond {
        at_s: f64::from(at),
        counts: vec![
            4_000,
            if at <= 20 { 3_000 } else { 1_000 } + u64::from(at % 3),
        ],
        ..TimelineSecond::default()
    };
    measured.timeline = (1..=40).map(second).collect();
    measured.events = tells.then(Vec::new);
    trial
}

#[test]
fn a_cliff_is_told_whether_or_not_the_engine_tells_events() {
    let (told, silent) = (falling(true), falling(false));
    let (told, silent) = (
        terminal(&report(vec![told]), 200),
        terminal(&report(vec![silent]), 200),
    );
    let in_words = "r1 drops at 20 s to 33.4 % of its rate, until the end";
    assert!(
        silent.contains(in_words) && !silent.contains("Over time"),
        "{silent}"
    );
    assert_has!(told, "Over time", "at 20.0 s, for ");
    assert!(!told.contains(in_words), "it is told twice: {told}");
}

#[test]
fn repeats_that_the_section_on_cliffs_leaves_out_are_told_beside_it() {
    let mut second = falling(true);
    second.spec.repeat = 2;
    second.spec.id.push_str("-2");
    let text = terminal(&report(vec![falling(true), second]), 200);
    assert!(
        text.contains("r2 drops at 20 s") && !text.contains("r1 drops at 20 s"),
        "{text}"
    );
}

#[test]
fn a_rate_that_goes_up_and_down_is_said_to_have_no_level() {
    let mut trial = falling(false);
    let timeline = &mut trial.measurement.as_mut().unwrap().timeline;
    for second in timeline.iter_mut() {
        second.counts[1] = [3_000, 1_000][second.at_s as usize / 10 % 2] + second.at_s as u64 % 3;
    }
    let text = terminal(&report(vec![trial]), 200);
    assert_has!(text, "r1 changes level");
}

#[test]
fn trials_that_differ_in_their_workers_alone_are_told_apart() {
    let both = terminal(&report(vec![told(0, 1), told(1, 2)]), 100);
    assert_has!(
        both,
        "lmdb, sync, 1 worker, r1",
        "lmdb, sync, 2 workers, r1"
    );
    let alone = terminal(&report(vec![told(0, 2)]), 100);
    assert_has!(alone, "lmdb, sync, 2 workers, r1");
}

#[test]
fn trials_of_one_contender_are_told_apart_by_level_and_settings() {
    let mut loose = told(1, 4);
    loose.spec.durability = Durability::Async;
    let mut longer = told(2, 4);
    let finish = trueput_record::Value::Integer(5_000);
    longer.spec.settings.insert("finish".to_owned(), finish);
    let text = terminal(&report(vec![told(0, 4), loose, longer]), 300);
    assert_has!(
        text,
        "lmdb, sync, 4 workers, finish=100000, r1",
        "lmdb, async, 4 workers, finish=100000, r1",
        "lmdb, sync, 4 workers, finish=5000, r1"
    );
    // The control: what all share is not said.
    let alike = terminal(&report(vec![told(0, 4)]), 300);
    assert!(!alike.contains("finish=100000, r1"), "{alike}");
}
