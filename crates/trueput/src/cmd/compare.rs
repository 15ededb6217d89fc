//! `trueput compare`: compares runs or contenders, and lists their changes.

use crate::bundle;
use crate::cmd::compare_gate::{Gate, GateOutcome};
use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use crate::prepared_run::program_name;
use crate::repeats::parse_part;
use crate::screen::Screen;
use crate::size_limit::SizeLimit;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_findings::compare::{
    Error, Side, SideComparison, compare_sides, selectable_names, words,
};
use trueput_record::gate::GateRule;
use trueput_report::Format;
use trueput_report::compare::{render, render_usual};

const EXAMPLES: &str = "\
Examples:
  trueput compare results/20261120T090000Z-nightly results/20261121T090000Z-nightly
  trueput compare results/20261121T204500Z-first-look --contenders lmdb,sqlite
  trueput compare results/a:lmdb results/b:lmdb,sync --fail-if-slower 3%
  trueput compare results/a results/b --fail-if-slower 3%
  trueput compare results/a results/b --fail-if 'rate<-3%' --fail-if 'p99>+10%'
  trueput compare RUN:lmdb,map_size=1GiB RUN:lmdb,map_size=4GiB
  trueput compare RUN:filesystem=ext4 RUN:filesystem=xfs --markdown

After RUN: come words that select trials, comma-separated: an engine, a level, or NAME=VALUE of \
a setting, knob or condition. A contender is named as reports print it, as in \
--contenders 'rocksdb (filesystem=ext4),rocksdb (filesystem=xfs)', or as it was given to run. \
Contenders of one run are interleaved and compared repeat by \
repeat, which detects smaller differences than two runs: run both in one plan if you can, for \
example with an older build as rocksdb@/opt/old/librocksdb.so.

--fail-if-slower fails in three cases: a rate is significantly lower; it is lower in every \
repeat, but the repeats are too few to be significant; or the repeats are too few or too noisy \
to exclude it. --allow-unsure passes the last case with a note on standard error. --json has it \
all in an object 'gate': limit, passed, and the reasons that standard error gives.

--fail-if GATE limits a figure of the second side: rate, p50, p90, p99, p99.9, max, space, cpu, \
memory or flushes, as a change against the first (-3%, +10%) or as a value (5ms, 2GiB, 5000/s). \
KIND.p99 is that of another kind of operation. A gate fails or passes only if the whole interval \
of its repeats does (docs/CI.md). --json has it all in an object 'gates'.

Exit codes:
  0    compared; --fail-if: every gate passed
  1    --fail-if-slower: a rate fell by more than the limit (the whole interval,
       or every repeat and Student's test); a contender is missing, failed or
       invalid in the second run; or, without --allow-unsure, a larger fall
       cannot be excluded
  1    --fail-if: a gate failed, or a contender is missing, failed or invalid in
       the second run
  2    bad input, nothing to compare, or fewer than 3 repeats with
       --fail-if-slower
  3    --fail-if: no gate failed, and the repeats do not tell of one";

/// The arguments of `trueput compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Runs, as RUN or RUN:WORDS; each is compared with the first
    #[arg(value_name = "RUN[:WORDS]", required = true)]
    runs: Vec<String>,
    /// Compare contenders of one run; each is compared with the first
    #[arg(long, value_name = "A,B")]
    contenders: Vec<String>,
    /// Exit with 1 if a rate fell by more than this, for example 3%: significantly, or in every
    /// repeat
    #[arg(long, value_name = "FRACTION", value_parser = parse_part)]
    fail_if_slower: Option<f64>,
    /// With --fail-if-slower: pass if the repeats are too few or too noisy to tell [default: fail]
    #[arg(long, requires = "fail_if_slower")]
    allow_unsure: bool,
    /// Exit with 1 if the second side is beyond a limit for certain, and with 3 if its repeats do
    /// not tell: rate<-3%, p99>+10%, update.p99>5ms, space>+5%, cpu>+3%; several at once
    #[arg(long, value_name = "GATE", conflicts_with = "fail_if_slower")]
    fail_if: Vec<GateRule>,
    /// No effect: now the default. Kept for scripts that name it
    #[arg(
        long,
        hide = true,
        requires = "fail_if_slower",
        conflicts_with = "allow_unsure"
    )]
    fail_if_unsure: bool,
    /// Allow comparisons of builds with assertions with others
    #[arg(long)]
    include_assertions: bool,
    /// Write JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    /// Write Markdown, for a comment on a change
    #[arg(long)]
    markdown: bool,
    #[command(flatten)]
    size: SizeLimit,
}

/// Compares, and says whether something is slower.
///
/// # Errors
/// A usage error if a folder is not a run, nothing is comparable, or too few repeats count for
/// `--fail-if-slower`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let sides = sides(arguments)?;
    let Some((first, others)) = sides.split_first() else {
        return Err(Failure::usage("no run given"));
    };
    let compared = compare_sides(first, others)?;
    let format = match (arguments.json, arguments.markdown) {
        (true, _) => Format::Json,
        (_, true) => Format::Markdown,
        _ => Format::Terminal,
    };
    let gate = arguments.fail_if_slower;
    let gate = gate.map(|part| Gate::of(&compared, part, arguments.allow_unsure));
    let gates = GateOutcome::of(&sides, &compared, &arguments.fail_if)?;
    if format == Format::Json {
        let mut document = serde_json::json!({ "comparisons": compared });
        if let Some(gates) = &gates {
            document["gates"] = gates.json();
        }
        if let Some(gate) = &gate {
            document["gate"] = gate.json();
        }
        output::json(&document)?;
    } else {
        let style = arguments.screen.style(ChartsWhen::Auto);
        let gates = gates.as_ref().map(|gates| gates.render(format, style));
        let compared = text(arguments, &compared, format);
        let texts: Vec<String> = gates.into_iter().chain([compared]).collect();
        output::document(&texts.join("\n"), format)?;
    }
    if let Some(gates) = gates {
        return Ok(gates.exit());
    }
    gate.map_or(Ok(ExitCode::SUCCESS), Gate::exit)
}

/// The comparison for people: one screen, or everything.
fn text(arguments: &Arguments, compared: &[SideComparison], format: Format) -> String {
    let screen = arguments.screen;
    if screen.full {
        render(compared, format, screen.style(ChartsWhen::Auto))
    } else {
        render_usual(compared, format, screen.layout())
    }
}

fn sides(arguments: &Arguments) -> Result<Vec<Side>, Failure> {
    let contenders = arguments.contenders.iter();
    let contenders: Vec<&str> = contenders.flat_map(|all| words(all)).collect();
    let runs: Vec<String> = match (arguments.runs.as_slice(), contenders.as_slice()) {
        ([run], []) => {
            open(run, arguments.include_assertions, arguments.size)?;
            let message = "one run is given; name a second run, or two of its contenders as in \
                 --contenders lmdb,sqlite";
            return Err(Failure::usage(message));
        }
        (runs, []) => runs.to_vec(),
        (runs, [one]) => {
            let known = match runs {
                [run] => known_contenders(run, arguments.size)?,
                _ => String::new(),
            };
            return Err(Failure::usage(format!(
                "--contenders {one} names one contender: name two or more{known}"
            )));
        }
        ([run], contenders) => {
            let joint = if PathBuf::from(run).exists() {
                ':'
            } else {
                ','
            };
            let side = |contender: &&str| format!("{run}{joint}{contender}");
            contenders.iter().map(side).collect()
        }
        _ => {
            let message = "--contenders needs one run; for several runs write RUN:CONTENDER for \
                each";
            return Err(Failure::usage(message));
        }
    };
    let open = |run: &String| open(run, arguments.include_assertions, arguments.size);
    runs.iter().map(open).collect()
}

/// The contenders of a run, as a clause.
fn known_contenders(run: &str, size: SizeLimit) -> Result<String, Failure> {
    let report = bundle::open(Path::new(run), size)?.report()?;
    let names = selectable_names(&report);
    Ok(match names.as_slice() {
        [] => "; no trial of it has ended".to_owned(),
        [only] => format!("; it has {only} only"),
        several => format!(" of {}", several.join(", ")),
    })
}

fn open(text: &str, include_assertions: bool, size: SizeLimit) -> Result<Side, Failure> {
    let (path, selector) = Side::split(text)?;
    let opened = bundle::open(Path::new(path), size)?;
    let mut report = opened.report()?;
    report.manifest.include_assertions |= include_assertions;
    let side = Side::new(text, report, selector);
    Ok(side.map_err(|reason| Error::from(reason.called(&program_name())))?)
}
