//! The operations of the tests, on a sound engine.

use super::harness::{Bench, Call, assert_right, timed};
use crate::support::engine;
use std::collections::BTreeSet;
use trueput_engine::Null;
use trueput_record::{Conditions, Value, VerifyLevel};

const SMALL: &str = "records=300";

/// Every test, with the settings that its name needs; those that end by time are marked.
const TESTS: [(&str, bool); 20] = [
    ("fill-sequential", false),
    ("fill-random", false),
    ("fill-batch", false),
    ("fill-sync", false),
    ("fill-bulk", false),
    ("overwrite", false),
    ("read-random", false),
    ("read-sequential", false),
    ("read-reverse", false),
    ("read-missing", false),
    ("read-hot", false),
    ("multi-read-random", false),
    ("seek-random", false),
    ("delete-random", false),
    ("put-if-absent", false),
    ("overwrite-large", false),
    ("read-large", false),
    ("read-while-writing", true),
    ("read-while-scanning", true),
    ("mix", false),
];

const MIX: &str = "update_percent=30 insert_percent=10 delete_percent=10 scan_percent=20";

/// As many values as there are small records, in three parts each.
const LARGE: &str = "large_values=300 large_value_bytes=3KiB part_size=1KiB";

fn given(test: &str, more: &str) -> String {
    let own = match test {
        "mix" => MIX,
        "overwrite-large" | "read-large" => LARGE,
        _ => "",
    };
    format!("test={test} {SMALL} {own} {more}")
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
        "multi-read-random",
        "seek-random",
    ] {
        let bench = bench(test, true, 2, "writers=2 scanners=1");
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, test);
        assert_eq!(ended.counts, [400, 400, 200], "{test}");
    }
}

#[test]
fn writers_with_a_rate_pause_between_its_periods_and_readers_do_not() {
    let given = "writers=2 write_rate=50";
    let bench = bench("read-while-writing", true, 2, given);
    assert_right(&bench.run().1, given);
    // Each writer has 25 of the 50 updates a second: 200 are those of 80 periods of 100 ms.
    let (writer, _) = bench.work(3);
    assert_eq!(writer.counts, [0, 200]);
    assert_eq!(writer.rested_ns, 80 * 100_000_000);
    assert_eq!(writer.starts, 200, "no pause is part of a latency");
    let (reader, _) = bench.work(0);
    assert_eq!((reader.counts[0], reader.rested_ns), (200, 0));
    let free = Bench::timed(2, &self::given("read-while-writing", "writers=2"));
    free.prepare().unwrap();
    assert_eq!(free.work(3).0.rested_ns, 0, "the control");
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
fn a_look_up_of_several_keys_is_one_operation_and_counts_its_records() {
    for (workers, more, batches) in [(1, "batch=10", 30), (3, "batch=30", 12), (1, "", 3)] {
        let bench = bench("multi-read-random", false, workers, more).logging();
        bench.prepare().unwrap();
        let (ended, units) = bench.work_together();
        assert_eq!((&*ended.counts, units), (&[batches][..], 300), "{more}");
        assert_eq!(bench.calls().len(), 300, "each key is looked up");
        let conclusion = bench.verify(&ended);
        assert_right(&conclusion, more);
        let reads = conclusion.checks.iter().find(|check| check.name == "reads");
        assert!(reads.unwrap().detail.starts_with("300 reads"));
    }
}

#[test]
fn what_an_engine_without_a_look_up_of_several_does_instead_stands_in_the_result() {
    let emulated = |test: &str, has_it| {
        let mut bench = bench(test, false, 1, "");
        bench.capabilities.batch_get = has_it;
        bench.capabilities.conditional_put = has_it;
        bench.run().1.results.remove("emulated")
    };
    let text = emulated("multi-read-random", false).unwrap().to_string();
    assert!(text.contains("one by one"), "{text}");
    assert_eq!(emulated("multi-read-random", true), None);
    assert_eq!(emulated("read-random", false), None);
    let text = emulated("put-if-absent", false).unwrap().to_string();
    assert!(text.contains("a get comes before each put"), "{text}");
    assert_eq!(emulated("put-if-absent", true), None);
}

#[test]
fn a_fill_in_bulk_is_done_by_the_loader_of_an_engine_that_has_one() {
    let given = given("fill-bulk", "batch=100");
    let conditions = Conditions::default();
    let lmdb = Bench::on(engine("lmdb"), 1, &conditions, &given);
    let (ended, conclusion) = lmdb.run();
    assert_right(&conclusion, "lmdb");
    assert_eq!(lmdb.job.kinds(), ["insert", "commit"]);
    assert_eq!(
        ended.counts,
        [300, 1],
        "the loader's end is the only commit"
    );
    assert_eq!(conclusion.results.get("emulated"), None);
    let plain = Bench::counted(1, &given);
    let (ended, conclusion) = plain.run();
    assert_right(&conclusion, "the plain way");
    assert_eq!(ended.counts, [300, 3]);
    let text = conclusion.results["emulated"].to_string();
    assert!(text.contains("no loader"), "{text}");
    assert_eq!(lmdb.records(), plain.records());
}

#[test]
fn a_large_value_is_one_operation_and_each_of_its_parts_a_record() {
    for (part_size, parts) in [("1KiB", 10), ("3000", 4), ("64MiB", 1), ("0", 1)] {
        let sizes = format!("large_values=20 large_value_bytes=10KiB part_size={part_size}");
        let overwriting = format!("test=overwrite-large operations=50 {sizes}");
        let bench = Bench::counted(2, &overwriting).logging();
        let load = bench.prepare().unwrap().unwrap();
        assert_eq!(load.records, 20);
        let (ended, units) = bench.work_together();
        assert_eq!((&*ended.counts, units), (&[50][..], 50), "{part_size}");
        assert_eq!(bench.calls().len(), 50 * parts, "{part_size}");
        let conclusion = bench.verify(&ended);
        assert_right(&conclusion, part_size);
        let count = &conclusion.results["parts of a value"];
        assert_eq!(*count, Value::Integer(parts as i64));
        let records = bench.records();
        assert_eq!(records.len(), 20 * parts);
        let stored: usize = records.iter().map(|(_, part)| part.len()).sum();
        assert_eq!(stored, 20 * 10_240);
        let live_bytes = stored + records.len() * 16;
        assert_eq!(bench.job.live_bytes(&ended.counts), Some(live_bytes as u64));
        assert_eq!(load.user_bytes, live_bytes as u64);
        let reading = format!("test=read-large operations=50 {sizes}");
        let bench = bench.then(&Conditions::default(), &reading);
        let (ended, conclusion) = bench.run();
        assert_right(&conclusion, part_size);
        assert_eq!(ended.counts, [50]);
        let mut checks = conclusion.checks.iter();
        let reads = checks.find(|check| check.name == "reads").unwrap();
        assert!(reads.detail.starts_with("50 reads"), "{}", reads.detail);
    }
}

#[test]
fn the_longest_values_are_kept_whole_and_in_parts() {
    for part_size in ["0", "1MiB"] {
        let sizes = format!("large_values=2 large_value_bytes=64MiB part_size={part_size}");
        for test in ["overwrite-large", "read-large"] {
            let given = format!("test={test} distribution=sequential {sizes}");
            let bench = Bench::on(engine("lmdb"), 1, &Conditions::default(), &given);
            let (ended, conclusion) = bench.run();
            assert_right(&conclusion, &given);
            assert_eq!(ended.counts, [2]);
        }
    }
}

#[test]
fn a_value_that_the_engine_does_not_take_whole_is_put_in_parts_and_the_result_says_so() {
    // The reference engine takes 512 KiB.
    for (bytes, part_size, parts, is_emulated) in [
        ("512KiB", "0", 1, false),
        ("1MiB", "0", 2, true),
        ("1MiB", "256KiB", 4, false),
    ] {
        let sizes = format!("large_values=3 large_value_bytes={bytes} part_size={part_size}");
        let bench = Bench::counted(1, &format!("test=overwrite-large {sizes}"));
        let (_, conclusion) = bench.run();
        assert_right(&conclusion, &sizes);
        let results = &conclusion.results;
        assert_eq!(
            results["parts of a value"],
            Value::Integer(parts),
            "{sizes}"
        );
        let text = results.get("emulated").map(ToString::to_string);
        let says_so = text.as_ref().is_some_and(|text| text.contains("in parts"));
        assert_eq!((text.is_some(), says_so), (is_emulated, is_emulated));
    }
}

#[test]
fn of_the_conditional_puts_of_a_key_one_stores() {
    for workers in [1, 4] {
        for warm_up in [0, 50] {
            let mut bench = bench("put-if-absent", false, workers, "operations=600");
            bench.warm_up = warm_up;
            let (ended, conclusion) = bench.run();
            assert_right(&conclusion, &format!("{workers} {warm_up}"));
            let records = bench.records().len() as u64;
            assert_eq!(ended.counts.iter().sum::<u64>(), 600);
            if warm_up == 0 {
                assert_eq!(ended.counts, [records, 600 - records]);
                // About 259 of 300 keys are drawn, give or take 5.
                assert!((230..290).contains(&records), "{records}");
            }
        }
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
        let scans = ["seek-random", "read-large"].contains(&test);
        if !ordered.contains(&test) && !scans {
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
