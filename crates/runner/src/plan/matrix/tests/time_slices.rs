//! Contenders that share time slices.

use super::*;

fn time_sliced(engines: &[&str]) -> PlanFile {
    let mut plan = plan(engines);
    plan.conditions.time_slice_s = Some(0.01);
    plan
}

#[test]
fn turns_need_two_trials_that_differ_in_their_contender_alone() {
    let refusal = refused(&time_sliced(&["shared"]));
    assert!(
        refusal.contains("a time slice needs two trials"),
        "{refusal}"
    );
    let mut several = time_sliced(&["shared"]);
    several.workers = vec![1, 2];
    assert!(refused(&several).contains("a time slice needs two trials"));
    assert_eq!(
        expanded(&time_sliced(&["shared", "single"])).trials.len(),
        2
    );
    let mut knobs = time_sliced(&["shared"]);
    let sizes = vec![Value::from("1GiB"), Value::from("2GiB")];
    let sizes = Dimensions::from([("map_size".into(), sizes)]);
    knobs.knobs.insert("shared".into(), sizes);
    assert_eq!(expanded(&knobs).trials.len(), 2);
}

#[test]
fn one_without_another_contender_runs_by_itself() {
    let mut plan = time_sliced(&["null", "shared", "single"]);
    plan.durability = vec![Sync];
    let trials = expanded(&plan).trials;
    let slices: Vec<_> = trials
        .iter()
        .map(|spec| spec.conditions.time_slice_s)
        .collect();
    assert_eq!(slices, [None, Some(0.01), Some(0.01)]);
}

#[test]
fn those_who_are_killed_at_their_end_take_no_turns() {
    let mut plan = time_sliced(&["shared", "single"]);
    plan.conditions.crash_and_recover = true;
    let refusal = refused(&plan);
    assert!(refusal.contains("crash_and_recover"), "{refusal}");
}
