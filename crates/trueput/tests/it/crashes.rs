//! Killed workers, killed runs, Ctrl-C. Each test ends only processes that it started.

use crate::support::{
    ALL_WELL, Bench, assert_answers, assert_contains, ended_well, expect_code, is_alive,
    is_installed, refusal, signal, stderr, wait_for_work, workers_of,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL, SIGTERM};
use std::io::{BufRead, BufReader};
use std::time::Duration;
use trueput_record::{Outcome, TrialRecord};

/// Long enough to be caught at work, short enough for a test.
const FINISH: u64 = 60_000;
const LINE: &str = "1 60000 2 500\n";
const THREEN1: &str = "threen1 --engine lmdb --durability process";

/// Runs the same command again to go on, which must end well, and returns all lines of the run.
fn resumed(bench: &Bench, command: &str) -> Vec<TrialRecord> {
    let output = bench.run_with(&format!("{command} --resume"), LINE);
    expect_code(ALL_WELL, output);
    bench.trials()
}

/// Kills a process, which may have ended by itself.
fn kill(pid: i32) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), SIGKILL);
}

#[test]
#[ignore = "slow: make test runs it"]
fn after_every_process_is_killed_the_same_command_goes_on_to_the_right_answers() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(THREEN1, LINE);
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    child.kill().unwrap();
    workers.into_iter().for_each(kill);
    child.wait().unwrap();
    assert_eq!(bench.trials(), [], "no trial had ended");
    let trials = resumed(&bench, THREEN1);
    assert_eq!(trials.len(), 1);
    assert!(
        trials[0].resumed,
        "it went on in the database that was there"
    );
    assert!(!trials[0].is_rankable());
    assert_answers(&trials[0], 1, FINISH);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_worker_fails_its_trial_with_the_reason_and_the_same_command_goes_on() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(THREEN1, LINE);
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    let pid = workers[0];
    signal(pid, SIGKILL);
    expect_code(1, child.wait_with_output().unwrap());
    let Outcome::Failed { reason, .. } = bench.trials()[0].outcome.clone() else {
        panic!("{:?}", bench.trials()[0].outcome);
    };
    assert_contains(&reason, &[&format!("(process {pid})"), "SIGKILL"]);
    let trials = resumed(&bench, THREEN1);
    assert!(trials[1].resumed, "{:?}", trials[0].outcome);
    assert_answers(&trials[1], 1, FINISH);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_that_is_at_work_is_not_taken_up_by_another_command() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(THREEN1, LINE);
    wait_for_work(&mut child, &bench.path().join("results"), 1 << 19, 2);
    for refused in [
        bench.run_with(&format!("{THREEN1} --resume"), LINE),
        bench.run(&format!("run --resume {}", bench.run_path())),
    ] {
        assert_contains(&refusal(&refused), &["another trueput is at work"]);
    }
    expect_code(ALL_WELL, child.wait_with_output().unwrap());
    assert_answers(&bench.trials()[0], 1, FINISH);
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_a_killed_run_left_in_a_named_work_folder_is_cleared_when_it_is_resumed() {
    let bench = Bench::new();
    let work = bench.path().join("work");
    let line = format!(
        "run {THREEN1} --workers 2 --set finish=60000 --work {}",
        work.display()
    );
    let mut child = bench.spawn_with(&line, "");
    wait_for_work(&mut child, &work, 1 << 19, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(work.exists(), "it had no time to clear up");
    bench.run_expecting(ALL_WELL, &format!("run --resume {}", bench.run_path()));
    assert!(!work.exists(), "something is left");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_killed_worker_does_not_keep_the_plan_from_going_on() {
    let bench = Bench::new();
    let line = "run threen1 --engine lmdb,null --durability process --workers 2 \
                --set finish=60000 --set block=500";
    let mut child = bench.spawn_with(line, "");
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    signal(workers[1], SIGKILL);
    expect_code(1, child.wait_with_output().unwrap());
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    let first = &trials[0].outcome;
    assert!(matches!(first, Outcome::Failed { .. }), "{first:?}");
    assert_eq!(trials[1].spec.engine, "null");
    assert!(trials[1].measurement.is_some());
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_keeps_what_was_measured_and_the_run_can_be_continued() {
    let bench = Bench::new();
    let line = "run threen1 --engine sqlite,lmdb --durability process --workers 2 \
                --set finish=60000 --set block=500 --set commit=per-start --json \
                --time-slice none";
    let mut child = bench.spawn_with(line, "");
    // The first trial ends, then the second is caught at work.
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(events.any(|event| event.unwrap().contains("\"event\":\"trial_ended\"")));
    let results = bench.path().join("results");
    let workers = wait_for_work(&mut child, &results, 1 << 19, 2);
    // `timeout` signals its child, and then the group of both.
    let pid = i32::try_from(child.id()).unwrap();
    signal(pid, SIGTERM);
    signal(pid, SIGINT);
    let last = events.last().unwrap().unwrap();
    assert_contains(&last, &["\"interrupted\":true"]);
    expect_code(130, child.wait_with_output().unwrap());
    let folder = bench.run_folder();
    assert!(folder.end().unwrap().is_some(), "its end is recorded");
    for left in ["work", "reserve-1"] {
        assert!(!folder.path().join(left).exists(), "{left}");
    }
    for pid in workers {
        assert!(!is_alive(pid), "worker {pid} is left");
    }
    let trials = bench.trials();
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
    assert_answers(&trials[0], 1, FINISH);
    for trial in &trials[1..] {
        assert_eq!(trial.outcome, Outcome::Interrupted);
    }
    let resume = format!("run --resume {}", bench.run_path());
    let said = stderr(&bench.run_expecting(ALL_WELL, &resume));
    // Trials are counted over the whole run.
    assert_contains(&said, &["trial 2 of 2, "]);
    let all = bench.trials();
    let earlier = &all[..trials.len()];
    assert_eq!(earlier, &trials[..], "nothing measured earlier is touched");
    let last = all.last().unwrap();
    assert!(
        !last.resumed,
        "an interrupted trial of a plan starts afresh"
    );
    assert_answers(last, 1, FINISH);
}

/// Kills all workers of a trial at work, resumes it, and finds the right answers, in the database
/// that the killed ones left.
fn goes_on_after_all_workers_are_killed(engine: &str, level: &str, commit: &str, workers: usize) {
    if !is_installed(engine) {
        return;
    }
    let bench = Bench::new();
    let command = format!("threen1 --engine {engine} --durability {level} --commit {commit}");
    // The suites are remembered then, so that no worker of theirs is taken for one of the trial.
    let suites = bench.spawn_with(&format!("{command} --results suites"), "1 100\n");
    suites.wait_with_output().unwrap();
    let mut child = bench.spawn_with(&command, LINE);
    // Workers before this line belong to the conformance suite.
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("conformance")));
    wait_for_work(&mut child, &bench.path().join("results"), 1 << 18, workers);
    // What was seen may be the process that prepares the database: its end by itself ends no trial.
    while child.try_wait().unwrap().is_none() {
        workers_of(child.id()).into_iter().for_each(kill);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(said.any(|line| line.unwrap().contains("was killed by SIGKILL")));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let trials = resumed(&bench, &command);
    assert_eq!(trials.len(), 2);
    assert!(matches!(trials[0].outcome, Outcome::Failed { .. }));
    assert!(trials[1].resumed, "{:?}", trials[0].outcome);
    assert_answers(&trials[1], 1, FINISH);
}

#[test]
#[ignore = "slow: make test runs it"]
fn processes_that_share_a_database_go_on_after_all_of_them_were_killed() {
    for (engine, level) in [
        ("sqlite", "process"),
        ("mdbx", "process"),
        ("berkeleydb", "async"),
    ] {
        goes_on_after_all_workers_are_killed(engine, level, "per-store", 2);
    }
    goes_on_after_all_workers_are_killed("gtm", "sync", "per-block", 2);
}

#[test]
#[ignore = "slow: make test runs it"]
fn threads_go_on_after_their_one_process_was_killed() {
    for (engine, level) in [
        ("rocksdb", "process"),
        ("leveldb", "process"),
        ("wiredtiger", "process"),
        ("fjall", "process"),
    ] {
        goes_on_after_all_workers_are_killed(engine, level, "per-store", 1);
    }
    for engine in ["redb", "tokudb"] {
        goes_on_after_all_workers_are_killed(engine, "sync", "per-block", 1);
    }
}
