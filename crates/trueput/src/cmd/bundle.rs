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

The archive holds the record and its histograms, no databases, and the SHA-256 of each file in SHA256SUMS.
report, compare, history and export open it as they open a run folder, and check it: what is damaged, or
holds what no run folder has, is refused.";

/// What `trueput bundle` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The file to be made [default: the run folder's name and .tar.gz, here]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    size: SizeLimit,
}

/// Makes the file and says where it is.
///
/// # Errors
/// A usage error where the folder is no run folder or has no results, or the file is there or cannot
/// be made.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = bundle::pack(
        &arguments.run,
        arguments.output.as_deref(),
        arguments.size.most_bytes,
    )?;
    output::line(&format!("bundle: {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}
