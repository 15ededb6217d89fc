//! Trials with faults of their storage: another fault is other work.

use crate::support::{contenders, rank, run_of};
use trueput_findings::answer::Answer;
use trueput_findings::compare::{LimitProbe, Selector, Side, compare_sides};
use trueput_findings::trial_names::TrialNames;
use trueput_record::testing::comparison::limit_flushes;
use trueput_record::testing::{spec, valid};
use trueput_record::{Durability, TrialRecord};

const STALL: &str = "any:stall=2s@1s";
const ERROR: &str = "write:eio@1000";

/// A trial with a fault, or without one.
fn with(cell: u32, engine: &str, fault: &str, per_s: f64) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, 1);
    spec.conditions.fault = fault.parse().ok();
    valid(spec, per_s)
}

/// Two engines without a fault and with two. The first is without in the plan.
fn all() -> Vec<TrialRecord> {
    vec![
        with(0, "lmdb", "none", 9_000.0),
        with(1, "redb", "none", 8_000.0),
        with(2, "lmdb", STALL, 1_100.0),
        with(3, "redb", STALL, 1_300.0),
        with(4, "lmdb", ERROR, 60.0),
        with(5, "redb", ERROR, 110.0),
    ]
}

#[test]
fn trials_with_a_fault_share_no_ranking_with_those_without_or_with_another() {
    let rankings = rank(&all());
    let headings: Vec<_> = rankings
        .iter()
        .map(|ranking| ranking.storage_models.as_ref().map(ToString::to_string))
        .collect();
    let named = |fault: &str| Some(format!("with fault {fault}"));
    assert_eq!(headings, [None, named(STALL), named(ERROR)]);
    assert_eq!(contenders(&rankings[0]), ["lmdb", "redb"]);
    assert_eq!(contenders(&rankings[1]), ["redb", "lmdb"]);
    // The control: with one fault both are in one ranking, whose heading alone names it.
    let together = vec![with(0, "lmdb", STALL, 100.0), with(1, "redb", STALL, 110.0)];
    assert_eq!(rank(&together).len(), 1);
    let answer = Answer::of(&run_of(together));
    let subject = &answer.rankings[0].subject;
    let named = subject.storage_models.as_ref().unwrap();
    assert_eq!(named.fault.as_deref(), Some(STALL));
    let is_fault = |(name, _): &(String, String)| name == "fault";
    assert!(!answer.common.iter().any(is_fault));
}

#[test]
fn the_names_of_trials_with_faults_tell_them_apart() {
    let run = run_of(all());
    let names = TrialNames::of(&run);
    assert_eq!(names.cell(&run.trials[0]), "lmdb, sync, 4 workers");
    let expected = "lmdb, sync, 4 workers, with fault any:stall=2s@1s";
    assert_eq!(names.cell(&run.trials[2]), expected);
}

#[test]
fn runs_with_two_faults_are_not_compared_unless_a_selector_names_them() {
    let side = |label: &str, words: &str, fault: &str| {
        let mut run = run_of(vec![with(0, "lmdb", fault, 100.0)]);
        run.shown_as = label.into();
        Side::new(label, run, Selector::parse(words).unwrap()).unwrap()
    };
    let compared = |words: [&str; 2], faults: [&str; 2]| {
        let first = side("a", words[0], faults[0]);
        let second = side("b", words[1], faults[1]);
        compare_sides(&first, &[second]).map_err(|error| error.to_string())
    };
    assert!(compared(["lmdb"; 2], [STALL; 2]).is_ok());
    let refused = compared(["lmdb"; 2], ["none", STALL]).unwrap_err();
    assert!(refused.contains("fault"), "{refused}");
    let named = ["fault=none", "fault=any:stall=2s@1s"];
    assert!(compared(named, ["none", STALL]).is_ok());
}

#[test]
fn hardware_limits_with_a_fault_are_compared_with_no_others() {
    let side = |label: &str, faults: &[&str]| {
        let trials = (0..).zip(faults).map(|(cell, fault)| {
            let mut trial = with(cell, "lmdb", fault, 100.0);
            let per_s = if *fault == "none" { 9_000.0 } else { 60.0 };
            limit_flushes(std::slice::from_mut(&mut trial), per_s);
            trial
        });
        let mut run = run_of(trials.collect());
        run.shown_as = label.into();
        Side::new(label, run, Selector::default()).unwrap()
    };
    let found = compare_sides(&side("a", &[STALL, "none"]), &[side("b", &[STALL])]).unwrap();
    let mut limits = found[0].limits.iter();
    let flush = limits.find(|limit| limit.probe == LimitProbe::Flush);
    let flush = flush.map(|limit| (limit.first_per_s, limit.second_per_s));
    assert_eq!(flush, Some((60.0, 60.0)));
}
