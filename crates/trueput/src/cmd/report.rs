//! `trueput report`: makes the report of a run folder again, from the folder alone.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_analysis::{Format, Report};

const EXAMPLES: &str = "\
Examples:
  trueput report results/20261121T204500Z-first-look
  trueput report results/20261121T204500Z-first-look --format markdown > table.md
  trueput report results/20261121T204500Z-first-look --format csv > trials.csv

No engine is needed: the folder may come from another machine.";

/// What `trueput report` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What to write: terminal, markdown, csv (a line per trial), json
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
}

/// Writes the report to standard output.
///
/// # Errors
/// A usage error where the folder is no run folder or of a newer format.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let report = Report::load(&arguments.run)?;
    output::write(&report.render(arguments.format, output::style()))?;
    Ok(ExitCode::SUCCESS)
}
