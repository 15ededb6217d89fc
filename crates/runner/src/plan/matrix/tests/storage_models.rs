//! Storage models as a dimension of a plan. A machine that cannot have any skips them, as it does
//! with file systems.

use super::*;
use crate::plan::storage_models::check_available;
use trueput_record::plan::PlanStep;

fn on(engines: &[&str], models: &[&str]) -> PlanFile {
    let mut plan = plan(engines);
    let model = |text: &&str| (*text != "none").then(|| (*text).to_owned());
    plan.conditions.storage_model = models.iter().map(model).collect();
    plan.workers = vec![1];
    plan
}

/// Why this machine cannot have a storage model; `None` if it can.
fn obstacle() -> Option<String> {
    let conditions = Conditions {
        storage_model: Some("hdd-7200".to_owned()),
        ..Conditions::default()
    };
    let obstacle = check_available(&conditions).err();
    obstacle.map(|obstacle| obstacle.to_string())
}

#[test]
fn a_plan_expands_a_dimension_of_storage_models() {
    let matrix = expanded(&on(&["shared"], &["none", "hdd-7200", "nvme-consumer"]));
    let trials = matrix.trials.iter();
    let found: Vec<_> = trials
        .map(|spec| spec.conditions.storage_model.as_deref())
        .collect();
    match obstacle() {
        None => assert_eq!(found, [None, Some("hdd-7200"), Some("nvme-consumer")]),
        Some(obstacle) => {
            assert_eq!(found, [None]);
            assert_eq!(sentences(&matrix), [obstacle]);
        }
    }
}

#[test]
fn a_model_that_nobody_knows_is_refused_with_the_known_ones_whatever_the_machine() {
    let said = refused(&on(&["shared"], &["none", "hdd-720"]));
    for part in [
        "no storage model 'hdd-720'",
        "did you mean 'hdd-7200'",
        "sd-card",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains('\n'), "{said}");
    let mut step = PlanStep {
        name: "slower".to_owned(),
        ..PlanStep::default()
    };
    step.conditions.storage_model = vec![Some("hdd-720".to_owned())];
    let mut plan = plan(&["shared"]);
    plan.steps = vec![step];
    let said = refused(&plan);
    assert!(
        said.contains("step 'slower'") && said.contains("'hdd-7200'"),
        "{said}"
    );
}

#[test]
fn a_log_on_another_model_needs_an_engine_that_can_place_it() {
    let mut plan = plan(&["shared"]);
    plan.conditions.log_storage_model = vec![Some("nvme-consumer".to_owned())];
    let said = refused(&plan);
    match obstacle() {
        None => {
            let reason = "shared has no knob log_directory: its log is stored with its data";
            assert!(said.contains(reason), "{said}");
        }
        Some(obstacle) => assert!(said.contains(&obstacle), "{said}"),
    }
}

#[test]
fn contenders_on_a_storage_model_do_not_take_turns() {
    let slices = |model: &str| {
        let mut plan = on(&["shared", "single"], &[model]);
        plan.durability = vec![Sync];
        let chosen = expand(&plan, &registry()).map(|matrix| matrix.trials);
        let chosen = chosen.unwrap_or_default().into_iter();
        chosen
            .map(|spec| spec.conditions.time_slice_s)
            .collect::<Vec<_>>()
    };
    assert_eq!(slices("none"), [Some(0.1); 2]);
    if obstacle().is_none() {
        assert_eq!(slices("hdd-7200"), [None; 2]);
    }
}
