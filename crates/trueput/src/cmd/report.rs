//! `trueput report`: makes the report of a run folder again, from the folder alone.

use crate::bundle;
use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_analysis::{Format, Report, merge};

const EXAMPLES: &str = "\
Examples:
  trueput report results/20261121T204500Z-first-look
  trueput report results/20261121T204500Z-first-look --format markdown > table.md
  trueput report results/20261121T204500Z-first-look --format csv > trials.csv
  trueput report results/20261121T204500Z-first-look --html page.html
  trueput report results/of-one-host first-look.tar.gz     # runs of several hosts, side by side

No engine is needed: the folder may come from another machine.";

/// What `trueput report` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run folders or bundles; several are set side by side
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// What to write: terminal, markdown, csv (a line per trial), json
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    /// Write a page for a browser, in one file that needs no network, and say where it is
    /// [default: report.html in the run folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "format")]
    html: Option<Option<PathBuf>>,
    /// When charts of characters are drawn: auto (where standard output is a terminal), always, never
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_possible_values = true
    )]
    charts: ChartsWhen,
}

/// Writes the report to standard output, or its page to a file.
///
/// # Errors
/// A usage error where the folder is no run folder or of a newer format, or the page's file cannot
/// be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (mut opened, mut reports) = (Vec::new(), Vec::new());
    for run in &arguments.runs {
        let run = bundle::open(run)?;
        reports.push(run.report()?);
        opened.push(run);
    }
    let style = output::style_with(arguments.charts);
    match (reports.as_slice(), &arguments.html) {
        ([report], Some(file)) => {
            let file = match (file, opened.iter().any(bundle::Opened::is_unpacked)) {
                (Some(file), _) => file.clone(),
                (None, false) => report.page_path(),
                (None, true) => {
                    let message = "a bundle is read alone; say where its page is to be, as in \
                        --html page.html";
                    return Err(Failure::usage(message));
                }
            };
            write_page(report, &file)?;
        }
        (_, Some(_)) => {
            return Err(Failure::usage("--html makes the page of one run; name one"));
        }
        ([report], None) => output::write(&report.render(arguments.format, style))?,
        (several, None) => output::write(&merge::render(several, arguments.format, style))?,
    }
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
