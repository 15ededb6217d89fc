//! The happy paths: every engine, both ways in, the report from the folder only.

use crate::support::{
    ALL_WELL, Bench, assert_answers, assert_contains, ended_well, expect_code, is_installed,
    stderr, stdout,
};
use std::collections::BTreeSet;
use trueput_engine::Durability;
use trueput_record::WorkerKind;

/// Runs an engine at each of its levels, if it is installed, and compares its results.
fn finds_the_answers(engine: &str) {
    if !is_installed(engine) {
        return;
    }
    let bench = Bench::new();
    let plan = format!(
        "workload = \"threen1\"\nengines = [\"{engine}\"]\nunsupported = \"skip\"\n\
        durability = [\"sync\", \"async\", \"buffered\", \"process\", \"none\"]\nworkers = 2\n\
        [settings]\nfinish = 300\nblock = 50\ncommit = \"per-start\"\n"
    );
    bench.write("all.toml", &plan);
    let output = bench.run_expecting(ALL_WELL, "run all.toml --full");
    let trials = bench.trials();
    let mut registry = trueput::registry().engines.iter();
    let driver = registry.find(|driver| driver.info().name == engine);
    let levels = Durability::ALL.into_iter();
    let levels = levels.filter(|level| driver.unwrap().promise(*level).is_some());
    assert_eq!(trials.len(), levels.count());
    for record in &trials {
        if engine == "null" {
            assert!(record.measurement.is_some(), "{:?}", record.outcome);
        } else {
            assert_answers(record, 1, 300);
        }
    }
    let report = stdout(&output);
    let is_said = report.contains("redb does not support durability 'async'");
    assert_eq!(is_said, engine == "redb", "{report}");
    assert_contains(&report, &["run folder: results/"]);
}

/// A test for each engine, so that they run side by side: most of their time is waiting.
macro_rules! every_engine_finds_the_answers {
    ($($engine:ident)*) => {
        mod every_engine_finds_the_same_answers_at_every_level_it_has {
            $(
                #[test]
                #[ignore = "slow: make test runs it"]
                fn $engine() {
                    super::finds_the_answers(stringify!($engine));
                }
            )*
        }

        const TESTED: &[&str] = &[$(stringify!($engine)),*];
    };
}

every_engine_finds_the_answers! {
    null lmdb sqlite redb fjall rocksdb leveldb berkeleydb wiredtiger tokudb mdbx mariadb gtm
    postgresql
}

#[test]
fn every_engine_of_the_registry_is_run() {
    let registry = trueput::registry().engines.iter();
    let by_itself = registry.filter(|driver| driver.is_default_engine());
    let names: BTreeSet<_> = by_itself.map(|driver| driver.info().name).collect();
    let tested = BTreeSet::from_iter(TESTED.iter().copied());
    let differing: Vec<_> = names.symmetric_difference(&tested).collect();
    assert!(
        differing.is_empty(),
        "add to every_engine_finds_the_answers! in this file, or remove from it: {differing:?}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn words_and_integers_processes_and_threads_find_the_same_answers() {
    let bench = Bench::new();
    bench.run_expecting(
        ALL_WELL,
        "run threen1 --engine lmdb --durability process --set finish=1000 \
         --set keys=integers,words --set commit=per-store,per-start,per-block --workers 3 \
         --set block=70",
    );
    let trials = bench.trials();
    assert_eq!(trials.len(), 6);
    for record in &trials {
        assert_eq!(record.spec.worker_kind, WorkerKind::Processes);
        assert_answers(record, 1, 1000);
    }
    let bench = Bench::new();
    bench.run_expecting(
        ALL_WELL,
        "run threen1 --engine lmdb --durability process --set finish=1000 --worker-kind threads \
         --verify sample",
    );
    assert_eq!(bench.trials()[0].spec.worker_kind, WorkerKind::Threads);
    assert_answers(&bench.trials()[0], 1, 1000);
}

#[test]
#[ignore = "slow: make test runs it"]
fn contenders_are_measured_for_the_same_time_and_verified_up_to_where_they_came() {
    let bench = Bench::new();
    let line = "run threen1 --engine lmdb,sqlite,null --durability process --workers 2 \
                --duration 300ms --repeat 2";
    bench.run_expecting(ALL_WELL, line);
    let trials = bench.trials();
    assert_eq!(trials.len(), 6);
    for record in &trials {
        assert!(ended_well(record), "{:?}", record.outcome);
        let measured = record.measurement.as_ref().unwrap();
        // No last number ends it. How long the last commits take is the machine's affair.
        assert_eq!(record.spec.conditions.duration_s, Some(0.3));
        assert!(measured.elapsed_s >= 0.3, "{}", measured.elapsed_s);
        let count = |name: &str| measured.operation(name).unwrap().count;
        let result = |name: &str| measured.results[name].to_string().parse::<u64>().unwrap();
        let stores = count("update") + result("uncounted_stores");
        assert_eq!(result("starts"), count("read") - stores);
        let checks = &record.verification.as_ref().unwrap().checks;
        assert!(checks.iter().all(|check| check.passed), "{checks:?}");
    }
    // The control: a range is fixed work.
    let fixed = |options: &str| {
        let check = format!("plan check threen1 --engine lmdb --json {options}");
        bench.json_of(&check)["trials"][0]["conditions"]["duration_s"].clone()
    };
    assert_eq!(fixed(""), 10.0);
    assert!(fixed("--set finish=100").is_null());
    assert_eq!(fixed("--set finish=100 --duration 2"), 2.0);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_original_s_input_gives_the_original_s_lines() {
    let bench = Bench::new();
    let output = bench.run_with("threen1", "1 1000 2 100\n\n1 2000 2 100\n");
    let text = stdout(&expect_code(ALL_WELL, output));
    let (solved, answer) = text.split_once("\n\n").unwrap();
    let first = "1 to 1,000, workers 2, block 100: longest 178, largest 250,504";
    assert!(solved.starts_with(first), "{solved}");
    assert_contains(
        solved,
        &["\n1 to 2,000, workers 2, block 100: longest 181, "],
    );
    assert!(answer.starts_with("threen1: 2 trials, "), "{answer}");
    assert_contains(answer, &["\nrun folder: ", "\npage: "]);
    // A command that is to be copied is not wrapped, however long the path of the program is.
    let is_command = |line: &&str| line.contains(env!("CARGO_BIN_EXE_trueput"));
    let lines = text.lines().filter(|line| !is_command(line));
    let wide = lines.filter(|line| line.chars().count() > 80);
    assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(bench.trials().len(), 2);
    let bench = Bench::new();
    let text = stdout(&bench.run_with("threen1 --width 160", "1 1000 2 100\n"));
    let (header, row) = text.trim_start().split_once('\n').unwrap();
    assert!(header.starts_with("start "), "{text}");
    assert_contains(row.lines().next().unwrap(), &["  250,504  "]);
    let bench = Bench::new();
    let output = bench.run_with("threen1 --json --engine sqlite", "1 1000 2 100\n");
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["longest_sequence"], 178);
    assert_eq!(line["largest_number"], 250_504);
    let difference = line["reads"].as_u64().unwrap() - line["updates"].as_u64().unwrap();
    assert_eq!(difference, 1000);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_report_is_made_again_from_the_folder_alone() {
    let bench = Bench::new();
    bench.run("run threen1 --engine null,sqlite --set finish=100 --repeat 2");
    let elsewhere = Bench::new();
    std::fs::rename(bench.run_folder().path(), elsewhere.path().join("moved")).unwrap();
    let before = elsewhere.snapshot();
    for format in ["terminal", "markdown", "csv", "json"] {
        let output = elsewhere.run_expecting(0, &format!("report moved --format {format}"));
        assert_contains(&stdout(&output), &["sqlite"]);
    }
    assert_eq!(elsewhere.snapshot(), before, "a report changes nothing");
}

#[test]
#[ignore = "slow: make test runs it"]
fn json_events_are_the_only_thing_on_standard_output() {
    let bench = Bench::new();
    let output = bench.run("run threen1 --engine lmdb --set finish=50 --json");
    let text = stdout(&output);
    let name = |line| -> String {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event"].as_str().unwrap().to_owned()
    };
    let names: Vec<_> = text.lines().map(name).collect();
    assert_eq!(names.first().unwrap(), "run_started");
    assert_eq!(names.last().unwrap(), "run_ended");
    let ended = names.iter().filter(|name| *name == "trial_ended");
    assert_eq!(ended.count(), 1);
    assert_eq!(stderr(&output), "");
}

#[test]
#[ignore = "slow: make test runs it"]
fn repeats_are_interleaved_and_databases_are_removed() {
    let bench = Bench::new();
    bench.run_expecting(
        ALL_WELL,
        "run threen1 --engine lmdb,sqlite --set finish=50 --repeat 2 --work databases \
         --results out",
    );
    let mut folders = std::fs::read_dir(bench.path().join("out")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    let (folder, _) = trueput_record::RunFolder::open(&folder).unwrap();
    let trials = folder.trials().unwrap().trials;
    let order: Vec<_> = trials.iter().map(|one| one.spec.engine.as_str()).collect();
    assert_eq!(order, ["lmdb", "sqlite", "lmdb", "sqlite"]);
    assert!(trials.iter().all(ended_well));
    let databases = bench.path().join("databases");
    assert!(
        !databases.exists(),
        "the work folder that was made is removed again"
    );
    bench.run_expecting(
        ALL_WELL,
        "run threen1 --engine lmdb --set finish=50 --work kept --keep-databases",
    );
    let files = bench.snapshot().into_keys();
    let mut below = files.filter(|path| path.starts_with(bench.path().join("kept")));
    assert!(below.any(|path| path.ends_with("data.mdb")), "{below:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn commands_name_the_program_as_it_was_called() {
    let bench = Bench::new();
    bench.run("run threen1 --engine lmdb,sqlite --set finish=10 --repeat 2 --results results");
    let program = bench.command("report").get_program().to_owned();
    std::os::unix::fs::symlink(program, bench.path().join("tp")).unwrap();
    let run = bench.run_path();
    let mut called = std::process::Command::new("./tp");
    let called = called.current_dir(bench.path()).args(["report", &run]);
    let text = stdout(&called.output().unwrap());
    let whole = format!(" ./tp report {run} --full\n");
    assert_contains(&text, &["Everything:", &whole]);
}
