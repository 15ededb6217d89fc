//! Contenders that share time slices, on real engines.

use crate::servers::{assert_gone, is_stopped};
use crate::support::{
    ALL_WELL, Bench, assert_answers, assert_contains, ended_well, expect_code, is_alive, signal,
    stderr, stdout, unwrapped, workers_of,
};
use nix::sys::signal::Signal::{SIGINT, SIGKILL, SIGSTOP};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use trueput_record::accounting::StopMeans;

/// Two libraries in time slices, but for their duration.
const PAIR: &str = "run micro --engine lmdb,sqlite --durability process --workers 2 \
    --set records=2000 --set test=overwrite";

/// Runs a command where no control group of version 2 is mounted.
const WITHOUT_GROUPS: &str = r#"
    for folder in $(sed -n 's/^\([^ ]* \)\{4\}\([^ ]*\) .* - cgroup2 .*/\2/p' /proc/self/mountinfo)
    do umount -l "$folder" || exit
    done
    exec "$@""#;

#[test]
#[ignore = "slow: make test runs it"]
fn every_engine_present_shares_time_slices_and_finds_the_same_answers() {
    let bench = Bench::new();
    let plan = "workload = \"threen1\"\nengines = \"present\"\nunsupported = \"skip\"\n\
        durability = [\"process\", \"async\", \"sync\"]\nlevels = \"first\"\nworkers = 2\n\
        time_slice = \"5ms\"\n[settings]\nfinish = 300\nblock = 50\ncommit = \"per-start\"\n";
    bench.write("all.toml", plan);
    bench.run_expecting(ALL_WELL, "run all.toml");
    let trials = bench.trials();
    let engines = trials.iter().filter(|trial| trial.spec.engine != "null");
    for record in engines.clone() {
        // The only engine at a level has nobody to share slices with.
        let level = record.spec.durability;
        let at_level = engines.clone().filter(|it| it.spec.durability == level);
        let expected = (at_level.count() > 1).then_some(0.005);
        assert_eq!(record.spec.conditions.time_slice_s, expected, "{level}");
        assert_answers(record, 1, 300);
    }
    let names: Vec<&str> = trials.iter().map(|t| t.spec.engine.as_str()).collect();
    for engine in ["null", "lmdb", "sqlite", "redb", "fjall"] {
        assert!(names.contains(&engine), "{engine} is missing of {names:?}");
    }
}

/// Workers that wait for each other's locks must not be paused while they hold one.
#[test]
#[ignore = "slow: make test runs it"]
fn every_kind_of_work_can_be_done_in_time_slices() {
    for work in [
        "micro --duration 500ms --set test=read-while-writing --set records=2000 --set scanners=1 \
         --knob sqlite.journal_mode=delete",
        "micro --duration 500ms --set test=overwrite --set records=2000",
        "micro --duration 500ms --set test=read-while-writing --set records=2000",
        "ycsb --duration 500ms --set workload=a --set recordcount=500 --rate 500",
        "tpcc --duration 500ms --set cardinality=hundredth",
        "threen1 --set finish=2000 --set commit=per-block",
    ] {
        let bench = Bench::new();
        let shared = "--engine lmdb,sqlite --durability process --workers 3 --time-slice 3ms";
        bench.run_expecting(ALL_WELL, &format!("run {work} {shared}"));
        let trials = bench.trials();
        assert_eq!(trials.len(), 2);
        for record in &trials {
            assert!(ended_well(record), "{work:?}: {:?}", record.outcome);
        }
    }
}

#[test]
fn contenders_share_time_slices_and_later_repeats_begin_with_a_copy_of_what_was_loaded() {
    let bench = Bench::new();
    let run = "run micro --engine lmdb,sqlite --durability process --workers 1 \
        --set records=2000 --set test=overwrite --duration 200ms --repeat 3";
    bench.run_expecting(ALL_WELL, run);
    let trials = bench.trials();
    assert_eq!(trials.len(), 6);
    for record in &trials {
        assert!(ended_well(record), "{:?}", record.outcome);
        assert_eq!(record.spec.conditions.time_slice_s, Some(0.05));
        let slices = record.measurement.as_ref().unwrap().time_slices.unwrap();
        assert!(slices.count >= 4, "{slices:?}");
        // All records are read back at the end: the copy is whole.
        assert_eq!(record.load.is_some(), record.spec.repeat == 1);
        assert!(record.engine.is_some());
    }
    let left = std::fs::read_dir(bench.path().join("results")).unwrap();
    let left = left.map(|run| run.unwrap().path().join("work"));
    assert!(left.into_iter().all(|work| !work.exists()));
}

#[test]
#[ignore = "slow: make test runs it"]
fn time_slices_that_are_none_are_refused() {
    let bench = Bench::new();
    let run = "run threen1 --engine lmdb";
    let line = bench.refusal_of(&format!("{run} --time-slice 10ms"));
    assert_contains(&line, &["name another contender"]);
    let output = bench.run_expecting(2, &format!("{run} --turns 0.1ms"));
    assert_contains(
        &stderr(&output),
        &["0.1ms is out of range (1ms to 1m, auto or none)"],
    );
    assert!(!bench.path().join("results").exists());
}

/// The program where no control group can be used, so that contenders are stopped by signals;
/// `None`, with a message, where a test may not arrange that.
fn without_groups(bench: &Bench, line: &str) -> Option<Command> {
    let hidden = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", WITHOUT_GROUPS, "sh"]);
        command.args(words);
        command
    };
    let tried = hidden(&["true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: unshare --mount and umount are refused here, or not installed");
        return None;
    }
    let usual = bench.command(line);
    let mut command = hidden(&[]);
    command.arg(usual.get_program()).args(usual.get_args());
    command.current_dir(bench.path());
    let set = usual
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(set);
    Some(command)
}

/// Starts a command whose contenders share time slices, and waits until one is stopped between its
/// own. Returns its workers.
fn stopped_between_slices(mut command: Command) -> (Child, Vec<i32>) {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let limit = Instant::now() + Duration::from_secs(120);
    loop {
        assert!(Instant::now() < limit, "no contender was ever stopped");
        assert_eq!(child.try_wait().unwrap(), None, "the program ended early");
        let workers = workers_of(child.id());
        if workers.iter().any(|pid| is_stopped(*pid)) {
            return (child, workers);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn where_no_control_group_can_be_used_contenders_are_stopped_by_signals() {
    let bench = Bench::new();
    let line = format!("{PAIR} --duration 300ms --time-slice 50ms");
    let Some(mut command) = without_groups(&bench, &line) else {
        return;
    };
    expect_code(ALL_WELL, command.stdin(Stdio::null()).output().unwrap());
    let trials = bench.trials();
    assert_eq!(trials.len(), 2);
    for record in &trials {
        assert!(ended_well(record), "{:?}", record.outcome);
        let slices = record.measurement.as_ref().unwrap().time_slices.unwrap();
        assert_eq!(slices.stopped_by, StopMeans::Signals);
        assert!(slices.count >= 4, "{slices:?}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn ctrl_c_while_a_contender_is_stopped_leaves_nobody_and_is_said_to_have_interrupted_the_run() {
    let line = format!("{PAIR} --duration 300 --time-slice 500ms --until 5%");
    for by_signals in [false, true] {
        let bench = Bench::new();
        let command = if by_signals {
            without_groups(&bench, &line)
        } else {
            Some(bench.command(&line))
        };
        let Some(command) = command else {
            continue;
        };
        let (child, workers) = stopped_between_slices(command);
        signal(child.id().cast_signed(), SIGINT);
        let output = expect_code(130, child.wait_with_output().unwrap());
        workers.into_iter().for_each(assert_gone);
        let [said, answer] = [stderr(&output), stdout(&output)].map(|text| unwrapped(&text));
        let interrupted = [
            "interrupted; finished trials are kept",
            "repeats ended: the run was interrupted",
        ];
        assert_contains(&said, &interrupted);
        assert_contains(&answer, &["not run", "To go on:", "run --resume"]);
        for text in [said, answer] {
            assert!(!text.contains("all repeats were run"), "{text}");
        }
    }
}

/// Leaves a stopped process in a folder, whose parent has ended, as a killed run leaves one that
/// the kernel does not end with it.
fn leave_stopped(folder: &Path) -> i32 {
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 600 > /dev/null 2>&1 & echo $!"]);
    let output = shell.current_dir(folder).output().unwrap();
    let pid = stdout(&output).trim().parse().unwrap();
    signal(pid, SIGSTOP);
    while !is_stopped(pid) {
        std::thread::sleep(Duration::from_millis(1));
    }
    pid
}

/// The folder of a run in its work folder.
fn run_in_work_folder(bench: &Bench) -> PathBuf {
    let work = bench.run_folder().path().join("work");
    let entries = std::fs::read_dir(work).unwrap().map(Result::unwrap);
    let mut folders = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    folders.next().unwrap()
}

/// The kernel ends the workers of libraries with their run. What it does not end, such as a process
/// that a server started, is listed before it is killed.
#[test]
#[ignore = "slow: make test runs it"]
fn a_contender_that_a_killed_run_left_stopped_is_listed_by_clean_and_then_killed() {
    let bench = Bench::new();
    let line = format!("{PAIR} --duration 300 --time-slice 500ms");
    let (mut child, workers) = stopped_between_slices(bench.command(&line));
    signal(child.id().cast_signed(), SIGKILL);
    child.wait().unwrap();
    let left = leave_stopped(&run_in_work_folder(&bench));
    let listed = stdout(&bench.run_expecting(1, "clean --results results"));
    let process = format!("/proc/{left}");
    assert_contains(&listed, &["stopped process", &process, "clean --yes"]);
    assert!(is_alive(left), "it was only to be listed");
    bench.run_expecting(0, "clean --yes --results results");
    assert_gone(left);
    workers.into_iter().for_each(assert_gone);
}
