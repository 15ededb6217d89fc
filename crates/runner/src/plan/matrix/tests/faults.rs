//! Faults of storage as a dimension of a plan. A machine without FUSE skips them, as it does with
//! file systems that it cannot have.

use super::*;
use crate::plan::storage_models::check_available;

/// `none` is no fault.
fn with(engines: &[&str], faults: &[&str]) -> PlanFile {
    let mut plan = plan(engines);
    plan.conditions.fault = faults.iter().map(|text| text.parse().ok()).collect();
    plan.workers = vec![1];
    plan
}

/// Why this machine cannot have a fault; `None` if it can.
fn obstacle() -> Option<String> {
    let conditions = Conditions {
        fault: "fsync:eio@3".parse().ok(),
        ..Conditions::default()
    };
    let obstacle = check_available(&conditions).err();
    obstacle.map(|obstacle| obstacle.to_string())
}

#[test]
fn a_plan_expands_a_dimension_of_faults() {
    let matrix = expanded(&with(
        &["shared"],
        &["none", "any:stall=2s@1s", "fsync:eio@3"],
    ));
    let trials = matrix.trials.iter();
    let found: Vec<_> = trials
        .map(|spec| spec.conditions.fault.map(|fault| fault.to_string()))
        .collect();
    let named = |fault: &str| Some(fault.to_owned());
    match obstacle() {
        None => {
            assert_eq!(
                found,
                [None, named("any:stall=2s@1s"), named("fsync:eio@3")]
            );
            let id = &matrix.trials[1].id;
            assert!(id.contains("fault_any_stall_2s_1s"), "{id}");
        }
        Some(obstacle) => {
            assert_eq!(found, [None]);
            assert!(
                obstacle.starts_with("a fault of storage needs"),
                "{obstacle}"
            );
            assert_eq!(sentences(&matrix), [obstacle]);
        }
    }
}

#[test]
fn contenders_with_a_fault_do_not_take_turns() {
    let slices = |fault: &str| {
        let mut plan = with(&["shared", "single"], &[fault]);
        plan.durability = vec![Sync];
        let chosen = expand(&plan, &registry()).map(|matrix| matrix.trials);
        let chosen = chosen.unwrap_or_default().into_iter();
        chosen
            .map(|spec| spec.conditions.time_slice_s)
            .collect::<Vec<_>>()
    };
    assert_eq!(slices("none"), [Some(0.1); 2]);
    if obstacle().is_none() {
        assert_eq!(slices("any:stall=2s@1s"), [None; 2]);
    }
}
