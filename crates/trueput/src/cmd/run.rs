//! `trueput run`: expands a plan, runs its trials, ends with the table.

use crate::execute;
use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::{OF_A_NEW_RUN, PlanOverrides, RunDirectories};
use crate::published_plan::{self, parse_scale};
use crate::repeats::{self, Repeats};
use crate::resumed::check_parameters;
use crate::screen::Screen;
use crate::search_run;
use crate::size_limit::{SizeLimit, explained};
use crate::trust::{Trust, UntrustedInputs};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::matrix::BuildAccess;
use trueput_runner::{Options, Registry};

const EXAMPLES: &str = "\
Examples:
  trueput run first-look
  trueput run first-look --engine lmdb --repeat 5
  trueput run threen1 --engine lmdb,sqlite --durability process --set finish=100000
  trueput run threen1 --engine lmdb --durability process --knob lmdb.map_size=4GiB --workers 1,2,4
  trueput run tpcc --engine postgresql --workers 10 --set pacing=tpc --set prime=customer+stock
  trueput run ycsb --engine postgresql@postgres://me@db/test --hosts a,b --workers 8
  trueput run published/fis-2011-threen1-gtm-tuning --scale 0.1
  trueput run --resume results/20261121T204500Z-first-look";

/// The arguments of `trueput run`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file, a built-in plan, a workload, or published/ID for the nearest experiment to a
    /// published one
    #[arg(
        value_name = "PLAN|WORKLOAD|published/ID",
        required_unless_present = "resume",
        conflicts_with = "SizeLimit"
    )]
    target: Option<String>,
    /// For published/ID: size of the run, as a fraction of the published size [default: fits a
    /// small machine]
    #[arg(long, value_name = "FRACTION", value_parser = parse_scale, allow_negative_numbers = true,
        conflicts_with = "resume")]
    scale: Option<f64>,
    /// Continue an interrupted run; finished trials are not run again
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "audited_only"])]
    resume: Option<PathBuf>,
    /// Skip contenders whose promise at the level was not audited here, or was refuted
    #[arg(long)]
    audited_only: bool,
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
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    size: SizeLimit,
}

/// Runs the plan and says how it went.
///
/// # Errors
/// A usage error for an invalid plan or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut options = execute::options(&arguments.places)?;
    options.host_access = arguments.overrides.host_options.access();
    options.until = arguments.repeats.rule();
    options.include_assertions = arguments.overrides.include_assertions;
    options.split_by = arguments.overrides.split_by;
    let (folder, manifest) = match &arguments.resume {
        Some(path) => open_resumed(path, arguments, registry)?,
        None => create(arguments, &mut options, registry)?,
    };
    options.until = options.until.or_else(|| repeats::stated(&manifest));
    execute::carry_out(
        &folder,
        &manifest,
        &options,
        registry,
        arguments.json,
        arguments.screen,
    )
}

/// Opens a run to resume, after a check that its libraries and folders are trusted.
fn open_resumed(
    path: &Path,
    arguments: &Arguments,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    // It may come from anybody: it is not trusted before it is read.
    let opened = RunFolder::open_limited(path, arguments.size.most_bytes);
    let (folder, manifest) = opened.map_err(explained)?;
    trueput_runner::check_folder(&folder)?;
    if manifest.search.is_some() {
        return Err(search_run::other_command(&manifest, path));
    }
    let work = arguments.places.work.as_deref();
    let foreign = UntrustedInputs::of_run(&folder, &manifest, work);
    arguments
        .trust
        .check(&path.display().to_string(), &foreign)?;
    check_parameters(&folder, &manifest, registry)?;
    Ok((folder, manifest))
}

fn create(
    arguments: &Arguments,
    options: &mut Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let target = arguments.target.as_deref().unwrap_or_default();
    let mut named = published_plan::plan(target, arguments.scale, registry, BuildAccess::Opened)?;
    let plan = &mut named.plan;
    arguments.overrides.apply(plan)?;
    arguments
        .trust
        .check_plan(target, plan, &arguments.overrides, registry)?;
    let repeat = arguments.overrides.repeat;
    arguments.repeats.apply(plan, repeat, registry);
    let mut matrix = execute::expand(plan, registry)?;
    matrix.skip_unreachable(plan, arguments.places.databases(), registry)?;
    if arguments.audited_only {
        let audited =
            trueput_runner::skip_unaudited(&mut matrix, options.audits.as_ref(), registry);
        audited.map_err(Failure::Usage)?;
    }
    named.print_place(matrix.trials.len());
    let plan = named.plan;
    matrix.skipped.extend(named.skipped);
    options.objective = plan.objective;
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
