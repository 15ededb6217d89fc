//! Steps of an ablation, and crashes on purpose, end to end.

use crate::support::{ALL_WELL, Bench, ended_well, refusal, stderr, stdout};
use trueput_record::TrialRecord;
use trueput_record::recovery::Recovery;

/// Runs a workload with a crash at its end, and returns its one trial.
fn crashed(arguments: &[&str]) -> TrialRecord {
    let bench = Bench::new();
    let arguments = [&["run"], arguments, &["--crash-and-recover"]].concat();
    let output = bench.run(&arguments);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let mut trials = bench.trials();
    assert_eq!(trials.len(), 1);
    let trial = trials.remove(0);
    assert!(ended_well(&trial), "{:?}", trial.outcome);
    trial
}

fn recovery(trial: &TrialRecord) -> Recovery {
    let recovery = trial.measurement.as_ref().unwrap().recovery.unwrap();
    assert!(recovery.recovery_s > 0.0, "{recovery:?}");
    assert!(
        recovery.first_commit_s.unwrap() >= recovery.recovery_s,
        "{recovery:?}"
    );
    recovery
}

fn missing(trial: &TrialRecord, name: &str) -> u64 {
    let results = &trial.measurement.as_ref().unwrap().results;
    results[name].to_string().parse().unwrap()
}

fn has(engine: &str) -> bool {
    let drivers = trueput_drivers::registry().iter();
    let known = drivers.copied().find(|known| known.info().name == engine);
    known.is_some_and(|known| known.build().is_ok())
}

const FILL: [&str; 4] = ["--set", "test=fill-random", "--set", "records=3000"];

#[test]
fn nothing_is_missing_of_lmdb_when_killed_at_the_level_that_survives_it() {
    let level = ["micro", "--engine", "lmdb", "--durability", "process"];
    let workers = ["--workers", "2", "--worker-kind", "processes"];
    let trial = crashed(&[&level[..], &FILL, &workers].concat());
    assert_eq!(missing(&trial, "missing_acknowledged"), 0);
    assert_eq!(recovery(&trial).killed, 2);
    assert!(trial.verification.unwrap().passed);
}

#[test]
fn nothing_is_missing_of_sqlite_and_rocksdb_killed_without_a_flushed_log() {
    for engine in ["sqlite", "rocksdb"] {
        if !has(engine) {
            eprintln!("{engine} is not there: skipped");
            continue;
        }
        let level = ["micro", "--engine", engine, "--durability", "async"];
        let trial = crashed(&[&level[..], &FILL].concat());
        assert_eq!(missing(&trial, "missing_acknowledged"), 0, "{engine}");
        assert_eq!(recovery(&trial).killed, 1);
    }
}

#[test]
fn what_rocksdb_without_a_log_has_lost_is_counted_and_no_failure() {
    if !has("rocksdb") {
        eprintln!("rocksdb is not there: left out");
        return;
    }
    let level = ["micro", "--engine", "rocksdb", "--durability", "buffered"];
    let trial = crashed(&[&level[..], &FILL].concat());
    assert!(missing(&trial, "missing_acknowledged") > 0);
    assert!(trial.verification.as_ref().unwrap().passed);
    let events = trial.measurement.unwrap().events;
    assert!(events.is_some(), "RocksDB tells of its flushes");
}

/// Kills a server's processes under tpcc at this level and has it recover: the new-orders that were
/// acknowledged and are missing.
fn missing_new_orders(engine: &str, level: &str) -> u64 {
    let work = ["tpcc", "--engine", engine, "--durability", level];
    let small = [
        "--set",
        "cardinality=hundredth",
        "--set",
        "transactions=400",
    ];
    let trial = crashed(&[&work[..], &small, &["--workers", "2"]].concat());
    let recovery = recovery(&trial);
    assert!(recovery.server_s.is_some() && recovery.killed > 1);
    missing(&trial, "missing_new_orders")
}

#[test]
fn acknowledged_new_orders_are_there_after_a_server_is_killed_or_are_counted() {
    for (engine, kept) in [
        ("postgresql", &["sync"][..]),
        ("mariadb", &["sync", "async"]),
    ] {
        if !has(engine) {
            eprintln!("{engine} is not there: skipped");
            continue;
        }
        for level in kept {
            assert_eq!(missing_new_orders(engine, level), 0, "{engine} {level}");
        }
        // However many: the trial has passed its checks, and they are counted.
        missing_new_orders(engine, "buffered");
    }
}

#[test]
fn tpcc_is_consistent_and_whole_after_its_workers_were_killed() {
    let work = ["tpcc", "--engine", "sqlite", "--durability", "process"];
    let small = [
        "--set",
        "cardinality=hundredth",
        "--set",
        "transactions=300",
    ];
    let store = ["--set", "store=kv", "--workers", "2"];
    let trial = crashed(&[&work[..], &small, &store].concat());
    assert_eq!(missing(&trial, "missing_new_orders"), 0);
    assert_eq!(missing(&trial, "missing_payments"), 0);
    recovery(&trial);
}

#[test]
fn a_workload_that_cannot_tell_what_is_missing_refuses_a_crash_in_one_line() {
    let bench = Bench::new();
    let refused = |arguments: &[&str]| {
        let crash = ["--crash-and-recover"];
        refusal(&bench.run(&[&["run"], arguments, &crash].concat()))
    };
    let ycsb = refused(&["ycsb", "--engine", "lmdb"]);
    assert!(ycsb.contains("cannot verify what a crash lost"), "{ycsb}");
    let null = refused(&["micro", "--engine", "null"]);
    assert!(null.contains("stores nothing"), "{null}");
    let threen1 = refused(&["threen1", "--engine", "redb", "--durability", "buffered"]);
    assert!(threen1.contains("prefix of the commits"), "{threen1}");
}

const ABLATION: [&str; 12] = [
    "ledger",
    "micro",
    "--no-hardware-limits",
    "--engine",
    "lmdb,sqlite",
    "--durability",
    "async",
    "--set",
    "test=overwrite",
    "--set",
    "records=500",
    "--repeat=1",
];

#[test]
fn an_ablation_runs_every_step_on_every_engine_and_prints_what_each_gave_up() {
    let bench = Bench::new();
    let steps = [
        "--step",
        "no flush: durability=process",
        "--step",
        "larger cache: cache_size=16MiB",
    ];
    let output = bench.run(&[&ABLATION[..], &steps].concat());
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let said = stdout(&output);
    for part in [
        "Ablation",
        "0. base",
        "1. no flush",
        "2. larger cache",
        "no change",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let trials = bench.trials();
    assert_eq!(trials.len(), 5, "lmdb has no cache to enlarge");
    let step = trials[1].spec.step.as_ref().unwrap();
    assert_eq!((step.index, step.name.as_str()), (1, "no flush"));
    let folder = bench.run_folder().path().to_string_lossy().into_owned();
    let again = stdout(&bench.run(&["report", &folder, "--full"]));
    assert!(
        again.contains("Ablation") && again.contains("1. no flush"),
        "{again}"
    );
}

#[test]
fn an_ablation_without_steps_or_with_a_wrong_one_is_refused() {
    let bench = Bench::new();
    let none = refusal(&bench.run(&ABLATION));
    assert!(none.contains("has no steps"), "{none}");
    let refused = |step: &str| refusal(&bench.run(&[&ABLATION[..], &["--step", step]].concat()));
    assert!(refused("x: cache_sice=1MiB").contains("did you mean 'cache_size'"));
    assert!(refused("x: durability=buffered").contains("does not support durability 'buffered'"));
    assert!(refused("x: durability=async").contains("no engine of the plan supports it"));
    assert!(refused("nothing").contains("KEY=VALUE"));
}

#[test]
fn a_plan_of_steps_is_checked_like_any_other() {
    let bench = Bench::new();
    let text = "workload = \"micro\"\nengines = \"sqlite\"\n[[step]]\nname = \"a\"\n\
                [step.knobs.sqlite]\ncache_sice = 1\n";
    bench.write("plans/steps.toml", text);
    let refused = refusal(&bench.run(&["ledger", "plans/steps.toml"]));
    assert!(
        refused.starts_with("trueput: plans/steps.toml:3: step 'a':"),
        "{refused}"
    );
    assert!(refused.contains("did you mean 'cache_size'"), "{refused}");
}
