//! Killed workers, killed runs, Ctrl-C. Each test ends only processes that it started.

use crate::support::{
    ALL_WELL, Bench, assert_answers, ended_well, signal, stderr, wait_for_work, workers_of,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL};
use std::io::{BufRead, BufReader};
use std::time::Duration;
use trueput_record::Outcome;

/// Long enough to be caught at work, short enough for a test.
const FINISH: u64 = 60_000;
const LINE: &str = "1 60000 2 500\n";
const THREEN1: [&str; 5] = ["threen1", "--engine", "lmdb", "--durability", "process"];

/// The same command, to go on.
fn resumed() -> Vec<&'static str> {
    THREEN1.into_iter().chain(["--resume"]).collect()
}

#[test]
fn after_every_process_is_killed_the_same_command_goes_on_to_the_right_answers() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(&THREEN1, LINE);
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    child.kill().unwrap();
    for pid in workers {
        // It may have ended by itself, its pipe being gone.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), SIGKILL);
    }
    child.wait().unwrap();
    assert_eq!(bench.trials(), [], "no trial had ended");
    let output = bench.run_with(&resumed(), LINE);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 1);
    assert!(
        trials[0].resumed,
        "it went on in the database that was there"
    );
    assert!(!trials[0].is_rankable());
    assert_answers(&trials[0], 1, FINISH);
}

#[test]
fn a_killed_worker_fails_its_trial_with_the_reason_and_the_same_command_goes_on() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(&THREEN1, LINE);
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    let pid = workers[0];
    signal(pid, SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let Outcome::Failed { reason, .. } = bench.trials()[0].outcome.clone() else {
        panic!("{:?}", bench.trials()[0].outcome);
    };
    assert!(
        reason.contains(&format!("(process {pid})")) && reason.contains("SIGKILL"),
        "{reason}"
    );
    let output = bench.run_with(&resumed(), LINE);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert!(trials[1].resumed);
    assert_answers(&trials[1], 1, FINISH);
}

#[test]
fn a_run_that_is_at_work_is_not_taken_up_by_another_command() {
    let bench = Bench::new();
    let mut child = bench.spawn_with(&THREEN1, LINE);
    wait_for_work(&mut child, &bench.path().join("results"), 1 << 19, 2);
    let folder = bench.run_folder().path().to_string_lossy().into_owned();
    for refused in [
        bench.run_with(&resumed(), LINE),
        bench.run(&["run", "--resume", &folder]),
    ] {
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        let said = stderr(&refused);
        assert!(said.contains("another trueput is at work"), "{said}");
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    assert_answers(&bench.trials()[0], 1, FINISH);
}

#[test]
fn what_a_killed_run_left_in_a_named_work_folder_is_cleared_when_it_is_resumed() {
    let bench = Bench::new();
    let work = bench.path().join("work").to_string_lossy().into_owned();
    let begin = [
        "run",
        "threen1",
        "--engine",
        "lmdb",
        "--durability",
        "process",
    ];
    let rest = ["--workers", "2", "--set", "finish=60000", "--work", &work];
    let mut child = bench.spawn_with(&[&begin[..], &rest[..]].concat(), "");
    wait_for_work(&mut child, &bench.path().join("work"), 1 << 19, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        bench.path().join("work").exists(),
        "it had no time to clear up"
    );
    let folder = bench.run_folder().path().to_string_lossy().into_owned();
    let output = bench.run(&["run", "--resume", &folder]);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    assert!(!bench.path().join("work").exists(), "something is left");
}

#[test]
fn a_killed_worker_does_not_keep_the_plan_from_going_on() {
    let bench = Bench::new();
    let arguments = [
        "run",
        "threen1",
        "--engine",
        "lmdb,null",
        "--durability",
        "process",
        "--workers",
        "2",
        "--set",
        "finish=60000",
        "--set",
        "block=500",
    ];
    let mut child = bench.spawn_with(&arguments, "");
    let workers = wait_for_work(&mut child, &bench.path().join("results"), 1 << 20, 2);
    signal(workers[1], SIGKILL);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    assert!(
        matches!(trials[0].outcome, Outcome::Failed { .. }),
        "{:?}",
        trials[0].outcome
    );
    assert_eq!(trials[1].spec.engine, "null");
    assert!(trials[1].measurement.is_some());
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_the_run_can_be_continued() {
    let bench = Bench::new();
    let arguments = [
        "run",
        "threen1",
        "--engine",
        "sqlite,lmdb",
        "--durability",
        "process",
        "--workers",
        "2",
        "--set",
        "finish=60000",
        "--set",
        "block=500",
        "--set",
        "commit=per-start",
        "--json",
    ];
    let mut child = bench.spawn_with(&arguments, "");
    // The first trial ends, then the second is caught at work.
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(events.any(|event| event.unwrap().contains("\"event\":\"trial_ended\"")));
    let results = bench.path().join("results");
    let workers = wait_for_work(&mut child, &results, 1 << 19, 2);
    signal(i32::try_from(child.id()).unwrap(), SIGINT);
    assert!(
        events
            .last()
            .unwrap()
            .unwrap()
            .contains("\"interrupted\":true")
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    for pid in workers {
        assert!(
            !std::path::Path::new(&format!("/proc/{pid}")).exists(),
            "worker {pid} is left"
        );
    }
    let trials = bench.trials();
    assert!(ended_well(&trials[0]), "{:?}", trials[0].outcome);
    assert_answers(&trials[0], 1, FINISH);
    assert!(
        trials[1..]
            .iter()
            .all(|trial| trial.outcome == Outcome::Interrupted)
    );
    let folder = bench.run_folder().path().to_string_lossy().into_owned();
    let output = bench.run(&["run", "--resume", &folder]);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let all = bench.trials();
    assert_eq!(
        all[..trials.len()],
        trials[..],
        "nothing measured earlier is touched"
    );
    let last = all.last().unwrap();
    assert!(
        !last.resumed,
        "an interrupted trial of a plan starts afresh"
    );
    assert_answers(last, 1, FINISH);
}

/// Whether an engine can be used on this machine; says so where not.
fn is_here(engine: &str) -> bool {
    let output = Bench::new().run(&["engines", "--json"]);
    let engines: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut all = engines.as_array().unwrap().iter();
    let here = all.any(|one| one["name"] == engine && one["present"] == true);
    if !here {
        eprintln!("skipped: {engine} is not on this machine");
    }
    here
}

/// Kills all workers of a trial at work, resumes it, and finds the right answers, in the database
/// that the killed ones left.
fn goes_on_after_all_workers_are_killed(engine: &str, level: &str, commit: &str, workers: usize) {
    if !is_here(engine) {
        return;
    }
    let bench = Bench::new();
    let command = [
        "threen1",
        "--engine",
        engine,
        "--durability",
        level,
        "--commit",
        commit,
    ];
    let mut child = bench.spawn_with(&command, LINE);
    // The workers before this line, where there are any, are those of the conformance suite.
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("conformance")));
    wait_for_work(&mut child, &bench.path().join("results"), 1 << 18, workers);
    // What was seen may be the process that prepares the database: its end alone ends no trial.
    while child.try_wait().unwrap().is_none() {
        for pid in workers_of(child.id()) {
            // It may have ended by itself.
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(said.any(|line| line.unwrap().contains("was killed by SIGKILL")));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let again: Vec<_> = command.into_iter().chain(["--resume"]).collect();
    let output = bench.run_with(&again, LINE);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{}", stderr(&output));
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    assert!(matches!(trials[0].outcome, Outcome::Failed { .. }));
    assert!(trials[1].resumed);
    assert_answers(&trials[1], 1, FINISH);
}

#[test]
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
fn threads_go_on_after_their_one_process_was_killed() {
    for (engine, level) in [
        ("rocksdb", "async"),
        ("leveldb", "async"),
        ("wiredtiger", "process"),
        ("fjall", "async"),
    ] {
        goes_on_after_all_workers_are_killed(engine, level, "per-store", 1);
    }
    for engine in ["redb", "tokudb"] {
        goes_on_after_all_workers_are_killed(engine, "sync", "per-block", 1);
    }
}
