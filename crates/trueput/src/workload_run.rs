//! A run of one workload whose settings come from elsewhere than a plan: property files, a trace.

use crate::failure::Failure;
use crate::repeats::Repeats;
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use clap::Args;
use std::process::ExitCode;
use trueput_record::plan::PlanFile;
use trueput_runner::Registry;

/// The options of such a run.
#[derive(Debug, Args)]
pub struct WorkloadRun {
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    run: RunOptions,
}

impl WorkloadRun {
    /// Runs a plan, which the options override, and prints the result.
    ///
    /// # Errors
    /// A usage error for a wrong setting, before anything runs.
    pub fn run(&self, plan: PlanFile, registry: &Registry) -> Result<ExitCode, Failure> {
        let target = plan.workload.clone();
        let mut request = RunRequest::new(&target, plan, &self.run, registry)?;
        request.repeats = self.repeats;
        let matrix = request.expand()?;
        request.create(matrix.trials, matrix.skipped, None)?.run()
    }
}
