//! `trueput compare`: what changed between runs or contenders, and what came of it.

use crate::bundle;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::repeats::parse_part;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_analysis::Format;
use trueput_analysis::compare::{Compared, Side, compare_sides, render, results_of};

const EXAMPLES: &str = "\
Examples:
  trueput compare results/20261120T090000Z-nightly results/20261121T090000Z-nightly
  trueput compare results/20261121T204500Z-first-look --contenders lmdb,sqlite
  trueput compare results/a:lmdb results/b:lmdb,sync --fail-if-slower 3%
  trueput compare RUN:lmdb,map_size=1GiB RUN:lmdb,map_size=4GiB
  trueput compare RUN:filesystem=ext4 RUN:filesystem=xfs --markdown

Behind a run's colon stand an engine, a level, or NAME=VALUE for a setting, knob or condition, with
commas between. Contenders of one run took turns, and are compared repeat by repeat: let what is to be
compared run in one plan where it can, an older build as rocksdb@/opt/old/librocksdb.so, say.

Exit codes:
  0    compared
  1    --fail-if-slower: something is slower by more than that, its whole interval
  2    bad input, or nothing on one side may stand against anything on the other";

/// What `trueput compare` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Runs, each RUN or RUN:WORDS; all are compared with the first
    #[arg(value_name = "RUN[:WORDS]", required = true)]
    runs: Vec<String>,
    /// Compare these contenders of one run, each with the first
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    contenders: Vec<String>,
    /// Exit with 1 where a rate fell by more than this for certain, as in 3%
    #[arg(long, value_name = "PART", value_parser = parse_part)]
    fail_if_slower: Option<f64>,
    /// Write one JSON document
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Write Markdown, for a comment on a change
    #[arg(long)]
    markdown: bool,
}

/// Compares, and says whether something is slower.
///
/// # Errors
/// A usage error where a folder is none, nothing is comparable, or too few repeats count for
/// `--fail-if-slower`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let sides = sides(arguments)?;
    let Some((first, others)) = sides.split_first() else {
        return Err(Failure::usage("no run is named"));
    };
    let mut count = 0;
    for other in others {
        count += results_of(first, other)?;
    }
    let compared: Result<Vec<Compared>, _> = others
        .iter()
        .map(|other| compare_sides(first, other, count))
        .collect();
    let compared = compared?;
    let format = match (arguments.json, arguments.markdown) {
        (true, _) => Format::Json,
        (_, true) => Format::Markdown,
        _ => Format::Terminal,
    };
    output::write(&render(&compared, format, output::style()))?;
    match arguments.fail_if_slower {
        Some(part) => gate(&compared, part),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn sides(arguments: &Arguments) -> Result<Vec<Side>, Failure> {
    let runs: Vec<String> = match (arguments.runs.as_slice(), arguments.contenders.as_slice()) {
        ([_], []) => {
            let message = "one run is compared with nothing; name a second one, or two of its \
                contenders as in --contenders lmdb,sqlite";
            return Err(Failure::usage(message));
        }
        (runs, []) => runs.to_vec(),
        (_, [one]) => {
            let message = format!("--contenders {one} names one; name two or more");
            return Err(Failure::usage(message));
        }
        ([run], contenders) => {
            let joint = if PathBuf::from(run).exists() {
                ':'
            } else {
                ','
            };
            let side = |contender: &String| format!("{run}{joint}{contender}");
            contenders.iter().map(side).collect()
        }
        _ => {
            let message = "--contenders are those of one run; for several runs write \
                RUN:CONTENDER for each";
            return Err(Failure::usage(message));
        }
    };
    runs.iter().map(|run| open(run)).collect()
}

fn open(text: &str) -> Result<Side, Failure> {
    let (path, selector) = Side::split(text)?;
    let opened = bundle::open(Path::new(path))?;
    Ok(Side::new(text, opened.report()?, selector)?)
}

/// The exit code of `--fail-if-slower`.
fn gate(compared: &[Compared], part: f64) -> Result<ExitCode, Failure> {
    let results = || {
        compared.iter().flat_map(|compared| {
            compared
                .results
                .iter()
                .map(move |result| (compared, result))
        })
    };
    let slower: Vec<_> = results()
        .filter(|(_, result)| result.slower_by(part) == Some(true))
        .map(|(compared, result)| {
            format!(
                "{} ({}, {})",
                result.second, compared.second.label, result.durability
            )
        })
        .collect();
    let limit = part * 100.0;
    if !slower.is_empty() {
        let names = slower.join(", ");
        output::complain(&format!(
            "slower by more than {limit} % for certain: {names}"
        ));
        return Ok(ExitCode::from(FAILED));
    }
    let untold = results().filter(|(_, result)| result.slower_by(part).is_none());
    match untold.count() {
        0 => Ok(ExitCode::SUCCESS),
        count => Err(Failure::usage(format!(
            "--fail-if-slower cannot be answered for {count} of the results: fewer than three \
             repeats count; run with --repeat 5"
        ))),
    }
}
