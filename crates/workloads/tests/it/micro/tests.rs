//! The operations of the tests, on a sound engine.

use super::harness::{Bench, Call, assert_right, timed};
use std::collections::BTreeSet;
use trueput_engine::Null;
use trueput_record::{Conditions, VerifyLevel};

const SMALL: &str = "records=300";

/// Every test, with the settings that its name needs; those that end by time are marked.
const TESTS: [(&str, bool); 15] = [
    ("fill-sequential", false),
    ("fill-random", false),
    ("fill-batch", false),
    ("fill-sync", false),
    ("overwrite", false),
    ("read-random", false),
    ("read-sequential", false),
    ("read-reverse", false),
    ("read-missing", false),
    ("read-hot", false),
    ("seek-random", false),
    ("delete-random", false),
    ("read-while-writing", true),
    ("read-while-scanning", true),
    ("mix", false),
];

const MIX: &str = "update_percent=30 insert_percent=10 delete_percent=10 scan_percent=20";

fn given(test: &str, more: &str) -> String {
    let mix = if test == "mix" { MIX } else { "" };
    format!("test={test} {SMALL} {mix} {more}")
}

fn bench(test: &str, by_time: bool, workers: u32, more: &str) -> Bench {
    let given = given(test, more);
    if by_time {
        Bench::timed(workers, &given)
    } else {
        Bench::counted(workers, &given)
    }
}

#[test]
fn every_test_passes_verification_with_one_worker_and_with_four() {
    for (test, by_time) in TESTS {
        for workers in [1, 4] {
            for level in [VerifyLevel::Full, VerifyLevel::Sample] {
                let mut bench = bench(test, by_time, workers, "");
                bench.verify = level;
                let (ended, conclusion) = bench.run();
                assert_right(&conclusion, &format!("{test} {workers} {level:?}"));
                assert!(ended.counts[0] > 0, "{test}");
            }
        }
    }
}

#[test]
fn every_test_passes_verification_in_processes() {
    for (test, by_time) in TESTS {
        for workers in [1, 3] {
            let bench = bench(test, by_time, workers, "").in_processes();
            let (_, conclusion) = bench.run();
            assert_right(&conclusion, &format!("{test} {workers}"));
        }
    }
}

#[test]
fn what_processes_cannot_check_of_each_other_stands_in_the_result() {
    let detail = |bench: Bench| {
        let (_, conclusion) = bench.run();
        conclusion.checks[0].detail.clone()
    };
    let writing = |writers| {
        let mut bench = bench("read-while-writing", true, 2, &format!("writers={writers}"));
        bench.until_puts = 200;
        bench
    };
    assert!(detail(writing("1")).ends_with("reads saw what they may, every byte compared"));
    let one = detail(writing("1").in_processes());
    assert!(one.contains("versions that never fall"), "{one}");
    let several = detail(writing("2").in_processes());
    assert!(several.contains("whether stale is not known"), "{several}");
}

#[test]
fn every_distribution_passes_verification() {
    for distribution in ["uniform", "zipfian", "latest", "hotspot", "sequential"] {
        for (test, by_time) in [
            ("read-while-writing", true),
            ("overwrite", false),
            ("mix", false),
        ] {
            let bench = bench(test, by_time, 3, &format!("distribution={distribution}"));
            let (_, conclusion) = bench.run();
            assert_right(&conclusion, &format!("{test} {distribution}"));
        }
    }
}

#[test]
fn writers_and_scanners_go_with_every_test_that_reads() {
    for test in [
        "read-random",
        "read-sequential",
        "read-reverse",
        "read-missing",
        "seek-random",
    ] {
        let bench = bench(test, true, 2, "writers=2 scanners=1");
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, test);
        assert_eq!(ended.counts, [400, 400, 200], "{test}");
    }
}

#[test]
fn a_count_ends_the_trial_and_the_warm_up_does_not_eat_of_it() {
    for (test, more) in [
        ("read-random", "operations=100"),
        ("overwrite", "batch=10"),
        ("read-sequential", "operations=700"),
        ("seek-random", "operations=9"),
    ] {
        let mut bench = bench(test, false, 4, &format!("{more} nexts=3"));
        // Two transactions of ten updates and a commit.
        bench.warm_up = 22;
        bench.prepare().unwrap();
        let (ended, units) = bench.work_together();
        let expected = match more.strip_prefix("operations=") {
            Some(count) => count.parse().unwrap(),
            None => 300,
        };
        assert_eq!((ended.counts[0], units), (expected, expected), "{test}");
        assert_eq!(bench.job.total_units(), expected);
        assert_right(&bench.verify(&ended), test);
    }
}

#[test]
fn a_fill_puts_each_record_once_and_a_pass_reads_each_once() {
    for test in [
        "fill-sequential",
        "fill-random",
        "fill-batch",
        "read-sequential",
        "read-reverse",
    ] {
        let bench = bench(test, false, 3, "").logging();
        let (ended, _) = bench.run();
        assert_eq!(ended.counts[0], 300, "{test}");
        let calls = bench.calls();
        let distinct: BTreeSet<&Call> = calls.iter().collect();
        assert_eq!((calls.len(), distinct.len()), (300, 300), "{test}");
    }
}

fn calls(test: &str, seed: u64, generation: u32) -> Vec<Call> {
    let by_time = TESTS
        .iter()
        .any(|(name, by_time)| *name == test && *by_time);
    let mut bench = bench(test, by_time, 1, "").logging();
    (bench.seed, bench.generation) = (seed, generation);
    bench.work(0);
    bench.calls()
}

#[test]
fn the_same_seed_gives_the_same_operations_and_another_gives_others() {
    for (test, _) in TESTS {
        let first = calls(test, 1, 0);
        assert_eq!(first, calls(test, 1, 0), "{test}");
        let ordered = [
            "fill-sequential",
            "fill-batch",
            "read-sequential",
            "read-reverse",
        ];
        // Nothing was loaded, so what scans show is the same nothing.
        if !ordered.contains(&test) && test != "seek-random" {
            assert_ne!(first, calls(test, 2, 0), "{test}");
        }
    }
    assert_ne!(calls("overwrite", 1, 0), calls("overwrite", 1, 1));
}

#[test]
fn two_loads_of_one_seed_are_the_same_to_the_byte_and_so_are_fills_in_any_order() {
    let loaded = |seed| {
        let mut bench = bench("read-random", false, 1, "");
        bench.seed = seed;
        bench.prepare().unwrap();
        bench.records()
    };
    let first = loaded(1);
    assert_eq!(first.len(), 300);
    assert_eq!(first, loaded(1));
    assert_ne!(first, loaded(2));
    for test in ["fill-sequential", "fill-random", "fill-batch"] {
        let bench = bench(test, false, 4, "");
        bench.run();
        assert_eq!(bench.records(), first, "{test}");
    }
}

#[test]
fn a_mix_keeps_its_percentages() {
    let bench = bench("mix", false, 2, "operations=6000");
    let (ended, _) = bench.run();
    assert_eq!(
        bench.job.kinds(),
        ["read", "insert", "update", "delete", "scan"]
    );
    for (count, percent) in ended.counts.iter().zip([30.0, 10.0, 30.0, 10.0, 20.0]) {
        let (n, p) = (6_000.0, percent / 100.0);
        let deviation = f64::sqrt(n * p * (1.0 - p));
        // Five standard deviations: one trial in some two millions is beyond.
        assert!(
            (*count as f64 - n * p).abs() < 5.0 * deviation,
            "{percent} %: {count}"
        );
    }
}

#[test]
fn a_trial_on_a_shared_load_reads_what_the_one_before_left() {
    let writing = given("read-while-writing", "");
    let bench = Bench::timed(2, &writing);
    assert_right(&bench.run().1, "the first");
    let bench = bench.then(&timed(), &writing);
    assert_eq!(bench.prepare().unwrap(), None);
    assert_right(&bench.run().1, "the second");
    let bench = bench.then(&Conditions::default(), &given("overwrite", "batch=20"));
    assert_right(&bench.run().1, "the third");
    let bench = bench.then(&Conditions::default(), &given("read-sequential", ""));
    assert_right(&bench.run().1, "the fourth");
}

#[test]
fn without_verification_nothing_is_checked_and_the_next_trial_can_be() {
    let mut bench = bench("overwrite", false, 2, "");
    bench.verify = VerifyLevel::Off;
    let (ended, conclusion) = bench.run();
    assert_eq!(conclusion.checks, []);
    assert!(ended.findings.iter().all(|findings| findings.is_empty()));
    let mut bench = bench.then(&timed(), &given("read-while-writing", ""));
    bench.verify = VerifyLevel::Full;
    assert_right(&bench.run().1, "the next");
}

#[test]
fn a_sample_follows_a_tenth_of_the_records() {
    let mut bench = bench("overwrite", false, 2, "");
    bench.verify = VerifyLevel::Sample;
    let (_, conclusion) = bench.run();
    let contents = conclusion
        .checks
        .iter()
        .find(|check| check.name == "contents");
    assert!(contents.unwrap().detail.starts_with("30 values"));
}

#[test]
fn an_engine_that_keeps_nothing_runs_every_test() {
    for (test, by_time) in TESTS {
        let conditions = if by_time {
            timed()
        } else {
            Conditions::default()
        };
        let bench = Bench::on(&Null, 2, &conditions, &given(test, ""));
        let (ended, conclusion) = bench.run();
        assert!(ended.counts[0] > 0, "{test}");
        assert_eq!(conclusion.checks, [], "{test}");
    }
}
