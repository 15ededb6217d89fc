//! Kills and interrupts after the measured part of a trial, and between the steps of a benchmark.
//! Each test ends only processes that it started.

use crate::hangs::find_processes;
use crate::servers::{Kind, MARIADB, POSTGRESQL, assert_gone, assert_nothing_is_left, find_server};
use crate::support::{ALL_WELL, Bench, assert_contains, ended_well, is_installed, signal, stderr};
use nix::sys::signal::Signal::{self, SIGINT, SIGKILL};
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout};
use std::thread::sleep;
use std::time::Duration;
use trueput_record::{Outcome, TrialRecord};

/// A trial that is soon over, and whose database takes long to compact and to verify.
const TRIAL: &str = "run micro --durability process --workers 2 --set test=delete-random \
                     --set records=600000 --set value_bytes=100 --set operations=1000 --json";

/// Four steps, each of which ends with its rows.
const STEPS: &str = "run insert-benchmark --durability process --workers 1 --set tables=1 \
                     --set rows=1000 --set insert_rows=500 --set step=l.i0,l.x,l.i1,l.i2 --json";

/// A phase after the measured part.
#[derive(Clone, Copy)]
struct LatePhase {
    /// Its name among the events.
    event: &'static str,
    /// Its name in the reason of a failure.
    title: &'static str,
    /// The option of a trial that has it.
    option: &'static str,
    /// The time after which its process is certain to be at work.
    start_up: Duration,
}

const COMPACTION: LatePhase = LatePhase {
    event: "\"phase\":\"compact\"",
    title: "compacting the database",
    option: "--compact",
    start_up: Duration::from_millis(200),
};

const VERIFICATION: LatePhase = LatePhase {
    event: "\"phase\":\"verify\"",
    title: "verification",
    option: "",
    // Its first event comes from its work.
    start_up: Duration::ZERO,
};

/// The program at work, and the events that it writes.
struct RunningProgram {
    bench: Bench,
    child: Child,
    events: Lines<BufReader<ChildStdout>>,
}

impl RunningProgram {
    fn start(line: &str) -> Self {
        let bench = Bench::new();
        let mut child = bench.spawn_with(line, "");
        let events = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            bench,
            child,
            events,
        }
    }

    fn results(&self) -> PathBuf {
        self.bench.path().join("results")
    }

    /// Waits for the next event that contains all of these parts.
    fn wait_for(&mut self, parts: &[&str]) {
        let is_it = |event: &str| parts.iter().all(|part| event.contains(part));
        let comes = self.events.any(|event| is_it(&event.unwrap()));
        assert!(comes, "{parts:?}");
    }

    /// Waits until a phase of a trial of this engine is at work.
    fn wait_for_phase(&mut self, phase: LatePhase, engine: &str) {
        self.wait_for(&[phase.event, engine]);
        sleep(phase.start_up);
    }

    fn signal(&self, sent: Signal) {
        signal(self.child.id().cast_signed(), sent);
    }

    /// Waits for its end, which must be with this exit code; `None` if it was killed.
    fn end(mut self, code: Option<i32>) -> Bench {
        self.events.by_ref().for_each(drop);
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{}", stderr(&output));
        self.bench
    }
}

/// Asserts that a trial failed in this phase for the kill of its server, said so once, and kept
/// what it had measured.
fn assert_failed_by_kill(trial: &TrialRecord, phase: LatePhase, server: i32) {
    let Outcome::Failed { reason, .. } = &trial.outcome else {
        panic!("{:?}", trial.outcome);
    };
    let killed = format!("the server (process {server}) was killed by SIGKILL");
    assert_contains(reason, &[&killed, &format!("; then {}", phase.title)]);
    let kills = reason.matches("was killed by SIGKILL").count();
    assert_eq!(kills, 1, "{reason}");
    assert!(trial.measurement.is_some() && trial.verification.is_none());
}

/// Kills the server of the first engine in a phase after the measured part; returns all trials of
/// the run.
fn killed_server(kind: &Kind, engines: &str, phase: LatePhase) -> Vec<TrialRecord> {
    let line = format!("{TRIAL} {} --engine {engines}", phase.option);
    let mut program = RunningProgram::start(&line);
    program.wait_for_phase(phase, kind.engine);
    let server = find_server(kind, &program.results()).unwrap();
    signal(server, SIGKILL);
    let bench = program.end(Some(1));
    let trials = bench.trials();
    let is_its = |trial: &&TrialRecord| trial.spec.engine == kind.engine;
    assert_failed_by_kill(trials.iter().find(is_its).unwrap(), phase, server);
    assert_nothing_is_left(&bench);
    assert_gone(server);
    trials
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_is_killed_after_the_measured_part_fails_its_trial_with_the_reason() {
    for kind in [&POSTGRESQL, &MARIADB] {
        for phase in [COMPACTION, VERIFICATION] {
            if is_installed(kind.engine) {
                killed_server(kind, kind.engine, phase);
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_server_that_is_killed_after_its_time_slices_fails_no_other_contender() {
    if !is_installed(POSTGRESQL.engine) {
        return;
    }
    for phase in [COMPACTION, VERIFICATION] {
        let trials = killed_server(&POSTGRESQL, "postgresql,sqlite --time-slice 1s", phase);
        let other = trials.iter().find(|trial| trial.spec.engine == "sqlite");
        let other = other.unwrap();
        assert!(ended_well(other), "{:?}", other.outcome);
        let compaction = &other.measurement.as_ref().unwrap().compaction;
        assert_eq!(compaction.is_some(), other.spec.conditions.compact);
    }
}

/// The server recovers from that by itself, and would compact the database then.
#[test]
#[ignore = "slow: make test runs it"]
fn a_compaction_whose_backend_is_killed_is_not_measured_once_more() {
    if !is_installed(POSTGRESQL.engine) {
        return;
    }
    let mut program = RunningProgram::start(&format!("{TRIAL} --compact --engine postgresql"));
    program.wait_for(&[COMPACTION.event]);
    let server = find_server(&POSTGRESQL, &program.results()).unwrap();
    let backend = loop {
        let found = find_processes(program.child.id(), "VACUUM");
        if let Some(backend) = found.first() {
            break *backend;
        }
        assert_eq!(program.child.try_wait().unwrap(), None, "no compaction");
        sleep(Duration::from_millis(1));
    };
    signal(backend, SIGKILL);
    let bench = program.end(Some(1));
    let trial = bench.trials().remove(0);
    let Outcome::Failed { reason, .. } = &trial.outcome else {
        panic!("{:?}", trial.outcome);
    };
    assert!(reason.starts_with(COMPACTION.title), "{reason}");
    assert!(trial.measurement.unwrap().compaction.is_none());
    assert_nothing_is_left(&bench);
    assert_gone(server);
}

/// Interrupts a run in a phase after the measured part.
fn interrupted(kind: &Kind, engines: &str, phase: LatePhase) {
    let line = format!("{TRIAL} {} --engine {engines}", phase.option);
    let mut program = RunningProgram::start(&line);
    program.wait_for_phase(phase, "");
    let server = find_server(kind, &program.results()).unwrap();
    program.signal(SIGINT);
    let bench = program.end(Some(130));
    for trial in bench.trials() {
        assert_eq!(trial.outcome, Outcome::Interrupted);
        assert!(trial.measurement.is_some(), "what was measured is kept");
    }
    assert!(bench.run_folder().end().unwrap().is_some());
    assert_nothing_is_left(&bench);
    assert_gone(server);
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_after_the_measured_part_keeps_what_was_measured_and_leaves_no_server() {
    for phase in [COMPACTION, VERIFICATION] {
        for kind in [&POSTGRESQL, &MARIADB] {
            if is_installed(kind.engine) {
                interrupted(kind, kind.engine, phase);
            }
        }
        if is_installed(POSTGRESQL.engine) {
            interrupted(&POSTGRESQL, "postgresql,sqlite --time-slice 1s", phase);
        }
    }
}

/// Ends a run between two steps on a server, and resumes it.
fn resumed_between_steps(kind: &Kind, sent: Signal) {
    if !is_installed(kind.engine) {
        return;
    }
    let mut program = RunningProgram::start(&format!("{STEPS} --engine {}", kind.engine));
    for _ in 0..2 {
        program.wait_for(&["\"event\":\"trial_ended\""]);
    }
    program.signal(sent);
    let results = program.results();
    let bench = program.end((sent == SIGINT).then_some(130));
    // The kernel ends the server of a killed run.
    let server = find_server(kind, &results);
    server.into_iter().for_each(assert_gone);
    let before = bench.trials();
    bench.run_expecting(ALL_WELL, &format!("run --resume {}", bench.run_path()));
    let trials = bench.trials();
    assert_eq!(trials[..before.len()], before, "nothing of it is touched");
    let has_ended = |trial: &&TrialRecord| trial.outcome != Outcome::Interrupted;
    let ended_before = before.iter().filter(has_ended).count();
    let ended: Vec<_> = trials.iter().filter(has_ended).collect();
    let steps: Vec<_> = ended
        .iter()
        .map(|trial| trial.spec.settings["step"].to_string())
        .collect();
    assert_eq!(steps, ["l.i0", "l.x", "l.i1", "l.i2"]);
    for (place, trial) in ended.iter().enumerate() {
        assert!(ended_well(trial), "{:?}", trial.outcome);
        // It prepares what the steps before it have left; the next one goes on with that.
        assert_eq!(trial.load.is_some(), place == ended_before, "{place}");
    }
    assert_nothing_is_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn steps_on_a_server_go_on_after_an_interrupt_between_them_or_a_kill() {
    for kind in [&POSTGRESQL, &MARIADB] {
        for sent in [SIGINT, SIGKILL] {
            resumed_between_steps(kind, sent);
        }
    }
}
