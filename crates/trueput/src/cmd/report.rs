//! `trueput report`: makes the report of a run folder again, from the folder alone.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_analysis::{Format, Report};

const EXAMPLES: &str = "\
Examples:
  trueput report results/20261121T204500Z-first-look
  trueput report results/20261121T204500Z-first-look --format markdown > table.md
  trueput report results/20261121T204500Z-first-look --format csv > trials.csv
  trueput report results/20261121T204500Z-first-look --html page.html

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
    /// Write a page for a browser, in one file that needs no network, and say where it is
    /// [default: report.html in the run folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "format")]
    html: Option<Option<PathBuf>>,
}

/// Writes the report to standard output, or its page to a file.
///
/// # Errors
/// A usage error where the folder is no run folder or of a newer format, or the page's file cannot
/// be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let report = Report::load(&arguments.run)?;
    if let Some(file) = &arguments.html {
        let file = file.clone().unwrap_or_else(|| report.page_path());
        return write_page(&report, &file).map(|()| ExitCode::SUCCESS);
    }
    output::write(&report.render(arguments.format, output::style()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the report's page to a file and says where it is.
///
/// # Errors
/// A usage error where the file cannot be written.
pub fn write_page(report: &Report, file: &Path) -> Result<(), Failure> {
    let refused = |error| Failure::Usage(format!("cannot write {}: {error}", file.display()));
    std::fs::write(file, report.page()).map_err(refused)?;
    output::line(&format!("page: {}", file.display()))
}
