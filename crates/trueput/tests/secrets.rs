//! Passwords of users' servers do not come into the environment or the arguments of any process that
//! the program starts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use std::process::Child;
use std::time::{Duration, Instant};
use support::{Bench, ended_well};

/// What is not to be seen.
const PASSWORD: &str = "hush-4711";

/// A file of a process's in /proc; empty where it has gone.
fn file_of(pid: u32, name: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn tells(bytes: &[u8]) -> bool {
    let word = PASSWORD.as_bytes();
    bytes.windows(word.len()).any(|part| part == word)
}

/// The processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter();
    let lists = tasks
        .flatten()
        .flatten()
        .map(|task| task.path().join("children"));
    let lists: Vec<_> = lists
        .filter_map(|list| std::fs::read_to_string(list).ok())
        .collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.map(|pid| pid.parse().unwrap()).collect()
}

/// Watches a run's workers to its end: how many there were, and whether one of them had the password
/// where others can read it.
fn watch(child: &mut Child) -> (usize, bool) {
    let (mut seen, mut told) = (std::collections::BTreeSet::new(), false);
    let limit = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < limit, "it does not end");
        for pid in children(child.id()) {
            let arguments = file_of(pid, "cmdline");
            // Between fork and exec a child still looks like its parent.
            if !arguments.ends_with(b"\0worker\0") {
                continue;
            }
            seen.insert(pid);
            told |= tells(&file_of(pid, "environ")) || tells(&arguments);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (seen.len(), told)
}

#[test]
fn no_worker_has_a_password_in_its_environment_or_arguments() {
    let bench = Bench::new();
    let file = bench.path().join("data.db");
    let source = format!(
        "odbc@Driver={{SQLite3}};Database={};PWD={PASSWORD}",
        file.display()
    );
    let run = ["run", "micro", "--durability", "sync", "--duration", "1"];
    let small = ["--set", "test=overwrite", "--set", "records=200"];
    let engine = ["--engine", &source, "--workers", "2"];
    let arguments = [&run[..], &small, &engine].concat();
    let elsewhere = Bench::new();
    let probe = elsewhere.run(&arguments);
    let said = String::from_utf8_lossy(&probe.stderr);
    if said.contains("install") && !probe.status.success() {
        eprintln!("skipped: {said}");
        return;
    }
    let mut child = bench.spawn_with(&arguments, "");
    // The user wrote it on the program's own command line: that it is found there shows that the
    // search finds it.
    let mut own = file_of(child.id(), "cmdline");
    // It may be on its way between fork and exec.
    while own.is_empty() && child.try_wait().unwrap().is_none() {
        own = file_of(child.id(), "cmdline");
    }
    assert!(tells(&own), "{:?}", child.wait_with_output());
    let (workers, told) = watch(&mut child);
    assert!(workers >= 2, "{workers}");
    assert!(!told, "a worker has it where others can read it");
    let trials = bench.trials();
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
    for (path, content) in bench.snapshot() {
        let is_database = path.starts_with(&file);
        assert!(is_database || !tells(&content), "{}", path.display());
    }
}
