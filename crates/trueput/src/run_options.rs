//! The options of every command that runs the trials of a plan.

use crate::failure::Failure;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::screen::Screen;
use crate::signals;
use clap::Args;
use trueput_runner::{AuditStore, ConformanceCache, Options};

/// The options of every command that runs the trials of a plan.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Write only JSON to standard output: a line for each event and, after a search or an
    /// ablation, a line with what it found
    // Not under the heading of the options before it.
    #[arg(long, help_heading = None::<&str>)]
    pub json: bool,
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub overrides: PlanOverrides,
    #[command(flatten)]
    pub places: RunDirectories,
}

impl RunOptions {
    /// The runner's options: workers are this program, and Ctrl-C stops the run.
    ///
    /// # Errors
    /// If this program's own file or the signal handlers are not available.
    pub fn of_runner(&self) -> Result<Options, Failure> {
        let program = std::env::current_exe();
        let worker_program = program
            .map_err(|error| Failure::Other(format!("cannot find this program's file: {error}")))?;
        let places = &self.places;
        Ok(Options {
            credentials: Default::default(),
            audits: AuditStore::of_user(&worker_program),
            worker_program,
            host_access: self.overrides.host_options.access(),
            across: self.overrides.host_options.across()?,
            results: places.results.clone(),
            work: places.work.clone(),
            keep_databases: places.keep_databases,
            keep_unfinished: false,
            resume_databases: false,
            disk_factor: places.disk.factor,
            hang_limit: places.hang_limit,
            hardware_limits: !places.no_hardware_limits,
            conformance_cache: ConformanceCache::of_user(!places.check_again),
            checks_isolation: true,
            until: None,
            stop: signals::stop_flag(signals::LEFT_OF_RUN)?,
        })
    }
}
