//! One file per subcommand.

pub mod bundle;
pub mod check;
pub mod clean;
pub mod compare;
pub mod compare_gate;
pub mod completions;
pub mod engines;
pub mod export;
pub mod history;
pub mod knobs;
pub mod ledger;
pub mod man;
pub mod plan;
pub mod published;
pub mod report;
pub mod run;
pub mod threen1;
pub mod workloads;
pub mod ycsb;

use crate::cli::Command;
use crate::failure::Failure;
use std::process::ExitCode;
use trueput_runner::Registry;

/// Hands to the subcommand's file.
///
/// # Errors
/// Whatever the subcommand cannot do.
pub fn dispatch(command: Command, registry: &Registry) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(arguments) => run::run(&arguments, registry),
        Command::Ledger(arguments) => ledger::run(&arguments, registry),
        Command::Threen1(arguments) => threen1::run(&arguments, registry),
        Command::Ycsb(arguments) => ycsb::run(&arguments, registry),
        Command::Engines(arguments) => engines::run(&arguments, registry),
        Command::Workloads(arguments) => workloads::run(&arguments, registry),
        Command::Knobs(arguments) => knobs::run(&arguments, registry),
        Command::Plan(arguments) => plan::run(&arguments, registry),
        Command::Check(arguments) => check::run(&arguments, registry),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::History(arguments) => history::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Published(arguments) => published::run(&arguments, registry),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Worker => Ok(trueput_runner::worker::main(registry)),
    }
}
