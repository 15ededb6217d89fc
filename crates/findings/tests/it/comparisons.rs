//! Comparisons of two runs.

use crate::support::run_of;
use trueput_findings::compare::{
    CellResult, LimitProbe, Selector, Side, SideComparison, compare_sides,
};
use trueput_findings::marks::MarkKind;
use trueput_findings::statistics::{InconclusiveReason, Verdict};
use trueput_record::testing::comparison::{EVEN, WILD, cells, limit_flushes, one_library};
use trueput_record::{Durability, TrialRecord};

/// Two runs of these trials, the first over the second.
fn compared(first: Vec<TrialRecord>, second: Vec<TrialRecord>) -> SideComparison {
    let side = |label: &str, trials| {
        let mut run = run_of(trials);
        run.shown_as = label.into();
        Side::new(label, run, Selector::default()).unwrap()
    };
    compare_sides(&side("a", first), &[side("b", second)])
        .unwrap()
        .remove(0)
}

/// The result of one cell, whose second run has the rates of the first times a factor.
fn at_factor(rates: [f64; 3], factor: f64) -> CellResult {
    let of = |factor| cells(&[Durability::Sync], rates, factor);
    compared(of(1.0), of(factor)).results.remove(0)
}

#[test]
fn nothing_is_claimed_of_noise_of_few_repeats_and_of_equals() {
    // An interval without bounds is one of too few repeats, whatever the difference.
    for (rates, factor, reason, can_be_shown) in [
        (WILD, 0.95, InconclusiveReason::TooFewRepeats, false),
        (WILD, 0.05, InconclusiveReason::TooFewRepeats, true),
        (EVEN, 1.005, InconclusiveReason::Same, false),
    ] {
        let found = at_factor(rates, factor);
        assert_eq!(found.inconclusive, Some(reason));
        assert_eq!(found.comparison.verdict, Verdict::NoDifference);
        let loss = found.seems_slower_by().unwrap();
        assert!((loss - (1.0 - factor)).abs() < 1e-9, "{loss}");
        assert_eq!(found.repeats_needed.is_some(), can_be_shown);
    }
    // Noise: not even a difference of 100x would be detected.
    let smallest = at_factor(WILD, 0.95).comparison.smallest_ratio;
    assert!(smallest.is_none_or(|ratio| ratio > 100.0), "{smallest:?}");
}

#[test]
fn only_the_same_library_with_the_same_knobs_is_said_to_be_one() {
    let library = |digit: &str| {
        let mut trials = one_library();
        for trial in &mut trials {
            trial.engine.as_mut().unwrap().sha256 = digit.repeat(64);
        }
        trials
    };
    let mut other_knob = library("a");
    for trial in &mut other_knob {
        trial.spec.knobs.insert("block_size".into(), 1_i64.into());
    }
    let is_one = |first, second| compared(first, second).results[0].same_library;
    assert!(is_one(library("a"), library("a")));
    assert!(!is_one(library("a"), library("b")));
    assert!(!is_one(library("a"), other_knob));
    assert!(!is_one(library(""), library("")), "it is not known");
}

#[test]
fn a_limit_of_the_hardware_that_moved_by_a_fifth_is_notable() {
    let rise = |second_per_s: f64| {
        let flushing = |per_s| {
            let mut trials = one_library();
            limit_flushes(&mut trials, per_s);
            trials
        };
        let found = compared(flushing(1_000.0), flushing(second_per_s));
        let mut limits = found.limits.iter();
        let flush = limits.find(|limit| limit.probe == LimitProbe::Flush);
        flush.unwrap().notable_rise()
    };
    assert_eq!(rise(120.0), Some(-0.88));
    assert_eq!(rise(900.0), None);
}

#[test]
fn two_builds_with_assertions_are_compared() {
    let with_assertions = || {
        let mut trials = one_library();
        for trial in &mut trials {
            trial.engine.as_mut().unwrap().assertions = Some(true);
        }
        trials
    };
    let found = compared(with_assertions(), with_assertions());
    assert_eq!(found.incomparable.len(), 0);
    let result = &found.results[0];
    for marks in [&result.first_marks, &result.second_marks] {
        assert_eq!(marks[0].kind, MarkKind::Assertions);
    }
}
