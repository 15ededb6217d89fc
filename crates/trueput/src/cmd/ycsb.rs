//! `trueput ycsb`: runs the workload ycsb as YCSB's property files say it.

mod properties;

use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::repeats::Repeats;
use crate::screen::Screen;
use crate::{execute, output};
use clap::Args;
use properties::PlanProperties;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::plan::PlanFile;
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::{Options, Registry, matrix};

const WORKLOAD: &str = "ycsb";

const EXAMPLES: &str = "\
-P files are read in order, then -p; the last value of a property counts. Options override \
properties: --workers threadcount, --rate target, --duration maxexecutiontime. A transaction is \
one operation. The load is a separate phase before each run.

Examples:
  trueput ycsb -P workloads/workloada --engine lmdb
  trueput ycsb -P workloads/workloadb -p recordcount=1000000 -p threadcount=4 --engine present
  trueput ycsb -P workloads/workloadc -p target=5000 -p maxexecutiontime=60 --engine lmdb,rocksdb
  trueput ycsb --engine sqlite --set workload=a,b,c --durability process";

/// The arguments of `trueput ycsb`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// Read a YCSB property file; can be repeated
    #[arg(short = 'P', value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Set a YCSB property; can be repeated
    #[arg(short = 'p', value_name = "NAME=VALUE", value_parser = properties::parse_one)]
    properties: Vec<(String, String)>,
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

/// Runs the workload that the properties describe and prints the result.
///
/// # Errors
/// A usage error for an invalid file or property, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut options = execute::options(&arguments.places)?;
    options.host_access = arguments.overrides.host_options.access();
    options.until = arguments.repeats.rule();
    options.include_assertions = arguments.overrides.include_assertions;
    options.split_by = arguments.overrides.split_by;
    let (folder, manifest) = create(arguments, &mut options, registry)?;
    execute::carry_out(
        &folder,
        &manifest,
        &options,
        registry,
        arguments.json,
        arguments.screen,
    )
}

fn create(
    arguments: &Arguments,
    options: &mut Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let asked = PlanProperties::read(&arguments.files, &arguments.properties)?;
    for warning in &asked.warnings {
        output::print_error(warning);
    }
    let mut plan = PlanFile::for_workload(WORKLOAD);
    asked.apply(&mut plan);
    arguments.overrides.apply(&mut plan)?;
    let named = arguments.overrides.repeat;
    arguments.repeats.apply(&mut plan, named, registry);
    let mut matrix = matrix::expand(&plan, registry)?;
    matrix.leave_out_unreachable(&plan, arguments.places.databases(), registry)?;
    options.credentials = matrix.credentials;
    let created = trueput_runner::create_run(
        &plan.name,
        &plan.about,
        matrix.trials,
        matrix.skipped,
        &arguments.places.results,
        options,
        registry,
        execute::command_line(),
    )?;
    Ok(created)
}
