//! The subjects of an audit, or of faults, from a plan and the command line.

use crate::built_in_plans::plan_or_workload;
use crate::failure::Failure;
use crate::plan_overrides::{KnobSetting, apply_knobs, without_repetition};
use crate::trust::{Trust, UntrustedInputs};
use std::collections::BTreeMap;
use trueput_audit::Subject;
use trueput_engine::credentials;
use trueput_record::plan::{Contender, UnsupportedPolicy};
use trueput_record::skipped::SkippedPart;
use trueput_record::value::Settings;
use trueput_record::{Durability, TrialSpec};
use trueput_runner::{Registry, matrix};

/// The choice of subjects on a command line.
pub struct SubjectChoice<'a> {
    /// The plan, of which the engines, levels and knobs count.
    pub plan: &'a str,
    /// The engines, in lists; the plan's if there are none.
    pub engines: &'a [String],
    /// The levels; the plan's if there are none.
    pub durability: &'a [Durability],
    /// Knobs to set.
    pub knobs: &'a [KnobSetting],
    /// The level whose promise is tested; `None`: that at which the database is opened.
    pub claim: Option<Durability>,
    /// The consent to use a plan of others.
    pub trust: Trust,
}

/// Returns the chosen subjects, and what is left out, with the reason.
///
/// # Errors
/// A usage error for an invalid plan, engine, level or knob.
pub fn subjects(
    choice: &SubjectChoice<'_>,
    registry: &Registry,
) -> Result<(Vec<Subject>, BTreeMap<String, String>), Failure> {
    let mut plan = plan_or_workload(choice.plan, registry)?;
    if !choice.engines.is_empty() {
        let names = choice.engines.iter();
        let names = names.flat_map(|names| credentials::split_list(names));
        plan.engines = names.map(Contender::parse).collect();
        plan.origin.forget("engines");
    }
    if choice.engines.is_empty() {
        let foreign = UntrustedInputs::of_contenders(&plan.engines);
        choice.trust.check(choice.plan, &foreign)?;
    }
    plan.unsupported = UnsupportedPolicy::Skip;
    if !choice.durability.is_empty() {
        plan.durability = without_repetition(choice.durability);
        plan.origin.forget("durability");
    }
    apply_knobs(choice.knobs, &mut plan);
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
        let claim = choice.claim.unwrap_or(trial.durability);
        if claim.promises_nothing() {
            continue;
        }
        match subject(trial, choice.claim, registry) {
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
    claim: Option<Durability>,
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
    Subject::new(registry, &contender, trial.durability, claim, given).map_err(Failure::usage)
}
