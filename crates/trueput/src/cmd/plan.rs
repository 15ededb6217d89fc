//! `trueput plan check`: expands a plan and shows its trials, without running any.

use crate::choices::Choices;
use crate::failure::Failure;
use crate::published_plan::{self, parse_scale};
use crate::{output, table};
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use trueput_engine::knob::resolve;
use trueput_record::TrialSpec;
use trueput_record::value::format_bytes;
use trueput_runner::Registry;
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
    /// Expand a plan: its trials, what is left out, about how much disk it needs; nothing that it
    /// names is loaded, run or connected to
    Check(CheckArguments),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct CheckArguments {
    /// A plan file, a workload's name, or published/ID for the nearest to a published experiment
    #[arg(value_name = "PLAN.toml|WORKLOAD|published/ID")]
    what: String,
    /// Of published/ID: the part of the document's size to run [default: one for a small machine]
    #[arg(long, value_name = "PART", value_parser = parse_scale, allow_negative_numbers = true)]
    scale: Option<f64>,
    /// Write JSON: every trial with every setting
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choices: Choices,
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
    if arguments.json {
        output::json(&json!({
            "trials": matrix.trials,
            "left_out": matrix.left_out,
            "not_opened": matrix.not_opened,
        }))?;
    } else {
        output::write(&described(&matrix, registry))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(matrix: &Matrix, registry: &Registry) -> String {
    let sizes: Vec<_> = matrix
        .trials
        .iter()
        .map(|spec| expected_bytes(spec, registry))
        .collect();
    let rows: Vec<_> = matrix
        .trials
        .iter()
        .zip(&sizes)
        .map(|(spec, &size)| row(spec, size))
        .collect();
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
        text.push_str(&format!("left out: {reason}\n"));
    }
    for sentence in &matrix.not_opened {
        text.push_str(&format!("{sentence}\n"));
    }
    let largest = sizes.iter().max().copied().unwrap_or_default();
    let trials = rows.len();
    let size = format_bytes(largest);
    text.push_str(&format!(
        "{trials} trials; databases take about {size} at most at a time\n"
    ));
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

/// What the workload expects of a frugal engine; nothing where the engine keeps nothing.
fn expected_bytes(spec: &TrialSpec, registry: &Registry) -> u64 {
    let retains = registry
        .engine(&spec.engine)
        .map(|engine| engine.capabilities().retains_data);
    let Ok(workload) = registry.workload(&spec.workload) else {
        return 0;
    };
    let settings = resolve(&spec.workload, workload.settings(), &spec.settings);
    let job = settings.and_then(|settings| workload.job(&settings, &spec.conditions));
    match (retains, job) {
        (Ok(true), Ok(job)) => job
            .own_files_bytes(spec.workers)
            .unwrap_or_else(|| job.expected_bytes()),
        _ => 0,
    }
}
