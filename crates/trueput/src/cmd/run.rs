//! `trueput run`: expands a plan, runs its trials, ends with the table.

use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::OF_A_NEW_RUN;
use crate::prepared_run::PreparedRun;
use crate::published_plan::{self, parse_scale};
use crate::repeats::Repeats;
use crate::resumed::{self, FolderChecks};
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use crate::search_run::decision::{self, DecisionOptions};
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_record::gate::GateRule;
use trueput_record::search::{DecisionSettings, SearchSettings};
use trueput_runner::Registry;
use trueput_runner::matrix::BuildAccess;

const EXAMPLES: &str = "\
Examples:
  trueput run first-look
  trueput run first-look --within 3m
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
    /// Continue an interrupted run; trials that have ended, failed ones too, are not run again
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "audited_only"])]
    resume: Option<PathBuf>,
    /// Skip contenders whose promise at the level was not audited here, or was refuted
    #[arg(long)]
    audited_only: bool,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    decide: DecisionOptions,
    /// With --decide: go on until this limit on each other contender against the first is decided,
    /// too, as 'trueput compare --fail-if' judges it: rate<-3%, p99>+10%
    #[arg(
        long,
        value_name = "GATE",
        help_heading = "Repeats",
        conflicts_with = "resume"
    )]
    gate: Vec<GateRule>,
    #[command(flatten)]
    run: RunOptions,
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
    let run = match &arguments.resume {
        Some(path) => resume(path, arguments, registry)?,
        None => create(arguments, registry)?,
    };
    decision::carry_out(&run)
}

fn resume<'a>(
    path: &Path,
    arguments: &'a Arguments,
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let checks = FolderChecks {
        trust: arguments.trust,
        size: arguments.size,
        is_own: |search| matches!(search, None | Some(SearchSettings::Decision(_))),
    };
    let within_s = arguments.decide.within;
    let mut run = resumed::open(path, within_s, &arguments.run, checks, registry)?;
    let decided = run.manifest.decision().map(DecisionSettings::equal_within);
    if decided.is_some() && arguments.repeats.are_automatic() {
        return Err(Failure::usage(
            "this run repeats until its rankings are decided: give it time by --within, and leave \
             --until and --budget out",
        ));
    }
    if let Some(equal_within) = arguments.decide.equal_within(decided, false)? {
        decision::decide(&mut run, equal_within, within_s)?;
    } else {
        run.options.until = arguments.repeats.rule().or(run.options.until);
    }
    Ok(run)
}

fn create<'a>(
    arguments: &'a Arguments,
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let target = arguments.target.as_deref().unwrap_or_default();
    let named = published_plan::plan(target, arguments.scale, registry, BuildAccess::Opened)?;
    let mut request = RunRequest::new(target, named.plan, &arguments.run, registry)?;
    request.trust = arguments.trust;
    request.repeats = arguments.repeats;
    let counts_repeats =
        arguments.run.overrides.repeat.is_some() || arguments.repeats.are_automatic();
    let plan = &mut request.plan;
    let decide = arguments.decide.equal_within(plan.decide, counts_repeats)?;
    plan.decide = decide;
    if decide.is_some() {
        decision::check_plan(plan, target)?;
        plan.repeat = 1;
    }
    let overrides = &arguments.run.overrides;
    let mut matrix = request.expand().map_err(|refusal| {
        published_plan::word_refusal(target, arguments.scale, overrides, registry, refusal)
    })?;
    if arguments.audited_only {
        let audits = request.options.audits.as_ref();
        trueput_runner::skip_unaudited(&mut matrix, audits, registry).map_err(Failure::usage)?;
    }
    let (scale_note, no_file_system) = (named.scale_note, named.no_file_system);
    let trials = matrix.trials.len();
    published_plan::note_adaptation(scale_note, no_file_system, &request.plan, trials);
    matrix.skipped.extend(named.skipped);
    let (trials, skipped) = (matrix.trials, matrix.skipped);
    match decide {
        Some(equal_within) => {
            let within_s = arguments.decide.within;
            let mut run = decision::create(equal_within, within_s, request, trials, skipped)?;
            if !arguments.gate.is_empty() {
                run.manifest.gates.clone_from(&arguments.gate);
                run.folder.extend(&run.manifest)?;
            }
            Ok(run)
        }
        None if !arguments.gate.is_empty() => Err(Failure::usage(
            "--gate needs --decide: the run goes on until its gates are decided",
        )),
        None => request.create(trials, skipped, None),
    }
}
