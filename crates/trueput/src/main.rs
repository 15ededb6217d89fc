//! The bench on which transactional storage is measured.
//!
//! `main` reads the command line and hands to one file per subcommand in [`cmd`].

mod ascii;
mod bundle;
mod choices;
mod cli;
mod cmd;
#[cfg(test)]
mod documented;
mod execute;
mod failure;
mod output;
mod progress;
mod published_plan;
mod ready_plans;
mod repeats;
mod screen;
mod signals;
mod size_limit;
mod surroundings;
mod table;
mod tip;
mod trust;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;
use trueput_runner::Registry;

fn main() -> ExitCode {
    let registry = Registry {
        engines: trueput_drivers::registry(),
        workloads: trueput_workloads::registry(),
    };
    let parsed = match cli::Cli::try_parse() {
        Ok(parsed) => parsed,
        Err(error) => return cli::refuse(&error, &registry),
    };
    match cmd::dispatch(parsed.command, &registry) {
        Ok(code) => code,
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            failure.exit_code()
        }
    }
}
