//! Contenders that share time slices, on real engines.

use crate::support::{ALL_WELL, Bench, assert_answers, ended_well, refusal, stderr, words};

#[test]
fn every_engine_present_shares_time_slices_and_finds_the_same_answers() {
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = \"present\"\nunsupported = \"leave-out\"\n\
        durability = [\"process\", \"async\", \"sync\"]\nlevels = \"first\"\nworkers = 2\n\
        time_slice = \"5ms\"\n[settings]\nfinish = 300\nblock = 50\ncommit = \"per-start\"\n";
    bench.write("all.toml", plan);
    let output = bench.run(&["run", "all.toml"]);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    for record in trials.iter().filter(|trial| trial.spec.engine != "null") {
        assert_eq!(record.spec.conditions.time_slice_s, Some(0.005));
        assert_answers(record, 1, 300);
    }
    let names: Vec<&str> = trials.iter().map(|t| t.spec.engine.as_str()).collect();
    for engine in ["null", "lmdb", "sqlite", "redb", "fjall"] {
        assert!(names.contains(&engine), "{engine} is missing of {names:?}");
    }
}

/// Workers that wait for each other's locks must not be paused while they hold one.
#[test]
fn every_kind_of_work_can_be_done_in_time_slices() {
    let works: [&[&str]; 6] = [
        &words(
            "micro --set test=read-while-writing --set records=2000 --set scanners=1 \
             --knob sqlite.journal_mode=delete",
        ),
        &["micro", "--set", "test=overwrite", "--set", "records=2000"],
        &words("micro --set test=read-while-writing --set records=2000"),
        &words("ycsb --set workload=a --set recordcount=500 --rate 500"),
        &["tpcc", "--set", "cardinality=hundredth"],
        &words("threen1 --set finish=2000 --set commit=per-block"),
    ];
    for work in works {
        let bench = Bench::new();
        let shared = [
            "--engine",
            "lmdb,sqlite",
            "--durability",
            "process",
            "--workers",
            "3",
            "--time-slice",
            "3ms",
        ];
        let lasts: &[&str] = match work[0] {
            "threen1" => &[],
            _ => &["--duration", "1s"],
        };
        let output = bench.run(&[&["run"], work, &shared, lasts].concat());
        assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
        let trials = bench.trials();
        assert_eq!(trials.len(), 2);
        for record in &trials {
            assert!(ended_well(record), "{work:?}: {:?}", record.outcome);
        }
    }
}

#[test]
fn time_slices_that_are_none_are_refused() {
    let run = |more: &[&str]| {
        let bench = Bench::new();
        let output = bench.run(&[&["run", "threen1", "--engine", "lmdb"], more].concat());
        assert!(!bench.path().join("results").exists());
        output
    };
    let line = refusal(&run(&["--time-slice", "10ms"]));
    assert!(line.contains("name another contender"), "{line}");
    let output = run(&["--turns", "0.1ms"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("0.1ms is out of range (1ms to 1m, or none)"),
        "{said}"
    );
}
