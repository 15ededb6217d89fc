//! What hangs, and what finds no room: the trial fails with its reason, and the next one runs.

use crate::support::{
    Bench, LoopMount, assert_contains, expect_code, is_alive, is_installed, signal, stderr,
};
use nix::sys::signal::Signal::SIGSTOP;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};
use trueput_record::{Outcome, RunFolder, TrialRecord};

fn reason(record: &TrialRecord) -> &str {
    match &record.outcome {
        Outcome::Failed { reason, .. } => reason,
        other => panic!("{}: {other:?}", record.spec.id),
    }
}

/// The processes below `parent` whose command line contains a text.
pub fn find_processes(parent: u32, text: &str) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = vec![parent];
    while let Some(parent) = parents.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            for child in children.split_whitespace().flat_map(str::parse::<i32>) {
                parents.push(child.unsigned_abs());
                let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
                if String::from_utf8_lossy(&line).contains(text) {
                    found.push(child);
                }
            }
        }
    }
    found
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_stopped_postmaster_fails_its_trial_and_the_next_one_runs() {
    if !is_installed("postgresql") {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    }
    let bench = Bench::new();
    let line = "run micro --engine postgresql,lmdb --durability process --workers 2 --duration 6 \
                --set records=2000 --hang-limit 8s";
    let mut child = bench.spawn_with(line, "");
    let began = Instant::now();
    // The trial's own server, and not that of the conformance suite. Its workers run: both have
    // kept their connections for longer than opening and loading take.
    let mut connected_since = None;
    let postmaster = loop {
        let servers = find_processes(child.id(), "listen_addresses=");
        let is_trial = |pid: &&i32| {
            let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            let mut names = folder.iter();
            !names.any(|name| name.to_string_lossy().starts_with(".conformance"))
        };
        let backends = find_processes(child.id(), "postgres: postgres").len();
        match servers.iter().find(is_trial).filter(|_| backends >= 2) {
            Some(postmaster) => {
                let since = *connected_since.get_or_insert_with(Instant::now);
                if since.elapsed() > Duration::from_secs(2) {
                    break *postmaster;
                }
            }
            None => connected_since = None,
        }
        std::thread::sleep(Duration::from_millis(20));
        assert!(began.elapsed() < Duration::from_secs(300), "no server");
    };
    signal(postmaster, SIGSTOP);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let trials = bench.trials();
    let reason = reason(&trials[0]);
    // Before the phase that hangs has reached its limit, or after.
    let server = format!("the server (process {postmaster}) was stopped by a signal");
    let is_named = reason.contains("is stopped by a signal") && reason.contains("(postgres)");
    assert!(is_named || reason.contains(&server), "{reason}");
    assert!(matches!(
        trials[1].outcome,
        Outcome::Valid | Outcome::Invalid { .. }
    ));
    assert!(trials[1].measurement.is_some(), "{:?}", trials[1].outcome);
    assert!(!is_alive(postmaster));
}

/// Runs engines in a small file system that holds the run folder, too, and returns their trials.
fn fill_disk(disk: &Path, engines: &str) -> Vec<TrialRecord> {
    let bench = Bench::new();
    let results = disk.join("results");
    let line = format!(
        "run micro --engine {engines} --durability sync --workers 1 --set test=fill-batch \
         --set value_bytes=4000 --set records=40000 --hang-limit 10s \
         --disk-factor 0.01 --results {}",
        results.display()
    );
    let output = expect_code(1, bench.run(&line));
    let run = std::fs::read_dir(&results)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let (folder, _) = RunFolder::open(&run.path()).unwrap();
    let stored = folder.trials().unwrap();
    assert_eq!(stored.damaged, [], "{}", stderr(&output));
    assert!(folder.end().unwrap().unwrap().complete);
    let left = std::fs::read_dir(run.path()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("reserve"));
    assert_eq!(left.count(), 0, "the reserve is released");
    stored.trials
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_disk_that_every_engine_fills_keeps_a_record_of_each() {
    let bench = Bench::new();
    let [image, folder] = ["disk.img", "disk"].map(|name| bench.path().join(name));
    // RocksDB's suite alone takes 50 MB, because it allocates 70 MB for a table.
    let disk = match LoopMount::new(&image, &folder, 128 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            eprintln!("skipped: no small file system can be mounted: {reason}");
            return;
        }
    };
    let engines = ["lmdb", "sqlite", "redb", "fjall", "rocksdb"];
    let engines: Vec<_> = engines
        .into_iter()
        .filter(|name| is_installed(name))
        .collect();
    let trials = fill_disk(disk.folder(), &engines.join(","));
    assert_eq!(trials.len(), engines.len());
    for trial in &trials {
        let reason = reason(trial);
        assert_eq!(reason.lines().count(), 1, "{reason}");
        assert!(!reason.contains("trials.jsonl"), "{reason}");
        let words = reason.to_lowercase();
        let says_why = ["full", "no space"].iter().any(|word| words.contains(word));
        assert!(says_why, "{reason}");
    }
    drop(disk);
}

#[test]
fn output_that_is_lost_fails_the_command() {
    let bench = Bench::new();
    let run = "run micro --engine null --durability none --duration 1 --set records=100 --json";
    for line in ["--help", "engines", "run --help", "completions bash", run] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bench.command(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        let said = stderr(&output);
        assert_contains(&said, &["cannot write to standard output: No space left"]);
    }
}
