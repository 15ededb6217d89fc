//! Contenders that share time slices, on real engines.

use crate::support::{ALL_WELL, Bench, assert_answers, assert_contains, ended_well, stderr};

#[test]
#[ignore = "slow: make test runs it"]
fn every_engine_present_shares_time_slices_and_finds_the_same_answers() {
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = \"present\"\nunsupported = \"skip\"\n\
        durability = [\"process\", \"async\", \"sync\"]\nlevels = \"first\"\nworkers = 2\n\
        time_slice = \"5ms\"\n[settings]\nfinish = 300\nblock = 50\ncommit = \"per-start\"\n";
    bench.write("all.toml", plan);
    bench.run_expecting(ALL_WELL, "run all.toml");
    let trials = bench.trials();
    let engines = trials.iter().filter(|trial| trial.spec.engine != "null");
    for record in engines.clone() {
        // The only engine at a level has nobody to share slices with.
        let level = record.spec.durability;
        let at_level = engines.clone().filter(|it| it.spec.durability == level);
        let expected = (at_level.count() > 1).then_some(0.005);
        assert_eq!(record.spec.conditions.time_slice_s, expected, "{level}");
        assert_answers(record, 1, 300);
    }
    let names: Vec<&str> = trials.iter().map(|t| t.spec.engine.as_str()).collect();
    for engine in ["null", "lmdb", "sqlite", "redb", "fjall"] {
        assert!(names.contains(&engine), "{engine} is missing of {names:?}");
    }
}

/// Workers that wait for each other's locks must not be paused while they hold one.
#[test]
#[ignore = "slow: make test runs it"]
fn every_kind_of_work_can_be_done_in_time_slices() {
    for work in [
        "micro --duration 500ms --set test=read-while-writing --set records=2000 --set scanners=1 \
         --knob sqlite.journal_mode=delete",
        "micro --duration 500ms --set test=overwrite --set records=2000",
        "micro --duration 500ms --set test=read-while-writing --set records=2000",
        "ycsb --duration 500ms --set workload=a --set recordcount=500 --rate 500",
        "tpcc --duration 500ms --set cardinality=hundredth",
        "threen1 --set finish=2000 --set commit=per-block",
    ] {
        let bench = Bench::new();
        let shared = "--engine lmdb,sqlite --durability process --workers 3 --time-slice 3ms";
        bench.run_expecting(ALL_WELL, &format!("run {work} {shared}"));
        let trials = bench.trials();
        assert_eq!(trials.len(), 2);
        for record in &trials {
            assert!(ended_well(record), "{work:?}: {:?}", record.outcome);
        }
    }
}

#[test]
fn contenders_share_time_slices_and_later_repeats_begin_with_a_copy_of_what_was_loaded() {
    let bench = Bench::new();
    let run = "run micro --engine lmdb,sqlite --durability process --set records=2000 \
        --set test=overwrite --duration 200ms --repeat 3";
    bench.run_expecting(ALL_WELL, run);
    let trials = bench.trials();
    assert_eq!(trials.len(), 6);
    for record in &trials {
        assert!(ended_well(record), "{:?}", record.outcome);
        assert_eq!(record.spec.conditions.time_slice_s, Some(0.05));
        let slices = record.measurement.as_ref().unwrap().time_slices.unwrap();
        assert!(slices.count >= 4, "{slices:?}");
        // All records are read back at the end: the copy is whole.
        assert_eq!(record.load.is_some(), record.spec.repeat == 1);
        assert!(record.engine.is_some());
    }
    let left = std::fs::read_dir(bench.path().join("results")).unwrap();
    let left = left.map(|run| run.unwrap().path().join("work"));
    assert!(left.into_iter().all(|work| !work.exists()));
}

#[test]
#[ignore = "slow: make test runs it"]
fn time_slices_that_are_none_are_refused() {
    let bench = Bench::new();
    let run = "run threen1 --engine lmdb";
    let line = bench.refusal_of(&format!("{run} --time-slice 10ms"));
    assert_contains(&line, &["name another contender"]);
    let output = bench.run_expecting(2, &format!("{run} --turns 0.1ms"));
    assert_contains(
        &stderr(&output),
        &["0.1ms is out of range (1ms to 1m, auto or none)"],
    );
    assert!(!bench.path().join("results").exists());
}
