//! The resources that a trial used, as the kernel counts them, and the limits that it ran in.

use crate::claims::claims;
use crate::support::{Bench, doubts, failure, on, spec, with};
use crate::toy::{FLUSHED_BYTES, FLUSHES};
use trueput_record::conditions::Start;
use trueput_record::{Measurement, TrialRecord, TrialSpec};
use trueput_runner::Error;

claims![
    what_is_written_and_flushed_shows_on_the_device,
    every_second_says_what_was_used_and_what_others_did,
    the_largest_resident_set_is_that_of_the_whole_life,
    a_cold_start_says_how_many_pages_stayed,
    what_takes_more_memory_than_its_limit_fails_and_says_so,
    what_keeps_within_its_limit_says_how_much_it_took,
    more_memory_than_there_is_is_refused_before_anything_is_made,
];

fn with_one_worker(mut spec: TrialSpec) -> TrialSpec {
    spec.workers = 1;
    spec
}

fn limited(mut spec: TrialSpec, bytes: u64) -> TrialSpec {
    spec.conditions.memory_bytes = Some(bytes);
    with_one_worker(spec)
}

/// The record of a trial, or `None`, with the reason printed, where this machine cannot limit
/// memory.
fn limited_record(spec: TrialSpec) -> Option<TrialRecord> {
    limited_records(vec![spec])?.pop()
}

fn limited_records(specs: Vec<TrialSpec>) -> Option<Vec<TrialRecord>> {
    let bench = Bench::new();
    match bench.create(specs) {
        Ok(made) => {
            bench.run(&made, |_| {});
            Some(made.records())
        }
        Err(error) => {
            assert!(matches!(error, Error::Trial { .. }), "{error}");
            assert!(error.to_string().contains("remove memory"), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

fn measured(record: &TrialRecord) -> &Measurement {
    record.measurement.as_ref().unwrap()
}

fn what_is_written_and_flushed_shows_on_the_device() {
    let record = Bench::new().record(with_one_worker(spec("flush", "flush")));
    assert_eq!(doubts(&record), Vec::<&str>::new());
    let measured = measured(&record);
    assert!(measured.resources.storage_written_bytes >= FLUSHED_BYTES as u64);
    assert!(measured.resources.write_calls >= FLUSHES as u64);
    let Some(device) = measured.device else {
        println!("skipped: the results are on no block device");
        return;
    };
    assert!(device.written_bytes >= FLUSHED_BYTES as u64, "{device:?}");
    match device.flushes {
        // A disk without a volatile cache is sent none.
        None | Some(0) => println!("skipped: this device is sent no flushes"),
        Some(flushes) => assert!(flushes >= FLUSHES as u64, "{device:?}"),
    }
}

fn every_second_says_what_was_used_and_what_others_did() {
    let record = Bench::new().record(with_one_worker(with(spec("slow", "store"), "pause_ms", 60)));
    let measured = measured(&record);
    let sum = |of: fn(&trueput_record::measurement::TimelineSecond) -> u64| -> u64 {
        measured.timeline.iter().map(of).sum()
    };
    assert!(measured.timeline.len() > 1, "it took no two seconds");
    let resources = &measured.resources;
    assert!(sum(|it| it.voluntary_context_switches) >= resources.voluntary_context_switches);
    assert!(sum(|it| it.minor_page_faults) >= resources.minor_page_faults);
    assert!(sum(|it| it.write_calls) >= resources.write_calls);
    let first = &measured.timeline[0];
    assert!(first.voluntary_context_switches > 0 && first.rss_bytes > 0);
    assert!(first.database_allocated_bytes > Some(0));
    assert!(first.neighbors.is_some() && first.runnable_tasks.is_some());
    let total = measured.neighbors.unwrap();
    let seconds = measured.timeline.iter().filter_map(|it| it.neighbors);
    let summed: f64 = seconds.map(|it| it.cpu_s).sum();
    assert!((summed - total.cpu_s).abs() < 0.1, "{summed} {total:?}");
}

fn the_largest_resident_set_is_that_of_the_whole_life() {
    let record = Bench::new().record(with_one_worker(spec("hoard", "hoard")));
    let resources = &measured(&record).resources;
    assert!(resources.max_rss_bytes >= crate::toy::HOARD_BYTES as u64);
    assert!(resources.max_rss_bytes >= resources.peak_rss_bytes);
}

fn a_cold_start_says_how_many_pages_stayed() {
    let mut cold = with_one_worker(spec("cold", "store"));
    cold.conditions.start = Start::Cold;
    let record = Bench::new().record(cold);
    let start = measured(&record).cold_start.unwrap();
    let fewest = crate::toy::LOADED_BYTES as u64 / 65_536;
    assert!(start.pages >= fewest, "{start:?}");
    assert_eq!(doubts(&record).is_empty(), start.is_cold());
    let warm = Bench::new().record(with_one_worker(spec("warm", "store")));
    assert_eq!(measured(&warm).cold_start, None);
}

fn what_takes_more_memory_than_its_limit_fails_and_says_so() {
    let Some(record) = limited_record(limited(spec("hoard", "hoard"), 64 << 20)) else {
        return;
    };
    let (reason, limit) = (failure(&record), "was killed by the memory limit of 64 MiB");
    assert!(reason.contains(limit), "{reason}");
    // Also in a time slice, beside another contender.
    let mut first = limited(spec("hoard", "hoard"), 64 << 20);
    first.conditions.time_slice_s = Some(0.01);
    let mut second = on("null", first.clone());
    second.id = "second".to_owned();
    for record in limited_records(vec![first, second]).unwrap() {
        assert!(failure(&record).contains(limit), "{record:?}");
    }
}

fn what_keeps_within_its_limit_says_how_much_it_took() {
    let Some(record) = limited_record(limited(spec("flush", "flush"), 48 << 20)) else {
        return;
    };
    let measured = measured(&record);
    let memory = measured.memory.unwrap();
    assert_eq!((memory.limit_bytes, memory.kills), (48 << 20, 0));
    // Its file is larger than the limit: the page cache counts, and is given back.
    let near = (44 << 20)..=(48 << 20);
    let peak = memory.peak_bytes;
    assert!(peak.is_none_or(|peak| near.contains(&peak)), "{memory:?}");
    assert!(measured.cold_start.is_some(), "a limited trial starts cold");
}

fn more_memory_than_there_is_is_refused_before_anything_is_made() {
    let vast = limited(spec("vast", "store"), 1 << 50);
    Bench::new().assert_refused(vec![vast], &["exceeds this machine's"]);
}
