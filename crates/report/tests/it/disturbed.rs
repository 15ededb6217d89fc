//! A report names the disturbances of its run, on the processors that the trials could use.

use crate::support::{flat, report, spec, terminal_line, valid};
use trueput_findings::answer::Answer;
use trueput_record::accounting::OtherPrograms;
use trueput_record::placement::Placement;
use trueput_record::{Durability, TrialRecord};
use trueput_report::answer::{AnswerText, Layout};

/// One trial on a machine of two processors, of which neighbors used these shares of one.
fn beside(others: f64, steal: f64, kernel: Option<f64>, cpus: &str) -> TrialRecord {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0);
    let measured = trial.measurement.as_mut().unwrap();
    let elapsed_s = measured.elapsed_s;
    measured.neighbors = Some(OtherPrograms {
        cpu_s: others * elapsed_s,
        kernel_s: kernel,
        steal_s: steal * elapsed_s,
    });
    measured.placement = Some(Placement {
        cpus: cpus.to_owned(),
        ..Placement::default()
    });
    trial
}

fn told(trial: TrialRecord) -> String {
    terminal_line(&report(vec![trial]))
}

#[test]
fn what_the_hypervisor_withheld_is_told_of_a_single_repeat() {
    let stolen = told(beside(0.0, 1.0, Some(0.0), "0-1"));
    let sentence = "Busy machine: the hypervisor took 50 % of the processors (steal).";
    assert!(stolen.contains(sentence), "{stolen}");
    let quiet = told(beside(0.01, 0.01, Some(0.0), "0-1"));
    assert!(!quiet.contains("Busy machine"), "{quiet}");
}

#[test]
fn a_trial_shorter_than_the_kernel_counts_says_nothing_and_nothing_exceeds_the_whole() {
    let mut short = beside(9.0, 0.0, Some(0.0), "0-1");
    short.measurement.as_mut().unwrap().elapsed_s = 0.03;
    assert!(!told(short).contains("other programs used"));
    let more = told(beside(2.3, 0.0, Some(0.0), "0-1"));
    assert_has!(more, "other programs used 100 % of the");
}

#[test]
fn shares_are_of_the_processors_that_the_trial_could_use() {
    let pinned = told(beside(0.5, 0.0, Some(0.0), "1"));
    assert_has!(pinned, "other programs used 50 % of the");
    let free = told(beside(0.5, 0.0, Some(0.0), "0-1"));
    assert_has!(free, "other programs used 25 % of the");
}

#[test]
fn the_kernel_is_named_where_the_record_does_not_tell_it_apart() {
    let together = told(beside(0.5, 0.0, None, "0-1"));
    let sentence = "other programs or the kernel used 25 % of the processors";
    assert!(together.contains(sentence), "{together}");
}

#[test]
fn the_first_screen_tells_all_that_disturbed_the_run() {
    let trial = beside(0.5, 1.0, Some(0.0), "0-1");
    let answer = Answer::of(&report(vec![trial])).render(Layout::default(), &[]);
    let text = flat(&answer);
    assert!(text.contains("(steal)"), "{answer}");
    assert!(
        text.contains("other programs used 25 % of the processors"),
        "{answer}"
    );
    assert!(
        answer.lines().all(|line| line.chars().count() <= 80),
        "{answer}"
    );
}
