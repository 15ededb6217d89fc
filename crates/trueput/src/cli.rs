//! The command line: one variant per subcommand. Help, completions and the man page come from here.

use crate::cmd;
use crate::failure::USAGE;
use crate::output;
use crate::tip;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use trueput_runner::Registry;

/// What stands below every help text.
pub const EXIT_CODES: &str = "\
Exit codes:
  0    done; every trial is valid
  1    a trial is INVALID or failed, or another error occurred
  2    bad input: command line, plan or folder
  130  interrupted by Ctrl-C or SIGTERM; finished trials are kept";

const EXAMPLES: &str = "\
Examples:
  trueput run first-look
  trueput run threen1 --engine lmdb,sqlite --durability process --workers 4 --set finish=100000
  echo '1 100000 4 5000' | trueput threen1 --engine lmdb
  trueput report results/20261121T204500Z-first-look --format markdown

Exit codes:
  0    done; every trial is valid
  1    a trial is INVALID or failed, or another error occurred
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
    Ledger(cmd::ledger::Arguments),
    /// Solve 3n+1 problems from standard input, as the original program does
    Threen1(cmd::threen1::Arguments),
    /// Run YCSB's core workload from its property files
    Ycsb(cmd::ycsb::Arguments),
    /// List engines: versions, workers, durability levels, how to install more
    Engines(cmd::engines::Arguments),
    /// List workloads and their settings
    Workloads(cmd::workloads::Arguments),
    /// List the knobs of an engine or the settings of a workload
    Knobs(cmd::knobs::Arguments),
    /// Inspect plans without running them
    Plan(cmd::plan::Arguments),
    /// Test engines with the conformance suite
    Check(cmd::check::Arguments),
    /// List or remove what killed runs left behind: mounts, loop devices, images, folders
    Clean(cmd::clean::Arguments),
    /// Print the report of a run folder, or write its page
    Report(cmd::report::Arguments),
    /// Compare runs, or contenders of one run: what changed, and whether rates differ
    Compare(cmd::compare::Arguments),
    /// Find where rates changed over many runs of one plan
    History(cmd::history::Arguments),
    /// Pack a run into one file for another machine
    Bundle(cmd::bundle::Arguments),
    /// Export trials as CSV, JSON Lines or OpenMetrics
    Export(cmd::export::Arguments),
    /// List published tables, or show one with its source and caveats
    Published(cmd::published::Arguments),
    /// Write shell completions
    Completions(cmd::completions::Arguments),
    /// Write the manual page (roff) to standard output
    Man(cmd::man::Arguments),
    /// Do a worker's part; the runner starts it
    #[command(hide = true)]
    Worker,
}

/// Answers a command line that clap did not accept: help and version as they are, a mistake in one
/// line.
pub fn refuse(error: &clap::Error, registry: &Registry) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = output::write(&error.render().to_string());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::complain("no command; see 'trueput --help'");
            ExitCode::from(USAGE)
        }
        _ => {
            let words: Vec<String> = std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let tip = tip::of_setting(error, &words, registry);
            output::complain(&tip.unwrap_or_else(|| in_one_line(&error.render().to_string())));
            ExitCode::from(USAGE)
        }
    }
}

/// What clap says before its usage lines, joined. Of an argument that it does not know it says how to
/// pass that as a value, which is never what was meant: the help is.
fn in_one_line(rendered: &str) -> String {
    let mut message = String::new();
    let mut needs_help = false;
    for line in rendered.lines().map(str::trim) {
        if let (Some(usage), true) = (line.strip_prefix("Usage:"), needs_help) {
            let is_name = |word: &&str| {
                !word.contains(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit())
            };
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
        ]
        .iter()
        .any(|start| line.starts_with(start));
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
    fn a_mistake_is_told_in_one_line() {
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

    /// The command lines of a text: each from `trueput` to the end of its line, its comment or its pipe.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let joined = text.replace("\\\n", " ");
        let starts = |line: &str| {
            let line = line.trim_start().trim_start_matches("$ ");
            let line = line.rsplit("| ").next()?.to_owned();
            line.starts_with("trueput ").then_some(line)
        };
        joined
            .lines()
            .filter_map(starts)
            .map(|line| words(&line))
            .collect()
    }

    /// A shell's words, without what follows `#`, `<` or `>`.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for letter in line.chars() {
            let last = words.last_mut().expect("there is always one");
            match (letter, quote) {
                ('#' | '<' | '>', None) if last.is_empty() => break,
                ('\'' | '"', None) => quote = Some(letter),
                (_, Some(open)) if letter == open => quote = None,
                (' ', None) if last.is_empty() => {}
                (' ', None) => words.push(String::new()),
                _ => last.push(letter),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn examples_of_help(command: &clap::Command, texts: &mut Vec<(String, String)>) {
        let help = command.get_after_help().map(ToString::to_string);
        let long = command.get_after_long_help().map(ToString::to_string);
        let name = format!("{} --help", command.get_name());
        texts.extend(
            [help, long]
                .into_iter()
                .flatten()
                .map(|text| (name.clone(), text)),
        );
        for command in command.get_subcommands() {
            examples_of_help(command, texts);
        }
    }

    /// The blocks of code of a document.
    fn blocks_of(document: &std::path::Path) -> String {
        let text = std::fs::read_to_string(document).unwrap();
        text.split("```").skip(1).step_by(2).collect()
    }

    fn documents(folder: &std::path::Path, texts: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                documents(&path, texts);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                texts.push((path.display().to_string(), blocks_of(&path)));
            }
        }
    }

    #[test]
    fn every_command_that_the_documents_and_the_help_show_can_be_read() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts = vec![("README.md".to_owned(), blocks_of(&root.join("README.md")))];
        documents(&root.join("docs"), &mut texts);
        examples_of_help(&Cli::command(), &mut texts);
        let (mut read, mut faults) = (0, Vec::new());
        for (place, text) in &texts {
            for words in command_lines(text) {
                read += 1;
                let line = words.join(" ");
                if words[1] == "COMMAND" {
                    continue;
                }
                if let Err(error) = Cli::try_parse_from(&words)
                    && error.use_stderr()
                {
                    faults.push(format!(
                        "{place}: {line}: {}",
                        in_one_line(&error.to_string())
                    ));
                }
                let is_plan =
                    |word: &&String| word.starts_with("plans/") || word.starts_with("published/");
                for plan in words.iter().filter(is_plan) {
                    let is_there = ["", ".toml"]
                        .into_iter()
                        .any(|ending| root.join(format!("{plan}{ending}")).exists());
                    if !is_there {
                        faults.push(format!("{place}: {line}: there is no {plan}"));
                    }
                }
            }
        }
        assert!(read > 100, "{read}");
        assert_eq!(faults, Vec::<String>::new());
    }
}
