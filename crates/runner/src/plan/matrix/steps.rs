//! The steps of an ablation: each base cell again, with each step's changes.

use super::conditions::knobs_under;
use super::skipped::{joined, note};
use super::{Error, Expansion, check_promise};
use crate::plan::resolution::{check_fit, missing_level};
use crate::plan::storage_models::{check_available, pin_models};
use std::fmt::Display;
use trueput_engine::parameter::{resolve, resolve_knobs};
use trueput_engine::{Durability, Engine};
use trueput_host::placement;
use trueput_host::trial_file_system;
use trueput_record::TrialSpec;
use trueput_record::ablation::{AblationKind, AblationStep, BASE};
use trueput_record::plan::{PlanStep, UnsupportedPolicy};
use trueput_record::skipped::{STEP_WITHOUT_EFFECT, SkipKind, SkippedPart, skipped_step};
use trueput_record::value::Settings;

impl Expansion<'_> {
    /// Checks that the engines, knobs and settings of steps exist, and that each value is valid.
    pub(super) fn check_steps(&self) -> Result<(), Error> {
        for (index, step) in self.plan.steps.iter().enumerate() {
            let plan_error = |error: &dyn Display| self.step_error(index, &step.name, error);
            resolve(
                &self.plan.workload,
                self.workload.settings(),
                &step.settings,
            )
            .map_err(|error| plan_error(&error))?;
            for name in &step.engines {
                let found = self.registry.engine(name);
                found.map_err(|error| plan_error(&error))?;
            }
            for (name, knobs) in &step.knobs {
                let engine = self.registry.engine(name);
                let engine = engine.map_err(|error| plan_error(&error))?;
                let known = engine.knobs();
                resolve_knobs(name, known, knobs).map_err(|error| plan_error(&error))?;
            }
        }
        Ok(())
    }

    /// Turns the cells from `first` on, all of one contender, into bases of ablations, each
    /// followed by its steps. A step that changes nothing for the contender is skipped.
    pub(super) fn add_steps(
        &self,
        engine: &dyn Engine,
        first: usize,
        cells: &mut Vec<TrialSpec>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<(), Error> {
        if self.plan.steps.is_empty() {
            return Ok(());
        }
        for base in cells.split_off(first) {
            let place = u32::try_from(cells.len()).unwrap_or(u32::MAX);
            let base = self.labelled(base, place, cells.len(), (0, BASE));
            cells.push(base.clone());
            let mut last = base.clone();
            for (index, step) in self.plan.steps.iter().enumerate() {
                let before = match self.plan.ablation {
                    AblationKind::Cumulative => &last,
                    AblationKind::OneAtATime => &base,
                };
                let Some(after) = self.apply_step(engine, before, (index, step), skipped)? else {
                    continue;
                };
                if after == *before {
                    let sentence = skip_message(&base, step, STEP_WITHOUT_EFFECT);
                    note(skipped, sentence.into());
                    continue;
                }
                let number = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
                let after = self.labelled(after, place, cells.len(), (number, &step.name));
                cells.push(after.clone());
                last = after;
            }
        }
        Ok(())
    }

    /// Refuses a step that applies to no contender; if the plan skips unsupported steps, only if
    /// no step applies to any.
    pub(super) fn check_steps_applied(
        &self,
        cells: &[TrialSpec],
        skipped: &[SkippedPart],
    ) -> Result<(), Error> {
        let number_of = |spec: &TrialSpec| spec.step.as_ref().map(|step| step.index as usize);
        let some_are_taken = cells.iter().any(|spec| number_of(spec) > Some(0));
        if some_are_taken && self.plan.unsupported == UnsupportedPolicy::Skip {
            return Ok(());
        }
        for (index, step) in self.plan.steps.iter().enumerate() {
            if !cells.iter().any(|spec| number_of(spec) == Some(index + 1)) {
                let about = format!("step '{}'", step.name);
                let said = joined(skipped.iter().filter(|part| part.sentence.contains(&about)));
                let reason = format!("it applies to no engine of the plan: {said}");
                return Err(self.step_error(index, &step.name, &reason));
            }
        }
        Ok(())
    }

    fn labelled(
        &self,
        spec: TrialSpec,
        base: u32,
        cell: usize,
        (index, name): (u32, &str),
    ) -> TrialSpec {
        TrialSpec {
            cell: u32::try_from(cell).unwrap_or(u32::MAX),
            step: Some(AblationStep {
                ablation: self.plan.ablation,
                base,
                index,
                name: name.to_owned(),
            }),
            ..spec
        }
    }

    /// Applies a step's changes to the trial `before` it, and checks and resolves the result;
    /// `None` if the engine does not support the step and the plan skips unsupported steps.
    fn apply_step(
        &self,
        engine: &dyn Engine,
        before: &TrialSpec,
        (index, step): (usize, &PlanStep),
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<Option<TrialSpec>, Error> {
        let plan_error = |error: &dyn Display| self.step_error(index, &step.name, error);
        let mut spec = step.applied(before, |level| engine.promise(level).is_some());
        if !engine.capabilities().retains_data {
            spec.durability = Durability::None;
        }
        placement::check(&spec.conditions).map_err(|error| plan_error(&error))?;
        pin_models(&mut spec.conditions).map_err(|error| plan_error(&error))?;
        if let Some(reason) = self.find_missing_storage(&spec, index, step)? {
            note(skipped, skip_message(before, step, &reason).into());
            return Ok(None);
        }
        let knobs = match knobs_under(engine, &spec.conditions, &spec) {
            Ok(knobs) => knobs,
            Err(unmet) => {
                return self.skip_or_refuse_step(before, (index, step), unmet.reason, skipped);
            }
        };
        let knobs = resolve_knobs(&spec.engine, engine.knobs(), &knobs);
        let knobs = knobs.map_err(|error| plan_error(&error))?;
        let level = spec.durability;
        if let Err(mut part) = check_promise(engine, level, &knobs) {
            if part.kind == SkipKind::Level {
                part.sentence = missing_level(engine, level);
            }
            return self.skip_or_refuse_step(before, (index, step), part, skipped);
        }
        let given: Settings = spec.settings.clone();
        spec.conditions = self.with_end(&given, &spec.conditions);
        let (settings, job) = self.resolve_settings(&given, &spec.conditions)?;
        if let Err(misfit) = check_fit(&*job, engine, &knobs) {
            let reason = misfit.to_string();
            return self.skip_or_refuse_step(before, (index, step), reason, skipped);
        }
        job.check_workers(spec.workers, spec.worker_kind)
            .map_err(|error| plan_error(&error))?;
        spec.settings = settings.as_settings().clone();
        spec.knobs = knobs.as_settings().clone();
        Ok(Some(spec))
    }

    /// Skips a step for the contender `before` it, or refuses it, as the plan says.
    fn skip_or_refuse_step(
        &self,
        before: &TrialSpec,
        (index, step): (usize, &PlanStep),
        part: impl Into<SkippedPart>,
        skipped: &mut Vec<SkippedPart>,
    ) -> Result<Option<TrialSpec>, Error> {
        let mut part = part.into();
        part.sentence = skip_message(before, step, &part.sentence);
        self.skip_or_refuse(&format!("step.{index}"), part, skipped)?;
        Ok(None)
    }

    /// Returns why this machine or user cannot have the storage of a step.
    fn find_missing_storage(
        &self,
        spec: &TrialSpec,
        index: usize,
        step: &PlanStep,
    ) -> Result<Option<String>, Error> {
        let conditions = &spec.conditions;
        let wanted = [&conditions.file_system, &conditions.log_file_system];
        for wanted in wanted.into_iter().flatten() {
            match trial_file_system::check(wanted) {
                Ok(()) => {}
                Err(error) if error.is_invalid() => {
                    return Err(self.step_error(index, &step.name, &error.to_string()));
                }
                Err(error) => return Ok(Some(error.to_string())),
            }
        }
        match check_available(conditions) {
            Ok(()) => Ok(None),
            Err(error) if error.is_invalid() => {
                Err(self.step_error(index, &step.name, &error.to_string()))
            }
            Err(error) => Ok(Some(error.to_string())),
        }
    }

    fn step_error(&self, index: usize, name: &str, error: &dyn Display) -> Error {
        self.plan_error(&format!("step.{index}"), format!("step '{name}': {error}"))
    }
}

/// Says why a contender skips a step.
fn skip_message(base: &TrialSpec, step: &PlanStep, reason: &str) -> String {
    skipped_step(&base.contender(), &step.name, reason)
}

#[cfg(test)]
mod tests {
    use super::super::skipped::SKIP_HINT;
    use super::super::tests::{expanded, plan, refused, sentences};
    use super::*;
    use std::collections::BTreeMap;
    use trueput_engine::Value;
    use trueput_record::PlanFile;

    fn step(name: &str) -> PlanStep {
        PlanStep {
            name: name.to_owned(),
            ..PlanStep::default()
        }
    }

    fn with_map(name: &str, bytes: i64) -> PlanStep {
        let knobs = Settings::from([("map_size".to_owned(), Value::Integer(bytes))]);
        PlanStep {
            knobs: BTreeMap::from([("shared".to_owned(), knobs)]),
            ..step(name)
        }
    }

    fn to_process(name: &str) -> PlanStep {
        PlanStep {
            durability: vec![Durability::Process],
            ..step(name)
        }
    }

    fn ablation(kind: AblationKind, engines: &[&str], steps: Vec<PlanStep>) -> PlanFile {
        let mut plan = plan(engines);
        (plan.ablation, plan.steps) = (kind, steps);
        plan
    }

    fn step_row(spec: &TrialSpec) -> (u32, u32, String, Durability, Value) {
        let step = spec.step.clone().unwrap();
        let map = spec.knobs["map_size"].clone();
        (step.base, step.index, step.name, spec.durability, map)
    }

    const GIB: i64 = 1 << 30;

    #[test]
    fn each_step_stands_on_the_one_before_it_or_on_the_base() {
        let steps = vec![to_process("unsafe"), with_map("wide", 2 * GIB)];
        let of = |kind| {
            let matrix = expanded(&ablation(kind, &["shared"], steps.clone()));
            matrix.trials.iter().map(step_row).collect::<Vec<_>>()
        };
        let row = |index, name: &str, durability, map: i64| {
            (0, index, name.to_owned(), durability, Value::Integer(map))
        };
        let (sync, process) = (Durability::Sync, Durability::Process);
        let begin = [row(0, BASE, sync, GIB), row(1, "unsafe", process, GIB)];
        let mut cumulative = begin.to_vec();
        cumulative.push(row(2, "wide", process, 2 * GIB));
        assert_eq!(of(AblationKind::Cumulative), cumulative);
        let mut one_at_a_time = begin.to_vec();
        one_at_a_time.push(row(2, "wide", sync, 2 * GIB));
        assert_eq!(of(AblationKind::OneAtATime), one_at_a_time);
    }

    #[test]
    fn every_step_is_run_once_before_any_is_run_again() {
        let mut plan = ablation(AblationKind::Cumulative, &["shared"], vec![to_process("u")]);
        plan.repeat = 2;
        let trials = expanded(&plan).trials;
        let order: Vec<_> = trials.iter().map(|spec| (spec.repeat, spec.cell)).collect();
        assert_eq!(order, [(1, 0), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn an_engine_for_which_a_step_changes_nothing_is_not_measured_again() {
        let steps = vec![with_map("wide", 2 * GIB)];
        let matrix = expanded(&ablation(
            AblationKind::Cumulative,
            &["shared", "single"],
            steps,
        ));
        assert_eq!(matrix.trials.len(), 3);
        let bases: Vec<_> = matrix.trials.iter().map(|spec| step_row(spec).0).collect();
        assert_eq!(bases, [0, 0, 2]);
        let said = "single: step 'wide': it changes nothing, so it is not measured again";
        assert_eq!(sentences(&matrix), [said]);
    }

    #[test]
    fn a_level_that_an_engine_has_not_is_refused_or_left_out_as_the_plan_says() {
        let engines = ["shared", "single"];
        let mut plan = ablation(AblationKind::Cumulative, &engines, vec![to_process("u")]);
        let said = "single: step 'u': single does not support durability 'process'; it supports \
            sync, async";
        assert_eq!(refused(&plan), format!("{said}{SKIP_HINT}"));
        plan.unsupported = UnsupportedPolicy::Skip;
        let matrix = expanded(&plan);
        assert_eq!(
            (matrix.trials.len(), matrix.skipped),
            (3, vec![SkippedPart::level(said.to_owned())])
        );
    }

    #[test]
    fn a_step_takes_the_first_of_its_levels_that_an_engine_has_and_leaves_other_engines_alone() {
        let engines = ["shared", "single"];
        let mut weaker = to_process("weaker");
        weaker.durability.push(Durability::Async);
        let matrix = expanded(&ablation(
            AblationKind::Cumulative,
            &engines,
            vec![weaker.clone()],
        ));
        let levels: Vec<_> = matrix.trials.iter().map(|spec| spec.durability).collect();
        let sync = Durability::Sync;
        assert_eq!(levels, [sync, Durability::Process, sync, Durability::Async]);
        weaker.engines.push("single".to_owned());
        let matrix = expanded(&ablation(AblationKind::Cumulative, &engines, vec![weaker]));
        assert_eq!(matrix.trials.len(), 3);
        assert!(
            matrix.skipped[0]
                .sentence
                .starts_with("shared: step 'weaker': it changes nothing")
        );
    }

    #[test]
    fn a_step_that_nobody_takes_is_left_out_where_that_is_asked_for_and_others_are_taken() {
        let steps = vec![with_map("same", GIB), with_map("wide", 2 * GIB)];
        let mut plan = ablation(AblationKind::OneAtATime, &["shared"], steps);
        assert!(refused(&plan).contains("step 'same'"));
        plan.unsupported = UnsupportedPolicy::Skip;
        let matrix = expanded(&plan);
        assert_eq!(matrix.trials.len(), 2);
        assert!(
            matrix.skipped[0]
                .sentence
                .contains("step 'same': it changes nothing")
        );
        plan.steps.truncate(1);
        assert!(refused(&plan).contains("it applies to no engine of the plan"));
    }

    #[test]
    fn a_step_that_moves_a_log_which_an_engine_cannot_place_says_why_it_applies_to_none() {
        let mut moved = step("log");
        moved.conditions.log_file_system = vec!["tmpfs".parse().unwrap()];
        let mut plan = ablation(AblationKind::Cumulative, &["shared"], vec![moved]);
        let reason = "shared: step 'log': shared has no knob log_directory: its log is stored with \
                   its data";
        assert_eq!(refused(&plan), format!("{reason}{SKIP_HINT}"));
        plan.unsupported = UnsupportedPolicy::Skip;
        let message = refused(&plan);
        let expected = format!("step 'log': it applies to no engine of the plan: {reason}");
        assert_eq!(message, expected);
    }

    #[test]
    fn a_step_that_nobody_takes_or_that_names_what_is_not_there_is_refused() {
        let same = ablation(
            AblationKind::Cumulative,
            &["shared"],
            vec![with_map("s", GIB)],
        );
        let message = refused(&same);
        assert!(
            message.contains("it applies to no engine of the plan"),
            "{message}"
        );
        let mut unknown = with_map("s", GIB);
        unknown.knobs = BTreeMap::from([("shred".to_owned(), Settings::new())]);
        let message = refused(&ablation(
            AblationKind::Cumulative,
            &["shared"],
            vec![unknown],
        ));
        assert!(message.contains("did you mean 'shared'"), "{message}");
        let reversed = PlanStep {
            settings: Settings::from([("start".to_owned(), Value::Integer(500))]),
            ..step("s")
        };
        let message = refused(&ablation(
            AblationKind::Cumulative,
            &["shared"],
            vec![reversed],
        ));
        assert!(message.contains("500 to 100 is reversed"), "{message}");
    }
}
