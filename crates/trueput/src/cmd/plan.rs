//! `trueput plan`: lists the built-in plans, shows one, and expands a plan without running it.

use crate::built_in_plans::{self, BuiltInPlan};
use crate::failure::Failure;
use crate::plan_overrides::{Disk, PlanOverrides};
use crate::published_plan::{self, parse_scale};
use crate::run_request::fit_to_room;
use crate::screen::list_width;
use crate::table::Entry;
use crate::{output, table};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use trueput_findings::units::counted;
use trueput_record::search::DecisionSettings;
use trueput_record::suggest::did_you_mean;
use trueput_record::text::escape_line;
use trueput_record::value::{Settings, format_bytes};
use trueput_record::{TrialSpec, Value};
use trueput_report::wrap;
use trueput_runner::disk_space::DiskSpace;
use trueput_runner::matrix::{self, BuildAccess, Matrix};
use trueput_runner::{Registry, TimeEstimate};

const EXAMPLES: &str = "\
Examples:
  trueput plan list
  trueput plan show first-look > mine.toml
  trueput plan check first-look
  trueput plan check first-look --workers 1,2,4,8
  trueput plan check published/informix-2010-oltp-cheats --scale 0.02";

/// The folder of earlier runs, whose times give an estimate.
const EARLIER_RUNS: &str = "results";

/// The arguments of `trueput plan`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the plans that are part of this program
    List(ListArguments),
    /// Print a plan of this program, as a start for your own
    Show(ShowArguments),
    /// Show the trials of a plan, what is skipped, and the disk space it needs; loads, runs and
    /// connects to nothing
    Check(Box<CheckArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// Its name, as 'trueput plan list' gives it
    #[arg(value_name = "PLAN")]
    name: String,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct CheckArguments {
    /// A plan file, a built-in plan, a workload, or published/ID for the nearest experiment to a
    /// published one
    #[arg(value_name = "PLAN|WORKLOAD|published/ID")]
    target: String,
    /// For published/ID: size of the run, as a fraction of the published size [default: fits a
    /// small machine]
    #[arg(long, value_name = "FRACTION", value_parser = parse_scale, allow_negative_numbers = true)]
    scale: Option<f64>,
    /// Write JSON: each trial with all its settings
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overrides: PlanOverrides,
    #[command(flatten)]
    disk: Disk,
}

/// Lists the built-in plans, shows one, or shows the trials of a plan.
///
/// # Errors
/// A usage error for an invalid plan.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::List(arguments) => list(arguments.json, registry)?,
        Action::Show(arguments) => show(&arguments.name)?,
        Action::Check(arguments) => check(arguments, registry)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool, registry: &Registry) -> Result<(), Failure> {
    let plans = built_in_plans::ALL.iter();
    if as_json {
        let described: Result<Vec<_>, Failure> = plans
            .map(|built_in| {
                let plan = built_in.plan()?;
                Ok(json!({
                    "name": built_in.name,
                    "command": format!("trueput run {}", built_in.typed(registry)),
                    "workload": plan.workload,
                    "about": plan.about,
                }))
            })
            .collect();
        return output::json(&described?.into());
    }
    let listed: Result<Vec<_>, Failure> =
        plans.map(|built_in| listed(built_in, registry)).collect();
    output::write(&table::entries(
        ["plan", "workload"],
        &listed?,
        list_width(),
    ))?;
    output::line("\n'trueput run PLAN' runs one; 'trueput plan show PLAN' prints it.")
}

fn listed(built_in: &BuiltInPlan, registry: &Registry) -> Result<Entry<2>, Failure> {
    let plan = built_in.plan()?;
    Ok(Entry {
        cells: [built_in.typed(registry), plan.workload],
        below: vec![plan.about],
    })
}

fn show(name: &str) -> Result<(), Failure> {
    match built_in_plans::named(name) {
        Some(built_in) => output::write_raw(built_in.text),
        None => {
            let hint = did_you_mean(name, built_in_plans::ALL.iter().map(|plan| plan.name));
            Err(Failure::usage(format!(
                "no plan '{name}'{hint}; 'trueput plan list' lists them"
            )))
        }
    }
}

/// Shows the trials of a plan.
fn check(arguments: &CheckArguments, registry: &Registry) -> Result<(), Failure> {
    let mut named = published_plan::plan(
        &arguments.target,
        arguments.scale,
        registry,
        BuildAccess::Unopened,
    )?;
    arguments.overrides.apply(&mut named.plan)?;
    let builds = BuildAccess::Unopened;
    let matrix = matrix::expand_with(&named.plan, registry, builds).map_err(|refusal| {
        let (target, overrides) = (&arguments.target, &arguments.overrides);
        let refusal = Failure::from(refusal);
        published_plan::word_refusal(target, arguments.scale, overrides, registry, refusal)
    })?;
    let room = (Path::new(EARLIER_RUNS), arguments.disk.factor);
    let (mut matrix, _) = fit_to_room(matrix, &mut named.plan, room, registry, builds)?;
    let (scale_note, no_file_system) = (named.scale_note, named.no_file_system);
    let trials = matrix.trials.len();
    published_plan::note_adaptation(scale_note, no_file_system, &named.plan, trials);
    matrix.skipped.extend(named.skipped);
    let factor = arguments.disk.factor;
    let time = TimeEstimate::of(&matrix.trials, Path::new(EARLIER_RUNS));
    let decides = named.plan.decides();
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
        return output::json(&json!({
            "trials": matrix.trials,
            "skipped": matrix.skipped,
            "not_opened": matrix.not_opened,
            "cautions": trueput_runner::cautions(&matrix.trials, registry),
            "disk": disk,
            "decides": decides,
            "time": {
                "known_s": time.known_s,
                "unknown_trials": time.unknown,
                "trials_by_duration_alone": time.by_duration,
            },
        }));
    }
    let mut text = described(&matrix, factor, registry);
    text.push_str(&format!("{}\n", time.to_text()));
    if decides {
        text.push_str(&format!(
            "These are the trials of one repeat. A run makes {} to {}, until each ranking is \
             decided.\n",
            DecisionSettings::MIN_REPEATS,
            DecisionSettings::MAX_REPEATS
        ));
    }
    output::write(&text)
}

fn described(matrix: &Matrix, factor: f64, registry: &Registry) -> String {
    let width = list_width();
    let mut text = trials(matrix, factor, registry, width);
    let mut sentence = |said: &str| {
        text += &wrap(&escape_line(said), width, "  ").join("\n");
        text.push('\n');
    };
    for part in &matrix.skipped {
        sentence(&format!("skipped: {}", part.sentence));
    }
    for unknown in &matrix.not_opened {
        sentence(unknown);
    }
    for caution in trueput_runner::cautions(&matrix.trials, registry) {
        sentence(&caution);
    }
    let space = DiskSpace::of_plan(&matrix.trials, registry, factor);
    let (trials, size) = (matrix.trials.len(), format_bytes(space.expected_bytes));
    sentence(&format!(
        "{}; databases need up to about {size} at a time",
        counted(trials as u64, "trial")
    ));
    if space.needed_bytes > 0 {
        sentence(&format!(
            "{} at the start of a run, because engines that copy pages or compact need several \
             copies (--disk-factor)",
            space.explained(factor)
        ));
    }
    text
}

/// The settings that all trials share, then the trials in the plan's order, each with its other
/// settings.
fn trials(matrix: &Matrix, factor: f64, registry: &Registry, width: usize) -> String {
    let mut shared = matrix
        .trials
        .first()
        .map_or_else(Settings::new, |spec| spec.settings.clone());
    for spec in &matrix.trials {
        shared.retain(|name, value| spec.settings.get(name) == Some(value));
    }
    let listed: Vec<_> = matrix
        .trials
        .iter()
        .map(|spec| {
            let size = DiskSpace::of_trial(spec, registry, factor).expected_bytes;
            entry(spec, size, &shared, registry)
        })
        .collect();
    let header = ["trial", "contender", "workers", "disk, about"];
    let mut text = table::entries(header, &listed, width);
    text.push('\n');
    if !shared.is_empty() {
        let settings = format!("Settings of every trial: {}", words(&shared));
        text += &wrap(&escape_line(&settings), width, "  ").join("\n");
        text.push('\n');
    }
    text + "Knobs at their defaults are not listed; --json lists all.\n"
}

fn words(settings: &Settings) -> String {
    let pairs = settings.iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

fn entry(spec: &TrialSpec, size: u64, shared: &Settings, registry: &Registry) -> Entry<4> {
    let mut own = spec.settings.clone();
    own.retain(|name, _| !shared.contains_key(name));
    let labeled = |label: &str, text: String| {
        if text.is_empty() {
            text
        } else {
            format!("{label}: {text}")
        }
    };
    Entry {
        cells: [
            spec.id.clone(),
            spec.contender(),
            format!("{} {}", spec.workers, spec.worker_kind),
            format_bytes(size),
        ],
        below: vec![
            labeled("settings", words(&own)),
            labeled("knobs", words(&turned(spec, registry))),
            labeled("conditions", spec.conditions.special()),
            spec.note.clone().unwrap_or_default(),
        ],
    }
}

/// The knobs that are not at their engine's default.
fn turned(spec: &TrialSpec, registry: &Registry) -> Settings {
    let known = registry
        .engine(&spec.engine)
        .map_or(&[][..], |engine| engine.knobs());
    let is_default = |name: &str, value: &Value| {
        let mut known = known.iter().filter(|knob| knob.name == name);
        known.any(|knob| knob.kind.default_value() == *value)
    };
    let mut knobs = spec.knobs.clone();
    knobs.retain(|name, value| !is_default(name, value));
    knobs
}
