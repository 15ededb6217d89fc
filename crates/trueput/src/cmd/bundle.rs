//! `trueput bundle`: one file of a run, for another machine.

use crate::bundle;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  trueput bundle results/20261121T204500Z-first-look
  trueput bundle results/20261121T204500Z-first-look --output first-look.tar.gz
  trueput report first-look.tar.gz                    # on another machine

The archive holds the record and its histograms, no databases. report, compare, history and export open
it as they open a run folder.";

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
}

/// Makes the file and says where it is.
///
/// # Errors
/// A usage error where the folder is no run folder, or the file is there or cannot be made.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = bundle::pack(&arguments.run, arguments.output.as_deref())?;
    output::line(&format!("bundle: {}", file.display()))?;
    Ok(ExitCode::SUCCESS)
}
