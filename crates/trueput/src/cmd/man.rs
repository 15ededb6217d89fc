//! `trueput man`: the manual page, a section per subcommand, or the page of one.

use crate::failure::Failure;
use crate::output;
use clap::{Args, Command};
use clap_mangen::Man;
use std::process::ExitCode;
use trueput_record::suggest::did_you_mean;

/// The arguments of `trueput man`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The subcommand, as in 'trueput man run' or 'trueput man plan check' [default: all of them]
    #[arg(value_name = "SUBCOMMAND")]
    subcommand: Vec<String>,
}

/// Writes a page to standard output: that of the subcommand, or that of the program followed by
/// those of all subcommands.
///
/// # Errors
/// A usage error if there is no such subcommand, and if standard output is closed.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode, Failure> {
    program.build();
    let mut page = Vec::new();
    let subcommand = find_subcommand(&program, &arguments.subcommand)?;
    let failed = |error| Failure::Other(format!("cannot render the manual page: {error}"));
    page_of(subcommand).render(&mut page).map_err(failed)?;
    if arguments.subcommand.is_empty() {
        for subcommand in subcommands(&program) {
            page_of(subcommand).render(&mut page).map_err(failed)?;
        }
    }
    output::write_raw(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

/// The page of a command. Its version is the program's, because subcommands have none.
fn page_of(command: &Command) -> Man {
    Man::new(command.clone()).source(concat!("trueput ", env!("CARGO_PKG_VERSION")))
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    let shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    command.get_subcommands().filter(shown)
}

/// The command at the end of a path of names.
fn find_subcommand<'c>(program: &'c Command, path: &[String]) -> Result<&'c Command, Failure> {
    path.iter().try_fold(program, |command, name| {
        let found = subcommands(command).find(|one| one.get_name() == name);
        found.ok_or_else(|| {
            let hint = did_you_mean(name, subcommands(command).map(Command::get_name));
            let owner = command.get_bin_name().unwrap_or_else(|| command.get_name());
            Failure::usage(format!(
                "no subcommand '{name}'{hint}; see '{owner} --help'"
            ))
        })
    })
}
