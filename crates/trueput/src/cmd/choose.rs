//! `trueput choose`: the engine that keeps an objective at the highest rate, by default and tuned.

mod search;

use crate::capacity_search;
use crate::execute;
use crate::failure::{EXIT_CODES, Failure};
use crate::output;
use crate::plan_overrides::{PlanOverrides, RunDirectories};
use crate::screen::Screen;
use crate::search_run::{self, Proposal, SearchRun};
use crate::trust::Trust;
use crate::tuning_search::TuningSearch;
use clap::Args;
use search::{ChoiceSearch, LEAST_TUNING_TRIALS, default_part};
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_findings::choice::choice;
use trueput_findings::eligibility::HARNESS_ENGINE;
use trueput_findings::units::counted;
use trueput_record::objective::Objective;
use trueput_record::plan::{PlanFile, UnsupportedPolicy};
use trueput_record::search::{
    CapacitySettings, ChoiceSettings, SearchSettings, TuningLimits, TuningScore, TuningSettings,
    UntunableContender,
};
use trueput_record::value::{format_seconds, parse_seconds};
use trueput_record::{RunFolder, RunManifest, TrialRecord, TrialSpec};
use trueput_runner::{Options, Registry, matrix};
use trueput_tuner::capacity::{FEWEST_TRIALS, USUAL_TRIALS};

const EXAMPLES: &str = "\
Examples:
  trueput choose plans/which-engine.toml
  trueput choose ycsb --engine lmdb,rocksdb,sqlite --durability sync --workers 8 \\
      --set workload=b --objective 'p99<5ms' --budget 30m
  trueput choose session-store --engine present --durability sync --memory 256MiB \\
      --objective 'p99<5ms' --rate 5000
  trueput choose --resume results/20261126T101500Z-which-engine

Every engine that can keep the durability level competes: first with its default knobs, then, \
from the best down, with knobs that are tuned for it, as long as there is time. The rate of the \
plan, or --rate, is what you need: the answer says how many times that the best contender takes. \
docs/CHOOSING.md describes the method.";

/// The arguments of `trueput choose`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file, a built-in plan or a workload
    #[arg(value_name = "PLAN|WORKLOAD", required_unless_present = "resume")]
    what: Option<String>,
    /// What must hold, as in 'p99<5ms' or 'p50<1ms,p99.9<50ms,errors<0.1%'
    /// [default: the plan's]
    #[arg(long, value_name = "LIMITS")]
    objective: Option<Objective>,
    /// Time for everything, as in 1h [default: enough for each contender, tuned]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    budget: Option<f64>,
    /// Stop when the lowest rate that fails is at most this much above the highest that holds
    #[arg(long, value_name = "FRACTION", value_parser = search_run::parse_precision,
        default_value = "10%")]
    precision: f64,
    /// Trials that confirm a rate; each must keep the objective
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    confirmations: u32,
    /// Compare the contenders with the knobs of the plan, or their defaults, only
    #[arg(long)]
    no_tuning: bool,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = ["what", "objective", "precision",
        "confirmations", "no_tuning"])]
    resume: Option<PathBuf>,
    /// Write each event as one line of JSON to standard output, the choice last
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

/// Runs the search and prints the recommendation.
///
/// # Errors
/// A usage error for an invalid plan, objective, budget or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut options = execute::options(&arguments.places)?;
    options.host_access = arguments.overrides.host_options.access();
    let (places, trust) = (&arguments.places, arguments.trust);
    let (folder, manifest) = match &arguments.resume {
        Some(path) => search_run::open(path, arguments.budget, places, trust)?,
        None => create(arguments, &mut options, registry)?,
    };
    execute::print_build_warnings(&manifest, registry);
    let Some(SearchSettings::Choice(settings)) = &manifest.search else {
        let path = folder.path().display();
        return Err(Failure::usage(format!("{path} is not a choice")));
    };
    let mut search = ChoiceSearch::new(settings, &manifest, registry);
    let search_run = SearchRun {
        folder: &folder,
        manifest: &manifest,
        registry,
        options: &options,
        json: arguments.json,
        screen: arguments.screen,
    };
    let next = &mut |ended: &[TrialRecord]| Proposal {
        trials: search.next(ended),
        news: search.take_news(),
    };
    search_run.run(
        next,
        |run| serde_json::json!({ "choice": choice(&run.manifest, &run.trials) }),
    )
}

fn create(
    arguments: &Arguments,
    options: &mut Options,
    registry: &Registry,
) -> Result<(RunFolder, RunManifest), Failure> {
    let what = arguments.what.as_deref().unwrap_or_default();
    let (overrides, trust) = (&arguments.overrides, arguments.trust);
    let mut plan = search_run::read_plan(what, overrides, trust, registry)?;
    let needed_per_s = needed_rate_per_s(&mut plan, what)?;
    let arrival = std::mem::take(&mut plan.conditions.arrival);
    plan.unsupported = UnsupportedPolicy::LeaveOut;
    let mut matrix = matrix::expand(&plan, registry)?;
    matrix.leave_out_unreachable(&plan, arguments.places.databases(), registry)?;
    options.credentials = matrix.credentials;
    // The null engine stores nothing: it measures the bench itself.
    matrix.trials.retain(|spec| spec.engine != HARNESS_ENGINE);
    let trials = one_question(capacity_search::contenders(matrix.trials), what)?;
    let mut settings = ChoiceSettings {
        capacity: CapacitySettings {
            objective: search_run::objective(&arguments.objective, &plan, what)?,
            precision: arguments.precision,
            confirmations: arguments.confirmations,
            budget_s: 0.0,
            arrival,
        },
        tuning: None,
        untunable: Vec::new(),
        needed_per_s,
        budget_s: budget_s(arguments, &trials)?,
    };
    settings.capacity.budget_s = settings.budget_s * default_part(!arguments.no_tuning);
    settings.tuning = (!arguments.no_tuning).then_some(TuningSettings {
        score: TuningScore::Rate,
        limits: TuningLimits::default(),
        trials: LEAST_TUNING_TRIALS,
        seed: plan.seed,
        budget_s: settings.budget_s,
        presets: Vec::new(),
        searched: Vec::new(),
    });
    let results = &arguments.places.results;
    let open = capacity_search::open_loops(&trials, arrival);
    trueput_runner::check_proposals(&open, results, options, registry)?;
    output::note(&format!(
        "{}, at most {}",
        counted(trials.len() as u64, "contender"),
        format_seconds(settings.budget_s)
    ));
    options.search = Some(SearchSettings::Choice(settings));
    let skipped = matrix.skipped.into_iter().chain(unasked(&plan, registry));
    let (folder, mut manifest) = trueput_runner::create_run(
        &plan.name,
        &plan.about,
        trials,
        skipped.collect(),
        results,
        options,
        registry,
        execute::command_line(),
    )?;
    note_untunable(&mut manifest, registry);
    folder.extend(&manifest)?;
    Ok((folder, manifest))
}

/// Takes the rate out of a plan: it is what the user needs.
fn needed_rate_per_s(plan: &mut PlanFile, what: &str) -> Result<Option<f64>, Failure> {
    let rates = std::mem::take(&mut plan.conditions.rate_per_s);
    let mut rates = rates.into_iter().filter(|&rate_per_s| rate_per_s > 0.0);
    match (rates.next(), rates.next()) {
        (needed, None) => Ok(needed),
        _ => Err(Failure::usage(format!(
            "'{what}' gives several rates: give the one that you need, or none"
        ))),
    }
}

/// Refuses contenders that answer different questions.
fn one_question(trials: Vec<TrialSpec>, what: &str) -> Result<Vec<TrialSpec>, Failure> {
    let question = |spec: &TrialSpec| {
        let (settings, conditions) = (spec.settings.clone(), spec.conditions.clone());
        (spec.durability, spec.workers, settings, conditions)
    };
    let mut others = trials.iter().skip(1);
    let first = trials.first().map(question);
    if trials.is_empty() {
        return Err(Failure::usage(format!(
            "'{what}' has no engine that stores data"
        )));
    }
    if others.any(|spec| Some(question(spec)) != first) {
        return Err(Failure::usage(format!(
            "'{what}' asks several questions: give one durability level, number of workers, and \
             value of each setting and condition, as in --durability sync --workers 8"
        )));
    }
    Ok(trials)
}

/// The budget, and whether it suffices.
fn budget_s(arguments: &Arguments, trials: &[TrialSpec]) -> Result<f64, Failure> {
    let one_each_s: f64 = trials.iter().map(search_run::trial_s).sum();
    let part = default_part(!arguments.no_tuning);
    let least_s = (one_each_s * f64::from(FEWEST_TRIALS) / part).ceil();
    let tuned_trials = match arguments.no_tuning {
        true => 0,
        false => USUAL_TRIALS + 2 * LEAST_TUNING_TRIALS,
    };
    let usual_s = one_each_s * f64::from(USUAL_TRIALS + tuned_trials) / search::SEARCH_PART;
    match arguments.budget {
        None => Ok(usual_s.max(least_s).ceil()),
        Some(given_s) if given_s >= least_s => Ok(given_s),
        Some(given_s) => Err(search_run::too_short(given_s, trials.len(), least_s)),
    }
}

/// The engines that no plan includes without being asked for them by name.
fn unasked(plan: &PlanFile, registry: &Registry) -> Option<String> {
    let is_named = |name: &str| plan.engines.iter().any(|named| named.engine == name);
    let engines = registry.engines.iter().filter(|it| !it.runs_unasked());
    let names = engines.map(|engine| engine.info().name);
    let names: Vec<_> = names.filter(|name| !is_named(name)).collect();
    let (last, others) = names.split_last()?;
    let names = match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("{names}: only if the plan names them"))
}

/// Records why the knobs of some contenders cannot be tuned.
fn note_untunable(manifest: &mut RunManifest, registry: &Registry) {
    let Some(SearchSettings::Choice(settings)) = &manifest.search else {
        return;
    };
    let Some(tuning) = &settings.tuning else {
        return;
    };
    let why_not = |spec: &TrialSpec| {
        let number = spec.role?.contender;
        let search = TuningSearch::new(tuning.clone(), spec.clone(), manifest, registry);
        search.err().map(|why| UntunableContender {
            contender: number,
            reason: why.to_string(),
        })
    };
    let untunable = manifest.trials.iter().filter_map(why_not).collect();
    if let Some(SearchSettings::Choice(settings)) = &mut manifest.search {
        settings.untunable = untunable;
    }
}
