//! `trueput capacity`: the highest rate at which each contender keeps an objective.

use crate::failure::{EXIT_CODES, Failure};
use crate::plan_overrides::OF_A_NEW_RUN;
use crate::resumed::{self, FolderChecks};
use crate::run_options::RunOptions;
use crate::search_run::capacity::{self, CapacityQuestion};
use crate::search_run::{self, parse_precision};
use crate::size_limit::SizeLimit;
use crate::trust::Trust;
use clap::Args;
use std::process::ExitCode;
use trueput_record::objective::Objective;
use trueput_record::search::SearchSettings;
use trueput_record::value::parse_seconds;
use trueput_runner::Registry;

const EXAMPLES: &str = "\
Examples:
  trueput capacity ycsb --engine lmdb,rocksdb,sqlite --durability sync --workers 8 \\
      --objective 'p99<5ms'
  trueput capacity ycsb --engine postgresql --workers 8 --objective 'p50<1ms,p99.9<50ms,errors<0.1%'
  trueput capacity plans/ycsb.toml --engine present --durability sync --set workload=a \\
      --objective 'p99<5ms' --budget 20m
  trueput capacity --resume results/20261126T101500Z-ycsb

An objective is a list of METRIC<LIMIT. A metric is mean, p50, p90, p99, p99.9 or max of the \
response times, which count from when a request was due, or errors: conflicts and deadlocks, which \
the workload retries, as a share of the requests. Each kind of request must keep the limits, and \
requests must not pile up. docs/CAPACITY.md describes the search.";

/// The arguments of `trueput capacity`.
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
    /// Time for all contenders together, as in 10m
    /// [default: enough for 24 trials of each]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    budget: Option<f64>,
    /// Stop when both ends of the 90 % interval are at most this far from the capacity
    #[arg(long, value_name = "FRACTION", value_parser = parse_precision,
        default_value = "10%")]
    precision: f64,
    /// Continue an interrupted search, with a new time budget
    #[arg(long, value_name = "RUN", conflicts_with_all = OF_A_NEW_RUN,
        conflicts_with_all = ["target", "objective", "precision"])]
    resume: Option<std::path::PathBuf>,
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    size: SizeLimit,
}

/// Runs the search and prints the capacities.
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
                is_own: |search| matches!(search, Some(SearchSettings::Capacity(_))),
            };
            resumed::open(path, arguments.budget, given, checks, registry)?
        }
        None => {
            let target = arguments.target.as_deref().unwrap_or_default();
            let question = CapacityQuestion {
                objective: arguments.objective.as_ref(),
                budget_s: arguments.budget,
                precision: arguments.precision,
            };
            let request = search_run::request(target, given, trust, registry)?;
            capacity::create(&question, request)?
        }
    };
    search_run::carry_out(&run)
}
