//! The workload threen1 on real engines, with workers as threads of the test.

mod faults;
mod harness;
mod restart;
mod timed;

use crate::job_bench::job_under;
use harness::{Bench, COMMITS, Fate, KEYS, READ, UPDATE, assert_right, failures, job, result};
use trueput_drivers::{Fjall, Redb, Sqlite};
use trueput_engine::{Engine, Null};
use trueput_record::{Conditions, VerifyLevel};
use trueput_workloads::threen1::ThreeN1;

#[test]
fn every_granularity_and_key_gives_the_same_answers() {
    for commit in COMMITS {
        for keys in KEYS {
            let given = format!("finish=10000 commit={commit} keys={keys} block=500");
            let (_, conclusion) = Bench::lmdb(2, &given).run();
            assert_right(&conclusion);
            assert_eq!(result(&conclusion, "longest"), 261, "{commit} {keys}");
            assert_eq!(result(&conclusion, "longest_start"), 6_171);
            assert_eq!(result(&conclusion, "largest"), 27_114_424);
            assert_eq!(result(&conclusion, "distinct"), 21_663);
            assert_eq!(result(&conclusion, "blocks"), 20);
        }
    }
}

#[test]
fn the_published_answers_come_out_of_a_database() {
    let given = "finish=100000 commit=per-block block=5000";
    let (ended, conclusion) = Bench::lmdb(4, given).run();
    assert_right(&conclusion);
    assert_eq!(result(&conclusion, "longest"), 350);
    assert_eq!(result(&conclusion, "longest_start"), 77_031);
    assert_eq!(result(&conclusion, "largest"), 1_570_824_736);
    // One write transaction at a time: no work is done twice.
    assert_eq!(ended.counts[UPDATE], 217_211);
    assert_eq!(ended.counts[READ], 317_211);
    assert_eq!(result(&conclusion, "surplus"), 0);
}

#[test]
fn every_engine_gives_the_same_answers_to_several_workers() {
    let engines: [&dyn Engine; 3] = [&Sqlite::new(), &Redb, &Fjall];
    for engine in engines {
        for commit in COMMITS {
            let given = format!("finish=1000 commit={commit} block=50");
            let (_, conclusion) = Bench::on(engine, 3, &given).run();
            assert_eq!(
                failures(&conclusion),
                [].into(),
                "{} {commit}",
                engine.info().name
            );
            assert_eq!(result(&conclusion, "longest"), 178);
            assert_eq!(result(&conclusion, "largest"), 250_504);
        }
    }
}

#[test]
fn a_single_worker_stores_each_number_once() {
    for commit in COMMITS {
        let (ended, conclusion) = Bench::lmdb(1, &format!("finish=2000 commit={commit}")).run();
        assert_right(&conclusion);
        assert_eq!(
            ended.counts[UPDATE],
            result(&conclusion, "distinct"),
            "{commit}"
        );
        assert_eq!(ended.counts[READ] - ended.counts[UPDATE], 2_000);
        assert_eq!(result(&conclusion, "surplus"), 0);
    }
}

#[test]
fn a_snapshot_per_start_gives_the_same_answers() {
    for commit in ["per-store", "per-start"] {
        let given = format!("finish=3000 commit={commit} snapshot=start");
        let (_, conclusion) = Bench::lmdb(3, &given).run();
        assert_right(&conclusion);
        assert_eq!(result(&conclusion, "longest"), 216);
    }
}

#[test]
fn ranges_that_begin_high_or_hold_one_start_are_right() {
    let high = "1000000000000";
    let ranges = [
        ("1", "1"),
        ("1", "2"),
        ("2", "2"),
        ("27", "27"),
        (high, "1000000000200"),
    ];
    for (start, finish) in ranges {
        for keys in KEYS {
            let given = format!("start={start} finish={finish} keys={keys}");
            let (ended, conclusion) = Bench::lmdb(3, &given).run();
            assert_eq!(failures(&conclusion), [].into(), "{start} to {finish}");
            let starts = finish.parse::<u64>().unwrap() - start.parse::<u64>().unwrap() + 1;
            assert_eq!(ended.counts[READ] - ended.counts[UPDATE], starts);
        }
    }
}

#[test]
fn the_range_of_1_alone_has_no_largest_number() {
    let (ended, conclusion) = Bench::lmdb(1, "finish=1").run();
    assert_right(&conclusion);
    assert_eq!((ended.counts[READ], ended.counts[UPDATE]), (1, 0));
    assert_eq!(result(&conclusion, "longest"), 0);
    assert_eq!(result(&conclusion, "largest"), 0);
}

#[test]
fn conflicts_are_retried_and_only_committed_work_counts() {
    for commit in COMMITS {
        for spacing in [1, 7] {
            let given = format!("finish=300 commit={commit} block=10");
            let bench = Bench::lmdb(1, &given);
            bench.prepare(false).unwrap();
            let (meter, found) = bench.work(0, Fate::Conflicts(spacing));
            found.unwrap();
            assert!(meter.conflicts > 0);
            assert_eq!(
                meter.counts[READ] - meter.counts[UPDATE],
                300,
                "{commit} {spacing}"
            );
            let (mut ended, _) = bench.work_together(&[]);
            ended.counts = meter.counts[..bench.job.kinds().len()].to_vec();
            assert_right(&bench.verify(&ended));
            assert_eq!(meter.units, 300);
        }
    }
}

#[test]
fn conflicts_in_a_snapshot_per_start_are_retried() {
    let bench = Bench::lmdb(1, "finish=300 snapshot=start");
    bench.prepare(false).unwrap();
    let (meter, found) = bench.work(0, Fate::Conflicts(1));
    found.unwrap();
    assert!(meter.conflicts > 0);
    assert_eq!(meter.counts[READ] - meter.counts[UPDATE], 300);
}

#[test]
fn an_engine_that_keeps_nothing_is_answered_by_its_workers() {
    for commit in COMMITS {
        let given = format!("finish=1000 commit={commit} block=70");
        let (ended, conclusion) = Bench::on(&Null, 4, &given).run();
        assert_right(&conclusion);
        assert_eq!(result(&conclusion, "longest"), 178);
        assert_eq!(result(&conclusion, "largest"), 250_504);
        assert_eq!(ended.counts[READ] - ended.counts[UPDATE], 1_000);
        assert!(!conclusion.results.contains_key("distinct"));
    }
}

#[test]
fn a_sequence_that_leaves_63_bits_stops_the_worker_with_its_start() {
    let start = (i64::MAX - 2).to_string();
    for commit in COMMITS {
        let bench = Bench::lmdb(1, &format!("start={start} finish={start} commit={commit}"));
        bench.prepare(false).unwrap();
        let (_, found) = bench.work(0, Fate::Lives);
        let error = found.unwrap_err().to_string();
        assert!(
            error.contains(&start) && error.contains("leaves 63 bits"),
            "{error}"
        );
    }
}

#[test]
fn the_block_that_was_used_stands_in_the_results() {
    for (block, used) in [("0", 250), ("100", 100), ("9999", 250)] {
        let (_, conclusion) = Bench::lmdb(4, &format!("finish=1000 block={block}")).run();
        assert_eq!(result(&conclusion, "block"), used);
    }
}

#[test]
fn without_verification_there_are_results_and_no_checks() {
    let bench = Bench::lmdb(2, "finish=1000");
    let (mut ended, _) = bench.run();
    ended.verify = VerifyLevel::Off;
    let conclusion = bench.verify(&ended);
    assert_eq!(conclusion.checks, []);
    assert_eq!(result(&conclusion, "longest"), 178);
}

#[test]
fn a_sample_looks_at_a_tenth_of_the_records_and_at_every_total() {
    let bench = Bench::lmdb(2, "finish=20000 commit=per-block");
    let (mut ended, _) = bench.run();
    ended.verify = VerifyLevel::Sample;
    let conclusion = bench.verify(&ended);
    assert_right(&conclusion);
    let check = conclusion
        .checks
        .iter()
        .find(|check| check.name == "stored steps")
        .unwrap();
    let looked_at: u64 = check.detail.split(' ').next().unwrap().parse().unwrap();
    let stored = result(&conclusion, "distinct");
    assert!(
        (stored / 12..stored / 8).contains(&looked_at),
        "{}",
        check.detail
    );
}

#[test]
fn settings_that_do_not_go_together_are_refused_in_a_sentence() {
    let refused = |given: &str| job(given).err().unwrap();
    assert_eq!(
        refused("start=9 finish=3"),
        "the range 9 to 3 is reversed; write start=3 finish=9"
    );
    let (settings, conditions) = (
        "",
        Conditions {
            warm_up_s: 1.0,
            ..Conditions::default()
        },
    );
    let warm_up = job_under(&ThreeN1, settings, &conditions).err().unwrap();
    assert!(warm_up.contains("remove warm_up"), "{warm_up}");
    assert!(refused("start=0").contains("threen1.start: 0 is out of range (1 or more)"));
    assert!(refused("finish=ten").contains("'ten' is not a whole number"));
    assert!(refused("commit=per-stor").contains("did you mean 'per-store'"));
    let both = refused("commit=per-block snapshot=start");
    assert!(both.contains("leave snapshot=start out"), "{both}");
}

#[test]
fn every_choice_that_the_settings_list_is_one_that_the_job_takes() {
    for commit in COMMITS {
        for keys in KEYS {
            let job = job(&format!("commit={commit} keys={keys}")).unwrap();
            assert_eq!(job.total_units(), 100_000);
            assert_eq!(job.kinds()[..4], ["read", "update", "claim", "finish"]);
            assert!(job.expected_bytes() > 1 << 20);
        }
    }
}
