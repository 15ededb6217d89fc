//! `trueput history`: shows the rates of one plan over many runs, and their changes.

use crate::bundle;
use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use crate::prepared_run::program_name;
use crate::screen::Screen;
use crate::size_limit::SizeLimit;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_findings::compare::Selector;
use trueput_findings::history::{UnreadableRun, history, runs_in};
use trueput_findings::text::joined;
use trueput_report::Format;
use trueput_report::history::render;

const EXAMPLES: &str = "\
Examples:
  trueput history results                             # every run in the folder
  trueput history results/2026112*-nightly --only rocksdb,sync
  trueput history nightly --json | jq '.series[].steps'

The rate of a run is the geometric mean of its repeats, with a 95 % confidence interval. A \
change needs six runs, three on each side. If nothing changed, fewer than 1 in 20 histories show \
a change (docs/METHOD.md). Each change lists what else changed in the records: machine, kernel, \
file system, trueput's commit, engine, build, knobs. Unreadable runs are named and skipped.";

/// The arguments of `trueput history`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run folders, bundles (*.tar.gz), or directories of them
    #[arg(value_name = "RUN|FOLDER", required = true)]
    runs: Vec<PathBuf>,
    /// Select trials by engine, level or NAME=VALUE, comma-separated
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    /// When to draw charts of characters
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    charts: ChartsWhen,
    #[command(flatten)]
    size: SizeLimit,
}

/// Writes the history to standard output.
///
/// # Errors
/// A usage error if a folder is not a run and contains none, or no trial matches.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let selector = match &arguments.only {
        Some(words) => Selector::parse(words)?,
        None => Selector::default(),
    };
    let runs = runs_in(&arguments.runs)?;
    let mut history = history(
        runs.iter().map(|run| load(run, arguments.size)).collect(),
        &selector,
    );
    let skipped = history.skipped.into_iter();
    history.skipped = skipped.map(|one| one.called(&program_name())).collect();
    if history.series.is_empty() {
        let reason = joined(&history.skipped, "; ");
        return Err(Failure::usage(format!(
            "these runs have no valid trial: {reason}"
        )));
    }
    let format = if arguments.json {
        Format::Json
    } else {
        Format::Terminal
    };
    let document = render(&history, format, arguments.screen.style(arguments.charts));
    output::document(&document, format)?;
    Ok(ExitCode::SUCCESS)
}

/// A run, or why it is left out.
fn load(path: &Path, size: SizeLimit) -> Result<Run, UnreadableRun> {
    let loaded = bundle::open(path, size).and_then(|run| run.report());
    loaded.map_err(|failure| UnreadableRun {
        path: path.to_owned(),
        reason: failure.to_string(),
    })
}
