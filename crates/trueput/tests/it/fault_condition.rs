//! Faults of storage as a condition of trials. They need root and FUSE, and are skipped with a
//! message without them.

use crate::audit::can_audit;
use crate::support::{
    ALL_WELL, Bench, assert_answers, assert_contains, assert_refused, ended_well, stdout, unwrapped,
};
use serde_json::Value;
use std::path::Path;
use trueput_record::{Outcome, TrialRecord};

/// The work of these tests: a transaction for each number.
const THREEN1: &str = "run threen1 --engine lmdb --durability sync --workers 1";

/// Asserts that no file system is mounted below the bench, and that its databases are gone.
fn assert_nothing_left(bench: &Bench) {
    let folder = bench.path().canonicalize().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    assert!(!points.any(|point| Path::new(point).starts_with(&folder)));
    assert!(!bench.run_folder().path().join("work").exists());
}

fn with_fault<'a>(records: &'a [TrialRecord], fault: &str) -> &'a TrialRecord {
    let is_it = |record: &&TrialRecord| {
        let own = record.spec.conditions.fault;
        own.is_some_and(|own| own.to_string() == fault)
    };
    records.iter().find(is_it).unwrap()
}

fn without_fault(records: &[TrialRecord]) -> &TrialRecord {
    let is_plain = |record: &&TrialRecord| record.spec.conditions.fault.is_none();
    records.iter().find(is_plain).unwrap()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_stall_shows_in_the_latencies_and_the_timeline_and_is_counted_once() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let run = "run micro --engine lmdb --durability sync --workers 1 --set test=overwrite \
               --set records=1000 --duration 5 --fault none,any:stall=2s@1s";
    let output = bench.run_expecting(ALL_WELL, run);
    let records = bench.trials();
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(ended_well), "{records:?}");
    assert_eq!(without_fault(&records).fault_counts, None);
    let stalled = with_fault(&records, "any:stall=2s@1s");
    assert_eq!(stalled.fault_counts.unwrap().injected, 1);
    assert!(stalled.verification.as_ref().unwrap().passed);
    let measurement = stalled.measurement.as_ref().unwrap();
    let operations = measurement.operations.iter();
    let max_ns = operations.map(|operation| operation.latency.max_ns).max();
    assert!(
        max_ns.is_some_and(|max_ns| max_ns > 1_900_000_000),
        "{max_ns:?}"
    );
    let mut seconds = measurement.timeline.iter();
    assert!(seconds.any(|second| second.counts.iter().sum::<u64>() == 0));
    let text = unwrapped(&stdout(&output));
    let happened = "The fault any:stall=2s@1s happened 1 time in 1 trial.";
    assert_contains(&text, &[happened]);
    let folder = bench.run_folder().path().join("storage");
    let report = std::fs::read(folder.join(format!("{}-faults.json", stalled.spec.id)));
    let report: Value = serde_json::from_slice(&report.unwrap()).unwrap();
    assert_eq!(report["injected_count"], 1);
    assert_nothing_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_input_output_error_ends_its_trial_in_the_engine_s_words_and_the_run_goes_on() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    bench.run_expecting(
        1,
        &format!("{THREEN1} --set finish=500 --fault write:eio@20..,none"),
    );
    let records = bench.trials();
    assert_eq!(records.len(), 2);
    let failed = with_fault(&records, "write:eio@20..");
    let Outcome::Failed { reason, .. } = &failed.outcome else {
        panic!("{:?}", failed.outcome);
    };
    assert_contains(reason, &["Input/output error"]);
    let counts = failed.fault_counts.unwrap();
    assert!(counts.injected > 0 && counts.requests >= 20, "{counts:?}");
    assert_answers(without_fault(&records), 1, 500);
    assert_nothing_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_fault_that_never_comes_changes_nothing_and_is_said() {
    if !can_audit() {
        return;
    }
    let bench = Bench::new();
    let run = format!("{THREEN1} --set finish=100 --fault write:eio@100000");
    let output = bench.run_expecting(ALL_WELL, &run);
    let [record] = &bench.trials()[..] else {
        panic!("one trial");
    };
    assert_answers(record, 1, 100);
    let counts = record.fault_counts.unwrap();
    assert!(counts.injected == 0 && counts.requests > 0, "{counts:?}");
    let text = unwrapped(&stdout(&output));
    let never = "The fault write:eio@100000 never happened in 1 of 1 trial: ";
    assert_contains(&text, &[never, "writes at most."]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_fault_comes_on_top_of_a_file_system_that_is_made_for_the_trial() {
    if !can_audit() || !Path::new("/dev/loop-control").exists() {
        eprintln!("skipped: file systems in images take loop devices");
        return;
    }
    let bench = Bench::new();
    let place = "--filesystem ext4 --image 384MiB --fault fsync:lie";
    bench.run_expecting(ALL_WELL, &format!("{THREEN1} --set finish=100 {place}"));
    let [record] = &bench.trials()[..] else {
        panic!("one trial");
    };
    assert_answers(record, 1, 100);
    assert_eq!(record.file_system.as_ref().unwrap().mounted.kind, "ext4");
    let counts = record.fault_counts.unwrap();
    assert!(
        counts.injected > 0 && counts.injected == counts.requests,
        "{counts:?}"
    );
    assert_nothing_left(&bench);
}

#[test]
fn what_is_no_fault_is_refused_in_one_line_with_what_would_be_right() {
    let bench = Bench::new();
    for (fault, right) in [
        ("fsync@3", "write OPERATION:EFFECT@WHEN"),
        ("fsnc:eio@3", "did you mean 'fsync'"),
        ("fsync:enospc@64MiB", "write write:enospc"),
        ("write:enospc@64", "a size with its unit"),
        ("any:stall", "write any:stall=10s@5s"),
        ("write:eio@soon", "@3 for the third request"),
    ] {
        let run = format!("{THREEN1} --set finish=100 --fault {fault}");
        assert_refused(&bench, &run, right);
    }
    let plan = "workload = \"threen1\"\nengines = [\"lmdb\"]\nfault = [\"none\", \"fsync@3\"]\n";
    bench.write("plan.toml", plan);
    assert_refused(&bench, "run plan.toml", "write OPERATION:EFFECT@WHEN");
}
