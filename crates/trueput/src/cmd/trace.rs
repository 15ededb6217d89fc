//! `trueput trace`: replays a trace of requests, shows what is in it, or fits a workload to it.

use crate::failure::{EXIT_CODES, Failure, USAGE};
use crate::output;
use crate::workload_run::WorkloadRun;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::process::ExitCode;
use trueput_findings::units::counted;
use trueput_record::plan::PlanFile;
use trueput_record::text::escape_line;
use trueput_record::value::format_bytes;
use trueput_runner::Registry;
use trueput_workloads::mixgraph::{self, MixgraphFit, fit_trace};
use trueput_workloads::trace::{FormatChoice, NAME, SizeSummary, TraceSummary, summarize};

const EXAMPLES: &str = "\
Examples:
  trueput trace describe traffic.csv
  trueput trace replay traffic.csv --engine lmdb,sqlite --durability process --workers 4
  trueput trace replay traffic.csv --engine rocksdb --speed 10       # ten times as fast
  trueput trace replay cluster12.csv --format twitter --closed --requests 1000000 --engine lmdb
  trueput run micro --engine lmdb --set operations=100000 --record-trace 64MiB  # record one
  trueput trace replay results/RUN/traces/TRIAL.csv --engine sqlite  # and replay it
  trueput trace fit traffic.csv > fit.toml        # then: trueput run fit.toml --engine lmdb

docs/workloads/trace.md describes the formats, docs/workloads/mixgraph.md the fit. 'trueput run \
trace --set file=FILE' and a plan with workload = \"trace\" do the same as replay.";

/// What to do with a trace.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Replay a trace on engines, at its own times or as fast as they can
    Replay(Box<ReplayArguments>),
    /// Show what is in a trace: operations, keys, sizes, times, popularity, damaged lines
    Describe(DescribeArguments),
    /// Fit the distributions of mixgraph to a trace, and print the plan that runs them
    Fit(FitArguments),
}

/// The arguments of `trueput trace replay`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct ReplayArguments {
    /// The trace, or example for a small one that is part of the program
    #[arg(value_name = "FILE")]
    file: String,
    /// Format of the trace [default: recognized by its first line]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<FormatName>,
    /// Replay so many times as fast as recorded
    #[arg(long, value_name = "FACTOR", conflicts_with = "closed")]
    speed: Option<f64>,
    /// Make each request when the last has ended, not at the times of the trace
    #[arg(long)]
    closed: bool,
    /// Replay only the first requests
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    #[command(flatten)]
    run: WorkloadRun,
}

/// The arguments of `trueput trace describe`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DescribeArguments {
    /// The trace, or example for a small one that is part of the program
    #[arg(value_name = "FILE")]
    file: String,
    /// Format of the trace [default: recognized by its first line]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<FormatName>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// How the plan of a fit is run, which the plan itself says.
const RUN_OF_FIT: &str =
    "trueput run fit.toml --engine lmdb,sqlite --durability process --duration 60";

/// How the plan of a fit is checked, which names no engine itself.
const CHECK_OF_FIT: &str =
    "trueput plan check fit.toml --engine lmdb,sqlite --durability process --duration 60";

/// The most key ranges that are fitted.
const MAX_KEY_RANGES: u64 = 1_000;

/// The arguments of `trueput trace fit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FitArguments {
    /// The trace
    #[arg(value_name = "FILE")]
    file: String,
    /// Format of the trace [default: recognized by its first line]
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<FormatName>,
    /// Fit the hotness of so many ranges of neighboring keys, too
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..=MAX_KEY_RANGES))]
    key_ranges: Option<u64>,
}

/// A format, on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// Columns that the first line names: time,operation,key,size,transaction
    Csv,
    /// An object of JSON on each line
    Jsonl,
    /// The human-readable trace of RocksDB's trace_analyzer
    Rocksdb,
    /// Twitter's cache traces
    Twitter,
    /// The block traces of Microsoft Research Cambridge
    Msr,
}

impl From<FormatName> for FormatChoice {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Csv => Self::Csv,
            FormatName::Jsonl => Self::Jsonl,
            FormatName::Rocksdb => Self::Rocksdb,
            FormatName::Twitter => Self::Twitter,
            FormatName::Msr => Self::Msr,
        }
    }
}

/// Does what the command says.
///
/// # Errors
/// A usage error for a damaged trace or a wrong option, before anything runs.
pub fn run(command: &Command, registry: &Registry) -> Result<ExitCode, Failure> {
    match command {
        Command::Replay(arguments) => replay(arguments, registry),
        Command::Describe(arguments) => describe(arguments),
        Command::Fit(arguments) => fit(arguments),
    }
}

fn replay(arguments: &ReplayArguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let mut plan = PlanFile::for_workload(NAME);
    let mut set = |name: &str, value| plan.settings.insert(name.to_owned(), vec![value]);
    set("file", arguments.file.as_str().into());
    if let Some(format) = arguments.format {
        set("format", FormatChoice::from(format).word().into());
    }
    if let Some(speed) = arguments.speed {
        set("speed", speed.into());
    }
    if arguments.closed {
        set("pace", "closed".into());
    }
    if let Some(requests) = arguments.requests {
        set("requests", u64::from(requests).into());
    }
    arguments.run.run(plan, registry)
}

fn describe(arguments: &DescribeArguments) -> Result<ExitCode, Failure> {
    let format = arguments.format.map_or(FormatChoice::Auto, Into::into);
    let summary =
        summarize(&arguments.file, format).map_err(|error| Failure::usage(error.to_string()))?;
    if arguments.json {
        output::json(&document(&summary))?;
    } else {
        output::write(&text(&arguments.file, &summary))?;
    }
    Ok(match summary.damaged_lines {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(USAGE),
    })
}

fn fit(arguments: &FitArguments) -> Result<ExitCode, Failure> {
    let format = arguments.format.map_or(FormatChoice::Auto, Into::into);
    let key_ranges = arguments.key_ranges.unwrap_or(0);
    let fit = fit_trace(&arguments.file, format, key_ranges).map_err(Failure::usage)?;
    output::write(&plan_of(&arguments.file, &fit))?;
    // The plan may have gone to a file.
    for warning in &fit.warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The plan of a fit, as TOML.
fn plan_of(file: &str, fit: &MixgraphFit) -> String {
    let mut lines = vec![
        format!("# Fitted to {} by 'trueput trace fit'.", escape_line(file)),
        "#".to_owned(),
        format!("#   {RUN_OF_FIT}"),
        format!("#   {CHECK_OF_FIT}"),
        "#".to_owned(),
    ];
    lines.extend(fit.notes.iter().map(|note| format!("# - {note}")));
    let warnings = fit.warnings.iter();
    lines.extend(warnings.map(|warning| format!("# - warning: {warning}")));
    let settings = fit.settings.iter();
    let settings = settings.map(|(name, value)| format!("{name} = {value}"));
    let head = format!("\nworkload = \"{}\"\n\n[settings]", mixgraph::NAME);
    lines.push(head);
    lines.extend(settings);
    lines.join("\n") + "\n"
}

/// The summary in lines, for people.
fn text(file: &str, summary: &TraceSummary) -> String {
    let mut lines = vec![
        format!("{} ({})", escape_line(file), summary.format),
        line("operations", &summary.operations.to_string()),
    ];
    let requests: u64 = summary.requests.iter().map(|(_, count)| count).sum();
    lines.push(line("requests", &requests.to_string()));
    for (kind, count) in &summary.requests {
        let share = percent(*count as f64 / requests as f64);
        lines.push(line(&format!("  {kind}"), &format!("{count} ({share})")));
    }
    lines.push(line("keys", &summary.key_bytes.count.to_string()));
    lines.push(line("  loaded first", &summary.loaded_keys.to_string()));
    lines.push(line("  length", &sizes(&summary.key_bytes)));
    lines.push(line(
        "values stated",
        &summary.value_bytes.count.to_string(),
    ));
    if summary.value_bytes.count > 0 {
        lines.push(line("  size", &sizes(&summary.value_bytes)));
    }
    if summary.unstated_sizes > 0 {
        let text = match summary.unstated_sizes {
            1 => "1 stored value; it gets value_bytes".to_owned(),
            count => format!("{count} stored values; they get value_bytes"),
        };
        lines.push(line("  not stated", &text));
    }
    lines.push(line("time", &times(summary, requests)));
    for (keys, share) in summary.popularity {
        let name = format!("top {} of keys", percent(keys));
        lines.push(line(&name, &format!("{} of operations", percent(share))));
    }
    lines.push(line("memory", &format_bytes(summary.memory_bytes)));
    if summary.damaged_lines > 0 {
        let count = counted(summary.damaged_lines, "damaged line");
        lines.push(format!(
            "{count}, left out above; a replay refuses the trace:"
        ));
        lines.extend(
            summary
                .damage
                .iter()
                .map(|error| format!("  {}", escape_line(&error.to_string()))),
        );
    }
    lines.join("\n") + "\n"
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<20}  {value}")
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1_000.0).round() / 10.0)
}

fn sizes(sizes: &SizeSummary) -> String {
    let SizeSummary {
        least,
        median,
        p99,
        most,
        ..
    } = sizes;
    format!("{least} to {most} bytes, median {median}, 99 % up to {p99}")
}

fn times(summary: &TraceSummary, requests: u64) -> String {
    match (summary.duration_s, summary.peak_per_s) {
        (Some(duration_s), Some(peak)) if duration_s > 0.0 => {
            let mean = requests as f64 / duration_s;
            format!("{duration_s:.3} s, {mean:.1} requests/s, at most {peak} in a second")
        }
        (Some(_), _) => "all at the same time; replay it with --closed".to_owned(),
        _ => "not stated; replay it with --closed".to_owned(),
    }
}

fn document(summary: &TraceSummary) -> serde_json::Value {
    let sizes = |sizes: &SizeSummary| {
        json!({
            "count": sizes.count, "least": sizes.least, "median": sizes.median,
            "p99": sizes.p99, "most": sizes.most, "sum": sizes.sum,
        })
    };
    let requests = summary.requests.iter();
    let requests: serde_json::Map<_, _> = requests
        .map(|(kind, count)| ((*kind).to_owned(), json!(count)))
        .collect();
    let popularity = summary.popularity.iter();
    let popularity: Vec<_> = popularity
        .map(|(keys, operations)| json!({"keys": keys, "operations": operations}))
        .collect();
    let damage = summary.damage.iter().map(ToString::to_string);
    json!({
        "format": summary.format,
        "operations": summary.operations,
        "requests": requests,
        "loaded_keys": summary.loaded_keys,
        "key_bytes": sizes(&summary.key_bytes),
        "value_bytes": sizes(&summary.value_bytes),
        "unstated_sizes": summary.unstated_sizes,
        "duration_s": summary.duration_s,
        "peak_per_s": summary.peak_per_s,
        "popularity": popularity,
        "memory_bytes": summary.memory_bytes,
        "damaged_lines": summary.damaged_lines,
        "damage": damage.collect::<Vec<_>>(),
    })
}
