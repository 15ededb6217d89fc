//! `trueput completions`: a completion script for a shell.

use crate::failure::Failure;
use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  trueput completions bash > ~/.local/share/bash-completion/completions/trueput
  trueput completions zsh > ~/.zfunc/_trueput
  trueput completions fish > ~/.config/fish/completions/trueput.fish";

/// The arguments of `trueput completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the script of the program's command line to standard output.
///
/// # Errors
/// If standard output is closed.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "trueput", &mut script);
    output::write_raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
