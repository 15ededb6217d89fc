//! `trueput ledger`: runs a plan step by step, and reports the gain and cost of each step.

mod step;

use crate::built_in_plans::plan_or_workload;
use crate::failure::{EXIT_CODES, Failure};
use crate::output::{self, ChartsWhen};
use crate::page::{describe_page, write_own_page};
use crate::prepared_run::{self, PreparedRun};
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use crate::trust::Trust;
use clap::Args;
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::ablation::ablations;
use trueput_record::ablation::AblationKind;
use trueput_record::conditions::CONDITIONS;
use trueput_report::{Format, RunReport};
use trueput_runner::Registry;

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
    #[command(flatten)]
    run: RunOptions,
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
    let mut request = request(arguments, registry)?;
    let matrix = request.expand()?;
    if let Some(objective) = request.plan.objective.take() {
        let text = format!(
            "The plan's objective, {objective}, is not judged step by step; 'trueput run' shows \
             who keeps it."
        );
        output::note(&text);
    }
    let run = request.create(matrix.trials, matrix.skipped, None)?;
    let mut progress = run.progress();
    let summary = run.run_trials(&mut |event| progress.observe(event))?;
    prepared_run::finish(&summary, write_ablation(&run))
}

fn write_ablation(run: &PreparedRun<'_>) -> Result<(), Failure> {
    let folder = run.folder.path();
    let report = Run::load(folder)?;
    if run.given.json {
        let document = serde_json::json!({ "ablations": ablations(&report) });
        return output::json_lines(&document.to_string());
    }
    let page = write_own_page(&report)?;
    let document = report.render_ablation(run.given.screen.style(ChartsWhen::Auto));
    output::document(&document, Format::Terminal)?;
    output::line(&format!("run folder: {}", folder.display()))?;
    output::line(&describe_page(&page))
}

/// The plan, with the steps of the command line if there are any.
fn request<'a>(
    arguments: &'a Arguments,
    registry: &'a Registry,
) -> Result<RunRequest<'a>, Failure> {
    let target = &arguments.target;
    let mut plan = plan_or_workload(target, registry)?;
    if plan.origin.of("workload").is_none() {
        plan.repeat = DEFAULT_REPEAT;
    }
    let mut request = RunRequest::new(target, plan, &arguments.run, registry)?;
    request.trust = arguments.trust;
    let plan = &mut request.plan;
    if arguments.one_at_a_time {
        plan.ablation = AblationKind::OneAtATime;
        plan.origin.forget("ablation");
    }
    if !arguments.steps.is_empty() {
        for index in 0..plan.steps.len() {
            plan.origin.forget(&format!("step.{index}"));
        }
        let resolve = |given: &step::StepText| given.resolve(plan, registry);
        let steps: Result<Vec<_>, _> = arguments.steps.iter().map(resolve).collect();
        plan.steps = steps.map_err(Failure::usage)?;
    }
    if plan.steps.is_empty() {
        Err(Failure::usage(format!(
            "'{target}' has no steps; add --step 'NAME: KEY=VALUE', or [[step]] to a plan"
        )))
    } else {
        Ok(request)
    }
}
