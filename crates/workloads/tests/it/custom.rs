//! The workload of one's own on the reference engine: every operation, the faults that verification
//! finds, and the mistakes in its settings.

mod faults;
mod queue;
mod settings;

use crate::micro::harness::{Bench, assert_right, timed};
use std::collections::BTreeSet;
use trueput_engine::reference::Reference;
use trueput_engine::{Engine, Null};
use trueput_record::{Conditions, Survival, VerifyLevel};
use trueput_workloads::custom::Custom;

/// Mixes that together have every operation, alone and in transactions.
const MIXES: [&str; 9] = [
    "get:50~update:50",
    "get:30~put:70",
    "read-modify-write:1~insert:1",
    "scan(20):5~put:4~delete:1~insert:1",
    "get+get+update+update:10~scan(5)+get+read-modify-write:3~get:9",
    "insert+update+get:2~scan(40):1",
    "put+delete+get:5~delete+delete:1~update+put:2~scan(9)+delete:1",
    "delete-range(7):1~put*4+delete-range(3)+get:2~insert+scan(9):1",
    "insert:1",
];

/// Every distribution but the histogram and a queue.
const DISTRIBUTIONS: [&str; 8] = [
    "uniform",
    "zipfian",
    "zipfian(0.5)",
    "latest",
    "hotspot",
    "hotspot(1%..90%)",
    "pareto",
    "sequential",
];

fn counted(workers: u32, given: &str) -> Bench {
    on(&Reference, workers, given)
}

fn on(engine: &dyn Engine, workers: u32, given: &str) -> Bench {
    let given = format!("records=300 {given}");
    Bench::of(&Custom, engine, workers, &Conditions::default(), &given)
}

#[test]
fn every_mix_passes_verification_with_one_worker_and_with_four() {
    for mix in MIXES {
        for workers in [1, 4] {
            for level in [VerifyLevel::Full, VerifyLevel::Sample] {
                let given = format!("operations={mix} operationcount=3000");
                let mut bench = counted(workers, &given);
                bench.verify = level;
                let (ended, conclusion) = bench.run();
                assert_right(&conclusion, &format!("{mix} {workers} {level:?}"));
                assert_eq!(ended.counts.iter().sum::<u64>(), 3_000, "{mix}");
            }
        }
    }
}

#[test]
fn every_mix_passes_verification_in_processes_and_on_a_loaded_database() {
    for mix in MIXES {
        let given = format!("operations={mix} operationcount=1000");
        let bench = counted(3, &given).in_processes();
        assert_right(&bench.run().1, mix);
    }
    let given = "records=300 operations=get:1~update:1~put+update:1";
    let bench = counted(2, "operations=get:1~update:1");
    assert_right(&bench.run().1, "the first trial");
    let bench = bench.then(&Conditions::default(), given);
    assert_right(&bench.run().1, "the second trial");
}

#[test]
fn every_distribution_of_records_and_of_sizes_passes_verification() {
    let sizes = [
        "12B",
        "uniform(12B..400B)",
        "zipfian(20B..1KiB)",
        "lognormal(100B..2KiB)",
    ];
    for (index, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
        let given = format!(
            "operations=get:5~update:3~insert:1~scan(7):1 distribution={distribution} \
             value_bytes={} operationcount=2000",
            sizes[index % sizes.len()]
        );
        assert_right(&counted(2, &given).run().1, &given);
    }
}

#[test]
fn keys_of_different_lengths_pass_verification_in_every_mix() {
    for key_bytes in ["uniform(16..64)", "zipfian(16..300)", "lognormal(20..60)"] {
        for mix in MIXES {
            let given = format!("operations={mix} key_bytes={key_bytes} operationcount=1000");
            assert_right(&counted(3, &given).run().1, &given);
            let bench = counted(2, &given).in_processes();
            assert_right(&bench.run().1, &given);
        }
    }
    let queue = "operations=insert:1~get+delete:1 distribution=oldest key_bytes=uniform(16..64)";
    assert_right(&counted(2, queue).run().1, queue);
    let reads = "operations=get:1~scan(9):1 key_bytes=uniform(16..64)";
    let bench = counted(2, reads);
    assert_right(&bench.run().1, "the first trial");
    let bench = bench.then(&Conditions::default(), &format!("records=300 {reads}"));
    assert_right(&bench.run().1, "the second trial");
}

#[test]
fn keys_of_different_lengths_begin_with_the_number_of_their_record() {
    let given = "operations=insert+get:1~scan(9)+update:1 key_bytes=uniform(16..64)";
    let bench = counted(1, given);
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion, given);
    let keys: Vec<_> = bench.records().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len() as u64, 300 + ended.counts[0]);
    for (item, key) in keys.iter().enumerate() {
        let (number, filler) = key.split_at(16);
        assert_eq!(number, format!("{item:016x}").as_bytes());
        assert!(filler.iter().all(|byte| *byte == b'0'), "{key:?}");
    }
    let lengths: BTreeSet<usize> = keys.iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|length| (16..=64).contains(length)));
    assert!(lengths.len() > 40, "{lengths:?}");
}

#[test]
fn it_runs_on_engines_on_disk_and_on_one_that_keeps_nothing() {
    for name in ["lmdb", "sqlite"] {
        let mut engines = trueput_drivers::registry().iter();
        let engine = *engines.find(|engine| engine.info().name == name).unwrap();
        for (index, mix) in MIXES.into_iter().enumerate() {
            let key_bytes = ["16", "uniform(16..64)"][index % 2];
            let given = format!("operations={mix} key_bytes={key_bytes} operationcount=200");
            assert_right(&on(engine, 2, &given).run().1, &format!("{name} {given}"));
        }
    }
    let (ended, conclusion) = on(&Null, 2, "operations=get:1~update:1").run();
    assert_eq!(ended.counts.iter().sum::<u64>(), 300);
    assert!(conclusion.checks.is_empty());
}

#[test]
fn kinds_are_the_transactions_as_written_and_their_counts_follow_the_weights() {
    let bench = counted(
        1,
        "operations=get:6~get+update+update*4:3~scan(10)*2:1~put:0 operationcount=10000",
    );
    let kinds = ["get", "get+update*5", "scan(10)+scan(10)"];
    assert_eq!(bench.job.kinds(), kinds);
    let (ended, _) = bench.run();
    for (count, share) in ended.counts.iter().zip([0.6, 0.3, 0.1]) {
        let deviation = f64::sqrt(10_000.0 * share * (1.0 - share));
        let off = (*count as f64 - 10_000.0 * share) / deviation;
        assert!(off.abs() < 5.0, "{count} {share}");
    }
}

#[test]
fn figures_follow_from_the_transactions() {
    let given = "operations=get+update:1~insert+insert:1 key_bytes=20 value_bytes=80";
    let bench = counted(1, given);
    let job = &bench.job;
    let volumes = job.volumes();
    let bytes = volumes.iter().map(|it| (it.read_bytes, it.written_bytes));
    assert_eq!(bytes.collect::<Vec<_>>(), [(200.0, 100.0), (0.0, 200.0)]);
    assert_eq!(job.live_bytes(&[5, 10]), Some((300 + 20) * 100));
    assert_eq!(job.commits(&[5, 10]), Some(15));
    assert_eq!(job.commit_bytes(), 150);
    assert!(job.needs_transactions());
    assert_eq!(job.load_key(), None);
    // The mean key has 40 bytes.
    let given = "operations=get+update:1~delete:1 key_bytes=uniform(16..64) value_bytes=60";
    let volumes = counted(1, given).job.volumes();
    let bytes = volumes.iter().map(|it| (it.read_bytes, it.written_bytes));
    assert_eq!(bytes.collect::<Vec<_>>(), [(200.0, 100.0), (0.0, 40.0)]);
    let bench = counted(1, "operations=get:1~scan(3):1");
    let reads = &bench.job;
    assert_eq!(reads.commits(&[5, 10]), Some(0));
    assert!(!reads.needs_transactions());
    assert!(reads.load_key().is_some());
    let given = "operations=delete-range(5):1~delete-range(1):1 key_bytes=20";
    let bench = counted(1, given);
    let volumes = bench.job.volumes();
    let bytes = volumes.iter().map(|it| (it.read_bytes, it.written_bytes));
    assert_eq!(bytes.collect::<Vec<_>>(), [(0.0, 100.0), (0.0, 20.0)]);
    assert_eq!(bench.job.kinds(), ["delete-range(5)", "delete"]);
    assert!(bench.job.needs_transactions());
    let other = counted(1, "operations=delete:1");
    let deletes = &other.job;
    assert_eq!(deletes.live_bytes(&[5]), None);
    assert!(deletes.check_crash(Survival::EveryCommit).is_err());
    assert_eq!(reads.check_crash(Survival::EveryCommit), Ok(()));
}

#[test]
fn workers_think_between_transactions_but_not_before_the_first() {
    let bench = counted(1, "operations=get:1 think_time=3ms operationcount=11");
    bench.prepare().unwrap();
    let (meter, _) = bench.work(0);
    assert_eq!(meter.rested_ns, 10 * 3_000_000);
}

#[test]
fn a_size_decides_the_number_of_records_and_a_working_set_those_that_are_touched() {
    let bench = Bench::of(
        &Custom,
        &Reference,
        1,
        &Conditions::default(),
        "size=10000B key_bytes=20 value_bytes=80 operations=put:1 working_set=0.1 \
         operationcount=500",
    );
    let loaded = bench.prepare().unwrap().unwrap();
    assert_eq!((loaded.records, loaded.user_bytes), (100, 10_000));
    let given = "size=100000B key_bytes=uniform(16..64) value_bytes=60";
    let sized = Bench::of(&Custom, &Reference, 1, &Conditions::default(), given);
    let loaded_sized = sized.prepare().unwrap().unwrap();
    assert_eq!(loaded_sized.records, 1_000);
    // A thousand lengths between 16 and 64 differ from their mean by a deviation of 14 each.
    assert!(loaded_sized.user_bytes.abs_diff(100_000) < 2_500);
    let before = bench.records();
    bench.work_together();
    let after = bench.records();
    let pairs = before.iter().zip(&after).enumerate();
    let changed: Vec<_> = pairs
        .filter(|(_, (a, b))| a != b)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(changed, (0..10).collect::<Vec<_>>());
}

#[test]
fn a_trial_by_time_ends_by_time() {
    let given = "records=300 operations=get:1~update:1";
    let bench = Bench::of(&Custom, &Reference, 2, &timed(), given);
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion, "by time");
    assert_eq!(ended.counts.iter().sum::<u64>(), 2 * 200);
}
