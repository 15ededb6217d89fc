//! RocksDB's mixgraph on the reference engine and on engines on disk: every mix, the faults that
//! verification finds, the mistakes in its settings, and its fit to a trace.

mod faults;
mod fit;
mod settings;

use crate::micro::harness::{Bench, Call, assert_right, timed};
use crate::micro::settings::trial;
use trueput_engine::reference::Reference;
use trueput_engine::{Engine, Null};
use trueput_record::measurement::{Measurement, OperationSummary};
use trueput_record::{Conditions, Survival, VerifyLevel, WorkerKind};
use trueput_workloads::mixgraph::Mixgraph;

/// Mixes of the three kinds, by the three ways to choose a key.
const MIXES: [&str; 6] = [
    "",
    "mix_get_ratio=0.5 mix_put_ratio=0.4 mix_seek_ratio=0.1 key_dist_a=0",
    "mix_get_ratio=0 mix_put_ratio=1 mix_seek_ratio=0 keyrange_dist_a=0 keyrange_dist_b=0 \
     keyrange_dist_c=0 keyrange_dist_d=0",
    "mix_get_ratio=0 mix_put_ratio=1 mix_seek_ratio=1 iter_k=0.1 iter_sigma=5 value_size=60B",
    "mix_get_ratio=3 mix_put_ratio=0 mix_seek_ratio=1 value_k=0 value_sigma=200",
    "num=100 keyrange_num=3 one_draw=off mix_put_ratio=0.8 iter_k=0.5",
];

fn counted(workers: u32, given: &str) -> Bench {
    on(&Reference, workers, given)
}

/// A trial of 2,000 records, which one draw and the key ranges need, and of scans up to 100.
fn on(engine: &dyn Engine, workers: u32, given: &str) -> Bench {
    let given = format!("num=2000 mix_max_scan_len=100 {given}");
    Bench::of(&Mixgraph, engine, workers, &Conditions::default(), &given)
}

/// One number of a record, as db_bench writes it: 8 bytes, then the digit 0.
fn key(item: u64) -> Vec<u8> {
    let mut key = vec![b'0'; 48];
    key[..8].copy_from_slice(&item.to_be_bytes());
    key
}

#[test]
fn every_mix_passes_verification_with_one_worker_and_with_four() {
    for mix in MIXES {
        for workers in [1, 4] {
            for level in [VerifyLevel::Full, VerifyLevel::Sample] {
                let mut bench = counted(workers, &format!("{mix} mix_accesses=3000"));
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
        let bench = counted(3, &format!("{mix} mix_accesses=1000")).in_processes();
        assert_right(&bench.run().1, mix);
    }
    let bench = counted(2, MIXES[1]);
    assert_right(&bench.run().1, "the first trial");
    let given = "num=2000 mix_max_scan_len=20 mix_get_ratio=1 mix_put_ratio=1 key_dist_b=0.2";
    let bench = bench.then(&Conditions::default(), given);
    assert_right(&bench.run().1, "the second trial");
}

#[test]
fn it_runs_on_engines_on_disk_and_on_one_that_keeps_nothing() {
    for name in ["lmdb", "sqlite"] {
        let engine = disk_engine(name);
        for mix in MIXES {
            let given = format!("{mix} mix_accesses=300");
            assert_right(&on(engine, 2, &given).run().1, &format!("{name} {given}"));
        }
    }
    let (ended, conclusion) = on(&Null, 2, "").run();
    assert_eq!(ended.counts.iter().sum::<u64>(), 2_000);
    assert!(conclusion.checks.is_empty());
}

fn disk_engine(name: &str) -> &'static dyn Engine {
    let mut engines = trueput_drivers::registry().iter();
    *engines.find(|engine| engine.info().name == name).unwrap()
}

#[test]
fn kinds_follow_the_ratios_and_those_without_one_are_not_named() {
    for one_draw in ["on", "off"] {
        let given = format!("mix_accesses=20000 one_draw={one_draw}");
        let bench = counted(1, &given);
        assert_eq!(bench.job.kinds(), ["get", "put", "seek"]);
        let (ended, _) = bench.run();
        for (count, share) in ended.counts.iter().zip([0.83, 0.14, 0.03]) {
            let deviation = f64::sqrt(20_000.0 * share * (1.0 - share));
            let off = (*count as f64 - 20_000.0 * share).abs();
            assert!(off < 5.0 * deviation, "{given}: {count} {share}");
        }
    }
    let puts = counted(1, "mix_get_ratio=0 mix_seek_ratio=0");
    assert_eq!(puts.job.kinds(), ["put"]);
}

#[test]
fn records_are_loaded_with_the_keys_of_db_bench_and_sizes_that_are_drawn_or_given() {
    let loaded = |given: &str| {
        let bench = counted(1, given);
        let summary = bench.prepare().unwrap().unwrap();
        assert_eq!(summary.records, 2_000);
        bench.records()
    };
    let records = loaded("");
    let keys = records.iter().map(|(key, _)| key.clone());
    assert!(keys.eq((0..2_000).map(key)));
    let sizes: Vec<usize> = records.iter().map(|(_, value)| value.len()).collect();
    assert!(sizes.iter().all(|size| (12..=1_024).contains(size)));
    // The mean is 37 bytes, and the deviation of a size about 50.
    let mean = sizes.iter().sum::<usize>() as f64 / 2_000.0;
    assert!((30.0..45.0).contains(&mean), "{mean}");
    let fixed = loaded("value_size=43B key_size=8");
    assert!(
        fixed
            .iter()
            .all(|(key, value)| (key.len(), value.len()) == (8, 43))
    );
}

#[test]
fn a_scan_begins_at_its_key_and_has_a_drawn_length() {
    // Every length is 20: the location, with a scale that rounding up hides.
    let given = "mix_get_ratio=0 mix_put_ratio=0 mix_accesses=50 iter_theta=19.5 iter_k=0 \
                 iter_sigma=0.001";
    let bench = counted(1, given).logging();
    bench.prepare().unwrap();
    bench.work(0);
    let found: Vec<Vec<u8>> = bench
        .calls()
        .into_iter()
        .filter_map(|call| match call {
            Call::Record(key) => Some(key),
            _ => None,
        })
        .collect();
    let runs = found.chunk_by(|one, next| {
        let number = |key: &[u8]| u64::from_be_bytes(key[..8].try_into().unwrap());
        number(one) + 1 == number(next)
    });
    // Scans that begin near the last key are shorter.
    let lengths: Vec<usize> = runs.map(<[_]>::len).collect();
    let whole = lengths.iter().filter(|length| **length == 20).count();
    assert!(whole > 30, "{lengths:?}");
}

#[test]
fn popular_keys_are_those_that_the_power_law_names() {
    // Half of the gets go to the first rank.
    let given = "mix_put_ratio=0 mix_seek_ratio=0 mix_accesses=4000 key_dist_a=0.5 \
                 key_dist_b=0.2 keyrange_dist_a=0 keyrange_dist_b=0 keyrange_dist_c=0 \
                 keyrange_dist_d=0";
    let bench = counted(1, given).logging();
    bench.prepare().unwrap();
    bench.work(0);
    // The first number of C++'s mt19937_64 of seed 1, which is the rank, modulo the records.
    let popular = key(2_469_588_189_546_311_528 % 2_000);
    let gets = bench.calls().into_iter();
    let hits = gets
        .filter(|call| *call == Call::Get(popular.clone()))
        .count();
    assert!((1_850..2_150).contains(&hits), "{hits}");
}

#[test]
fn figures_follow_from_the_settings() {
    let fixed = "value_k=0 value_theta=79.5 value_sigma=0.001 key_size=20 iter_k=0 \
                 iter_theta=9.5 iter_sigma=0.001";
    let bench = counted(1, fixed);
    let job = &bench.job;
    let volumes = job.volumes();
    let bytes = volumes.iter().map(|it| (it.read_bytes, it.written_bytes));
    let expected = [(100.0, 0.0), (0.0, 100.0), (1_000.0, 0.0)];
    for ((read, written), right) in bytes.zip(expected) {
        assert!((read - right.0).abs() < 1e-6 && (written - right.1).abs() < 1e-6);
    }
    assert_eq!(job.live_bytes(&[5, 10, 1]), Some(200_000));
    assert_eq!(job.commits(&[5, 10, 1]), Some(10));
    assert_eq!(job.commit_bytes(), 100);
    assert!(!job.needs_transactions());
    assert_eq!(job.check_crash(Survival::EveryCommit), Ok(()));
    // How much is there then depends on the records that were put.
    assert_eq!(
        counted(1, "value_size=43B").job.live_bytes(&[5, 10, 1]),
        None
    );
    let reads = counted(1, "mix_put_ratio=0 value_size=52B");
    assert_eq!(reads.job.live_bytes(&[5, 1]), Some(200_000));
    assert_eq!(reads.job.commits(&[5, 1]), Some(0));
    assert_eq!(
        reads.job.load_key(),
        counted(3, "value_size=52B").job.load_key()
    );
    assert_ne!(reads.job.load_key(), job.load_key());
}

#[test]
fn puts_that_certainly_changed_data_are_those_with_a_number_of_their_own() {
    let bench = counted(4, "");
    let certain = |kind, verify| {
        let mut spec = trial(4, kind);
        spec.verify = verify;
        let counts = [90, 400, 10].map(|count| OperationSummary {
            count,
            ..OperationSummary::default()
        });
        let measurement = Measurement {
            operations: counts.into(),
            ..Measurement::default()
        };
        bench.job.changing_commits(&spec, &measurement)
    };
    assert_eq!(certain(WorkerKind::Threads, VerifyLevel::Full), Some(400));
    assert_eq!(certain(WorkerKind::Threads, VerifyLevel::Sample), Some(100));
    assert_eq!(certain(WorkerKind::Processes, VerifyLevel::Full), Some(100));
}

#[test]
fn a_trial_by_time_ends_by_time() {
    let given = "num=2000 mix_max_scan_len=100";
    let bench = Bench::of(&Mixgraph, &Reference, 2, &timed(), given);
    let (ended, conclusion) = bench.run();
    assert_right(&conclusion, "by time");
    assert_eq!(ended.counts.iter().sum::<u64>(), 2 * 200);
}

#[test]
fn operations_are_drawn_between_operations() {
    let bench = counted(1, "mix_accesses=160");
    bench.prepare().unwrap();
    let (meter, _) = bench.work(0);
    // Once before the first operation, and after each sixteen.
    assert_eq!(meter.starts, 11);
}

#[test]
fn the_operations_of_a_sine_are_due_at_its_rate() {
    let sine = "sine_mix_rate=on sine_a=50 sine_b=0.5 sine_d=100 \
                sine_mix_rate_interval_milliseconds=1000";
    let bench = counted(2, &format!("{sine} mix_accesses=600"));
    let due = |worker, workers| bench.job.due_times(worker, workers).unwrap();
    let mut both: Vec<u64> = due(0, 2).chain(due(1, 2)).collect();
    both.sort_unstable();
    let alone: Vec<u64> = due(0, 1).collect();
    assert_eq!(both[..600], alone[..600]);
    for (second, expected) in [100.0, 123.97, 142.07, 149.87].into_iter().enumerate() {
        let within = |due_ns: &&u64| **due_ns / 1_000_000_000 == second as u64;
        let count = alone.iter().filter(within).count() as f64;
        assert!((count - expected).abs() <= 1.0, "second {second}: {count}");
    }
    let rate = bench.job.scheduled_per_s().unwrap();
    assert!((100.0..150.0).contains(&rate), "{rate}");
    assert_eq!(bench.job.closed_loop_setting(), "sine_mix_rate=off");
    assert_right(&bench.run().1, sine);
    let closed = counted(2, "");
    assert!(closed.job.due_times(0, 2).is_none());
    assert_eq!(closed.job.scheduled_per_s(), None);
}
