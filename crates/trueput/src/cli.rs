//! The command line: one variant per subcommand. Help, completions and the man page come from here.

use crate::cmd;
use crate::failure::{Failure, USAGE};
use crate::output;
use crate::suggestion;
use crate::version;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;
use trueput_runner::Registry;

const EXAMPLES: &str = "\
Examples:
  trueput run first-look
  trueput run threen1 --engine lmdb,sqlite --durability process --workers 4 --set finish=100000
  echo '1 100000 4 5000' | trueput threen1 --engine lmdb
  trueput report results/20261121T204500Z-first-look --format markdown

Exit codes:
  0    done; every trial that was run is valid
  1    a trial that was run is INVALID or failed, or another error occurred
  2    bad input: command line, plan or folder
  130  interrupted by Ctrl-C or SIGTERM; finished trials are kept";

/// Measure transactional storage engines
///
/// Every result is verified. Every durability level is stated. Results of different levels are
/// never ranked against each other.
#[derive(Debug, Parser)]
#[command(name = "trueput", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a plan, or a workload on the engines that you name
    Run(cmd::run::Arguments),
    /// Measure what each change of a knob gains and costs (ablation)
    #[command(visible_alias = "ablation")]
    Ledger(cmd::ledger::Arguments),
    /// Choose an engine: the one that keeps a response time at the highest rate, default and tuned
    Choose(cmd::choose::Arguments),
    /// Find the highest rate at which contenders keep a response time
    Capacity(cmd::capacity::Arguments),
    /// Find the values of an engine's knobs that serve it best, without a weaker promise
    Tune(cmd::tune::Arguments),
    /// Solve 3n+1 problems from standard input, as the original program does
    Threen1(cmd::threen1::Arguments),
    /// Run YCSB's core workload from its property files
    Ycsb(cmd::ycsb::Arguments),
    /// Replay a trace of requests, or show what is in it
    #[command(subcommand)]
    Trace(cmd::trace::Command),
    /// List engines: versions, workers, durability levels, how to install more
    Engines(cmd::engines::Arguments),
    /// List workloads and their settings
    Workloads(cmd::workloads::Arguments),
    /// List the knobs of an engine or the settings of a workload
    Knobs(cmd::knobs::Arguments),
    /// List the storage models on which trials can run, print one, or fit one to a device
    #[command(subcommand)]
    Storage(cmd::storage::Command),
    /// Inspect plans without running them
    Plan(cmd::plan::Arguments),
    /// Simulate power cuts: do engines keep the durability that their drivers state?
    Audit(cmd::audit::Arguments),
    /// Let storage fail: which engines report it, and which lose or falsify data?
    Faults(cmd::faults::Arguments),
    /// Test engines with the conformance suite
    Check(cmd::check::Arguments),
    /// Find what limits figures on this machine, and what cannot be measured here
    Doctor(cmd::doctor::Arguments),
    /// List or remove what killed runs left behind: mounts, loop devices, images, folders
    Clean(cmd::clean::Arguments),
    /// Print the report of a run folder, or write its page or a chart
    Report(cmd::report::Arguments),
    /// Compare runs, or contenders of one run: what changed, and whether rates differ
    Compare(cmd::compare::Arguments),
    /// Find where rates changed over many runs of one plan
    History(cmd::history::Arguments),
    /// Predict rate and latency for other numbers of clients, nodes and network delays
    Predict(cmd::predict::Arguments),
    /// Pack a run into one file for another machine
    Bundle(cmd::bundle::Arguments),
    /// Make a static site of many runs: who leads, filters, a page and a link for each run
    Site(cmd::site::Arguments),
    /// Export trials as CSV, JSON Lines or OpenMetrics
    Export(cmd::export::Arguments),
    /// Print the JSON Schema of a kind of file that trueput writes or reads
    Schema(cmd::schema::Arguments),
    /// List published tables, or show one with its source and caveats
    Published(cmd::published::Arguments),
    /// Write shell completions
    Completions(cmd::completions::Arguments),
    /// Write the manual page (roff) to standard output
    Man(cmd::man::Arguments),
    /// Do a worker's part; a run or an audit starts it
    #[command(hide = true)]
    Worker,
    /// Serve the recording file system of an audit, which starts it
    #[command(hide = true)]
    Faultfs(cmd::faultfs::Arguments),
    /// Serve an image on modeled storage; a run starts it
    #[command(hide = true)]
    StorageServer(cmd::storage_server::Arguments),
    /// Serve a folder on storage that fails; a run starts it
    #[command(hide = true)]
    FaultServer(cmd::fault_server::Arguments),
    /// Host the nodes of a cluster; the runner starts it
    #[command(hide = true)]
    ClusterHost(cmd::cluster_host::Arguments),
}

impl Command {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// The subcommand's own.
    pub fn run(self, registry: &Registry) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(arguments) => cmd::run::run(&arguments, registry),
            Self::Doctor(arguments) => cmd::doctor::run(&arguments, registry),
            Self::Ledger(arguments) => cmd::ledger::run(&arguments, registry),
            Self::Choose(arguments) => cmd::choose::run(&arguments, registry),
            Self::Capacity(arguments) => cmd::capacity::run(&arguments, registry),
            Self::Tune(arguments) => cmd::tune::run(&arguments, registry),
            Self::Threen1(arguments) => cmd::threen1::run(&arguments, registry),
            Self::Ycsb(arguments) => cmd::ycsb::run(&arguments, registry),
            Self::Trace(command) => cmd::trace::run(&command, registry),
            Self::Engines(arguments) => cmd::engines::run(&arguments, registry),
            Self::Workloads(arguments) => cmd::workloads::run(&arguments, registry),
            Self::Knobs(arguments) => cmd::knobs::run(&arguments, registry),
            Self::Storage(command) => cmd::storage::run(&command),
            Self::Plan(arguments) => cmd::plan::run(&arguments, registry),
            Self::Check(arguments) => cmd::check::run(&arguments, registry),
            Self::Clean(arguments) => cmd::clean::run(&arguments),
            Self::Compare(arguments) => cmd::compare::run(&arguments),
            Self::History(arguments) => cmd::history::run(&arguments),
            Self::Predict(arguments) => cmd::predict::run(&arguments),
            Self::Bundle(arguments) => cmd::bundle::run(&arguments),
            Self::Site(arguments) => cmd::site::run(&arguments),
            Self::Export(arguments) => cmd::export::run(&arguments),
            Self::Report(arguments) => cmd::report::run(&arguments),
            Self::Schema(arguments) => cmd::schema::run(&arguments, registry),
            Self::Published(arguments) => cmd::published::run(&arguments, registry),
            Self::Completions(arguments) => cmd::completions::run(&arguments, Cli::command()),
            Self::Man(arguments) => cmd::man::run(&arguments, Cli::command()),
            Self::Audit(arguments) => cmd::audit::run(&arguments, registry),
            Self::Faults(arguments) => cmd::faults::run(&arguments, registry),
            Self::Faultfs(arguments) => cmd::faultfs::run(&arguments),
            Self::StorageServer(arguments) => cmd::storage_server::run(&arguments),
            Self::FaultServer(arguments) => cmd::fault_server::run(arguments),
            Self::ClusterHost(arguments) => cmd::cluster_host::run(&arguments, registry),
            Self::Worker => Ok(trueput_runner::worker_main(
                registry,
                &[trueput_audit::WORKER_TASK],
            )),
        }
    }
}

/// Answers a command line that clap did not accept: help and version as they are, a mistake in one
/// line.
pub fn refuse(error: &clap::Error, registry: &Registry) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp => {
            let _ = output::write(&error.render().to_string());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayVersion => {
            let _ = output::write(&version::describe(registry));
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::print_error("no command; see 'trueput --help'");
            ExitCode::from(USAGE)
        }
        _ => {
            let words: Vec<String> = std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let tip = suggestion::of_setting(error, &words, registry);
            let tip = tip.or_else(|| suggestion::of_format(error, &words));
            let tip = tip.or_else(|| suggestion::of_single_rate(error, &words));
            output::print_error(&tip.unwrap_or_else(|| in_one_line(&error.render().to_string())));
            ExitCode::from(USAGE)
        }
    }
}

/// Joins clap's message before its usage lines. For an unknown option clap explains how to pass it
/// as a value, which is never intended: the help is named instead.
fn in_one_line(rendered: &str) -> String {
    let mut message = String::new();
    let mut needs_help = false;
    for line in rendered.lines().map(str::trim) {
        if let (Some(usage), true) = (line.strip_prefix("Usage:"), needs_help) {
            let is_name = |word: &&str| !word.starts_with(['-', '[', '<']);
            let command: Vec<_> = usage.split_whitespace().take_while(is_name).collect();
            message.push_str(&format!("; see '{} --help'", command.join(" ")));
        }
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        needs_help |= [
            "tip: to pass '",
            "error: unexpected argument",
            "error: the following required",
            "error: unrecognized subcommand",
        ]
        .iter()
        .any(|start| line.starts_with(start));
        // The right word is better than the help.
        needs_help &= !line.contains("similar subcommand");
        if line.is_empty() || line.starts_with("tip: to pass '") {
            continue;
        }
        if !message.is_empty() {
            message.push_str(if message.ends_with(':') { " " } else { "; " });
        }
        message.push_str(line.strip_prefix("error: ").unwrap_or(line));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mistake_is_named_in_one_line() {
        let error = Cli::try_parse_from(["trueput", "engins"]).unwrap_err();
        let message = in_one_line(&error.render().to_string());
        let expected =
            "unrecognized subcommand 'engins'; tip: a similar subcommand exists: 'engines'";
        assert_eq!(message, expected);
        assert_eq!(in_one_line("error: a\n\nUsage: b"), "a");
        let error = Cli::try_parse_from(["trueput", "plan", "check", "x", "--p99"]).unwrap_err();
        let message = in_one_line(&error.render().to_string());
        let expected = "unexpected argument '--p99' found; see 'trueput plan check --help'";
        assert_eq!(message, expected);
    }
}
