//! Refuses parts of a plan or a command line that would have no effect.

use super::skipped::NO_ENGINE;
use super::{Error, Expansion};
use trueput_record::plan::{Dimensions, PRESENT_ENGINES, PlanException};
use trueput_workloads::WorkloadSubject;

impl Expansion<'_> {
    /// Refuses knobs of engines that do not compete, exceptions that are for nobody, and settings
    /// that others override.
    pub(super) fn check_effects(&self) -> Result<(), Error> {
        self.check_knobs_have_engines()?;
        for (index, when) in self.plan.when.iter().enumerate() {
            self.check_exception(&format!("when.{index}"), when)?;
        }
        let plan = &self.plan.settings;
        self.check_settings(plan, |name| format!("settings.{name}"))?;
        for (index, when) in self.plan.when.iter().enumerate() {
            let given = with(plan, &when.settings);
            self.check_settings(&given, |_| format!("when.{index}"))?;
        }
        for (index, step) in self.plan.steps.iter().enumerate() {
            let given = with(plan, &step.settings);
            self.check_settings(&given, |_| format!("step.{index}"))?;
        }
        Ok(())
    }

    fn check_settings(
        &self,
        given: &Dimensions,
        key: impl Fn(&str) -> String,
    ) -> Result<(), Error> {
        self.workload.check_given(given).map_err(|ineffective| {
            let owner = &self.plan.workload;
            let message = format!("{owner}: {}", ineffective.message);
            self.plan_error(&key(ineffective.name), message)
        })
    }

    /// Checks knobs of engines that do not run. A plan's knobs may be for engines that the command
    /// line leaves out or that are not installed; a knob that matches no engine of the run at all
    /// is a mistake.
    fn check_knobs_have_engines(&self) -> Result<(), Error> {
        for (engine, knobs) in &self.plan.knobs {
            if self.competes(engine) {
                continue;
            }
            for knob in knobs.keys() {
                let owner = format!("knobs.{engine}");
                let key = format!("{owner}.{knob}");
                let origin = &self.plan.origin;
                let in_file = origin.of(&key).or_else(|| origin.of(&owner)).is_some();
                // Where an option chose the engines, the plan's knobs of others are left over.
                let chosen_here = origin.of("engines").is_some();
                if origin.is_option(&key) || in_file && chosen_here {
                    let message = format!("{engine}.{knob}: {}", self.not_in_the_run(engine));
                    return Err(self.plan_error(&key, message));
                }
            }
        }
        Ok(())
    }

    /// Checks that an exception applies to some engine and level of its plan.
    fn check_exception(&self, key: &str, when: &PlanException) -> Result<(), Error> {
        let origin = &self.plan.origin;
        let nobody = !when.engines.is_empty() && !when.engines.iter().any(|one| self.competes(one));
        if nobody && origin.of("engines").is_some() {
            let reason = self.not_in_the_run(&when.engines.join(" and no "));
            return Err(self.plan_error(key, format!("this exception matches nothing: {reason}")));
        }
        let levels = &self.plan.durability;
        let never = !when.durability.is_empty()
            && !when.durability.iter().any(|level| levels.contains(level));
        if never && origin.of("durability").is_some() {
            let levels: Vec<_> = levels.iter().map(ToString::to_string).collect();
            let message = format!(
                "this exception matches no level of the plan, which has {}",
                levels.join(", ")
            );
            return Err(self.plan_error(key, message));
        }
        Ok(())
    }

    /// Returns whether the plan names the engine, or all installed ones.
    fn competes(&self, engine: &str) -> bool {
        let named = |name: &str| name == engine || name == PRESENT_ENGINES;
        let on_engines = self.workload.subject() == WorkloadSubject::Engine;
        on_engines && self.engines.iter().any(|one| named(&one.engine))
    }

    fn not_in_the_run(&self, engine: &str) -> String {
        if self.workload.subject() == WorkloadSubject::Storage {
            return format!("{} runs on no engine", self.plan.workload);
        }
        let mut names: Vec<&str> = Vec::new();
        for one in &self.engines {
            if !names.contains(&one.engine.as_str()) {
                names.push(&one.engine);
            }
        }
        if names.is_empty() {
            NO_ENGINE.to_owned()
        } else {
            format!(
                "the run has no {engine}; its engines are {}",
                names.join(", ")
            )
        }
    }
}

/// Returns a plan's settings with some replaced.
fn with(plan: &Dimensions, instead: &trueput_record::value::Settings) -> Dimensions {
    let mut given = plan.clone();
    let instead = instead.iter();
    given.extend(instead.map(|(name, value)| (name.clone(), vec![value.clone()])));
    given
}
