//! `trueput compare`: what changed between runs or contenders, and what came of it.

use crate::bundle;
use crate::failure::{FAILED, Failure};
use crate::output::{self, ChartsWhen};
use crate::repeats::parse_part;
use crate::screen::Screen;
use crate::size_limit::SizeLimit;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_analysis::Format;
use trueput_analysis::compare::{CellResult, Compared, Side, compare_sides, render, words};
use trueput_analysis::units::per_cent;

const EXAMPLES: &str = "\
Examples:
  trueput compare results/20261120T090000Z-nightly results/20261121T090000Z-nightly
  trueput compare results/20261121T204500Z-first-look --contenders lmdb,sqlite
  trueput compare results/a:lmdb results/b:lmdb,sync --fail-if-slower 3%
  trueput compare results/a results/b --fail-if-slower 3%
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
to exclude it. --allow-unsure passes the last case with a note on standard error.

Exit codes:
  0    compared
  1    --fail-if-slower: a rate fell by more than the limit (the whole interval,
       or every repeat and Student's test); a contender is missing, failed or
       invalid in the second run; or, without --allow-unsure, a larger fall
       cannot be excluded
  2    bad input, nothing to compare, or fewer than 3 repeats with
       --fail-if-slower";

/// What `trueput compare` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Runs, as RUN or RUN:WORDS; each is compared with the first
    #[arg(value_name = "RUN[:WORDS]", required = true)]
    runs: Vec<String>,
    /// Compare contenders of one run; each is compared with the first
    #[arg(long, value_name = "A,B")]
    contenders: Vec<String>,
    /// Exit with 1 if a rate fell by more than this, as in 3%: significantly, or in every repeat
    #[arg(long, value_name = "PART", value_parser = parse_part)]
    fail_if_slower: Option<f64>,
    /// With --fail-if-slower: pass if the repeats are too few or too noisy to tell [default: fail]
    #[arg(long, requires = "fail_if_slower")]
    allow_unsure: bool,
    /// The default since what cannot be told fails; kept for scripts that name it
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
/// A usage error where a folder is none, nothing is comparable, or too few repeats count for
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
    let style = arguments.screen.style(ChartsWhen::Auto);
    output::document(&render(&compared, format, style), format)?;
    match arguments.fail_if_slower {
        Some(part) => gate(&compared, part, arguments.allow_unsure),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn sides(arguments: &Arguments) -> Result<Vec<Side>, Failure> {
    let contenders = arguments.contenders.iter();
    let contenders: Vec<&str> = contenders.flat_map(|all| words(all)).collect();
    let runs: Vec<String> = match (arguments.runs.as_slice(), contenders.as_slice()) {
        ([_], []) => {
            let message = "one run is given; name a second run, or two of its contenders as in \
                 --contenders lmdb,sqlite";
            return Err(Failure::usage(message));
        }
        (runs, []) => runs.to_vec(),
        (_, [one]) => {
            let message = format!("--contenders {one} names one contender: name two or more");
            return Err(Failure::usage(message));
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

fn open(text: &str, include_assertions: bool, size: SizeLimit) -> Result<Side, Failure> {
    let (path, selector) = Side::split(text)?;
    let opened = bundle::open(Path::new(path), size)?;
    let mut report = opened.report()?;
    report.manifest.include_assertions |= include_assertions;
    Ok(Side::new(text, report, selector)?)
}

/// The exit code of `--fail-if-slower`, with a line on standard error for each reason.
fn gate(compared: &[Compared], part: f64, allow_unsure: bool) -> Result<ExitCode, Failure> {
    // As it was given: 3 %, not 3.00 %.
    let limit = format!("{} %", (part * 1e5).round() / 1e3);
    let mut failed = false;
    let crashed = crashed(compared);
    if !crashed.is_empty() {
        let what = crashed.join("; ");
        output::complain(&format!(
            "--fail-if-slower found no complete result: {what}"
        ));
        failed = true;
    }
    let slower: Vec<_> = results(compared)
        .filter(|(_, result)| result.slower_by(part) == Some(true))
        .map(named)
        .collect();
    if !slower.is_empty() {
        let names = slower.join(", ");
        output::complain(&format!(
            "slower by more than {limit}, significantly: {names}"
        ));
        failed = true;
    }
    failed |= suspected(compared, part, &limit);
    let too_few = results(compared).filter(|(_, result)| result.slower_by(part).is_none());
    let too_few = too_few.count();
    if too_few > 0 && !failed {
        return Err(Failure::usage(format!(
            "--fail-if-slower: {too_few} results have fewer than 3 valid repeats; use --repeat 5"
        )));
    }
    let count = results(compared).count();
    let unsure = results(compared)
        .filter(|one| !one.1.looks_slower_by(part, count))
        .filter_map(|one| Some((one, one.1.cannot_tell(part)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((widest, held)) = unsure {
        let (widest, held) = (named(widest), per_cent(held));
        let more = match allow_unsure {
            true => "passed, because of --allow-unsure",
            false => "more repeats narrow the interval; --allow-unsure passes such results",
        };
        output::complain(&format!(
            "cannot exclude a fall of {limit}: {widest} may be slower by {held} (confidence \
             interval); {more}"
        ));
        failed |= !allow_unsure;
    }
    Ok(match failed {
        true => ExitCode::from(FAILED),
        false => ExitCode::SUCCESS,
    })
}

/// Complains of what looks slower though it is not certain, and says whether anything does.
fn suspected(compared: &[Compared], part: f64, limit: &str) -> bool {
    let count = results(compared).count();
    let suspected: Vec<_> = results(compared)
        .filter(|(_, result)| result.slower_by(part) != Some(true))
        .filter(|(_, result)| result.looks_slower_by(part, count))
        .collect();
    let seen = |one: &(&Compared, &CellResult)| {
        let part = one.1.seems_slower_by().unwrap_or_default();
        format!("{} by {}", named(*one), per_cent(part))
    };
    if !suspected.is_empty() {
        let names: Vec<_> = suspected.iter().map(seen).collect();
        let needed = suspected
            .iter()
            .filter_map(|one| one.1.repeats_needed)
            .max();
        let repeats = match needed {
            Some(repeats) => format!("{repeats} repeats or more"),
            None => "more repeats".to_owned(),
        };
        output::complain(&format!(
            "slower by more than {limit} in every repeat, but the repeats are too few to be \
             significant: {}; use {repeats}",
            names.join(", ")
        ));
    }
    !suspected.is_empty()
}

fn results(compared: &[Compared]) -> impl Iterator<Item = (&Compared, &CellResult)> {
    compared.iter().flat_map(|compared| {
        let results = compared.results.iter();
        results.map(move |result| (compared, result))
    })
}

fn named((compared, result): (&Compared, &CellResult)) -> String {
    let (name, label) = (result.second_name(), &compared.second.label);
    format!("{name} ({label}, {})", result.durability)
}

/// What the first side has and another has not, or not whole: a contender that crashed has no rate
/// that could be slower.
fn crashed(compared: &[Compared]) -> Vec<String> {
    let missing = compared.iter().flat_map(|compared| {
        let names = compared.only_first.iter();
        names.map(move |name| format!("{} has no valid trial of {name}", compared.second.label))
    });
    let broken = results(compared).flat_map(|(compared, result)| {
        let trials = result.second_broken.iter();
        trials.map(move |trial| format!("{}: {trial}", compared.second.label))
    });
    let incomparable = compared.iter().flat_map(|compared| &compared.incomparable);
    missing.chain(broken).chain(incomparable.cloned()).collect()
}
