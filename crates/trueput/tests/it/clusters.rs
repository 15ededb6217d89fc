//! Engines that are clusters: the program hosts their nodes, and leaves none behind.

use crate::support::{ALL_WELL, Bench, assert_answers, assert_contains, is_installed, stdout};
use std::path::Path;

/// Every engine that is a cluster.
const CLUSTERS: [&str; 1] = ["postgresql-cluster"];

/// Returns the processes whose command lines name a path below this folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    commands
        .filter(|command| command.contains(folder))
        .collect()
}

#[test]
fn every_cluster_of_the_registry_is_tested_here_and_none_runs_unasked() {
    let clusters = trueput_drivers::registry().iter();
    let clusters = clusters.filter(|engine| engine.cluster().is_some());
    let names: Vec<_> = clusters.clone().map(|engine| engine.info().name).collect();
    assert_eq!(names, CLUSTERS);
    assert!(clusters.clone().all(|engine| !engine.runs_unasked()));
}

#[test]
fn postgresql_keeps_the_contract_at_every_level_on_three_nodes() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let work = bench.path().to_str().unwrap().to_owned();
    let output = bench.run_expecting(0, &format!("check postgresql-cluster --work {work}"));
    let text = stdout(&output);
    for level in ["sync", "buffered", "process"] {
        assert_contains(&text, &[&format!("postgresql-cluster {level}: ")]);
    }
    assert_contains(&text, &["isolation=serializable: serializable stated"]);
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
fn a_workload_runs_on_three_nodes_that_wait_for_each_other() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let small = "--set finish=300 --set block=50 --workers 2";
    let line = format!("run threen1 --engine postgresql-cluster --durability sync {small}");
    bench.run_expecting(ALL_WELL, &line);
    let records = bench.trials();
    assert_answers(&records[0], 1, 300);
    let promise = &records[0].engine.as_ref().unwrap().promise;
    assert_contains(
        &promise.mapped_to,
        &["synchronous_standby_names=ANY 1 of 2"],
    );
    let survival = promise.cluster.unwrap();
    assert!(survival.machine && survival.all_power, "{survival}");
    assert_eq!(processes_of(bench.path()), Vec::<String>::new());
}

#[test]
fn knobs_of_a_cluster_that_contradict_each_other_are_refused() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let refusal =
        |rest: &str| bench.refusal_of(&format!("run micro --engine postgresql-cluster {rest}"));
    let why = refusal("--durability sync --knob postgresql-cluster.synchronous_standbys=3");
    assert_contains(&why, &["3 nodes have 2 followers"]);
    let why = refusal("--durability buffered --knob postgresql-cluster.cluster_commit=on");
    assert_contains(&why, &["cluster_commit", "'buffered'"]);
}
