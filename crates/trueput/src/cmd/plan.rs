//! `trueput plan check`: expands a plan and shows its trials, without running any.

use crate::choices::{Choices, Disk};
use crate::failure::Failure;
use crate::published_plan::{self, parse_scale};
use crate::{output, table};
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use trueput_record::TrialSpec;
use trueput_record::text::visible;
use trueput_record::value::format_bytes;
use trueput_runner::Registry;
use trueput_runner::disk_space::DiskSpace;
use trueput_runner::matrix::{self, Builds, Matrix};

const EXAMPLES: &str = "\
Examples:
  trueput plan check plans/first-look.toml
  trueput plan check plans/first-look.toml --workers 1,2,4,8
  trueput plan check published/informix-2010-oltp-cheats --scale 0.02";

/// What `trueput plan` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the trials of a plan, what is skipped, and the disk space it needs; loads, runs and
    /// connects to nothing
    Check(CheckArguments),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct CheckArguments {
    /// A plan file, a ready plan, a workload, or published/ID for the nearest experiment to a
    /// published one
    #[arg(value_name = "PLAN.toml|WORKLOAD|published/ID")]
    what: String,
    /// For published/ID: size of the run, as a part of the published size [default: fits a small
    /// machine]
    #[arg(long, value_name = "PART", value_parser = parse_scale, allow_negative_numbers = true)]
    scale: Option<f64>,
    /// Write JSON: each trial with all its settings
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    disk: Disk,
}

/// Shows the trials.
///
/// # Errors
/// A usage error for whatever is wrong with the plan.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let Action::Check(arguments) = &arguments.action;
    let (mut plan, left_out) =
        published_plan::plan(&arguments.what, arguments.scale, registry, Builds::Unopened)?;
    arguments.choices.apply(&mut plan)?;
    let mut matrix = matrix::expand_with(&plan, registry, Builds::Unopened)?;
    matrix.left_out.extend(left_out);
    let factor = arguments.disk.factor;
    if arguments.json {
        let DiskSpace {
            expected_bytes,
            needed_bytes,
        } = DiskSpace::of_plan(&matrix.trials, registry, factor);
        let disk = json!({
            "expected_bytes": expected_bytes,
            "needed_bytes": needed_bytes,
            "factor": factor,
        });
        output::json(&json!({
            "trials": matrix.trials,
            "left_out": matrix.left_out,
            "not_opened": matrix.not_opened,
            "disk": disk,
        }))?;
    } else {
        output::write(&described(&matrix, factor, registry))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(matrix: &Matrix, factor: f64, registry: &Registry) -> String {
    let expected = |spec| DiskSpace::of_trial(spec, registry, factor).expected_bytes;
    let trials = matrix.trials.iter();
    let rows: Vec<_> = trials.map(|spec| row(spec, expected(spec))).collect();
    let header = [
        "trial",
        "contender",
        "workers",
        "disk, about",
        "settings",
        "knobs",
        "conditions",
        "note",
    ];
    let mut text = table::align(header, &rows);
    for reason in &matrix.left_out {
        text.push_str(&format!("left out: {}\n", visible(reason)));
    }
    for sentence in &matrix.not_opened {
        text.push_str(&format!("{}\n", visible(sentence)));
    }
    let space = DiskSpace::of_plan(&matrix.trials, registry, factor);
    let (trials, size) = (rows.len(), format_bytes(space.expected_bytes));
    text.push_str(&format!(
        "{trials} trials; databases take about {size} at most at a time\n"
    ));
    if space.needed_bytes > 0 {
        text.push_str(&format!(
            "{} at the start of a run: engines that copy pages or compact keep several versions of \
             them (--disk-factor changes that)\n",
            space.explained(factor)
        ));
    }
    text
}

fn row(spec: &TrialSpec, size: u64) -> [String; 8] {
    let listed = |settings: &trueput_record::trial::Settings| {
        let pairs = settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    [
        spec.id.clone(),
        spec.contender(),
        format!("{} {}", spec.workers, spec.worker_kind),
        format_bytes(size),
        listed(&spec.settings),
        listed(&spec.knobs),
        spec.conditions.special(),
        spec.note.clone().unwrap_or_default(),
    ]
}
