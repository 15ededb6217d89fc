//! The library of an engine is replaced while it is measured, as by a build in another terminal.

use crate::support::{
    ALL_WELL, Bench, assert_contains, ended_well, expect_code, stderr, stdout, wait_for_work,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use trueput_record::{Outcome, TrialRecord};

/// The plug-in of the template in C, and another build of it that measures as well.
struct TwoBuilds {
    bench: Bench,
    other: PathBuf,
}

impl TwoBuilds {
    fn new() -> Self {
        let bench = Bench::new();
        bench.run_expecting(0, "engines new mine --language c");
        let folder = bench.path().join("mine");
        let source = folder.join("engine.c");
        let text = std::fs::read_to_string(&source).unwrap();
        // The form of the tree in memory depends on this number alone.
        let (number, another) = ("2654435761u", "2654435769u");
        assert_eq!(text.matches(number).count(), 1);
        let other = bench.path().join("other.so");
        let builds = [(text.replace(number, another), Some(&other)), (text, None)];
        for (code, moved_to) in builds {
            std::fs::write(&source, code).unwrap();
            let mut make = Command::new("make");
            make.args(["--always-make", "CFLAGS=-O1"]);
            make.current_dir(&folder).env_remove("MAKEFLAGS");
            expect_code(0, make.output().unwrap());
            if let Some(path) = moved_to {
                std::fs::rename(folder.join("libmine.so"), path).unwrap();
            }
        }
        Self { bench, other }
    }

    /// Replaces the library, as an installer does: the old file is there as long as it is open.
    fn replace(&self) {
        let library = self.bench.path().join("mine/libmine.so");
        std::fs::rename(&self.other, library).unwrap();
    }

    fn begin(&self, options: &str) -> Child {
        let work = self.bench.path().join("work");
        let line = format!(
            "run micro --engine ./mine/libmine.so --durability process --set test=overwrite \
             --set records=200 --work {} {options}",
            work.display()
        );
        self.bench.spawn_with(&line, "")
    }

    /// The number of trials that have ended.
    fn ended(&self) -> usize {
        let runs = std::fs::read_dir(self.bench.path().join("results"));
        let texts = runs.into_iter().flatten().flatten();
        let texts = texts.map(|run| std::fs::read_to_string(run.path().join("trials.jsonl")));
        texts.flatten().map(|text| text.lines().count()).sum()
    }
}

#[track_caller]
fn assert_replaced(trial: &TrialRecord) {
    let Outcome::Failed { reason, .. } = &trial.outcome else {
        panic!("{}: {:?}", trial.spec.id, trial.outcome);
    };
    let said = "mine/libmine.so was replaced since the run first used it: ";
    assert_contains(reason, &[said, "start a new run"]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_library_that_is_replaced_between_repeats_fails_those_that_follow() {
    let two = TwoBuilds::new();
    let mut child = two.begin("--repeat 6 --duration 1");
    let give_up = Instant::now() + Duration::from_secs(120);
    while two.ended() == 0 {
        assert!(Instant::now() < give_up, "no trial has ended");
        assert_eq!(child.try_wait().unwrap(), None, "the program ended early");
        std::thread::sleep(Duration::from_millis(20));
    }
    two.replace();
    let output = expect_code(1, child.wait_with_output().unwrap());
    let trials = two.bench.trials();
    let said = format!("{}{}", stderr(&output), stdout(&output));
    assert!(ended_well(&trials[0]), "{said}");
    assert_eq!(trials.len(), 6, "{said}");
    let first = trials.iter().position(|trial| !ended_well(trial));
    trials[first.unwrap()..].iter().for_each(assert_replaced);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_library_that_is_replaced_before_a_run_is_resumed_fails_what_is_left() {
    let two = TwoBuilds::new();
    let child = two.begin("--repeat 2 --duration 1");
    expect_code(ALL_WELL, child.wait_with_output().unwrap());
    let folder = two.bench.run_path();
    // As if the second repeat had not been run.
    let trials = Path::new(&folder).join("trials.jsonl");
    let text = std::fs::read_to_string(&trials).unwrap();
    let first = text.lines().next().unwrap();
    std::fs::write(&trials, format!("{first}\n")).unwrap();
    two.replace();
    let resume = format!("run --resume {folder} --trust-plan");
    two.bench.run_expecting(1, &resume);
    let trials = two.bench.trials();
    assert_eq!(trials.len(), 2);
    assert_replaced(&trials[1]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_library_that_is_replaced_during_a_trial_fails_it() {
    let two = TwoBuilds::new();
    let mut child = two.begin("--duration 5");
    wait_for_work(&mut child, &two.bench.path().join("work"), 1 << 20, 1);
    two.replace();
    expect_code(1, child.wait_with_output().unwrap());
    let trials = two.bench.trials();
    assert_eq!(trials.len(), 1);
    assert_replaced(&trials[0]);
}
