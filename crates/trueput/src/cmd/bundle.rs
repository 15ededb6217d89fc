//! `trueput bundle`: one file of a run, for another machine.

use crate::bundle;
use crate::failure::Failure;
use crate::output;
use crate::size_limit::SizeLimit;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  trueput bundle results/20261121T204500Z-first-look
  trueput bundle results/20261121T204500Z-first-look --output first-look.tar.gz
  trueput report first-look.tar.gz                    # on another machine

A bundle holds the record, the histograms and SHA256SUMS; it holds no databases. report, \
compare, history and export read it like a run folder. A damaged bundle, or one with other \
files, is refused.";

/// The arguments of `trueput bundle`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// File to write [default: RUN.tar.gz in the current directory]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    size: SizeLimit,
}

/// Creates the bundle and prints its path.
///
/// # Errors
/// A usage error if the folder is not a run folder or has no results, or the file exists or cannot
/// be created.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = bundle::pack(
        &arguments.run,
        arguments.output.as_deref(),
        arguments.size.max_bytes,
    )?;
    output::line(&format!("bundle: {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}
