//! Trials second by second.

use trueput_findings::over_time::over_time;
use trueput_record::Durability;
use trueput_record::measurement::TimelineSecond;
use trueput_record::recovery::EventRecord;
use trueput_record::testing::{spec, valid};

#[test]
fn a_cliff_behind_short_seconds_lies_where_the_clock_says_and_has_the_events_of_that_time() {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 3_000.0);
    let measured = trial.measurement.as_mut().unwrap();
    // Three half seconds at first, which are too short to say a rate; then the rate falls at 11.5
    // s, and is back at 16.6 s.
    let mut ends = vec![0.5, 1.0];
    ends.extend((1..=11).map(|second| f64::from(second) + 0.5));
    ends.extend((12..=26).map(|second| f64::from(second) + 0.6));
    let second = |(index, at_s): (usize, &f64)| TimelineSecond {
        at_s: *at_s,
        counts: if (12.0..17.0).contains(at_s) {
            vec![1_500; 2]
        } else {
            vec![3_000 + index as u64 * 7 % 13 * 4; 2]
        },
        ..TimelineSecond::default()
    };
    measured.timeline = ends.iter().enumerate().map(second).collect();
    let event = |at_s| EventRecord {
        at_s,
        kind: "checkpoint".to_owned(),
        detail: String::new(),
    };
    measured.events = Some(vec![event(8.0), event(12.0)]);
    let headline = measured.operations[0].kind.clone();
    let told = over_time(&trial, &headline).unwrap();
    assert_eq!(told.seconds, 25);
    assert_eq!(told.cliffs.len(), 1, "{told:?}");
    let cliff = &told.cliffs[0];
    assert_eq!(cliff.from_s, 11.5);
    assert!((cliff.length_s - 5.1).abs() < 1e-9, "{cliff:?}");
    assert_eq!(cliff.events, [event(12.0)]);
}
