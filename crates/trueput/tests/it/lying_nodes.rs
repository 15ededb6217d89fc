//! Clusters of which nodes run with other settings than they were started with: their trials are
//! invalid, and the reason names the node, the setting and what the level needs.

use crate::support::{Bench, is_installed};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use trueput_record::{Outcome, TrialRecord};

/// Makes a program that starts the real one of an engine, with `options` where all of its arguments
/// match `pattern`, a pattern of the shell.
fn liar(folder: &Path, engine: &str, pattern: &str, options: &str) -> PathBuf {
    let mut engines = trueput::registry().engines.iter();
    let engine = engines.find(|one| one.info().name == engine).unwrap();
    let real = engine.build().unwrap().library.unwrap();
    std::fs::create_dir(folder).unwrap();
    for entry in std::fs::read_dir(real.parent().unwrap()).unwrap().flatten() {
        symlink(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let program = folder.join(real.file_name().unwrap());
    std::fs::remove_file(&program).unwrap();
    let real = real.display();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in {pattern}) exec {real} \"$@\" {options};; esac\n\
         exec {real} \"$@\"\n"
    );
    std::fs::write(&program, script).unwrap();
    // Another user runs it, in a folder of a test.
    for path in [folder.parent().unwrap(), folder, &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}

/// Runs a short trial and returns its record.
fn trial(bench: &Bench, engine: &str, program: &Path, rest: &str) -> TrialRecord {
    let fixed = "--durability sync --set test=overwrite --set records=200 --workers 2";
    let program = program.display();
    bench.run(&format!(
        "run micro --engine {engine}@{program} {fixed} {rest}"
    ));
    bench.trials().pop().unwrap()
}

fn reasons(record: &TrialRecord) -> &[String] {
    match &record.outcome {
        Outcome::Invalid { reasons } => reasons,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_told(record: &TrialRecord, text: &str) {
    let reasons = reasons(record);
    assert!(
        reasons.iter().any(|reason| reason.contains(text)),
        "{reasons:?}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cluster_with_one_follower_that_does_not_flush_does_not_keep_its_promise() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let pattern = "*cluster_name=node-2*";
    let program = liar(
        &bench.path().join("lies"),
        "postgresql",
        pattern,
        "-c fsync=off",
    );
    let record = trial(&bench, "postgresql-cluster", &program, "--duration 2");
    assert_told(
        &record,
        "node 2 runs with fsync=off; durability 'sync' needs fsync=on",
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_cluster_that_waits_for_no_follower_does_not_keep_its_promise() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let (pattern, lie) = ("*cluster_name=*", "-c synchronous_standby_names=");
    let program = liar(&bench.path().join("lies"), "postgresql", pattern, lie);
    let record = trial(&bench, "postgresql-cluster", &program, "--duration 2");
    let told = "node 1 runs with synchronous_standby_names=''; durability 'sync' needs";
    assert_told(&record, told);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_etcd_that_does_not_flush_is_found_by_how_its_process_was_started() {
    if !is_installed("etcd") {
        return;
    }
    let bench = Bench::new();
    let pattern = "*--name=node-*";
    let program = liar(
        &bench.path().join("lies"),
        "etcd",
        pattern,
        "--unsafe-no-fsync",
    );
    let record = trial(&bench, "etcd", &program, "--duration 2");
    assert_told(
        &record,
        "runs with unsafe-no-fsync=true; durability 'sync' needs",
    );
    assert_told(&record, "etcd_disk_wal_fsync_duration_seconds_count");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_node_that_lies_from_its_second_start_on_is_found() {
    if !is_installed("postgresql-cluster") {
        return;
    }
    let bench = Bench::new();
    let folder = bench.path().join("lies");
    // It lies once there is a file in its folder, which its first start makes.
    let lie = "$(cat lie 2>&-; echo '-c fsync=off' > lie)";
    let program = liar(&folder, "postgresql", "*cluster_name=node-2*", lie);
    let rest = "--rate 100 --duration 8 --at 1s:kill=node-2,3s:start=all";
    let record = trial(&bench, "postgresql-cluster", &program, rest);
    assert_told(&record, "node 2 runs with fsync=off");
}
