//! Steps of an ablation, and crashes on purpose, end to end.

use crate::support::{
    ALL_WELL, Bench, CommandLine, assert_contains, ended_well, is_installed, stdout,
};
use trueput_record::TrialRecord;
use trueput_record::recovery::Recovery;

/// Runs a workload with a crash at its end, and returns its one trial.
fn crashed(line: &str) -> TrialRecord {
    let bench = Bench::new();
    bench.run_expecting(ALL_WELL, &format!("run {line} --crash-and-recover"));
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

const FILL: &str = "--set test=fill-random --set records=3000";

#[test]
#[ignore = "slow: make test runs it"]
fn nothing_is_missing_of_lmdb_when_killed_at_the_level_that_survives_it() {
    let level = "micro --engine lmdb --durability process";
    let workers = "--workers 2 --worker-kind processes";
    let trial = crashed(&format!("{level} {FILL} {workers}"));
    assert_eq!(missing(&trial, "missing_acknowledged"), 0);
    assert_eq!(recovery(&trial).killed, 2);
    assert!(trial.verification.unwrap().passed);
}

#[test]
#[ignore = "slow: make test runs it"]
fn nothing_is_missing_of_sqlite_and_rocksdb_killed_without_a_flushed_log() {
    for (engine, level) in [("sqlite", "async"), ("rocksdb", "process")] {
        if !is_installed(engine) {
            continue;
        }
        let trial = crashed(&format!(
            "micro --engine {engine} --durability {level} {FILL}"
        ));
        assert_eq!(missing(&trial, "missing_acknowledged"), 0, "{engine}");
        assert_eq!(recovery(&trial).killed, 1);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_rocksdb_without_a_log_has_lost_is_counted_and_no_failure() {
    if !is_installed("rocksdb") {
        return;
    }
    let trial = crashed(&format!(
        "micro --engine rocksdb --durability buffered {FILL}"
    ));
    assert!(missing(&trial, "missing_acknowledged") > 0);
    assert!(trial.verification.as_ref().unwrap().passed);
    let events = trial.measurement.unwrap().events;
    assert!(events.is_some(), "RocksDB reports its flushes");
}

/// Kills a server's processes under tpcc at this level and has it recover: the new-orders that were
/// acknowledged and are missing.
fn missing_new_orders(engine: &str, level: &str) -> u64 {
    let small = "--set cardinality=hundredth --set transactions=400 --workers 2";
    let trial = crashed(&format!(
        "tpcc --engine {engine} --durability {level} {small}"
    ));
    let recovery = recovery(&trial);
    assert!(recovery.server_s.is_some() && recovery.killed > 1);
    missing(&trial, "missing_new_orders")
}

#[test]
#[ignore = "slow: make test runs it"]
fn acknowledged_new_orders_are_there_after_a_server_is_killed_or_are_counted() {
    for (engine, kept) in [
        ("postgresql", &["sync"][..]),
        ("mariadb", &["sync", "async"]),
    ] {
        if !is_installed(engine) {
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
#[ignore = "slow: make test runs it"]
fn tpcc_is_consistent_and_whole_after_its_workers_were_killed() {
    let trial = crashed(
        "tpcc --engine sqlite --durability process --set cardinality=hundredth \
         --set transactions=300 --set store=kv --workers 2",
    );
    assert_eq!(missing(&trial, "missing_new_orders"), 0);
    assert_eq!(missing(&trial, "missing_payments"), 0);
    recovery(&trial);
}

#[test]
fn a_workload_that_cannot_tell_what_is_missing_refuses_a_crash_in_one_line() {
    let bench = Bench::new();
    for (work, reason) in [
        ("ycsb --engine lmdb", "cannot verify what a crash lost"),
        ("micro --engine null", "stores nothing"),
        (
            "threen1 --engine redb --durability buffered",
            "prefix of the commits",
        ),
    ] {
        let line = bench.refusal_of(&format!("run {work} --crash-and-recover"));
        assert_contains(&line, &[reason]);
    }
}

const ABLATION: &str = "ledger micro --no-hardware-limits --engine lmdb,sqlite --durability async \
                        --set test=overwrite --set records=500 --set operations=500 --repeat=1";

#[test]
#[ignore = "slow: make test runs it"]
fn an_ablation_runs_every_step_on_every_engine_and_prints_what_each_gave_up() {
    let bench = Bench::new();
    let (first, second) = (
        "no flush: durability=process",
        "larger cache: cache_size=16MiB",
    );
    let arguments = [&ABLATION.words()[..], &["--step", first, "--step", second]].concat();
    let said = stdout(&bench.run_expecting(ALL_WELL, &arguments));
    let steps = ["0. base", "1. no flush", "2. larger cache"];
    assert_contains(&said, &steps);
    assert_contains(&said, &["Ablation", "no change"]);
    let trials = bench.trials();
    assert_eq!(trials.len(), 5, "lmdb has no cache to enlarge");
    let steps = trials.iter().map(|trial| trial.spec.step.as_ref().unwrap());
    let mut steps: Vec<_> = steps.map(|step| (step.index, step.name.as_str())).collect();
    steps.dedup();
    assert_eq!(steps, [(0, "base"), (1, "no flush"), (2, "larger cache")]);
    let again = bench.stdout_of(&format!("report {} --full", bench.run_path()));
    assert_contains(&again, &["Ablation", "1. no flush"]);
}

#[test]
fn an_ablation_without_steps_or_with_a_wrong_one_is_refused() {
    let bench = Bench::new();
    assert_contains(&bench.refusal_of(ABLATION), &["has no steps"]);
    for (step, reason) in [
        ("x: cache_sice=1MiB", "did you mean 'cache_size'"),
        (
            "x: durability=buffered",
            "does not support durability 'buffered'",
        ),
        ("x: durability=async", "it applies to no engine of the plan"),
        ("nothing", "KEY=VALUE"),
    ] {
        let arguments = [&ABLATION.words()[..], &["--step", step]].concat();
        assert_contains(&bench.refusal_of(&arguments), &[reason]);
    }
}

#[test]
fn a_plan_of_steps_is_checked_like_any_other() {
    let bench = Bench::new();
    let text = "workload = \"micro\"\nengines = \"sqlite\"\n[[step]]\nname = \"a\"\n\
                [step.knobs.sqlite]\ncache_sice = 1\n";
    bench.write("plans/steps.toml", text);
    let refused = bench.refusal_of("ledger plans/steps.toml");
    assert!(
        refused.starts_with("trueput: plans/steps.toml:3: step 'a':"),
        "{refused}"
    );
    assert_contains(&refused, &["did you mean 'cache_size'"]);
}
