//! Storage faults at the command line: controls, outcomes, what is left behind, bad input.

use crate::audit::can_audit;
use crate::support::{Bench, assert_contains, expect_code, signal, stderr, stdout, unwrapped};
use nix::sys::signal::Signal::SIGINT;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use trueput_record::fault_record::{
    FAULT_FORMAT, FAULT_RECORD, FaultOutcome, FaultRecord, lock, read,
};
use trueput_record::testing::host;

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
        &[
            "| engine | version | level | fsync:eio@3, pages dropped |",
            "\n| lmdb | ",
            "\n| sqlite | ",
            "Controls: ",
        ],
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_fault_that_never_comes_is_said_to_and_nothing_is_claimed_of_it() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "faults --engine lmdb --fault write:eio@1e-12";
    let text = unwrapped(&stdout(&bench.run_expecting(0, line)));
    assert_contains(&text, &["never came", "None of the faults came"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_device_that_is_full_comes_to_engines_that_use_their_files_again() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "faults --engine lmdb,sqlite,redb --fault write:enospc,write:enospc@12MiB --json";
    let record: FaultRecord = serde_json::from_str(&stdout(&bench.run(line))).unwrap();
    assert!(record.is_valid(), "{:#?}", record.controls);
    assert_eq!(record.results.len(), 3 * 2, "{record:#?}");
    for result in &record.results {
        let never = [FaultOutcome::NotTriggered, FaultOutcome::NotRun];
        assert!(!never.contains(&result.outcome), "{result:#?}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_keeps_what_was_tried_and_the_rest_can_be_tried_later() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let line = "faults --engine lmdb,sqlite --fault fsync:eio@3,fsync:lie --json";
    let mut command = bench.command(line);
    // A terminal sends its signal to a whole group of processes.
    let command = command.process_group(0).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let group = i32::try_from(child.id()).unwrap();
    let has_results = || {
        let record = read(&folder(&bench)?, MAX_BYTES).ok()??;
        (!record.results.is_empty()).then_some(())
    };
    while has_results().is_none() && child.try_wait().unwrap().is_none() {
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
    let folder = folder(&bench).unwrap();
    let hint = format!("--resume results/{}", folder.file_name().unwrap().display());
    assert_contains(&stderr(&output), &[&hint]);
    let resume = format!("{line} --resume {}", folder.display());
    let resumed: FaultRecord = serde_json::from_str(&stdout(&bench.run(&resume))).unwrap();
    assert!(!resumed.interrupted && resumed.is_valid(), "{resumed:?}");
    assert_eq!(resumed.results.len(), 2 * 3, "{resumed:?}");
    assert_eq!(resumed.results[..record.results.len()], record.results);
    assert_eq!(read(&folder, MAX_BYTES).unwrap(), Some(resumed));
    let other = bench.refusal_of(&format!("{resume} --seed 2"));
    assert_contains(&other, &["give its --seed 1"]);
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
        ("faults --fault write:stall=10s", "write:stall=10s@5s"),
        ("faults --fault any:stall=1s@3..", "cannot be told from"),
        (
            "faults --fault any:stall=1s@720h",
            "every engine would wait",
        ),
        ("faults --fault any:stall=11m@5s", "10m at most"),
        ("faults --resume absent", "absent"),
    ] {
        assert_contains(&bench.refusal_of(line), &[words]);
    }
    assert_eq!(folder(&bench), None);
}

#[test]
fn faults_of_another_machine_and_of_a_command_at_work_are_not_gone_on_with() {
    let bench = Bench::new();
    let folder = bench.path().join("other");
    std::fs::create_dir(&folder).unwrap();
    let record = FaultRecord {
        format: FAULT_FORMAT,
        command: "trueput faults".to_owned(),
        started_at: "2026-11-30T20:45:00Z".to_owned(),
        host: host(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
        controls: Vec::new(),
        results: Vec::new(),
        skipped: BTreeMap::new(),
        interrupted: true,
    };
    let text = serde_json::to_string(&record).unwrap();
    std::fs::write(folder.join(FAULT_RECORD), text).unwrap();
    let resume = "faults --engine lmdb --resume other";
    let words = ["it is of the machine bench (Model 9000), and this is "];
    assert_contains(&bench.refusal_of(resume), &words);
    let _lock = lock(&folder).unwrap();
    let words = ["another trueput is at work"];
    assert_contains(&bench.refusal_of(resume), &words);
}
