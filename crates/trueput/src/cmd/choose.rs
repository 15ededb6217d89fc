//! `trueput choose`: the engine that keeps an objective at the highest rate, by default and tuned.

use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::OF_A_NEW_RUN;
use crate::resumed::FolderChecks;
use crate::run_options::RunOptions;
use crate::search_run::choice::{self, ChoiceQuestion, KnobSearch};
use crate::search_run::limits::Limits;
use crate::search_run::{self, parse_precision};
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::objective::Objective;
use trueput_record::search::{SearchSettings, TuningStrategy};
use trueput_record::value::parse_seconds;
use trueput_runner::Registry;

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
    /// Stop when both ends of the 90 % interval are at most this far from the capacity
    #[arg(long, value_name = "FRACTION", value_parser = parse_precision,
        default_value = "10%")]
    precision: f64,
    /// Compare the contenders with the knobs of the plan, or their defaults, only
    #[arg(long)]
    no_tuning: bool,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "objective", "precision", "no_tuning"])]
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
            let checks = FolderChecks {
                trust,
                size: arguments.size,
                is_own: |search| matches!(search, Some(SearchSettings::Choice(_))),
            };
            choice::open(path, arguments.budget, given, checks, registry)?
        }
        None => {
            let target = arguments.target.as_deref().unwrap_or_default();
            let request = search_run::request(target, given, trust, registry)?;
            choice::create(&arguments.question(), request)?
        }
    };
    search_run::carry_out(&run)
}

impl Arguments {
    fn question(&self) -> ChoiceQuestion<'_> {
        ChoiceQuestion {
            objective: self.objective.as_ref(),
            budget_s: self.budget,
            precision: self.precision,
            tuning: (!self.no_tuning).then_some(KnobSearch {
                limits: Limits::default(),
                strategy: TuningStrategy::Model,
                has_presets: true,
                named_knobs: None,
            }),
        }
    }
}
