//! Queues: each worker takes the oldest record of its own, and finds the ends of its queue by a
//! seek.

use super::{counted, on};
use crate::job_bench::job_under;
use crate::micro::harness::{Bench, Call, assert_right};
use std::collections::BTreeMap;
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::custom::Custom;

/// Mixes that together have every operation that goes with a queue.
const MIXES: [&str; 8] = [
    "insert:1~get+delete:1",
    "insert:1~get+delete:3",
    "delete:1",
    "insert+get+delete:2~scan(5)+delete+delete:1~get:1",
    "first+delete:50~insert:50~first:5",
    "insert+last:2~first+delete+first:3~last:1~get+first:1",
    "first+delete-range(7)+first:1~insert*7:1~scan(400):1",
    "delete-range(40):1~insert+last+delete-range(2)+last+first:1",
];

/// A job on queues.
fn queue(workers: u32, given: &str) -> Bench {
    counted(workers, &format!("distribution=oldest {given}"))
}

/// The key of a record in a worker's queue, by its place there.
fn key(worker: u64, place: u64) -> Vec<u8> {
    format!("{worker:05x}{place:011x}").into_bytes()
}

/// The keys of a database.
fn keys(bench: &Bench) -> Vec<Vec<u8>> {
    bench.records().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_queue_hands_out_each_record_once_and_the_oldest_first() {
    // Some of the mixes empty their queues.
    for mix in MIXES {
        let given = format!("operations={mix} records=60 operationcount=900");
        for workers in [1, 3] {
            for level in [VerifyLevel::Full, VerifyLevel::Sample] {
                let mut bench = queue(workers, &given);
                bench.verify = level;
                assert_right(&bench.run().1, &given);
            }
            let bench = queue(workers, &given);
            assert_right(&bench.in_processes().run().1, &given);
        }
        for key_bytes in ["8", "40", "uniform(16..64)"] {
            let given = format!("{given} key_bytes={key_bytes}");
            assert_right(&queue(2, &given).run().1, &given);
        }
    }
    // As many out as in: what is left are the newest.
    let bench = queue(1, "operations=insert+delete:1 operationcount=1000");
    let (_, conclusion) = bench.run();
    assert_eq!(conclusion.results["records_at_end"], 300_u64.into());
    let expected = (1_000..1_300).map(|place| key(0, place));
    assert_eq!(keys(&bench), expected.collect::<Vec<_>>());
}

#[test]
fn queues_pass_verification_on_engines_on_disk() {
    for name in ["lmdb", "sqlite"] {
        let mut engines = trueput_drivers::registry().iter();
        let engine = *engines.find(|engine| engine.info().name == name).unwrap();
        for mix in MIXES {
            let given = format!("operations={mix} distribution=oldest operationcount=200");
            assert_right(&on(engine, 2, &given).run().1, &format!("{name} {given}"));
        }
    }
}

#[test]
fn the_keys_of_each_queue_lie_together_in_the_order_of_age() {
    let bench = queue(3, "operations=insert:1 records=10 operationcount=60");
    assert_right(&bench.run().1, "inserts");
    let mut places = BTreeMap::<Vec<u8>, u64>::new();
    for key in keys(&bench) {
        let (worker, place) = key.split_at(5);
        let next = places.entry(worker.to_vec()).or_default();
        assert_eq!(place, format!("{next:011x}").as_bytes());
        *next += 1;
    }
    // The shares of the ten loaded records, and twenty inserted ones each.
    assert_eq!(places.into_values().collect::<Vec<_>>(), [23, 23, 24]);
}

#[test]
fn the_oldest_record_is_sought_from_the_first_key_of_the_queue_whatever_was_deleted() {
    let bench = queue(2, "operations=first+delete:1 operationcount=200").logging();
    bench.prepare().unwrap();
    bench.work(1);
    assert_eq!(bench.scans(), vec![(key(1, 0), 1); 100]);
    // Each takes the next record out: it found the oldest that was left.
    let expected =
        (0..100).flat_map(|place| [Call::Record(key(1, place)), Call::Delete(key(1, place))]);
    assert_eq!(bench.calls(), expected.collect::<Vec<_>>());
}

#[test]
fn the_newest_record_is_sought_from_the_end_of_the_queue() {
    let bench = queue(2, "operations=last:1~insert+last:1 operationcount=200").logging();
    bench.prepare().unwrap();
    bench.work(0);
    // The share of the first worker has 150 records.
    let mut newest = 149;
    for call in bench.calls() {
        match call {
            Call::Put(put, _) => {
                newest += 1;
                assert_eq!(put, key(0, newest));
            }
            Call::Record(found) => assert_eq!(found, key(0, newest)),
            other => panic!("{other:?}"),
        }
    }
    assert!(newest > 149 + 20);
}

#[test]
fn a_range_of_deletes_takes_neighbors_out_together() {
    let given = "operations=delete-range(8):1 operationcount=30 distribution=sequential";
    let bench = counted(1, given).logging();
    bench.prepare().unwrap();
    bench.work(0);
    let deletes = (0..30).flat_map(|first| first..first + 8);
    let expected = deletes.map(|item| Call::Delete(key(0, item)));
    assert_eq!(bench.calls(), expected.collect::<Vec<_>>());
    assert_eq!(bench.records().len(), 300 - 37);
    // At the end there are fewer, of a queue as well as of all records.
    for given in [
        "operations=delete-range(400):1 operationcount=9",
        "operations=delete-range(8):1 operationcount=39 distribution=oldest",
    ] {
        assert_right(&counted(1, given).run().1, given);
    }
    // 300 records: 37 ranges of eight, one of four, and a look that finds nothing.
    let bench = queue(1, "operations=delete-range(8):1 operationcount=39").logging();
    bench.prepare().unwrap();
    let (meter, _) = bench.work(0);
    assert_eq!((meter.counts[0], meter.not_found[0]), (39, 1));
    assert_eq!(bench.calls().len(), 301);
}

#[test]
fn an_empty_queue_has_no_end_to_find() {
    let given = "operations=delete-range(300):1~first:1~last:1~scan(3):1 operationcount=400";
    let bench = queue(1, given);
    bench.prepare().unwrap();
    let (meter, _) = bench.work(0);
    // Only what came before the first delete has found something.
    let not_found = &meter.not_found[1..];
    assert!(not_found.iter().all(|count| *count > 60), "{not_found:?}");
    assert_right(&queue(2, given).run().1, given);
}

#[test]
fn the_same_seed_asks_an_engine_for_the_same() {
    let calls = |mix: &str| {
        let given = format!("operations={mix} operationcount=500");
        let bench = queue(1, &given).logging();
        bench.prepare().unwrap();
        bench.work(0);
        (bench.calls(), bench.scans())
    };
    for mix in MIXES {
        assert_eq!(calls(mix), calls(mix), "{mix}");
    }
}

#[test]
fn a_queue_is_loaded_for_its_number_of_workers() {
    let load_key = |given: &str| {
        let job = job_under(&Custom, given, &Conditions::default());
        job.unwrap().load_key()
    };
    assert!(load_key("operations=get:1").is_some());
    assert_eq!(load_key("operations=first:1 distribution=oldest"), None);
}
