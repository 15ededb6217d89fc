//! Repeats until enough is known, or the time is spent, at the command line.

use crate::support::{
    self, ALL_WELL, Bench,
    copies::{append, set_every_rate},
    stderr, stdout,
};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use trueput_record::folder::{PrecisionTarget, RunEnd, SufficiencyReason};
use trueput_record::measurement::Outcome;
use trueput_record::{RunFolder, TrialRecord};

/// Repeats that are planned, and those that had ended when a run was cut short.
const PLANNED: u32 = 6;
const ENDED: u32 = 3;

const NARROW: &str = "every contender's interval is as narrow as was asked";
const SPENT: &str = "the budget of time is spent";

fn run(bench: &Bench, engine: &str, durability: &str, more: &[&str]) -> std::process::Output {
    let what = ["run", "threen1", "--engine", engine];
    let how = ["--durability", durability];
    bench.run(&[&what[..], &how, more].concat())
}

/// A run of lmdb that was to go on until its rate was known to 2 %, cut short after three repeats
/// with rates of those factors. Its trials count, as they would not of a debug build.
fn cut_short(bench: &Bench, factors: [f64; ENDED as usize]) -> String {
    let repeats = PLANNED.to_string();
    let short = ["--set", "finish=20", "--repeat", &repeats];
    run(bench, "lmdb", "process", &short);
    let (folder, mut manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    manifest.name = "cut-short".to_owned();
    manifest.until = Some(PrecisionTarget {
        half_width: Some(0.02),
        budget_s: None,
    });
    let made = RunFolder::create(&bench.path().join("copies"), &manifest).unwrap();
    let ended = folder.trials().unwrap().trials.into_iter();
    for (mut trial, factor) in ended.zip(factors) {
        trial.outcome = Outcome::Valid;
        set_every_rate(&mut trial, 1_000.0 * factor);
        append(&made, &mut trial);
    }
    made.path().to_str().unwrap().to_owned()
}

fn state(folder: &Path) -> (Vec<TrialRecord>, RunEnd) {
    let (folder, _) = RunFolder::open(folder).unwrap();
    let end = folder.end().unwrap().unwrap();
    (folder.trials().unwrap().trials, end)
}

#[test]
fn repeats_end_when_every_interval_is_narrow_and_the_report_says_so() {
    let bench = Bench::new();
    let run = cut_short(&bench, [1.0, 1.001, 0.999]);
    let output = bench.run(&["run", "--resume", &run, "--full"]);
    let (said, told) = (stdout(&output), stderr(&output));
    let (trials, end) = state(Path::new(&run));
    assert_eq!(trials.len(), ENDED as usize, "{told}");
    assert_eq!(
        (end.stop_reason, end.complete),
        (Some(SufficiencyReason::Narrow), true)
    );
    assert!(told.contains(&format!("repeats ended: {NARROW}")), "{told}");
    assert!(
        told.contains("the widest interval is ±0.25 %, of lmdb"),
        "{told}"
    );
    let again = bench.run(&["report", &run, "--full"]);
    for said in [said, stdout(&again)] {
        let why = format!("run up to 3 times: {NARROW}");
        let words: Vec<_> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(&why), "{said}");
        assert!(!said.contains("are missing"), "{said}");
    }
    let json = stdout(&bench.run(&["report", &run, "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["end"]["stop_reason"], "narrow", "{}", json["end"]);
}

#[test]
fn repeats_go_on_while_an_interval_is_wide_and_a_wider_one_may_be_asked_for() {
    let scattered = [1.0, 1.1, 0.9];
    let bench = Bench::new();
    let run = cut_short(&bench, scattered);
    let told = stderr(&bench.run(&["run", "--resume", &run]));
    let (trials, end) = state(Path::new(&run));
    assert_eq!(
        (trials.len(), end.stop_reason),
        (PLANNED as usize, None),
        "{told}"
    );
    assert!(
        told.contains("all repeats were run; ±2 % was requested"),
        "{told}"
    );

    let bench = Bench::new();
    let run = cut_short(&bench, scattered);
    let told = stderr(&bench.run(&["run", "--resume", &run, "--until", "60%"]));
    let (trials, end) = state(Path::new(&run));
    let ended = (trials.len(), end.stop_reason);
    assert_eq!(
        ended,
        (ENDED as usize, Some(SufficiencyReason::Narrow)),
        "{told}"
    );
}

#[test]
fn repeats_end_when_the_budget_is_spent_but_each_cell_is_run_once() {
    let bench = Bench::new();
    let rule = [
        "--set",
        "finish=20",
        "--until",
        "2%",
        "--budget",
        "1ms",
        "--full",
    ];
    let output = run(&bench, "lmdb,sqlite", "process", &rule);
    assert_eq!(output.status.code(), Some(ALL_WELL), "{output:?}");
    let folder = bench.run_folder();
    let (trials, end) = state(folder.path());
    let run: Vec<_> = trials
        .iter()
        .map(|trial| trial.spec.engine.as_str())
        .collect();
    assert_eq!(run, ["lmdb", "sqlite"]);
    assert_eq!(
        (end.stop_reason, end.complete),
        (Some(SufficiencyReason::Budget), true)
    );
    let (_, manifest) = RunFolder::open(folder.path()).unwrap();
    assert_eq!(
        manifest.trials.len(),
        2_000,
        "a budget leaves as many as a plan may have"
    );
    let until = manifest.until.unwrap();
    assert_eq!(
        (until.half_width, until.budget_s),
        (Some(0.02), Some(0.001))
    );
    assert!(stderr(&output).contains(&format!("repeats ended: {SPENT}")));
    assert!(stdout(&output).contains(&format!("run up to 1 time: {SPENT}")));
}

#[test]
fn without_a_budget_thirty_repeats_are_the_most_and_the_help_says_so() {
    let bench = Bench::new();
    run(
        &bench,
        "null",
        "none",
        &["--set", "finish=20", "--until", "2%"],
    );
    let (_, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert_eq!(manifest.trials.len(), 30);
    let help = stdout(&bench.run(&["run", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let cap = "--repeat is then the maximum [default: 30, or 1000 with --budget]";
    assert!(help.contains(cap), "{help}");
}

#[test]
fn a_plan_of_many_cells_has_no_more_repeats_than_trials_fit_in_it() {
    let bench = Bench::new();
    let workers: Vec<_> = (1..=11).map(|workers| workers.to_string()).collect();
    let rule = ["--set", "finish=20", "--budget", "1ms", "--workers"];
    let workers = workers.join(",");
    let output = run(&bench, "null", "none", &[&rule[..], &[&workers]].concat());
    let (_, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert_eq!(manifest.trials.len(), 11 * 909, "{output:?}");
}

#[test]
fn a_run_ends_by_itself_where_its_trials_count_and_a_debug_builds_never_do() {
    let bench = Bench::new();
    let rule = ["--set", "finish=100000", "--until", "60%", "--repeat", "12"];
    let output = run(&bench, "null", "none", &rule);
    let (trials, end) = state(bench.run_folder().path());
    if cfg!(debug_assertions) {
        assert_eq!((trials.len(), end.stop_reason), (12, None), "{output:?}");
        assert!(stderr(&output).contains("fewer than 3 valid repeats"));
    } else {
        assert_eq!(
            end.stop_reason,
            Some(SufficiencyReason::Narrow),
            "{output:?}"
        );
        assert!((3..12).contains(&trials.len()), "{}", trials.len());
    }
}

/// The durations of a plan's trials, as `plan check` tells them.
fn durations(arguments: &[&str]) -> Vec<Option<f64>> {
    let mut check = vec!["plan", "check"];
    check.extend(arguments);
    check.push("--json");
    let output = Bench::new().run(&check);
    let matrix: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{arguments:?}: {}", stderr(&output)));
    let trials = matrix["trials"].as_array().unwrap().iter();
    trials
        .map(|trial| trial["conditions"]["duration_s"].as_f64())
        .collect()
}

#[test]
fn a_trial_that_would_have_no_end_is_given_ten_seconds() {
    let process = ["--engine", "lmdb", "--durability", "process"];
    let of = |workload: &str, more: &[&str]| durations(&[&[workload], &process[..], more].concat());
    let ten = vec![Some(10.0)];
    assert_eq!(of("micro", &["--set", "test=read-while-writing"]), ten);
    assert_eq!(
        of("micro", &["--set", "test=read-random", "--rate", "1000"]),
        ten
    );
    assert_eq!(of("ycsb", &["--rate", "1000"]), ten);
    assert_eq!(of("tpcc", &["--rate", "10"]), ten);
    assert_eq!(of("ycsb", &["--rate", "0,1000"]), [None, Some(10.0)]);
    // The controls: what has an end, or was given a duration, is left as it is.
    assert_eq!(of("micro", &["--set", "test=read-random"]), [None]);
    assert_eq!(
        of("micro", &["--set", "test=fill-random", "--rate", "1000"]),
        [None]
    );
    assert_eq!(
        of("ycsb", &["--rate", "1000", "--set", "operationcount=500"]),
        [None]
    );
    assert_eq!(of("threen1", &["--rate", "1000"]), [None]);
    assert_eq!(
        of("ycsb", &["--rate", "1000", "--duration", "3"]),
        [Some(3.0)]
    );
}

#[test]
fn a_plan_is_told_with_its_time_from_durations_and_earlier_runs() {
    let bench = Bench::new();
    let told = |more: &[&str]| {
        let mut check = vec!["plan", "check"];
        check.extend(more);
        stdout(&bench.run(&check))
    };
    let process = ["--engine", "lmdb", "--durability", "process"];
    let reads = [
        "micro",
        "--duration",
        "30",
        "--workers",
        "1,2",
        "--repeat",
        "3",
    ];
    let text = told(&[&reads[..], &process].concat());
    assert!(text.ends_with("at least 3 min for 6 trials\n"), "{text}");
    let short = [
        "threen1",
        "--set",
        "finish=200",
        "--workers",
        "1",
        "--repeat",
        "2",
    ];
    let short = [&short[..], &process].concat();
    let text = told(&short);
    assert!(
        text.ends_with("time unknown for 2 trials: known after the first repeat\n"),
        "{text}"
    );
    let ran = bench.run(&[&["run"], &short[..]].concat());
    assert_eq!(ran.status.code(), Some(ALL_WELL), "{}", stderr(&ran));
    let text = told(&short);
    let line = text.lines().last().unwrap();
    assert!(
        line.starts_with("about ") && line.ends_with(" s for 2 trials"),
        "{line}"
    );
}

#[test]
fn a_long_run_says_its_time_before_it_begins() {
    let bench = Bench::new();
    let mut arguments = vec![
        "run",
        "micro",
        "--engine",
        "lmdb",
        "--durability",
        "process",
    ];
    arguments.extend([
        "--set",
        "records=100",
        "--duration",
        "40",
        "--workers",
        "1,2",
    ]);
    let mut command = bench.command(&arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        told.push(line.unwrap());
        if told.last().unwrap().contains("trial 1 of 2") {
            break;
        }
    }
    support::signal(child.id().cast_signed(), Signal::SIGINT);
    child.wait().unwrap();
    let is_estimate = |line: &String| line.contains("at least 80 s for 2 trials");
    assert!(told.iter().any(is_estimate), "{told:?}");
}
