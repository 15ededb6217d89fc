//! A trial of which a part did not run is invalid.

use crate::claims::claims;
use crate::hangs::children;
use crate::support::{Bench, doubts, on, spec, threads, with};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use trueput_record::TrialSpec;
use trueput_record::measurement::Outcome;
use trueput_record::search::{TrialPurpose, TrialRole};
use trueput_runner::{Event, Phase};

claims![
    a_trial_whose_worker_was_stopped_for_a_while_is_invalid,
    a_trial_whose_runner_was_stopped_for_a_while_is_invalid,
    a_trial_that_was_stopped_whole_blames_the_machine,
    a_short_stop_is_no_matter,
    a_runner_that_was_stopped_while_the_database_was_closed_is_no_matter,
    a_disturbed_trial_of_a_search_is_repeated,
];

/// A trial of some seconds.
fn lasting(id: &str) -> TrialSpec {
    let mut spec = with(spec(id, "endless"), "pause_ms", 1);
    spec.conditions.duration_s = Some(6.0);
    spec
}

/// Whom to stop.
#[derive(Clone, Copy)]
struct Stop {
    runner: bool,
    workers: usize,
    time_s: u32,
}

/// Stops processes for a while, from a process of its own.
fn stop(
    Stop {
        runner,
        workers,
        time_s,
    }: Stop,
) -> Child {
    let own = runner.then(std::process::id);
    let pids = children().into_iter().take(workers).chain(own);
    let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
    let pids = pids.join(" ");
    let script = format!("kill -STOP {pids}; sleep {time_s}; kill -CONT {pids}");
    Command::new("sh").args(["-c", &script]).spawn().unwrap()
}

/// Runs a trial of which processes are stopped, the first time that it runs.
fn run_and_stop(bench: &Bench, trial: TrialSpec, who: Stop) -> Vec<trueput_record::TrialRecord> {
    let made = bench.create(vec![trial]).unwrap();
    let mut stopping = None;
    bench.run(&made, |event| {
        let is_running = matches!(
            event,
            Event::TrialProgress {
                phase: Phase::Run,
                ..
            }
        );
        if is_running && stopping.is_none() {
            stopping = Some(stop(who));
        }
    });
    assert!(stopping.unwrap().wait().unwrap().success());
    made.records()
}

fn stopped(trial: TrialSpec, runner: bool, workers: usize, time_s: u32) -> String {
    let who = Stop {
        runner,
        workers,
        time_s,
    };
    let records = run_and_stop(&Bench::new(), trial, who);
    doubts(&records[0]).join("; ")
}

fn a_trial_whose_worker_was_stopped_for_a_while_is_invalid() {
    let one = stopped(lasting("a"), false, 1, 4);
    assert!(
        one.contains(" did not run for ") && one.starts_with("worker "),
        "{one}"
    );
    let process = stopped(threads(lasting("a")), false, 1, 4);
    assert!(process.starts_with("worker 0 did not run for"), "{process}");
    let all = stopped(lasting("a"), false, 3, 4);
    assert!(all.starts_with("every worker did not run for"), "{all}");
}

fn a_trial_whose_runner_was_stopped_for_a_while_is_invalid() {
    let runner = stopped(lasting("a"), true, 0, 4);
    assert!(runner.starts_with("the runner did not run for"), "{runner}");
}

fn a_trial_that_was_stopped_whole_blames_the_machine() {
    let machine = stopped(lasting("a"), true, 3, 4);
    let words = "the machine, or every process of the trial, did not run for";
    assert!(machine.starts_with(words), "{machine}");
    assert_eq!(machine.matches("did not run").count(), 1, "{machine}");
}

fn a_short_stop_is_no_matter() {
    assert_eq!(stopped(lasting("a"), true, 3, 1), "");
}

fn a_runner_that_was_stopped_while_the_database_was_closed_is_no_matter() {
    let bench = Bench::new();
    let made = bench
        .create(vec![on("closes-slowly", lasting("a"))])
        .unwrap();
    let (mut ended_at, mut stopping) = (None, None);
    bench.run(&made, |event| {
        if let Event::TrialProgress {
            phase: Phase::Run,
            fraction: 1.0,
            ..
        } = event
        {
            ended_at.get_or_insert_with(Instant::now);
        }
        // All workers have ended two seconds after the first of these reports, and close for eight.
        let is_closing = ended_at.is_some_and(|at| at.elapsed() > Duration::from_secs(2));
        if is_closing && stopping.is_none() {
            stopping = Some(stop(Stop {
                runner: true,
                workers: 0,
                time_s: 4,
            }));
        }
    });
    assert!(stopping.unwrap().wait().unwrap().success());
    let record = made.record();
    assert!(doubts(&record).is_empty(), "{record:?}");
}

fn a_disturbed_trial_of_a_search_is_repeated() {
    let role = TrialRole {
        contender: 0,
        purpose: TrialPurpose::Probe,
        configuration: None,
    };
    let trial = TrialSpec {
        role: Some(role),
        ..lasting("a")
    };
    let who = Stop {
        runner: false,
        workers: 3,
        time_s: 4,
    };
    let records = run_and_stop(&Bench::new(), trial, who);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[0].outcome, Outcome::Interrupted);
    assert!(doubts(&records[1]).is_empty(), "{:?}", records[1].outcome);
}
