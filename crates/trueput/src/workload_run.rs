//! A run of one workload whose settings come from elsewhere than a plan: property files, a trace.

use crate::execute;
use crate::failure::Failure;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::repeats::Repeats;
use crate::screen::Screen;
use clap::Args;
use std::process::ExitCode;
use trueput_record::plan::PlanFile;
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::{Options, Registry};

/// The options of such a run.
#[derive(Debug, Args)]
pub struct WorkloadRun {
    /// Write each event as one line of JSON to standard output, and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    overrides: PlanOverrides,
    #[command(flatten)]
    places: RunDirectories,
}

impl WorkloadRun {
    /// Runs a plan, which the options override, and prints the result.
    ///
    /// # Errors
    /// A usage error for a wrong setting, before anything runs.
    pub fn run(&self, plan: PlanFile, registry: &Registry) -> Result<ExitCode, Failure> {
        let mut options = execute::options(&self.places)?;
        options.host_access = self.overrides.host_options.access();
        options.until = self.repeats.rule();
        options.include_assertions = self.overrides.include_assertions;
        options.split_by = self.overrides.split_by;
        let (folder, manifest) = self.create(plan, &mut options, registry)?;
        execute::carry_out(
            &folder,
            &manifest,
            &options,
            registry,
            self.json,
            self.screen,
        )
    }

    fn create(
        &self,
        mut plan: PlanFile,
        options: &mut Options,
        registry: &Registry,
    ) -> Result<(RunFolder, RunManifest), Failure> {
        self.overrides.apply(&mut plan)?;
        self.repeats
            .apply(&mut plan, self.overrides.repeat, registry);
        let mut matrix = execute::expand(&plan, registry)?;
        matrix.skip_unreachable(&plan, self.places.databases(), registry)?;
        options.objective.clone_from(&plan.objective);
        options.credentials = matrix.credentials;
        let created = trueput_runner::create_run(
            &plan.name,
            &plan.about,
            matrix.trials,
            matrix.skipped,
            &self.places.results,
            options,
            registry,
            execute::command_line(),
        )?;
        Ok(created)
    }
}
