//! `trueput tune`: the values of an engine's knobs that serve it best, without a weaker promise.

use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::OF_A_NEW_RUN;
use crate::resumed::FolderChecks;
use crate::run_options::RunOptions;
use crate::search_run;
use crate::search_run::choice::{self, ChoiceQuestion, DEFAULT_PRECISION, KnobSearch};
use crate::search_run::limits::Limits;
use crate::search_run::tuning::{self, TuningQuestion};
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::objective::Objective;
use trueput_record::search::{SearchSettings, TuningStrategy};
use trueput_record::suggest::did_you_mean;
use trueput_record::value::parse_seconds;
use trueput_runner::Registry;

/// The default budget, seconds.
const DEFAULT_BUDGET_S: f64 = 1_800.0;

const EXAMPLES: &str = "\
Examples:
  trueput tune ycsb --engine sqlite --durability sync --workers 4 --budget 30m
  trueput tune ycsb --engine rocksdb --durability sync --set workload=a --objective p99@2000
  trueput tune session-store --engine rocksdb --workers 8 --objective 'capacity@p99<5ms'
  trueput tune tpcc --engine postgresql --workers 4 --within 'memory<2GiB,recovery<10s'
  trueput tune ycsb --engine wiredtiger --knob wiredtiger.cache_size=256MiB   # not searched
  trueput tune ycsb --engine wiredtiger --search cache_size=64MiB..1GiB,leaf_page_max
  trueput tune --resume results/20261126T101500Z-ycsb

A configuration runs only if its driver states the same durability level, with no larger window \
than the default's, or than --within window<TIME allows. Knobs to which the plan or --knob gives \
another value than their default are kept. The last quarter of the trials \
compares the best configuration with the default on other data: 'no better than the default' is a \
valid answer. docs/TUNING.md describes the method.";

/// The arguments of `trueput tune`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// A plan file, a built-in plan or a workload, of one engine at one level
    #[arg(value_name = "PLAN|WORKLOAD", required_unless_present = "resume")]
    target: Option<String>,
    /// What is better: rate (operations per second in closed loop), p99@RATE (the 99th percentile
    /// of the response times at so many requests per second), capacity (the highest rate that
    /// keeps the plan's objective) or capacity@LIMITS as in 'capacity@p99<5ms'
    #[arg(long, value_name = "GOAL", default_value = "rate", value_parser = parse_goal)]
    objective: Goal,
    /// Limits that a configuration must keep, comma-separated: memory<SIZE, space<SIZE,
    /// space<2x (twice the default's), recovery<TIME, window<TIME (instead of the default's time);
    /// durability>=LEVEL refuses a plan whose level keeps less
    #[arg(long, value_name = "LIMITS")]
    within: Option<Limits>,
    /// The knobs to search, comma-separated, with bounds if wanted:
    /// cache_size=64MiB..1GiB,page_size
    /// [default: all that the plan leaves at their defaults, conditions of a cluster's network not
    /// included]
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    search: Vec<String>,
    /// Do not begin with published advice, which 'trueput knobs ENGINE' lists
    #[arg(long)]
    no_presets: bool,
    /// How configurations are proposed: model, random, one-at-a-time or presets; all but model are
    /// baselines to compare it with
    #[arg(long, value_name = "STRATEGY", default_value = "model", value_parser = parse_strategy)]
    strategy: TuningStrategy,
    /// Time for the search and its holdout, or for everything with capacity, as in 30m
    /// [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    budget: Option<f64>,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "objective", "within", "search",
        "no_presets", "strategy"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    size: SizeLimit,
}

/// What a search is for.
#[derive(Debug, Clone, PartialEq)]
enum Goal {
    /// The operations per second in closed loop.
    Rate,
    /// The 99th percentile of the response times at so many requests per second.
    P99 { per_s: f64 },
    /// The highest rate that keeps the objective; the plan's if `None`.
    Capacity { objective: Option<Objective> },
}

impl Goal {
    /// The rate at which the 99th percentile counts, per second; `None` if it is not the goal.
    fn p99_at_per_s(&self) -> Option<f64> {
        match self {
            Self::P99 { per_s } => Some(*per_s),
            Self::Rate | Self::Capacity { .. } => None,
        }
    }
}

/// Reads what is better.
fn parse_goal(text: &str) -> Result<Goal, Failure> {
    let wrong = || {
        Failure::usage(format!(
            "'{text}' is not a goal: write rate, p99@RATE as in p99@2000, capacity, or \
             capacity@LIMITS as in capacity@p99<5ms"
        ))
    };
    let (name, value) = text
        .split_once('@')
        .map_or((text, None), |(name, value)| (name, Some(value)));
    match (name, value) {
        ("rate", None) => Ok(Goal::Rate),
        ("capacity", limits) => Ok(Goal::Capacity {
            objective: limits.map(str::parse).transpose().map_err(Failure::usage)?,
        }),
        ("p99", Some(rate)) => {
            let per_s = rate.parse::<f64>().map_err(|_| wrong())?;
            let fits = per_s.is_finite() && per_s > 0.0;
            fits.then_some(Goal::P99 { per_s }).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// Reads how configurations are proposed.
fn parse_strategy(text: &str) -> Result<TuningStrategy, Failure> {
    let mut all = TuningStrategy::ALL.into_iter();
    all.find(|it| it.name() == text).ok_or_else(|| {
        let names = TuningStrategy::ALL.map(TuningStrategy::name);
        let hint = did_you_mean(text, names);
        Failure::usage(format!(
            "'{text}' is not a strategy{hint}; write {}",
            names.join(", ")
        ))
    })
}

/// Runs the search and prints its result.
///
/// # Errors
/// A usage error for an invalid plan, goal, limit, budget or folder, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (given, trust) = (&arguments.run, arguments.trust);
    let run = match &arguments.resume {
        Some(path) => {
            let checks = FolderChecks {
                trust,
                size: arguments.size,
                // A capacity with the best knobs is a choice with one contender.
                is_own: |search| {
                    use SearchSettings::{Choice, Tuning};
                    matches!(search, Some(Tuning(_) | Choice(_)))
                },
            };
            choice::open(path, arguments.budget, given, checks, registry)?
        }
        None => {
            let target = arguments.target.as_deref().unwrap_or_default();
            let request = search_run::request(target, given, trust, registry)?;
            let knobs = arguments.knob_search();
            let budget_s = arguments.budget.unwrap_or(DEFAULT_BUDGET_S);
            match &arguments.objective {
                Goal::Capacity { objective } => {
                    let question = capacity_question(objective.as_ref(), knobs, budget_s)?;
                    choice::create(&question, request)?
                }
                goal => {
                    let question = TuningQuestion {
                        p99_at_per_s: goal.p99_at_per_s(),
                        knobs,
                        budget_s,
                    };
                    tuning::create(&question, request)?
                }
            }
        }
    };
    search_run::carry_out(&run)
}

impl Arguments {
    fn knob_search(&self) -> KnobSearch<'_> {
        KnobSearch {
            limits: self.within.unwrap_or_default(),
            strategy: self.strategy,
            has_presets: !self.no_presets,
            named_knobs: Some(&self.search),
        }
    }
}

/// The question for a capacity with the best knobs: a choice with one contender.
fn capacity_question<'a>(
    objective: Option<&'a Objective>,
    knobs: KnobSearch<'a>,
    budget_s: f64,
) -> Result<ChoiceQuestion<'a>, Failure> {
    if knobs.limits.values.space_factor.is_some() {
        return Err(Failure::usage(
            "relative space limits are not supported with --objective capacity: give a size, as in \
             space<1GiB",
        ));
    }
    Ok(ChoiceQuestion {
        objective,
        budget_s: Some(budget_s),
        precision: DEFAULT_PRECISION,
        tuning: Some(knobs),
    })
}
