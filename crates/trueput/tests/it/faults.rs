//! Storage faults at the command line: controls, outcomes, what is left behind, bad input.

use crate::audit::can_audit;
use crate::support::{Bench, assert_contains, expect_code, signal, stdout, unwrapped};
use nix::sys::signal::Signal::SIGINT;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use trueput_record::fault_record::{FaultOutcome, FaultRecord, read};

/// The largest record to read, bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The folder of the only record of a bench; `None` if it has none yet.
fn folder(bench: &Bench) -> Option<PathBuf> {
    let results = std::fs::read_dir(bench.path().join("results"));
    let mut folders = results.into_iter().flatten().flatten();
    folders.next().map(|entry| entry.path())
}

fn outcomes(record: &FaultRecord, fault: &str) -> Vec<FaultOutcome> {
    let results = record.results.iter();
    let of_fault = results.filter(|result| result.fault.to_string() == fault);
    of_fault.map(|result| result.outcome).collect()
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_controls_come_out_as_known_and_every_fault_has_an_outcome() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "faults --engine lmdb,sqlite --fault fsync:eio@3,write:enospc,read:eio@1,fsync:lie \
                --json";
    let output = bench.run(line);
    let record: FaultRecord = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(record.is_valid(), "{:#?}", record.controls);
    let code = i32::from(!record.is_clean());
    expect_code(code, output);
    // A failed flush is tried with pages that are dropped, and with pages that are kept.
    assert_eq!(record.results.len(), 2 * 5, "{record:#?}");
    let is_run = |outcome: FaultOutcome| outcome != FaultOutcome::NotRun;
    assert!(
        record.results.iter().all(|result| is_run(result.outcome)),
        "{record:#?}"
    );
    assert_eq!(outcomes(&record, "fsync:eio@3").len(), 2 * 2);
    assert_eq!(
        outcomes(&record, "fsync:lie"),
        [FaultOutcome::LostByDevice; 2]
    );
    for result in &record.results {
        let acknowledged = result.trials.iter().map(|trial| trial.acknowledged);
        assert!(acknowledged.min().unwrap() > 0, "{result:?}");
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(bench.path().to_str().unwrap()), "{mounts}");
    let folder = folder(&bench).unwrap();
    assert!(!folder.join("work").exists());
    let kept = read(&folder, MAX_BYTES).unwrap().unwrap();
    assert_eq!(kept, record);
    let again = bench.stdout_of(&format!("report {} --format markdown", folder.display()));
    assert_eq!(
        again,
        std::fs::read_to_string(folder.join("faults.md")).unwrap()
    );
    assert_contains(
        &again,
        &["| fault | lmdb sync | sqlite sync |", "Controls: "],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_fault_that_never_comes_is_said_to_and_nothing_is_claimed_of_it() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "faults --engine lmdb --fault write:enospc@1TiB";
    let text = unwrapped(&stdout(&bench.run_expecting(0, line)));
    assert_contains(&text, &["never came", "None of the faults came"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_keeps_what_was_tried() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let mut command = bench.command("faults --engine lmdb,sqlite --json");
    // A terminal sends its signal to a whole group of processes.
    let child = command.process_group(0).stdout(Stdio::piped()).spawn();
    let child = child.unwrap();
    let group = i32::try_from(child.id()).unwrap();
    let has_results = || {
        let record = read(&folder(&bench)?, MAX_BYTES).ok()??;
        (!record.results.is_empty()).then_some(())
    };
    while has_results().is_none() {
        sleep(Duration::from_millis(20));
    }
    signal(-group, SIGINT);
    let output = expect_code(130, child.wait_with_output().unwrap());
    let record: FaultRecord = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(record.interrupted && record.is_valid(), "{record:?}");
    assert!(!record.results.is_empty());
    let is_run = |outcome: FaultOutcome| outcome != FaultOutcome::NotRun;
    assert!(
        record.results.iter().all(|result| is_run(result.outcome)),
        "{record:?}"
    );
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let bench = Bench::new();
    for (line, words) in [
        ("faults --fault fsync:eio@0", "@3 for the third request"),
        ("faults --fault read:lie", "write fsync:lie"),
        ("faults --failed-fsync droped", "did you mean 'dropped'?"),
        ("faults --engine lmbd", "lmdb"),
        ("faults --engine lmdb --durability none", "nothing to run"),
        ("faults --budget 0s", "a second or more"),
    ] {
        assert_contains(&bench.refusal_of(line), &[words]);
    }
    assert_eq!(folder(&bench), None);
}
