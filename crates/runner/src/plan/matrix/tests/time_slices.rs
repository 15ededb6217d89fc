//! Contenders that share time slices.

use super::*;
use trueput_record::conditions::{Start, TimeSlice};

fn time_sliced(engines: &[&str]) -> PlanFile {
    let mut plan = plan(engines);
    plan.conditions.time_slice = TimeSlice::Length(0.01);
    plan
}

#[test]
fn time_slices_need_two_trials_that_differ_in_their_contender_alone() {
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

/// The time slices that the expansion chooses for a plan that leaves it the choice.
fn chosen(change: impl Fn(&mut PlanFile)) -> Vec<Option<f64>> {
    let mut plan = plan(&["shared"]);
    plan.workers = vec![1];
    let sizes = vec![Value::from("1GiB"), Value::from("2GiB")];
    let sizes = Dimensions::from([("map_size".into(), sizes)]);
    plan.knobs.insert("shared".into(), sizes);
    change(&mut plan);
    let trials = expanded(&plan).trials;
    trials.iter().map(|it| it.conditions.time_slice_s).collect()
}

#[test]
fn contenders_share_time_slices_where_nothing_is_against_it() {
    let of_level = |level| chosen(|plan| plan.durability = vec![level]);
    assert_eq!(of_level(Process), [Some(0.05); 2]);
    assert_eq!(of_level(Sync), [Some(0.1); 2], "a flush takes its time");
    let several = chosen(|plan| (plan.durability, plan.workers) = (vec![Process], vec![1, 4]));
    let lengths = [0.05, 0.2, 0.05, 0.2].map(Some);
    assert_eq!(several, lengths, "workers wait for each other");
    let off = chosen(|plan| plan.conditions.time_slice = TimeSlice::None);
    assert_eq!(off, [None; 2]);
    let cold = chosen(|plan| plan.conditions.start = vec![Start::Cold]);
    assert_eq!(cold, [None; 2]);
    let crashed = chosen(|plan| plan.conditions.crash_and_recover = true);
    assert_eq!(crashed, [None; 2]);
    let alone = chosen(|plan| plan.knobs.clear());
    assert_eq!(alone, [None]);
}

#[test]
fn a_server_has_longer_slices_unless_the_plan_gives_a_length() {
    let of = |slices| {
        let mut plan = plan(&["shared", "server"]);
        (plan.durability, plan.workers) = (vec![Process], vec![1]);
        plan.conditions.time_slice = slices;
        let trials = expanded(&plan).trials;
        let length_s = |it: &TrialSpec| it.conditions.time_slice_s;
        trials.iter().map(length_s).collect::<Vec<_>>()
    };
    assert_eq!(of(TimeSlice::Auto), [Some(0.05), Some(1.0)]);
    assert_eq!(of(TimeSlice::Length(0.02)), [Some(0.02); 2]);
}

#[test]
fn those_who_are_killed_at_their_end_share_no_time_slices() {
    let mut plan = time_sliced(&["shared", "single"]);
    plan.conditions.crash_and_recover = true;
    let refusal = refused(&plan);
    assert!(refusal.contains("crash_and_recover"), "{refusal}");
}
