//! The workload ycsb on the reference engine, with workers as threads of the test.

mod faults;
pub mod harness;
mod presets;

use harness::{Bench, Call, Fault, SEED, assert_right, job};
use trueput_record::WorkerKind;
use trueput_workloads::generate::distribution::{Chooser, Distribution, Items, ycsb_keyspace};
use trueput_workloads::generate::key::{KeyBuffer, KeyFormat};
use trueput_workloads::generate::random::Random;
use trueput_workloads::{ExistingDatabase, LoadSummary};

const PRESETS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[test]
fn every_preset_runs_and_passes_its_checks_with_one_and_four_workers() {
    for preset in PRESETS {
        for workers in [1, 4] {
            let bench = Bench::new(workers, &format!("workload={preset} recordcount=500"));
            let (ended, conclusion) = bench.run(Fault::None);
            assert_right(&conclusion);
            let operations: u64 = ended.counts.iter().sum();
            assert_eq!(operations, 1_000, "{preset} with {workers}");
        }
    }
}

#[test]
fn a_preset_does_the_kinds_of_ycsbs_file_and_the_first_is_what_ranks() {
    let kinds = |preset| job(&format!("workload={preset}")).unwrap().kinds();
    assert_eq!(kinds("a"), ["read", "update"]);
    assert_eq!(kinds("b"), ["read", "update"]);
    assert_eq!(kinds("c"), ["read"]);
    assert_eq!(kinds("d"), ["read", "insert"]);
    assert_eq!(kinds("e"), ["scan", "insert"]);
    assert_eq!(kinds("f"), ["read", "read-modify-write"]);
    assert_eq!(kinds("core"), ["read", "update"]);
}

#[test]
fn the_load_puts_each_record_once_with_ycsbs_key_and_size() {
    for (order, keys) in [
        ("hashed", KeyFormat::ycsb_hashed(1)),
        ("ordered", KeyFormat::ycsb_ordered(1)),
    ] {
        let given = format!("workload=c insertorder={order} recordcount=300 operationcount=1");
        let bench = Bench::new(1, &given);
        let load = bench.prepare(ExistingDatabase::Nothing).unwrap();
        let (keys, mut buffer) = (keys.unwrap(), KeyBuffer::default());
        let mut expected = LoadSummary::default();
        for item in 0..300 {
            let key = keys.write(item, &mut buffer).to_vec();
            bench.tamper(|session| {
                let found = session.get(&key, &mut |record| assert_eq!(record.len(), 1_000));
                assert!(found.unwrap(), "{item}");
            });
            expected.records += 1;
            expected.user_bytes += 1_000 + key.len() as u64;
        }
        assert_eq!(load, expected);
    }
}

#[test]
fn the_records_asked_for_are_those_of_the_generator() {
    let given = "workload=c recordcount=1000";
    let bench = Bench::new(1, given);
    bench.run(Fault::None);
    let distribution = Distribution::ScrambledZipfian {
        keyspace: ycsb_keyspace(1_000, 1_000, 0.0),
    };
    let mut chooser = Chooser::new(distribution, Items::Fixed(1_000), 0, 1).unwrap();
    let mut random = Random::for_worker(SEED, 0, "keys");
    let (keys, mut buffer) = (KeyFormat::ycsb_hashed(1).unwrap(), KeyBuffer::default());
    let expected: Vec<_> = (0..1_000)
        .map(|_| {
            let item = chooser.next(&mut random);
            Call::Get(keys.write(item, &mut buffer).to_vec())
        })
        .collect();
    assert_eq!(bench.calls(), expected);
}

#[test]
fn the_same_seed_gives_the_same_operations_and_bytes() {
    for preset in PRESETS {
        let calls = || {
            let bench = Bench::new(1, &format!("workload={preset} recordcount=200"));
            bench.run(Fault::None);
            bench.calls()
        };
        assert_eq!(calls(), calls(), "{preset}");
    }
}

#[test]
fn an_update_reads_and_writes_the_record_and_a_read_modify_write_reads_twice() {
    let share = |kind| {
        let given = format!(
            "readproportion=0 updateproportion=0 {kind}=1 recordcount=50 operationcount=20"
        );
        let bench = Bench::new(1, &given);
        let (_, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion);
        let calls = bench.calls();
        let count = |wanted: fn(&Call) -> bool| calls.iter().filter(|call| wanted(call)).count();
        let puts = count(|call| matches!(call, Call::Put(_, record) if record.len() == 1_000));
        (count(|call| matches!(call, Call::Get(_))), puts)
    };
    assert_eq!(share("updateproportion"), (20, 20));
    assert_eq!(share("readmodifywriteproportion"), (40, 20));
    assert_eq!(share("insertproportion"), (0, 20));
}

#[test]
fn scans_pass_from_one_to_a_hundred_records_evenly() {
    let given = "workload=e insertproportion=0 recordcount=5000 operationcount=2000";
    let bench = Bench::new(1, given);
    bench.run(Fault::None);
    let lengths: Vec<u64> = bench
        .calls()
        .iter()
        .map(|call| match call {
            Call::Scan(_, shown) => *shown,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths.len(), 2_000);
    assert!(lengths.iter().all(|length| (1..=100).contains(length)));
    assert!(lengths.contains(&1) && lengths.contains(&100));
    // Some scans end at the last key; so the mean is a little below 50.5. Its deviation is 0.65.
    let mean = lengths.iter().sum::<u64>() as f64 / 2_000.0;
    assert!((mean - 50.5).abs() < 3.0, "{mean}");
}

#[test]
fn varying_fields_make_records_between_the_ends_that_are_checked_as_well() {
    for distribution in ["uniform", "zipfian"] {
        let given = format!(
            "workload=a fieldlengthdistribution={distribution} fieldcount=4 minfieldlength=5 \
             fieldlength=50 readallfields=false recordcount=100"
        );
        let bench = Bench::new(2, &given);
        let (_, conclusion) = bench.run(Fault::None);
        assert_right(&conclusion);
        let calls = bench.calls();
        let mut lengths: Vec<_> = calls
            .iter()
            .filter_map(|call| match call {
                Call::Put(_, record) => Some(record.len()),
                _ => None,
            })
            .collect();
        lengths.sort_unstable();
        assert!(lengths.iter().all(|length| (20..=200).contains(length)));
        assert!(lengths.first() < lengths.last());
    }
}

#[test]
fn what_is_done_to_warm_up_is_checked_and_not_counted() {
    let mut bench = Bench::new(2, "workload=a recordcount=100");
    bench.warm_up = 300;
    let (ended, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion);
    assert_eq!(ended.counts.iter().sum::<u64>(), 1_000);
    // A read looks up once and an update does.
    let calls = bench.calls();
    let gets = calls.iter().filter(|call| matches!(call, Call::Get(_)));
    assert_eq!(gets.count(), 1_000 + 2 * 300);
}

#[test]
fn a_trial_may_end_by_time_and_the_next_one_run_on_its_records() {
    let given = crate::support::settings("workload=a recordcount=100");
    let timed = trueput_record::Conditions {
        duration_s: Some(1.0),
        ..Default::default()
    };
    let job = || harness::job_of(&given, &timed).unwrap();
    let mut bench = Bench::with(4, job());
    assert_eq!(bench.job.total_units(), 0);
    bench.limit = Some(500);
    let (_, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion);
    for generation in 1..70 {
        // A process of its own has a job of its own.
        (bench.job, bench.generation, bench.limit) = (job(), generation, Some(20));
        assert_eq!(bench.prepare(ExistingDatabase::Loaded), None);
        let ended = bench.work_together(Fault::None);
        assert_right(&bench.verify(&ended));
    }
}

#[test]
fn a_worker_that_starts_after_others_have_inserted_goes_on_with_their_records() {
    let timed = trueput_record::Conditions {
        duration_s: Some(1.0),
        ..Default::default()
    };
    for given in [
        "workload=e",
        "readproportion=0 updateproportion=0 insertproportion=1",
    ] {
        let given = crate::support::settings(&format!("{given} recordcount=100"));
        let mut bench = Bench::with(2, harness::job_of(&given, &timed).unwrap());
        bench.limit = Some(2_000);
        bench.prepare(ExistingDatabase::Nothing);
        bench.work(0, Fault::None);
        bench.work(1, Fault::None);
        let is_insert = |call: &Call| matches!(call, Call::Put(..));
        assert!(bench.calls().iter().filter(|call| is_insert(call)).count() > 100);
    }
}

#[test]
fn an_operation_count_beyond_what_the_duration_can_do_changes_no_size() {
    let timed = trueput_record::Conditions {
        duration_s: Some(2.0),
        ..Default::default()
    };
    let job = |given: &str| {
        let given = crate::support::settings(given);
        harness::job_of(&given, &timed).unwrap()
    };
    let bytes = |count: &str| job(&format!("workload=d operationcount={count}")).expected_bytes();
    assert_eq!(bytes("5000000000"), bytes("9000000000000000000"));
    assert!(bytes("5000000000") < 1 << 30);
    // Nor the memory of the workers: this would be 70 PB.
    let given = "updateproportion=0.5 insertproportion=0.5 operationcount=9000000000000000000";
    let mut bench = Bench::with(1, job(given));
    bench.limit = Some(100);
    let (_, conclusion) = bench.run(Fault::None);
    assert_right(&conclusion);
}

#[test]
fn keys_are_drawn_outside_of_the_latencies() {
    let mut bench = Bench::new(1, "workload=e recordcount=100");
    bench.limit = Some(160);
    bench.prepare(ExistingDatabase::Nothing);
    let (meter, _) = bench.work(0, Fault::None);
    // Sixteen are drawn at once, and then the clock of the next operation starts anew.
    assert_eq!(meter.starts, 11);
}

#[test]
fn trials_share_a_load_unless_they_insert() {
    let key = |given: &str| job(given).unwrap().load_key();
    assert!(key("workload=a").is_some());
    assert_eq!(key("workload=a"), key("workload=c"));
    assert_ne!(key("workload=a"), key("workload=a fieldcount=9"));
    assert_eq!(key("workload=d"), None);
}

#[test]
fn workers_that_insert_must_be_threads() {
    let check = |preset, workers, kind| {
        let job = job(&format!("workload={preset}")).unwrap();
        job.check_workers(workers, kind)
    };
    assert!(check("d", 2, WorkerKind::Processes).is_err());
    assert_eq!(check("d", 1, WorkerKind::Processes), Ok(()));
    assert_eq!(check("d", 4, WorkerKind::Threads), Ok(()));
    assert_eq!(check("a", 4, WorkerKind::Processes), Ok(()));
}

#[test]
fn settings_that_do_not_go_together_are_refused_in_a_sentence() {
    let refused = |given: &str, words: &str| {
        let message = job(given).err().unwrap();
        assert!(message.contains(words), "{message}");
    };
    refused("recordcount=0", "out of range (1 to");
    refused(
        "readproportion=0 updateproportion=0",
        "no operation has a share; give one of readproportion",
    );
    refused("readproportion=1.5", "out of range (0 to 1, or preset)");
    refused(
        "minscanlength=20 maxscanlength=10",
        "minscanlength=20 is more than the 10 of maxscanlength",
    );
    refused(
        "fieldcount=1 fieldlength=11",
        "leave no room for the 12 bytes",
    );
    refused(
        "fieldlengthdistribution=uniform minfieldlength=200",
        "minfieldlength=200 is more than the 100 of fieldlength",
    );
    refused(
        "requestdistribution=hotspot hotspotdatafraction=0",
        "hotspotdatafraction=0 leaves no hot record",
    );
    refused(
        "requestdistribution=hotspot hotspotdatafraction=1",
        "leaves no other record",
    );
    refused("requestdistribution=zipfan", "did you mean 'zipfian'");
}
