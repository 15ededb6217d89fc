//! Repeats until enough is known, or the time is spent, at the command line.

use crate::support::{
    self, ALL_WELL, Bench, assert_contains,
    copies::{append, set_every_rate},
    stderr, stdout, unwrapped,
};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use trueput_record::folder::SufficiencyReason::{Budget, Narrow};
use trueput_record::folder::{PrecisionTarget, RunEnd};
use trueput_record::measurement::Outcome;
use trueput_record::{RunFolder, TrialRecord};

/// Planned repeats, and those that had ended when the run was cut short.
const PLANNED: u32 = 6;
const ENDED: u32 = 3;

const NARROW: &str = "every contender's interval is as narrow as was asked";
const SPENT: &str = "the budget of time is spent";

/// A run of lmdb until its rate is known to 2 %, cut short after three repeats with rates of these
/// factors. Its trials count, although those of a debug build would not.
fn cut_short(bench: &Bench, factors: [f64; ENDED as usize]) -> String {
    let short = "run threen1 --engine lmdb --durability process --set finish=20";
    bench.run_once(&format!("{short} --repeat {PLANNED}"));
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
#[ignore = "slow: make test runs it"]
fn a_resumed_run_says_how_to_run_its_failed_trials_again() {
    let bench = Bench::new();
    let line = "run threen1 --engine lmdb --durability process --set finish=20 --repeat 2";
    bench.run_once(line);
    let (folder, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    let made = RunFolder::create(&bench.path().join("copies"), &manifest).unwrap();
    for mut trial in folder.trials().unwrap().trials {
        trial.measurement = None;
        trial.outcome = Outcome::Failed {
            reason: "worker 0: the disk is full".to_owned(),
            bad_input: false,
        };
        append(&made, &mut trial);
    }
    let path = made.path().display();
    let output = bench.run_expecting(1, &format!("run --resume {path}"));
    let said = stderr(&output);
    let again = "2 failed trials are not run again; to run them again, begin a new run by: ";
    assert_contains(&said, &[again, line, "0 trials to run (2 done earlier)"]);
    assert_eq!(made.trials().unwrap().trials.len(), 2);
    // Nothing has failed in a run that is new.
    let new = bench.run(&format!("{line} --results others"));
    assert!(!stderr(&new).contains("not run again"), "{new:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn repeats_end_when_every_interval_is_narrow_and_the_report_says_so() {
    let bench = Bench::new();
    let run = cut_short(&bench, [1.0, 1.001, 0.999]);
    let output = bench.run(&format!("run --resume {run} --full"));
    let (trials, end) = state(Path::new(&run));
    assert_eq!(trials.len(), ENDED as usize, "{output:?}");
    assert_eq!((end.stop_reason, end.complete), (Some(Narrow), true));
    let ended = format!("repeats ended: {NARROW}");
    let widest = "the widest interval is ±0.25 %, of lmdb";
    assert_contains(&stderr(&output), &[&ended, widest]);
    let again = bench.stdout_of(&format!("report {run} --full"));
    for said in [stdout(&output), again] {
        assert_contains(
            &unwrapped(&said),
            &[&format!("run up to 3 times: {NARROW}")],
        );
        assert!(!said.contains("are missing"), "{said}");
    }
    let json = bench.json_of(&format!("report {run} --format json"));
    assert_eq!(json["end"]["stop_reason"], "narrow", "{}", json["end"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn repeats_go_on_while_an_interval_is_wide_and_a_wider_one_may_be_asked_for() {
    for (options, count, reason, message) in [
        (
            "",
            PLANNED,
            None,
            "all repeats were run; ±2 % was requested",
        ),
        ("--until 60%", ENDED, Some(Narrow), NARROW),
    ] {
        let bench = Bench::new();
        let run = cut_short(&bench, [1.0, 1.1, 0.9]);
        let progress = stderr(&bench.run(&format!("run --resume {run} {options}")));
        let (trials, end) = state(Path::new(&run));
        assert_eq!((trials.len(), end.stop_reason), (count as usize, reason));
        assert_contains(&progress, &[message]);
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn repeats_end_when_the_budget_is_spent_but_each_cell_is_run_once() {
    let bench = Bench::new();
    let output = bench.run_expecting(
        ALL_WELL,
        "run threen1 --engine lmdb,sqlite --durability process --set finish=20 --until 2% \
         --budget 1ms --full",
    );
    let folder = bench.run_folder();
    let (trials, end) = state(folder.path());
    let run: Vec<_> = trials.iter().map(|trial| &trial.spec.engine).collect();
    assert_eq!(run, ["lmdb", "sqlite"]);
    assert_eq!((end.stop_reason, end.complete), (Some(Budget), true));
    let (_, manifest) = RunFolder::open(folder.path()).unwrap();
    // A budget leaves as many as a plan may have.
    assert_eq!(manifest.trials.len(), 2_000);
    let until = manifest.until.unwrap();
    assert_eq!(until.half_width, Some(0.02));
    assert_eq!(until.budget_s, Some(0.001));
    assert_contains(&stderr(&output), &[&format!("repeats ended: {SPENT}")]);
    assert_contains(&stdout(&output), &[&format!("run up to 1 time: {SPENT}")]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn without_a_budget_thirty_repeats_are_the_most_and_the_help_says_so() {
    let bench = Bench::new();
    bench.run("run threen1 --engine null --durability none --set finish=20 --until 2%");
    let (_, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert_eq!(manifest.trials.len(), 30);
    let help = unwrapped(&bench.stdout_of("run --help"));
    let cap = "--repeat is then the maximum [default: 30, or 1000 with --budget]";
    assert_contains(&help, &[cap]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_of_many_cells_has_no_more_repeats_than_trials_fit_in_it() {
    let bench = Bench::new();
    let output = bench.run(
        "run threen1 --engine null --durability none --set finish=20 --budget 1ms \
         --workers 1,2,3,4,5,6,7,8,9,10,11",
    );
    let (_, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert_eq!(manifest.trials.len(), 11 * 909, "{output:?}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_ends_by_itself_where_its_trials_count_and_a_debug_builds_never_do() {
    let bench = Bench::new();
    let rule = "--set finish=30000 --until 60% --repeat 12";
    let output = bench.run(&format!(
        "run threen1 --engine null --durability none {rule}"
    ));
    let (trials, end) = state(bench.run_folder().path());
    if cfg!(debug_assertions) {
        assert_eq!((trials.len(), end.stop_reason), (12, None), "{output:?}");
        assert_contains(&stderr(&output), &["fewer than 3 valid repeats"]);
    } else {
        assert_eq!(end.stop_reason, Some(Narrow), "{output:?}");
        assert!((3..12).contains(&trials.len()), "{}", trials.len());
    }
}

/// The durations of a plan's trials on lmdb, as `plan check` prints them.
fn durations(plan: &str) -> Vec<Option<f64>> {
    let check = format!("plan check {plan} --engine lmdb --durability process --json");
    let matrix = Bench::new().json_of(&check);
    let trials = matrix["trials"].as_array().unwrap().iter();
    let durations = trials.map(|trial| trial["conditions"]["duration_s"].as_f64());
    durations.collect()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_trial_that_would_have_no_end_is_given_ten_seconds() {
    for (plan, expected) in [
        ("micro --set test=read-while-writing", &[Some(10.0)][..]),
        ("micro --set test=read-random --rate 1000", &[Some(10.0)]),
        ("ycsb --rate 1000", &[Some(10.0)]),
        ("tpcc --rate 10", &[Some(10.0)]),
        ("threen1", &[Some(10.0)]),
        ("threen1 --set finish=0,1000", &[Some(10.0), None]),
        // Without a rate, too: equal work would measure the fastest engine for the shortest time.
        ("ycsb --rate 0,1000", &[Some(10.0), Some(10.0)]),
        ("micro --set test=read-random", &[Some(10.0)]),
        ("custom", &[Some(10.0)]),
        ("mixgraph", &[Some(10.0)]),
        ("tpcc", &[Some(10.0)]),
        ("pgbench", &[Some(10.0)]),
        ("sysbench", &[Some(10.0)]),
        // The controls: what has an end, or was given a duration, is left as it is.
        ("micro --set test=fill-random --rate 1000", &[None]),
        ("micro --set test=delete-random", &[None]),
        ("micro --set test=read-random --set operations=500", &[None]),
        ("ycsb --set operationcount=500", &[None]),
        ("ycsb --rate 1000 --set operationcount=500", &[None]),
        ("tpcc --set transactions=500", &[None]),
        ("mixgraph --set mix_accesses=500", &[None]),
        ("pgbench --set transactions=500", &[None]),
        ("sysbench --set events=500", &[None]),
        ("threen1 --rate 1000 --set finish=1000", &[None]),
        ("threen1 --set finish=1000", &[None]),
        ("ycsb --rate 1000 --duration 3", &[Some(3.0)]),
        // Of the steps of a benchmark those that end by themselves take no duration.
        (
            "insert-benchmark --set step=l.i0,l.i1,qr100",
            &[None, None, Some(10.0)],
        ),
        (
            "insert-benchmark --set step=l.x,l.i2,qp100 --duration 3",
            &[None, None, Some(3.0)],
        ),
        (
            "insert-benchmark --set step=l.i2 --set insert_rows=0 --duration 3",
            &[Some(3.0)],
        ),
    ] {
        assert_eq!(durations(plan), expected, "{plan}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_plan_is_shown_with_its_time_from_durations_and_earlier_runs() {
    let bench = Bench::new();
    let last = |plan: &str| {
        let check = format!("plan check {plan} --engine lmdb --durability process");
        bench.stdout_of(&check).lines().last().unwrap().to_owned()
    };
    let reads = last("micro --duration 30 --workers 1,2 --repeat 3");
    assert!(reads.ends_with("at least 3 min for 6 trials"), "{reads}");
    let short = "threen1 --set finish=200 --workers 1 --repeat 2";
    let before = last(short);
    let unknown = "time unknown for 2 trials: known after the first repeat";
    assert!(before.ends_with(unknown), "{before}");
    let run = format!("run {short} --engine lmdb --durability process");
    bench.run_expecting(ALL_WELL, &run);
    let line = last(short);
    assert!(
        line.starts_with("about ") && line.ends_with(" s for 2 trials"),
        "{line}"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_long_run_says_its_time_before_it_begins() {
    let bench = Bench::new();
    let options = "--engine lmdb --durability process --set records=100 --duration 40";
    for line in [
        format!("run micro {options} --workers 1,2"),
        format!("ledger micro {options} --workers 1 --repeat 1 --step map_size=3GiB"),
    ] {
        let mut command = bench.command(&line);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let before = lines
            .map(Result::unwrap)
            .take_while(|line| !line.contains("trial 1 of 2"));
        let before = before.collect::<Vec<_>>().join("\n");
        support::signal(child.id().cast_signed(), Signal::SIGINT);
        child.wait().unwrap();
        assert_contains(&before, &["at least 80 s for 2 trials"]);
    }
}
