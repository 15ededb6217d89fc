//! `trueput run`: expands a plan, runs its trials, ends with the table.

use crate::choices::{Choices, Places, plan_or_workload};
use crate::cli::EXIT_CODES;
use crate::execute;
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::{Options, Registry, matrix};

const EXAMPLES: &str = "\
Examples:
  trueput run plans/first-look.toml
  trueput run plans/first-look.toml --engine lmdb --repeat 5
  trueput run threen1 --engine lmdb,sqlite --durability process --set finish=100000
  trueput run threen1 --engine lmdb --durability process --knob lmdb.map_size=4GiB --workers 1,2,4
  trueput run --resume results/20261121T204500Z-first-look";

/// What `trueput run` is given.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file or a workload's name
    #[arg(value_name = "PLAN.toml|WORKLOAD", required_unless_present = "resume")]
    what: Option<String>,
    /// Continue an interrupted run: only the trials that have not ended are run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["what", "Choices", "Surroundings"])]
    resume: Option<PathBuf>,
    /// Write every event as one JSON line to standard output, and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    places: Places,
}

/// Runs the plan and says how it went.
///
/// # Errors
/// A usage error for whatever is wrong with the plan or the folders, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let options = execute::options(&arguments.places)?;
    let (folder, manifest) = match &arguments.resume {
        Some(path) => RunFolder::open(path)?,
        None => create(arguments, &options, registry)?,
    };
    execute::carry_out(&folder, &manifest, &options, registry, arguments.json)
}

fn create(
    arguments: &Arguments,
    options: &Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let mut plan = plan_or_workload(arguments.what.as_deref().unwrap_or_default())?;
    arguments.choices.apply(&mut plan)?;
    let matrix = matrix::expand(&plan, registry)?;
    let created = trueput_runner::create_run(
        &plan.name,
        &plan.about,
        matrix.trials,
        matrix.left_out,
        &arguments.places.results,
        options,
        registry,
        execute::command_line(),
    )?;
    Ok(created)
}
