//! Runs whose whole repeats are given to hosts. The "hosts" are agents on this machine, started by
//! a launcher of the test.

use crate::support::{
    ALL_WELL, Bench, assert_contains, children_of, ended_well, expect_code, refusal, signal, stderr,
};
use nix::sys::signal::Signal::{self, SIGINT, SIGKILL};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, RunFolder, TrialRecord};

/// The variable by which the agents of the "hosts" are told apart.
const HOST: &str = "TRUEPUT_TEST_HOST";

/// How the private folder of an agent begins.
const PRIVATE: &str = ".trueput-host-";

/// The command line of a run, up to its repeats.
fn line(rest: &str) -> Vec<String> {
    let words = format!(
        "run micro --set test=read-random --set records=1000 --engine lmdb,sqlite --durability \
         async --workers 1 --duration 0.5 {rest}"
    );
    let launcher = format!("env {HOST}={{host}} {{command}}");
    let words = words.split_whitespace().map(str::to_owned);
    words.chain(["--launcher".to_owned(), launcher]).collect()
}

fn spawn(bench: &Bench, rest: &str) -> Child {
    let mut command = bench.command(&line(rest));
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The run folder, once it is there; private folders may be beside it.
fn run_folder(bench: &Bench) -> Option<RunFolder> {
    let entries = std::fs::read_dir(bench.path().join("results")).ok()?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut runs = paths.filter(|path| !path.to_string_lossy().contains(PRIVATE));
    Some(RunFolder::open(&runs.next()?).ok()?.0)
}

fn trials(bench: &Bench) -> Vec<TrialRecord> {
    let stored = run_folder(bench).map(|folder| folder.trials().unwrap());
    stored.unwrap_or_default().trials
}

/// Waits until some trials of a host have ended.
fn wait_for_trials(bench: &Bench, host: &str, count: usize) {
    let until = Instant::now() + Duration::from_secs(120);
    let is_of_host = |trial: &&TrialRecord| trial.host.as_deref() == Some(host);
    while trials(bench).iter().filter(is_of_host).count() < count {
        assert!(Instant::now() < until, "no trial of {host} has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to the agent of a host.
fn signal_agent(runner: u32, host: &str, sent: Signal) {
    let agents = children_of(runner, |words| words.get(1) == Some(&"worker"));
    let own = format!("{HOST}={host}");
    let is_own = |pid: &&i32| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|it| it == own.as_bytes())
    };
    let agent = agents.iter().find(is_own).unwrap();
    signal(*agent, sent);
}

/// The last line of each trial that has ended.
fn ended(bench: &Bench) -> BTreeMap<String, TrialRecord> {
    let trials = trials(bench).into_iter();
    let ended = trials.filter(|trial| trial.outcome != Outcome::Interrupted);
    ended.map(|trial| (trial.spec.id.clone(), trial)).collect()
}

/// By repeat, the hosts of its trials.
fn hosts_of_repeats(trials: &BTreeMap<String, TrialRecord>) -> BTreeMap<u32, BTreeSet<String>> {
    let mut hosts: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for trial in trials.values() {
        let host = trial.host.clone().unwrap();
        hosts.entry(trial.spec.repeat).or_default().insert(host);
    }
    hosts
}

fn assert_whole(bench: &Bench, repeats: usize) {
    let last = ended(bench);
    assert_eq!(last.len(), 2 * repeats);
    let folder = run_folder(bench).unwrap();
    for trial in last.values() {
        assert!(ended_well(trial), "{:?}", trial.outcome);
        assert!(folder.histograms(&trial.spec.id).unwrap().is_some());
    }
    let hosts = hosts_of_repeats(&last);
    assert!(hosts.values().all(|hosts| hosts.len() == 1), "{hosts:?}");
}

/// Asserts that no private folder is left.
fn assert_nothing_is_left(bench: &Bench) {
    let entries = std::fs::read_dir(bench.path().join("results")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().starts_with(PRIVATE))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn hosts_of_run(bench: &Bench) -> Vec<(String, Option<String>)> {
    let (_, manifest) = RunFolder::open(run_folder(bench).unwrap().path()).unwrap();
    let hosts = manifest.hosts.into_iter();
    hosts.map(|host| (host.name, host.loss)).collect()
}

fn run(bench: &Bench, rest: &str) -> Output {
    spawn(bench, rest).wait_with_output().unwrap()
}

#[test]
#[ignore = "slow: make test runs it"]
fn whole_repeats_take_turns_on_the_hosts() {
    let bench = Bench::new();
    expect_code(ALL_WELL, run(&bench, "--repeat 4 --across a,b"));
    assert_whole(&bench, 4);
    let hosts = hosts_of_repeats(&ended(&bench));
    let turns: Vec<_> = hosts.into_values().flatten().collect();
    assert_eq!(turns, ["a", "b", "a", "b"]);
    let known = hosts_of_run(&bench);
    assert_eq!(known, [("a".to_owned(), None), ("b".to_owned(), None)]);
    assert_nothing_is_left(&bench);
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_repeats_of_a_killed_host_run_on_the_others() {
    let bench = Bench::new();
    let child = spawn(&bench, "--repeat 6 --across a,b");
    wait_for_trials(&bench, "b", 1);
    signal_agent(child.id(), "b", SIGKILL);
    let output = expect_code(ALL_WELL, child.wait_with_output().unwrap());
    assert_contains(&stderr(&output), &["host b is lost"]);
    assert_whole(&bench, 6);
    let known = hosts_of_run(&bench);
    assert!(known[0].1.is_none() && known[1].1.is_some(), "{known:?}");
    // What the host had measured is kept.
    let of_b = |trial: &TrialRecord| trial.host.as_deref() == Some("b");
    assert!(trials(&bench).iter().any(of_b));
}

#[test]
#[ignore = "slow: make test runs it"]
fn an_interrupted_run_leaves_nothing_on_its_hosts_and_goes_on() {
    let bench = Bench::new();
    let child = spawn(&bench, "--repeat 6 --across a,b");
    wait_for_trials(&bench, "a", 1);
    signal(i32::try_from(child.id()).unwrap(), SIGINT);
    expect_code(130, child.wait_with_output().unwrap());
    assert_nothing_is_left(&bench);
    let before = ended(&bench);
    assert!(!before.is_empty() && before.len() < 12, "{}", before.len());
    let path = run_folder(&bench).unwrap().path().display().to_string();
    let said = refusal(&bench.run(&format!("run --resume {path} --trust-plan")));
    assert_contains(&said, &["spread over hosts", "--across a,b"]);
    let launcher = format!("env {HOST}={{host}} {{command}}");
    let resume = [
        "run",
        "--resume",
        &path,
        "--trust-plan",
        "--across",
        "a,b",
        "--launcher",
    ];
    let words: Vec<&str> = resume.into_iter().chain([launcher.as_str()]).collect();
    bench.run_expecting(ALL_WELL, &words);
    assert_whole(&bench, 6);
    // Nothing was measured twice.
    let after = ended(&bench);
    for (id, trial) in &before {
        assert_eq!(trial.started_at, after[id].started_at);
    }
    assert_nothing_is_left(&bench);
}

#[test]
fn what_cannot_be_spread_is_refused_in_one_line() {
    let bench = Bench::new();
    for (rest, expected) in [
        ("--across a,a", "a"),
        (
            "--across a --host-program /nonexistent/trueput",
            "/nonexistent/trueput",
        ),
    ] {
        let said = refusal(&run(&bench, rest));
        assert_contains(&said, &[expected]);
        let results = std::fs::read_dir(bench.path().join("results"));
        assert_eq!(results.into_iter().flatten().count(), 0, "{rest}");
    }
    let tune = "tune ycsb --engine sqlite --durability sync --budget 30m --across a,b";
    assert_contains(
        &refusal(&bench.run(tune)),
        &["'tune' is a search", "trueput run PLAN"],
    );
}
