//! `trueput export`: the trials of runs for other programs.

use crate::failure::Failure;
use crate::size_limit::SizeLimit;
use crate::{bundle, output};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::text::escape_lines;
use trueput_report::formats::{jsonl, openmetrics, seconds, trackers};
use trueput_report::{Format, Style, merge};

const EXAMPLES: &str = "\
Examples:
  trueput export results/20261121T204500Z-first-look --format csv > trials.csv
  trueput export results/* --format jsonl > trials.jsonl
  trueput export RUN --format openmetrics > trueput.prom    # for a textfile collector
  trueput export RUN --format csv --per-second > seconds.csv
  trueput export RUN --format openmetrics --per-second > seconds.prom
  promtool tsdb create-blocks-from openmetrics seconds.prom # into Prometheus
  trueput export RUN --format bencher > bencher.json         # bencher run --file bencher.json

Parquet, by DuckDB:
  trueput export RUN --format jsonl > trials.jsonl
  duckdb -c \"COPY (SELECT * FROM 'trials.jsonl') TO 'trials.parquet' (FORMAT parquet)\"";

/// Formats of exported trials.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// One row per trial, all columns
    Csv,
    /// One JSON object per trial: its whole record, with run and host
    Jsonl,
    /// OpenMetrics text: gauges, labeled with the trial's facts
    Openmetrics,
    /// Bencher Metric Format: medians of rate, latency, CPU and space, with their range
    Bencher,
    /// Rates for github-action-benchmark's customBiggerIsBetter
    GithubBigger,
    /// Latency, CPU and space for its customSmallerIsBetter
    GithubSmaller,
}

/// The arguments of `trueput export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run folders or bundles
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: ExportFormat,
    /// One row per second and kind of operation: count, rate, p50, p99, p99.9 and maximum; as
    /// OpenMetrics, samples with times: the trial's start and the measured time since, without the
    /// pauses of time slices
    #[arg(long)]
    per_second: bool,
    #[command(flatten)]
    size: SizeLimit,
}

/// Writes the trials to standard output.
///
/// # Errors
/// A usage error if a folder is not a run folder or has a newer format.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut reports = Vec::new();
    for run in &arguments.runs {
        let opened = bundle::open(run, arguments.size)?;
        let report = opened.report()?;
        for damaged in &report.damaged {
            let (line, reason) = (damaged.line, &damaged.message);
            let run = run.display();
            output::print_error(&format!(
                "{run}: line {line} of trials.jsonl is skipped: {reason}"
            ));
        }
        reports.push(report);
    }
    match (arguments.format, arguments.per_second) {
        (ExportFormat::Csv, false) => {
            let text = merge::render(&reports, Format::Csv, Style::default());
            output::document(&text, Format::Csv)?;
        }
        (ExportFormat::Csv, true) => {
            seconds::csv(&reports, |text| output::document(text, Format::Csv))?;
        }
        (ExportFormat::Jsonl, false) => output::document(&jsonl::render(&reports), Format::Json)?,
        (ExportFormat::Jsonl, true) => {
            seconds::jsonl(&reports, |text| output::document(text, Format::Json))?;
        }
        (ExportFormat::Openmetrics, false) => {
            output::write_raw(&escape_lines(&openmetrics::render(&reports)))?;
        }
        (ExportFormat::Openmetrics, true) => {
            let write = |text: &str| output::write_raw(&escape_lines(text));
            openmetrics::write_seconds(&reports, write)?;
        }
        (format, true) => {
            let name = format.to_possible_value();
            let name = name.as_ref().map_or("", |value| value.get_name());
            return Err(Failure::usage(format!(
                "--per-second has no use with --format {name}: it has one figure for all repeats"
            )));
        }
        (ExportFormat::Bencher, false) => json(&trackers::bencher(&reports))?,
        (ExportFormat::GithubBigger, false) => json(&trackers::github_bigger(&reports))?,
        (ExportFormat::GithubSmaller, false) => json(&trackers::github_smaller(&reports))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn json(text: &str) -> Result<(), Failure> {
    output::document(text, Format::Json)
}
