//! `trueput choose`: the engine that keeps an objective at the highest rate, by default and tuned.

pub mod limits;

use crate::execute::PreparedRun;
use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::OF_A_NEW_RUN;
use crate::resumed;
use crate::run_options::RunOptions;
use crate::run_request::RunRequest;
use crate::search_run::{self, ContenderDifference};
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::Args;
use limits::Limits;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_findings::eligibility::HARNESS_ENGINE;
use trueput_host::{count_cores, read_memory_bytes};
use trueput_record::TrialSpec;
use trueput_record::conditions::Arrival;
use trueput_record::objective::Objective;
use trueput_record::plan::{PlanFile, UnsupportedPolicy};
use trueput_record::search::{
    CapacitySettings, ChoiceSettings, ContenderPresets, SearchSettings, SearchedKnob, TuningLimits,
    TuningScore, TuningSettings, TuningStrategy,
};
use trueput_record::value::parse_seconds;
use trueput_runner::Registry;
use trueput_tuner::capacity::{self, MAX_CONFIRMATIONS};
use trueput_tuner::choice::{self, MIN_TUNING_TRIALS, TuningPolicy};
use trueput_tuner::tuning::{SearchSpace, searched_knobs};

/// The precision of a capacity, as a part of it.
pub(super) const DEFAULT_PRECISION: f64 = 0.1;

/// Trials that confirm a rate.
pub(super) const DEFAULT_CONFIRMATIONS: u32 = 2;

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
plan, or --rate, is what you need: the answer gives the best contender's capacity as a multiple \
of it. docs/CHOOSING.md describes the method.";

/// The arguments of `trueput choose`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file, a built-in plan or a workload
    #[arg(value_name = "PLAN|WORKLOAD", required_unless_present = "resume")]
    target: Option<String>,
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
    /// Trials that must keep the objective at the rate found, besides the first; one more may fail
    #[arg(long, value_name = "N", default_value_t = DEFAULT_CONFIRMATIONS,
        value_parser = clap::value_parser!(u32).range(1..=MAX_CONFIRMATIONS))]
    confirmations: u32,
    /// Compare the contenders with the knobs of the plan, or their defaults, only
    #[arg(long)]
    no_tuning: bool,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "objective", "precision",
        "confirmations", "no_tuning"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    size: SizeLimit,
}

/// Runs the search and prints the recommendation.
///
/// # Errors
/// A usage error for an invalid plan, objective, budget or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (given, trust) = (&arguments.run, arguments.trust);
    let run = match &arguments.resume {
        Some(path) => {
            let checks = (trust, arguments.size);
            open(path, arguments.budget, given, checks, registry)?
        }
        None => {
            let target = arguments.target.as_deref().unwrap_or_default();
            let request = search_run::request(target, given, trust, registry)?;
            create(&arguments.question(), request)?
        }
    };
    search_run::carry_out(&run, |search| matches!(search, SearchSettings::Choice(_)))
}

/// Opens a search to resume, as [`resumed::open`]. If it is a choice that has not begun to tune,
/// the time for tuning is a part of the new budget.
///
/// # Errors
/// As [`resumed::open`].
pub(super) fn open<'a>(
    path: &Path,
    budget_s: Option<f64>,
    given: &'a RunOptions,
    checks: (Trust, SizeLimit),
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let mut run = resumed::open(path, budget_s, given, checks, registry)?;
    let lock = run.folder.lock()?;
    let trials = run.folder.trials()?.trials;
    if let Some(SearchSettings::Choice(settings)) = &mut run.manifest.search
        && choice::renew_tuning_time(settings, &trials)
    {
        run.folder.extend(&run.manifest)?;
    }
    drop(lock);
    Ok(run)
}

/// A question that a choice answers.
pub(super) struct Question<'a> {
    /// What must hold; the plan's if `None`.
    pub(super) objective: Option<&'a Objective>,
    /// Time for everything, seconds; enough for each contender if `None`.
    pub(super) budget_s: Option<f64>,
    pub(super) precision: f64,
    pub(super) confirmations: u32,
    /// How knobs are tuned; `None` if they are not.
    pub(super) tuning: Option<KnobSearch<'a>>,
}

impl Question<'_> {
    /// The time for the choice, seconds.
    fn budget_s(&self, trials: &[TrialSpec]) -> Result<f64, Failure> {
        let (tuning, or_else) = match &self.tuning {
            None => (TuningPolicy::Never, ""),
            Some(tuning) if tuning.named_knobs.is_some() => (TuningPolicy::Required, ""),
            Some(_) => (TuningPolicy::Possible, ", or --no-tuning"),
        };
        let budget_s = choice::budget_s(self.budget_s, self.confirmations, tuning, trials);
        budget_s.map_err(|shortage| search_run::too_short(shortage, trials.len(), or_else))
    }
}

/// How the knobs of a choice's contenders are tuned.
pub(super) struct KnobSearch<'a> {
    pub(super) limits: Limits,
    pub(super) strategy: TuningStrategy,
    /// Whether searches begin with published advice.
    pub(super) has_presets: bool,
    /// The knobs to search of the only contender; `None` if there may be several contenders, each
    /// with all its knobs that the plan does not give.
    pub(super) named_knobs: Option<&'a [String]>,
}

impl KnobSearch<'_> {
    /// The settings that each contender's search starts from.
    fn settings(
        &self,
        seed: u64,
        budget_s: f64,
        trials: &[TrialSpec],
        registry: &Registry,
    ) -> Result<TuningSettings, Failure> {
        let searched = match (self.named_knobs, trials) {
            (Some(knobs), [only]) => self.searched(knobs, only, registry)?,
            _ => Vec::new(),
        };
        Ok(TuningSettings {
            score: TuningScore::Rate,
            limits: self.limits.limits,
            trials: MIN_TUNING_TRIALS,
            seed,
            budget_s,
            presets: Vec::new(),
            searched,
            strategy: self.strategy,
        })
    }

    /// The published advice for each contender that has some.
    fn presets(
        &self,
        settings: &ChoiceSettings,
        trials: &[TrialSpec],
        registry: &Registry,
    ) -> Result<Vec<ContenderPresets>, Failure> {
        let searched = settings.tuning.as_ref().map(|it| &*it.searched);
        let mut all = Vec::new();
        for spec in trials {
            let engine = registry.engine(&spec.engine).map_err(Failure::usage)?;
            let space = SearchSpace {
                engine,
                first: spec,
                window_s: self.limits.limits.window_s,
                memory_bytes: read_memory_bytes(),
                searched: searched.unwrap_or_default(),
            };
            // One without knobs to search is not tuned, and has no presets.
            let found = space.presets(count_cores()).unwrap_or_default();
            let presets = self.strategy.presets(found, self.has_presets);
            search_run::check_presets(self.strategy, &presets, spec)?;
            let contender = spec.role.map_or(0, |role| role.contender);
            if !presets.is_empty() {
                all.push(ContenderPresets { contender, presets });
            }
        }
        Ok(all)
    }

    /// The knobs to search of the only contender.
    fn searched(
        &self,
        knobs: &[String],
        only: &TrialSpec,
        registry: &Registry,
    ) -> Result<Vec<SearchedKnob>, Failure> {
        let engine = registry.engine(&only.engine).map_err(Failure::usage)?;
        let searched = searched_knobs(knobs, engine, only).map_err(Failure::usage)?;
        let space = SearchSpace {
            engine,
            first: only,
            window_s: self.limits.limits.window_s,
            memory_bytes: read_memory_bytes(),
            searched: &searched,
        };
        // Refuses a space without knobs, before a run folder is made.
        space.space().map_err(Failure::usage)?;
        Ok(searched)
    }
}

impl Arguments {
    fn question(&self) -> Question<'_> {
        Question {
            objective: self.objective.as_ref(),
            budget_s: self.budget,
            precision: self.precision,
            confirmations: self.confirmations,
            tuning: (!self.no_tuning).then_some(KnobSearch {
                limits: Limits::default(),
                strategy: TuningStrategy::Model,
                has_presets: true,
                named_knobs: None,
            }),
        }
    }
}

/// Makes the run of a choice.
///
/// # Errors
/// A usage error for an invalid plan, objective or budget.
pub(super) fn create<'a>(
    question: &Question<'_>,
    mut request: RunRequest<'a>,
) -> Result<PreparedRun<'a>, Failure> {
    let (target, registry) = (request.target, request.registry);
    let plan = &mut request.plan;
    search_run::refuse_fixed_work(plan, registry)?;
    let tuning = question.tuning.as_ref();
    let limits = tuning.map_or_else(Limits::default, |tuning| tuning.limits);
    plan.conditions.crash_and_recover |= limits.limits.recovery_s.is_some();
    let needed_per_s = needed_rate_per_s(plan, target)?;
    let arrival = std::mem::take(&mut plan.conditions.arrival);
    let has_one = tuning.is_some_and(|tuning| tuning.named_knobs.is_some());
    if !has_one {
        plan.unsupported = UnsupportedPolicy::Skip;
    }
    let mut matrix = request.expand()?;
    // The null engine stores nothing: it measures the bench itself.
    matrix.trials.retain(|spec| spec.engine != HARNESS_ENGINE);
    limits.check_levels(matrix.trials.iter().map(|spec| spec.durability))?;
    if has_one {
        search_run::only_contender(&matrix.trials, target)?;
    }
    let trials = one_question(capacity::contenders(matrix.trials), target)?;
    let mut settings = settings(question, &request, arrival, needed_per_s, &trials)?;
    if let Some(tuning) = tuning {
        settings.presets = tuning.presets(&settings, &trials, registry)?;
    }
    let open = capacity::open_loops(&trials, arrival);
    trueput_runner::check_proposals(&open, &request.options, registry)?;
    if !has_one {
        matrix
            .skipped
            .extend(opt_in_engines(&request.plan, registry));
    }
    let search = SearchSettings::Choice(settings);
    let mut run = request.create(trials, matrix.skipped, Some(search))?;
    let untunable = choice::untunable(&run.manifest, registry.engines);
    if let Some(SearchSettings::Choice(settings)) = &mut run.manifest.search {
        settings.untunable = untunable;
    }
    run.folder.extend(&run.manifest)?;
    Ok(run)
}

fn settings(
    question: &Question<'_>,
    request: &RunRequest<'_>,
    arrival: Arrival,
    needed_per_s: Option<f64>,
    trials: &[TrialSpec],
) -> Result<ChoiceSettings, Failure> {
    let tuning = question.tuning.as_ref();
    let is_tuned = tuning.is_some();
    let must_tune = tuning.is_some_and(|tuning| tuning.named_knobs.is_some());
    let budget_s = question.budget_s(trials)?;
    let example = if must_tune {
        "capacity@p99<5ms"
    } else {
        "p99<5ms"
    };
    let (seed, registry) = (request.plan.seed, request.registry);
    let limits = tuning.map_or_else(TuningLimits::default, |tuning| tuning.limits.limits);
    let tuning = tuning.map(|tuning| tuning.settings(seed, budget_s, trials, registry));
    Ok(ChoiceSettings {
        capacity: CapacitySettings {
            objective: search_run::objective(question.objective, request, example)?,
            precision: question.precision,
            confirmations: question.confirmations,
            budget_s: budget_s * choice::default_part(is_tuned),
            arrival,
            limits,
        },
        tuning: tuning.transpose()?,
        untunable: Vec::new(),
        presets: Vec::new(),
        needed_per_s,
        budget_s,
    })
}

/// Takes the rate out of a plan: it is what the user needs.
fn needed_rate_per_s(plan: &mut PlanFile, target: &str) -> Result<Option<f64>, Failure> {
    let rates = std::mem::take(&mut plan.conditions.rate_per_s);
    let mut rates = rates.into_iter().filter(|&rate_per_s| rate_per_s > 0.0);
    match (rates.next(), rates.next()) {
        (needed, None) => Ok(needed),
        _ => Err(Failure::usage(format!(
            "'{target}' gives several rates: give the one that you need, or none"
        ))),
    }
}

/// Refuses contenders that answer different questions.
fn one_question(trials: Vec<TrialSpec>, target: &str) -> Result<Vec<TrialSpec>, Failure> {
    let question = |spec: &TrialSpec| {
        let (settings, conditions) = (spec.settings.clone(), spec.conditions.clone());
        (spec.durability, spec.workers, settings, conditions)
    };
    let mut others = trials.iter().skip(1);
    let first = trials.first().map(question);
    if trials.is_empty() {
        return Err(Failure::usage(format!(
            "'{target}' has no engine that stores data"
        )));
    }
    if others.any(|spec| Some(question(spec)) != first) {
        let instead = search_run::choices(&trials, ContenderDifference::Questions)
            .unwrap_or_else(|| "give one value of each setting and condition".to_owned());
        return Err(Failure::usage(format!(
            "'{target}' expands to several comparisons; choose takes one: {instead}"
        )));
    }
    Ok(trials)
}

/// The engines that no plan includes without being asked for them by name.
fn opt_in_engines(plan: &PlanFile, registry: &Registry) -> Option<String> {
    let is_named = |name: &str| plan.engines.iter().any(|named| named.engine == name);
    let engines = registry.engines.iter().filter(|it| !it.is_default_engine());
    let names = engines.map(|engine| engine.info().name);
    let names: Vec<_> = names.filter(|name| !is_named(name)).collect();
    let (last, others) = names.split_last()?;
    let names = match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("{names}: only if the plan names them"))
}
