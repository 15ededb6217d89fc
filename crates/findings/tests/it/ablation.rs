//! The ablation of a run with steps: gains, intervals, and what was given up.

use crate::support::{run_of, texts};
use trueput_findings::Run;
use trueput_findings::ablation::{Ablation, SkippedStep, StepState, UncountedStep, ablations};
use trueput_findings::statistics::{Verdict, claim_level};
use trueput_record::ablation::{AblationKind, BASE};
use trueput_record::testing::ablation::{ablation, step_trials};
use trueput_record::testing::everything;
use trueput_record::{Durability, Outcome};

/// A base, a step that gains a third and costs durability, and one that gains nothing.
fn run() -> Run {
    let mut run = run_of(ablation());
    let said = ("lmdb.map_size".to_owned(), "address space".to_owned());
    run.manifest.costs.extend([said]);
    run
}

fn only(report: &Run) -> Ablation {
    let mut all = ablations(report);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_step_that_gains_is_told_from_one_that_does_not() {
    let ablation = only(&run());
    let [base, buffered, map] = ablation.rows.as_slice() else {
        panic!("{:?}", ablation.rows);
    };
    assert_eq!(
        (base.over_before.clone(), base.over_base.clone()),
        (None, None)
    );
    let gain = buffered.over_before.as_ref().unwrap();
    assert_eq!(gain.comparison.verdict, Verdict::Faster);
    assert!((gain.ratio - 4.0 / 3.0).abs() < 0.02, "{gain:?}");
    let none = map.over_before.as_ref().unwrap();
    assert_eq!(none.comparison.verdict, Verdict::NoDifference);
    let over_base = map.over_base.as_ref().unwrap();
    assert_eq!(over_base.comparison.verdict, Verdict::Faster);
}

/// A base and seven steps, each a little better than the one before it.
fn seven_steps(kind: AblationKind) -> Run {
    let mut all = Vec::new();
    for index in 0..=7 {
        let name = if index == 0 { BASE } else { "a step" };
        let rate = 3_000.0 + 100.0 * f64::from(index);
        all.extend(step_trials(index, name, Durability::Sync, rate));
    }
    for trial in &mut all {
        trial.spec.step.as_mut().unwrap().ablation = kind;
    }
    run_of(all)
}

#[test]
fn both_gains_of_a_step_are_among_those_that_are_read_together() {
    // With seven steps, the first has one gain and six have two.
    for (kind, together) in [
        (AblationKind::Cumulative, 13),
        (AblationKind::OneAtATime, 7),
    ] {
        let ablation = only(&seven_steps(kind));
        let gain = ablation.rows[7].over_base.as_ref().unwrap();
        let level = gain.comparison.ratio.unwrap().level;
        assert_eq!(level, claim_level(together), "{kind:?}");
    }
}

#[test]
fn a_step_after_one_that_does_not_count_is_held_against_the_last_that_does() {
    let mut report = run();
    let invalid = "a condition does not hold".to_owned();
    for trial in report
        .trials
        .iter_mut()
        .filter(|trial| trial.spec.cell == 1)
    {
        trial.outcome = Outcome::Invalid {
            reasons: vec![invalid.clone()],
        };
    }
    let ablation = only(&report);
    assert!(matches!(
        ablation.rows[1].state,
        StepState::Uncounted { .. }
    ));
    let after = &ablation.rows[2];
    assert_eq!(after.over_before, after.over_base);
    assert!(after.over_before.is_some());
    // Changes are listed against the step that the plan names as the base.
    assert_eq!(texts(&after.costs), ["map_size 2147483648: address space"]);
}

#[test]
fn the_cost_of_a_step_is_stated_from_the_level_and_from_the_knob() {
    let ablation = only(&run());
    let [buffered] = &texts(&ablation.rows[1].costs)[..] else {
        panic!("{:?}", ablation.rows[1].costs);
    };
    assert!(buffered.starts_with("durability buffered instead of sync: after killed processes"));
    assert_eq!(
        texts(&ablation.rows[2].costs),
        ["map_size 2147483648: address space"]
    );
    assert_eq!(
        texts(&ablation.rows[1].changes),
        ["durability sync to buffered"]
    );
}

#[test]
fn a_step_that_was_not_measured_says_why() {
    let mut report = run();
    for spec in &mut report.manifest.trials {
        if let (Some(step), true) = (&mut spec.step, spec.cell == 2) {
            (step.base, step.index) = (2, 2);
            spec.engine = "redb".to_owned();
        }
    }
    let reason = "it changes nothing, so it is not measured again";
    let line = format!("lmdb: step 'larger map': {reason}");
    report.manifest.skipped.push(line);
    let ablation = only(&report);
    assert_eq!(
        ablation.rows[2].state,
        StepState::NotTaken {
            reason: SkippedStep::WithoutEffect
        }
    );
    report.trials.retain(|trial| trial.spec.cell != 1);
    let ablation = only(&report);
    let unrun = StepState::Uncounted {
        reason: UncountedStep::NotRun,
    };
    assert_eq!(ablation.rows[1].state, unrun);
}

#[test]
fn a_run_without_steps_has_no_ablation() {
    assert!(ablations(&run_of(everything())).is_empty());
}
