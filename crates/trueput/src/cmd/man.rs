//! `trueput man`: the manual page, a section per subcommand.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap_mangen::Man;
use std::process::ExitCode;

/// Writes the page to standard output: that of the program, then those of its subcommands.
///
/// # Errors
/// Where nobody reads it.
pub fn run() -> Result<ExitCode, Failure> {
    let mut program = Cli::command();
    program.build();
    let mut page = Vec::new();
    Man::new(program.clone()).render(&mut page)?;
    for subcommand in program
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        if subcommand.get_name() != "help" {
            Man::new(subcommand.clone()).render(&mut page)?;
        }
    }
    output::as_it_is(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
