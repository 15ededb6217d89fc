//! The subjects of an audit, from a plan and the command line.

use super::Arguments;
use crate::built_in_plans::plan_or_workload;
use crate::failure::Failure;
use crate::plan_overrides::{apply_knobs, without_repetition};
use crate::trust::UntrustedInputs;
use std::collections::BTreeMap;
use trueput_audit::Subject;
use trueput_engine::credentials;
use trueput_record::TrialSpec;
use trueput_record::plan::{Contender, UnsupportedPolicy};
use trueput_record::skipped::SkippedPart;
use trueput_record::value::Settings;
use trueput_runner::{Registry, matrix};

/// Returns what is audited, and what is not, with the reason.
///
/// # Errors
/// A usage error for an invalid plan, engine, level or knob.
pub fn subjects(
    arguments: &Arguments,
    registry: &Registry,
) -> Result<(Vec<Subject>, BTreeMap<String, String>), Failure> {
    let mut plan = plan_or_workload(&arguments.plan, registry)?;
    if !arguments.engine.is_empty() {
        let names = arguments.engine.iter();
        let names = names.flat_map(|names| credentials::split_list(names));
        plan.engines = names.map(Contender::parse).collect();
        plan.origin.forget("engines");
    }
    if arguments.engine.is_empty() {
        let foreign = UntrustedInputs::of_contenders(&plan.engines);
        arguments.trust.check(&arguments.plan, &foreign)?;
    }
    plan.unsupported = UnsupportedPolicy::Skip;
    if !arguments.durability.is_empty() {
        plan.durability = without_repetition(&arguments.durability);
        plan.origin.forget("durability");
    }
    apply_knobs(&arguments.knobs, &mut plan);
    let matrix = matrix::expand(&plan, registry)?;
    let mut skipped: BTreeMap<String, String> = BTreeMap::new();
    for SkippedPart { sentence, .. } in matrix.skipped {
        let (name, reason) = sentence.split_once(' ').unwrap_or((&sentence, ""));
        let reasons = skipped.entry(name.to_owned()).or_default();
        if !reasons.is_empty() {
            reasons.push_str("; ");
        }
        reasons.push_str(reason);
    }
    let mut subjects: Vec<Subject> = Vec::new();
    for trial in &matrix.trials {
        let claim = arguments.claim.unwrap_or(trial.durability);
        if claim.promises_nothing() {
            continue;
        }
        match subject(trial, arguments, registry) {
            Ok(subject) if !subjects.contains(&subject) => subjects.push(subject),
            Ok(_) => {}
            Err(reason) => {
                skipped.insert(
                    format!("{} {}", trial.contender(), trial.durability),
                    reason.to_string(),
                );
            }
        }
    }
    Ok((subjects, skipped))
}

fn subject(
    trial: &TrialSpec,
    arguments: &Arguments,
    registry: &Registry,
) -> Result<Subject, Failure> {
    let engine = registry.engine(&trial.engine).map_err(Failure::usage)?;
    let is_changed = |name: &str| {
        let knob = engine.knobs().iter().find(|knob| knob.name == name);
        knob.is_none_or(|knob| trial.knobs.get(name) != Some(&knob.kind.default_value()))
    };
    let changed = trial.knobs.iter().filter(|(name, _)| is_changed(name));
    let given: Settings = changed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let contender = Contender {
        engine: trial.engine.clone(),
        build: trial.build.clone(),
    };
    Subject::new(
        registry,
        &contender,
        trial.durability,
        arguments.claim,
        given,
    )
    .map_err(Failure::usage)
}
