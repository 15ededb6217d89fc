//! `trueput doctor`: what limits figures here.

use crate::bad_input::{Case, assert_refused};
use crate::support::{Bench, assert_contains, stdout};
use serde_json::Value;

/// The check of a subject.
fn check<'a>(document: &'a Value, subject: &str) -> &'a Value {
    let checks = document["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["subject"] == subject);
    found.unwrap_or_else(|| panic!("no {subject} in {document}"))
}

/// Whether there is a file system in memory.
fn is_shared_memory() -> bool {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let mut lines = mounts.lines();
    lines.any(|line| line.split(' ').nth(1) == Some("/dev/shm") && line.contains(" tmpfs "))
}

#[test]
fn memory_voids_promises_and_a_disk_does_not() {
    if !is_shared_memory() {
        println!("skipped: /dev/shm is not in memory here");
        return;
    }
    let bench = Bench::new();
    let voided = bench.run_expecting(1, "doctor --quick --on /dev/shm --json");
    let document: Value = serde_json::from_slice(&voided.stdout).unwrap();
    let found = check(&document, "file-system");
    assert_eq!(found["severity"], "voids_promises");
    assert!(found["advice"].as_str().unwrap().contains("--work"));
    let text = stdout(&bench.run_expecting(1, "doctor --quick --on /dev/shm"));
    assert!(
        text.starts_with("1 finding voids what is promised"),
        "{text}"
    );
    assert_contains(&text, &["VOIDS PROMISES", "tmpfs on /dev/shm"]);
}

#[test]
fn flushes_and_neighbors_are_measured_for_ten_seconds() {
    let bench = Bench::new();
    let output = bench.run("doctor --json");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for subject in ["flush", "jitter", "neighbors", "steal", "fuse", "engines"] {
        let found = check(&document, subject)["found"].as_str().unwrap();
        assert!(!found.is_empty(), "{subject}");
    }
    let flush = check(&document, "flush")["found"].as_str().unwrap();
    assert!(flush.contains(" us, the median of "), "{flush}");
}

#[test]
fn what_is_no_folder_is_refused() {
    let bench = Bench::new();
    let cases: &[Case<'_>] = &[
        ("--on /dev/null", &["/dev/null is not a folder"]),
        ("--full --json", &["cannot be used with"]),
    ];
    assert_refused(&bench, "doctor", cases);
}

#[test]
fn a_run_records_what_voids_its_promises() {
    if !is_shared_memory() {
        println!("skipped: /dev/shm is not in memory here");
        return;
    }
    let bench = Bench::new();
    let work = tempfile::tempdir_in("/dev/shm").unwrap();
    let work = work.path().join("work");
    let run = "run threen1 --engine lmdb --durability process --set finish=20 --work";
    // The trials of a debug build are invalid.
    bench.run(&format!("{run} {}", work.display()));
    let folder = bench.run_folder();
    let manifest = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let found = check(&manifest["host"], "file-system");
    assert_eq!(found["severity"], "voids_promises");
    let report =
        stdout(&bench.run_expecting(0, &format!("report {} --full", folder.path().display())));
    assert_contains(
        &report,
        &["limits figures (trueput doctor): ", "file system: tmpfs"],
    );
}
