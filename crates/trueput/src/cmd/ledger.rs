//! `trueput ledger`: runs a plan step by step, and reports the gain and cost of each step.

mod step;

use crate::built_in_plans::plan_or_workload;
use crate::execute;
use crate::failure::{EXIT_CODES, Failure};
use crate::output::{self, ChartsWhen};
use crate::page::{describe_page, write_own_page};
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::progress::Progress;
use crate::screen::Screen;
use crate::trust::Trust;
use clap::Args;
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::ablation::ablations;
use trueput_record::ablation::AblationKind;
use trueput_record::conditions::CONDITIONS;
use trueput_record::plan::PlanFile;
use trueput_record::{RunFolder, RunManifest};
use trueput_report::{Format, RunReport};
use trueput_runner::{Options, Registry};

/// Default repeats of each step: an interval needs this many.
const DEFAULT_REPEAT: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  trueput ledger plans/oltp-cheats.toml
  trueput ledger tpcc --engine postgresql --workers 4 --duration 20s --crash-and-recover \\
      --step 'buffered logging: durability=buffered' \\
      --step 'no checkpoint: max_wal_size=16GiB, checkpoint_timeout=3600' \\
      --step 'primed cache: prime=customer+stock'
  trueput ledger micro --engine rocksdb,sqlite --durability process --one-at-a-time \\
      --step 'block_cache=256MiB' --step 'cache_size=256MiB'";

/// The arguments of `trueput ledger`.
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\n{EXAMPLES}\n\n{EXIT_CODES}", describe_steps()))]
pub struct Arguments {
    /// A plan file, a built-in plan or a workload
    #[arg(value_name = "PLAN|WORKLOAD")]
    target: String,
    /// A step; repeat the option for more, in order. Replaces all steps of the plan
    #[arg(long = "step", value_name = "STEP", value_parser = step::parse)]
    steps: Vec<step::StepText>,
    /// Apply each step to the base alone [default: to the previous step]
    #[arg(long)]
    one_at_a_time: bool,
    /// Write each event as one line of JSON to standard output, the ablation last
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    overrides: PlanOverrides,
    #[command(flatten)]
    places: RunDirectories,
    #[command(flatten)]
    trust: Trust,
}

/// Describes the possible changes of a step, for the help.
fn describe_steps() -> String {
    let conditions = CONDITIONS.iter();
    let changed = conditions.filter(|condition| condition.is_changed_by_steps());
    let names: Vec<_> = changed.map(|condition| condition.parameter.name).collect();
    format!(
        "A step is 'NAME: KEY=VALUE, KEY=VALUE'; NAME: is optional. KEY is durability, a condition \
         ({}), ENGINE.KNOB, settings.SETTING, or the bare name of a knob or setting, for every \
         engine that has it. If a step changes nothing for an engine, that engine is not measured \
         again.",
        names.join(", ")
    )
}

/// Runs the steps and prints the ablation.
///
/// # Errors
/// A usage error for an invalid plan, step or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut options = execute::options(&arguments.places)?;
    options.host_access = arguments.overrides.host_options.access();
    options.include_assertions = arguments.overrides.include_assertions;
    options.split_by = arguments.overrides.split_by;
    let plan = plan(arguments, registry)?;
    arguments
        .trust
        .check_plan(&arguments.target, &plan, &arguments.overrides, registry)?;
    if let Some(objective) = &plan.objective {
        let text = format!(
            "The plan's objective, {objective}, is not judged step by step; 'trueput run' shows \
             who keeps it."
        );
        output::note(&text);
    }
    let (folder, manifest) = create(&plan, arguments, &mut options, registry)?;
    execute::print_build_warnings(&manifest, registry);
    let mut progress = if arguments.json {
        Progress::json()
    } else {
        Progress::for_people()
    };
    let observer = &mut |event: &_| progress.observe(event);
    let summary = trueput_runner::run(&folder, &manifest, registry, &options, observer)?;
    execute::finish(&summary, write_ablation(&folder, arguments))
}

fn write_ablation(folder: &RunFolder, arguments: &Arguments) -> Result<(), Failure> {
    let report = Run::load(folder.path())?;
    if arguments.json {
        let document = serde_json::json!({ "ablations": ablations(&report) });
        return output::json_lines(&document.to_string());
    }
    let page = write_own_page(&report)?;
    let document = report.render_ablation(arguments.screen.style(ChartsWhen::Auto));
    output::document(&document, Format::Terminal)?;
    output::line(&format!("run folder: {}", folder.path().display()))?;
    output::line(&describe_page(&page))
}

/// The plan, with the steps of the command line if there are any.
fn plan(arguments: &Arguments, registry: &Registry) -> Result<PlanFile, Failure> {
    let mut plan = plan_or_workload(&arguments.target, registry)?;
    if plan.origin.of("workload").is_none() {
        plan.repeat = DEFAULT_REPEAT;
    }
    arguments.overrides.apply(&mut plan)?;
    if arguments.one_at_a_time {
        plan.ablation = AblationKind::OneAtATime;
        plan.origin.forget("ablation");
    }
    if !arguments.steps.is_empty() {
        for index in 0..plan.steps.len() {
            plan.origin.forget(&format!("step.{index}"));
        }
        let resolve = |given: &step::StepText| given.resolve(&plan, registry);
        let steps: Result<Vec<_>, _> = arguments.steps.iter().map(resolve).collect();
        plan.steps = steps.map_err(Failure::usage)?;
    }
    if plan.steps.is_empty() {
        Err(Failure::usage(format!(
            "'{}' has no steps; add --step 'NAME: KEY=VALUE', or [[step]] to a plan",
            arguments.target
        )))
    } else {
        Ok(plan)
    }
}

fn create(
    plan: &PlanFile,
    arguments: &Arguments,
    options: &mut Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let mut matrix = execute::expand(plan, registry)?;
    matrix.skip_unreachable(plan, arguments.places.databases(), registry)?;
    options.credentials = matrix.credentials;
    Ok(trueput_runner::create_run(
        &plan.name,
        &plan.about,
        matrix.trials,
        matrix.skipped,
        &arguments.places.results,
        options,
        registry,
        execute::command_line(),
    )?)
}
