//! A step of an ablation as the command line gives it.

use crate::failure::Failure;
use std::fmt::Display;
use trueput_record::ablation::BASE;
use trueput_record::plan::{
    Condition, ConditionLists, Contender, PRESENT_ENGINES, PlanFile, PlanStep,
};
use trueput_record::suggest::did_you_mean;
use trueput_record::{Durability, Value};
use trueput_runner::Registry;

/// A step's name and its changes, not yet checked against engines and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepText {
    name: String,
    changes: Vec<(String, String)>,
}

/// Reads `NAME: KEY=VALUE, KEY=VALUE` or only the changes, which are the name then.
///
/// # Errors
/// A usage error with the invalid text and a valid example.
pub fn parse(text: &str) -> Result<StepText, Failure> {
    let wrong = || {
        Failure::usage("write 'NAME: KEY=VALUE, KEY=VALUE', as in 'buffered: durability=buffered'")
    };
    let equals = text.find('=').ok_or_else(wrong)?;
    let (name, changes) = match text[..equals].split_once(':') {
        Some((name, _)) => (name.trim(), &text[name.len() + 1..]),
        None => (text.trim(), text),
    };
    if name.is_empty() || name == BASE {
        return Err(Failure::usage(format!(
            "'{name}' is not a valid name for a step: choose another"
        )));
    }
    let change = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        (!key.is_empty() && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    };
    let changes: Option<Vec<_>> = changes.split(',').map(change).collect();
    Ok(StepText {
        name: name.to_owned(),
        changes: changes.ok_or_else(wrong)?,
    })
}

impl StepText {
    /// The step as a plan has it: a bare name is a knob of each of the plan's engines that has it,
    /// else a setting of the workload.
    ///
    /// # Errors
    /// A usage error for a name that no engine, workload or condition has.
    pub fn resolve(&self, plan: &PlanFile, registry: &Registry) -> Result<PlanStep, Failure> {
        let mut step = PlanStep {
            name: self.name.clone(),
            ..PlanStep::default()
        };
        for (key, value) in &self.changes {
            let refuse = |reason: &dyn Display| {
                Failure::usage(format!("step '{}': {key}: {reason}", self.name))
            };
            if key == "durability" {
                let level = value.parse::<Durability>();
                step.durability = vec![level.map_err(|error| refuse(&error))?];
            } else if !condition(&mut step.conditions, key, value)
                .map_err(|reason| refuse(&reason))?
            {
                setting(&mut step, plan, registry, key, value).map_err(|reason| refuse(&reason))?;
            }
        }
        Ok(step)
    }
}

/// Sets a condition; `false` if it is unknown or a step cannot change it.
fn condition(lists: &mut ConditionLists, key: &str, value: &str) -> Result<bool, Failure> {
    let known = Condition::named(key).filter(|condition| condition.is_changed_by_steps());
    known.map_or(Ok(false), |condition| {
        condition
            .set(lists, &[value])
            .map(|()| true)
            .map_err(Failure::usage)
    })
}

/// Sets a knob or a setting.
fn setting(
    step: &mut PlanStep,
    plan: &PlanFile,
    registry: &Registry,
    key: &str,
    value: &str,
) -> Result<(), Failure> {
    let value = Value::parse(value);
    let mut turn = |engine: &str, knob: &str, value: Value| {
        let knobs = step.knobs.entry(engine.to_owned()).or_default();
        knobs.insert(knob.to_owned(), value);
    };
    match key.split_once('.') {
        Some(("settings", name)) => {
            step.settings.insert(name.to_owned(), value);
            return Ok(());
        }
        Some((engine, knob)) => {
            let run = engines(plan, registry);
            registry.engine(engine).map_err(Failure::usage)?;
            if !run.iter().any(|one| one == engine) {
                return Err(Failure::usage(format!(
                    "the run has no {engine}; its engines are {}",
                    run.join(", ")
                )));
            }
            turn(engine, knob, value);
            return Ok(());
        }
        None => {}
    }
    let mut names = Vec::new();
    let mut is_a_knob = false;
    for engine in engines(plan, registry) {
        let knobs = registry.engine(&engine).map_err(Failure::usage)?.knobs();
        names.extend(knobs.iter().map(|knob| knob.name));
        if knobs.iter().any(|knob| knob.name == key) {
            turn(&engine, key, value.clone());
            is_a_knob = true;
        }
    }
    let settings = registry
        .workload(&plan.workload)
        .map_err(Failure::usage)?
        .settings();
    names.extend(settings.iter().map(|setting| setting.name));
    if settings.iter().any(|setting| setting.name == key) && !is_a_knob {
        step.settings.insert(key.to_owned(), value);
        return Ok(());
    }
    names.push("durability");
    if is_a_knob {
        Ok(())
    } else {
        Err(Failure::usage(format!(
            "neither an engine of the plan nor its workload has it{}",
            did_you_mean(key, names)
        )))
    }
}

/// The names of the plan's engines.
fn engines(plan: &PlanFile, registry: &Registry) -> Vec<String> {
    let is_present = |name: &str| name == PRESENT_ENGINES;
    if plan.engines.iter().any(|one| is_present(&one.engine)) {
        let all = registry.engines.iter();
        all.map(|engine| engine.info().name.to_owned()).collect()
    } else {
        let name = |one: &Contender| {
            let named = registry.named(one).unwrap_or_else(|_| one.clone());
            // A plug-in is known by its name from here on; what is wrong with it, the expansion
            // says.
            let _ = registry.engine_of(&named.engine, named.build.as_deref());
            named.engine
        };
        plan.engines.iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::Durability;

    fn resolved(text: &str) -> Result<PlanStep, String> {
        let registry = crate::registry();
        let mut plan = PlanFile::for_workload("micro");
        plan.engines = vec![Contender::parse("sqlite"), Contender::parse("lmdb")];
        let step = parse(text).and_then(|step| step.resolve(&plan, &registry));
        step.map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_step_has_a_name_and_changes_or_is_named_by_them() {
        let named = parse("no flush: durability=process, cache_size = 1MiB").unwrap();
        assert_eq!(named.name, "no flush");
        assert_eq!(named.changes.len(), 2);
        assert_eq!(
            named.changes[1],
            ("cache_size".to_owned(), "1MiB".to_owned())
        );
        assert_eq!(parse("start=cold").unwrap().name, "start=cold");
        for wrong in ["nothing", "", "a:", "a: b=", "a: =c", ": b=c", "base: b=c"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bare_name_is_a_knob_of_those_engines_that_have_it_else_a_setting() {
        let step = resolved("x: cache_size=1MiB, batch=10, start=cold").unwrap();
        assert_eq!(step.knobs.len(), 1);
        assert_eq!(step.knobs["sqlite"]["cache_size"], Value::from("1MiB"));
        assert_eq!(step.settings["batch"], Value::Integer(10));
        assert_eq!(step.conditions.start.len(), 1);
        let step = resolved("durability=process, lmdb.map_size=1GiB").unwrap();
        assert_eq!(step.durability, [Durability::Process]);
        assert_eq!(step.knobs["lmdb"]["map_size"], Value::from("1GiB"));
    }

    #[test]
    fn what_nobody_has_is_refused_with_the_nearest_name() {
        let message = resolved("x: cache_sice=1MiB").unwrap_err();
        assert!(message.contains("did you mean 'cache_size'"), "{message}");
        assert!(
            resolved("x: durability=bufered")
                .unwrap_err()
                .contains("did you mean")
        );
        assert!(
            resolved("x: lmbd.map_size=1")
                .unwrap_err()
                .contains("did you mean 'lmdb'")
        );
        assert!(
            resolved("x: start=cool")
                .unwrap_err()
                .contains("did you mean 'cold'")
        );
    }
}
