//! A benchmark for transactional storage engines.
//!
//! [`main_with`] reads the command line and hands to one file per subcommand in `cmd`. A program of
//! yours may call it with engines and workloads of its own in addition to those of [`registry`]:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use trueput::{Registry, main_with, registry};
//!
//! fn main() -> ExitCode {
//!     let registry = Registry {
//!         engines: &[&trueput_engine::Null],
//!         ..registry()
//!     };
//!     main_with(registry)
//! }
//! ```
//!
//! Workers are processes of the calling program, started as `PROGRAM worker`: `main_with` serves
//! them, too, so it must be all that `main` does.

mod ascii;
mod built_in_plans;
mod bundle;
mod bundled_sources;
mod cli;
mod cmd;
mod conditions;
#[cfg(test)]
mod documented;
mod engine_installation;
mod engine_template;
mod failure;
mod named_engine;
mod output;
mod page;
mod plan_overrides;
mod prepared_run;
mod progress;
mod published_plan;
mod repeats;
mod resumed;
mod run_options;
mod run_request;
mod screen;
mod search_run;
mod signals;
mod size_limit;
mod suggestion;
mod table;
mod trust;
mod tuned_plan;
mod version;
mod workload_files;
mod workload_run;

use clap::Parser;
use failure::Failure;
use std::process::ExitCode;
use std::sync::LazyLock;
use trueput_drivers::Plugins;
use trueput_engine::Engine;
use trueput_odbc::Odbc;
pub use trueput_runner::Registry;

static ODBC: Odbc = Odbc::new();
static PLUGINS: Plugins = Plugins::new(bundled_sources::plugin_names);

/// The engines of `drivers`, and those that use the public contract alone.
static ENGINES: LazyLock<Vec<&dyn Engine>> = LazyLock::new(|| {
    let mut engines = trueput_drivers::registry().to_vec();
    engines.push(&ODBC);
    engines
});

/// The engines and workloads that come with trueput.
#[must_use]
pub fn registry() -> Registry {
    Registry {
        engines: &ENGINES,
        workloads: trueput_workloads::registry(),
        plugins: Some(&PLUGINS),
    }
}

/// Runs the command of the process's command line on these engines and workloads, and returns its
/// exit code: 0, every trial is valid; 1, a trial is invalid or failed; 2, bad input; 130,
/// interrupted.
#[must_use]
pub fn main_with(registry: Registry) -> ExitCode {
    trueput_host::private_files::keep_from_others();
    let parsed = match cli::Cli::try_parse() {
        Ok(parsed) => parsed,
        Err(error) => return output::finish(cli::refuse(&error, &registry)),
    };
    // A worker opens one engine, by its name.
    let registry = if matches!(parsed.command, cli::Command::Worker) {
        registry
    } else {
        let (registry, refusals) = registry.with_installed();
        if matches!(parsed.command, cli::Command::Engines(_)) {
            refusals.iter().for_each(|line| output::note(line));
        }
        registry
    };
    match parsed.command.run(&registry) {
        Ok(code) => output::finish(code),
        Err(failure) => {
            if !matches!(failure, Failure::OutputClosed) {
                output::print_error(&failure.to_string());
            }
            failure.exit_code()
        }
    }
}
