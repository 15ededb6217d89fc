//! Runs that go on until their rankings are decided, at the command line.

use crate::support::{Bench, assert_contains, copies, stderr, stdout, unwrapped};
use std::path::Path;
use trueput_record::RunFolder;
use trueput_record::search::{DecisionSettings, SearchEnd, SearchSettings};

const LINE: &str = "run threen1 --engine lmdb,sqlite --durability process --set finish=20";

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_goes_on_until_it_is_decided_from_the_repeats_that_it_has() {
    let bench = Bench::new();
    let made = copies::made(&bench);
    // One rate is twice the other: the first four repeats decide, and none is to be run.
    let run = copies::at_factor(&bench, &made, "clear", 1.0);
    let output = bench.run(&format!("run --resume {run} --decide --within 1m"));
    let said = unwrapped(&stdout(&output));
    assert_contains(&said, &["lmdb leads sqlite by", "(4 repeats, "]);
    assert!(!said.contains("--decide"), "{said}");
    let (folder, manifest) = RunFolder::open(Path::new(&run)).unwrap();
    assert_eq!(
        manifest.search,
        Some(SearchSettings::Decision(DecisionSettings {
            equal_within: 0.05,
            max_repeats: 60,
            early_look: Some(3),
            budget_s: Some(60.0),
        }))
    );
    assert_eq!(folder.trials().unwrap().trials.len(), 10);
    let end = folder.end().unwrap().unwrap();
    assert_eq!(
        (end.search_end, end.complete),
        (Some(SearchEnd::NothingLeft), true)
    );
    // It keeps its rule: the verdicts depend on it.
    let other = bench.run_expecting(2, &format!("run --resume {run} --decide=10%"));
    assert_contains(&stderr(&other), &["this run decides within 5 %"]);
    // Its repeats end when it is decided, or its time is up.
    for option in ["--until 2%", "--budget 1m"] {
        let other = bench.run_expecting(2, &format!("run --resume {run} {option}"));
        assert_contains(&stderr(&other), &["give it time by --within"]);
    }
    let json = bench.json_of(&format!("report {run} --format json"));
    assert_eq!(json["rankings"][0]["decision"]["is_decided"], true);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_run_of_a_number_of_repeats_that_shows_nothing_suggests_to_decide() {
    let bench = Bench::new();
    let made = copies::made(&bench);
    let run = copies::copied(&bench, &made, "alike", |trial| {
        // Each is ahead in turns.
        let place = trial.spec.cell + trial.spec.repeat;
        copies::set_every_rate(
            trial,
            if place.is_multiple_of(2) {
                1_000.0
            } else {
                1_300.0
            },
        );
    });
    let said = unwrapped(&bench.stdout_of(&format!("report {run}")));
    assert_contains(&said, &["To distinguish them", "--decide"]);
    assert!(!said.contains("--until"), "{said}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn the_whole_report_of_an_unfinished_run_says_how_to_go_on_by_the_name_of_the_program() {
    let bench = Bench::new();
    let made = copies::made(&bench);
    let run = copies::at_factor(&bench, &made, "unfinished", 1.0);
    std::fs::remove_file(Path::new(&run).join("end.json")).unwrap();
    let program = bench.command("report").get_program().to_owned();
    let command = format!(
        "To continue it: {} run --resume {run}",
        program.to_str().unwrap()
    );
    let said = unwrapped(&bench.stdout_of(&format!("report {run} --full")));
    assert_contains(&said, &[&command]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_decision_needs_time_for_a_repeat_and_rates_to_compare() {
    let bench = Bench::new();
    for (options, said) in [
        ("--decide --within 1ms", "is shorter than one repeat"),
        ("--within 1m", "--within needs --decide"),
        ("--decide --within 0s", "the budget must be above 0"),
        ("--decide --within soon", "'soon'"),
        ("--within 1m --budget 1m", "cannot be used with"),
        ("--decide=0.1%", "from 0.5% to 50%"),
        ("--decide=5", "write 5% or 0.05"),
        ("--decide=51%", "from 0.5% to 50%"),
        ("--decide=much", "'much' is no difference to decide by"),
        ("--decide --repeat 3", "cannot be used with"),
        (
            "--decide --rate 100 --duration 1",
            "--decide compares rates, and the rate of",
        ),
    ] {
        let output = bench.run_expecting(2, &format!("{LINE} {options}"));
        assert_contains(&stderr(&output), &[said]);
    }
    let alone = "run threen1 --engine lmdb --durability process --decide";
    let output = bench.run_expecting(2, alone);
    assert_contains(
        &stderr(&output),
        &["there is only one: name another engine"],
    );
    // The plan decides, and the option gives a rate.
    let output = bench.run_expecting(2, "run first-look --rate 100");
    assert_contains(&stderr(&output), &["count repeats, as in --repeat 5"]);
    assert!(
        !bench.path().join("results").exists(),
        "nothing is left behind"
    );
}

#[test]
#[ignore = "slow: make test runs it"]
fn contenders_whose_trials_do_not_count_end_a_decision() {
    let bench = Bench::new();
    let output = bench.run(&format!("{LINE} --decide"));
    let (folder, manifest) = RunFolder::open(bench.run_folder().path()).unwrap();
    assert!(manifest.decision().is_some());
    let trials = folder.trials().unwrap().trials;
    if cfg!(debug_assertions) {
        // Trials of a debug build are invalid.
        assert_eq!(trials.len(), 4, "{output:?}");
    } else {
        assert!(trials.len() >= 8, "{output:?}");
    }
    let planned = manifest.trials.len();
    assert_eq!(planned, trials.len());
}
