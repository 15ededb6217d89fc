//! `trueput engines install`: gets or builds engines, from the sources that the program carries.

use crate::bundled_sources::{self, INSTALLER};
use crate::failure::{Failure, INTERRUPTED, USAGE};
use crate::signals::stop_flag;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the installer is looked at.
const TICK: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  trueput engines install bbolt pebble    # plug-ins that come with trueput, built here
  trueput engines install rocksdb         # a library
  trueput engines install --list          # the names

Engines go to ~/.local/share/trueput/engines, for root to /usr/local/lib/trueput/engines, or to
TRUEPUT_ENGINES. What is there already stays as it is.";

/// The arguments of `trueput engines install`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The engines' names; or quick, for all that take a few minutes; or all
    #[arg(required_unless_present = "list", value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,
    /// List the names
    #[arg(long, conflicts_with = "names")]
    list: bool,
}

/// Installs the engines.
///
/// # Errors
/// Folders that cannot be written, and no Bash.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let stop = stop_flag("trueput-engines.* may be left in the temporary directory")?;
    let folder = tempfile::Builder::new()
        .prefix("trueput-engines.")
        .tempdir();
    let folder = folder.map_err(|error| {
        let shown = std::env::temp_dir();
        Failure::Other(format!("cannot write to {}: {error}", shown.display()))
    })?;
    bundled_sources::write_into(folder.path()).map_err(|error| {
        let shown = folder.path().display();
        Failure::Other(format!("cannot write the sources to {shown}: {error}"))
    })?;
    let status = install(folder.path(), arguments, &stop)?;
    if stop.load(Ordering::SeqCst) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(code) if code == i32::from(USAGE) => ExitCode::from(USAGE),
        _ => ExitCode::FAILURE,
    })
}

/// Runs the installer. What stops this process stops all that the installer has started: it cleans
/// up, and is waited for.
fn install(folder: &Path, arguments: &Arguments, stop: &AtomicBool) -> Result<ExitStatus, Failure> {
    let cannot = |error| Failure::Other(format!("cannot run bash: {error}; install Bash"));
    let mut command = Command::new("bash");
    command.arg(folder.join(INSTALLER)).process_group(0);
    if arguments.list {
        command.arg("list");
    }
    let mut child = command.args(&arguments.names).spawn().map_err(cannot)?;
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            return Ok(status);
        }
        if stop.load(Ordering::SeqCst) && !is_told {
            is_told = true;
            // It may have ended by now.
            let _ = killpg(group, Signal::SIGTERM);
        }
        std::thread::sleep(TICK);
    }
}
