//! `trueput report`: makes the report of a run folder again, from the folder only.

use crate::cmd::{audit, faults};
use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use crate::page::{check_is_page, describe_page, fill, write_own_page, write_page};
use crate::screen::Screen;
use crate::size_limit::SizeLimit;
use crate::{bundle, prepared_run};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_findings::Run;
use trueput_record::folder::RankingSplit;
use trueput_report::pictures::{self, ChartName, ImageFormat};
use trueput_report::{Format, RunReport, Style, merge};

const EXAMPLES: &str = "\
Examples:
  trueput report results/20261121T204500Z-first-look            # the answer, on one screen
  trueput report results/20261121T204500Z-first-look --full     # every section and column
  trueput report results/20261121T204500Z-first-look --format markdown > table.md
  trueput report results/20261121T204500Z-first-look --format csv > trials.csv
  trueput report results/20261121T204500Z-first-look --html page.html
  trueput report results/20261121T204500Z-first-look --chart overview --output overview.png
  trueput report results/of-one-host first-look.tar.gz     # runs of several hosts, side by side
  trueput report results/of-one-host first-look.tar.gz --html both.html

No engine is needed, so the run can come from another machine. The folder of an audit has a terminal
and a json report, that of faults these and a markdown report.";

/// The arguments of `trueput report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run folders or bundles; several are shown side by side
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Format: terminal, markdown, csv (one line per trial), json
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    /// Write a page for a browser: one file that needs no network [default: report.html in the run
    /// folder; required for several runs or a bundle]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "format")]
    html: Option<Option<PathBuf>>,
    /// Draw a chart of the whole run for a slide: overview (all levels with their verdicts),
    /// latency (rate against p99 latency)
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(ChartName::ALL.map(ChartName::name))
            .try_map(|name| ChartName::named(&name).ok_or("no chart has this name")),
        hide_possible_values = true,
        requires = "output",
        conflicts_with_all = ["html", "format"]
    )]
    chart: Option<ChartName>,
    /// The chart's file: FILE.svg, or FILE.png of 2560 by 1440 pixels
    #[arg(long, value_name = "FILE", requires = "chart")]
    output: Option<PathBuf>,
    /// Rank builds with assertions too [default: list them
    /// separately]
    #[arg(long)]
    include_assertions: bool,
    #[command(flatten)]
    size: SizeLimit,
    /// Make a separate ranking for each isolation level
    #[arg(long, value_name = "isolation")]
    split_by: Option<RankingSplit>,
    /// When --full draws charts of characters: auto (on a terminal), always, never
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_possible_values = true
    )]
    charts: ChartsWhen,
    #[command(flatten)]
    screen: Screen,
}

/// Writes the report of the folder of an audit, or of faults; `None` if it is neither, or has no
/// report in this format.
fn report_of_no_run(folder: &Path, arguments: &Arguments) -> Result<Option<ExitCode>, Failure> {
    let (screen, format, size) = (arguments.screen, arguments.format, arguments.size);
    if format == Format::Csv {
        return Ok(None);
    }
    if let Some(code) = faults::report(folder, screen, format, size)? {
        return Ok(Some(code));
    }
    match format {
        Format::Terminal | Format::Json => {
            audit::report(folder, screen, format == Format::Json, size)
        }
        Format::Markdown | Format::Csv => Ok(None),
    }
}

/// Writes the report to standard output, or its page or a chart to a file.
///
/// # Errors
/// A usage error if the folder is not a run folder or has a newer format, or the page cannot be
/// written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let ([folder], None, None) = (arguments.runs.as_slice(), &arguments.html, arguments.chart)
        && let Some(code) = report_of_no_run(folder, arguments)?
    {
        return Ok(code);
    }
    let (mut opened, mut reports) = (Vec::new(), Vec::new());
    for run in &arguments.runs {
        let run = bundle::open(run, arguments.size)?;
        let mut report = run.report()?;
        report.manifest.include_assertions |= arguments.include_assertions;
        report.manifest.split_by = arguments.split_by.or(report.manifest.split_by);
        reports.push(report);
        opened.push(run);
    }
    if let (Some(chart), Some(file)) = (arguments.chart, &arguments.output) {
        write_chart(&reports, chart, file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = arguments.screen;
    let style = screen.style(arguments.charts);
    let is_answer = arguments.format == Format::Terminal && !screen.full;
    match (reports.as_slice(), &arguments.html) {
        ([report], Some(None)) if opened.iter().any(bundle::OpenedBundle::is_unpacked) => {
            let message = "a bundle has no folder for the page: name a file, as in --html \
                page.html";
            return Err(Failure::usage(format!(
                "{}: {message}",
                report.shown_as.display()
            )));
        }
        ([report], Some(None)) => output::line(&describe_page(&write_own_page(report)?))?,
        (_, Some(None)) => {
            let message = "several runs have no common folder for the page: name a file, as in \
                --html page.html";
            return Err(Failure::usage(message));
        }
        (several, Some(Some(file))) => {
            check_is_page(file)?;
            match several {
                [report] => write_page(&report.page(), file)?,
                several => write_page(&merge::page(several), file)?,
            }
        }
        ([report], None) if is_answer => {
            prepared_run::write_answer(report, screen, &closing_lines(report))?;
        }
        ([report], None) => {
            output::document(&whole(report, arguments.format, style), arguments.format)?;
        }
        (several, None) if is_answer => {
            let text = merge::answer(several, screen.layout(), &prepared_run::program_name());
            output::document(&text, Format::Terminal)?;
        }
        (several, None) => {
            let document = merge::render(several, arguments.format, style);
            output::document(&document, arguments.format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The whole report of a run.
fn whole(report: &Run, format: Format, style: Style) -> String {
    match format {
        Format::Terminal => prepared_run::for_people(report).render(format, style),
        _ => report.render(format, style),
    }
}

/// Writes a chart of a run to a new file and prints its path.
fn write_chart(reports: &[Run], chart: ChartName, file: &Path) -> Result<(), Failure> {
    let [report] = reports else {
        let message = "a chart shows one run: name one, or use --html for several side by side";
        return Err(Failure::usage(message));
    };
    let shown = file.display();
    let format =
        ImageFormat::of_file(file).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let picture = pictures::picture(report, chart, format)
        .map_err(|error| Failure::usage(format!("{}: {error}", report.shown_as.display())))?;
    let refuse = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{shown} exists: remove it, or name another file with --output"
        )),
        _ => Failure::not_written(file, &error),
    };
    let made = File::create_new(file).map_err(refuse)?;
    fill(made, file, &picture).map_err(refuse)?;
    output::line(&format!("chart: {shown}"))
}

/// Links to the rest of the results, printed below the answer.
fn closing_lines(report: &Run) -> Vec<String> {
    let mut closing = vec![
        prepared_run::everything(report),
        format!("run folder: {}", report.shown_as.display()),
    ];
    let page = report.page_path();
    let is_own = report.shown_as == report.folder;
    closing.extend((is_own && page.is_file()).then(|| describe_page(&page)));
    closing
}
