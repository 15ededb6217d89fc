//! `trueput engines install`: gets or builds engines, without the repository.

use crate::engine_installation::{self, Catalog, InstallationRequest, InstallationResult};
use crate::failure::{Failure, INTERRUPTED};
use crate::output;
use crate::signals::stop_flag;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::process::ExitCode;

/// What may be left of an installation whose program ended at once.
const LEFT_OF_INSTALLATION: &str = "builds may still run, and .installing.* may be left in the \
    folder of engines, which the next installation removes";

const EXAMPLES: &str = "\
Examples:
  trueput engines install quick           # libraries and servers that take a few minutes
  trueput engines install bbolt pebble    # plug-ins that come with trueput, built here
  trueput engines install rocksdb         # a library
  trueput engines install --list          # what there is, and what of it is installed

Engines go to ~/.local/share/trueput/engines, for root to /usr/local/lib/trueput/engines, or to
TRUEPUT_ENGINES; install.log there has the output of every step. What is there already stays as
it is. The ordinary clients of the registries are used (apt-get, cargo, go, mvn, npm, pip3), with
pinned versions and SHA-256 sums. A missing tool is installed where this user may; all leaves out
plug-ins whose language is not here. An engine that fails leaves the others alone.

Exit codes:
  0    every engine is installed
  1    an engine could not be installed
  2    bad input
  130  interrupted by Ctrl-C or SIGTERM; engines that were finished are kept";

/// The arguments of `trueput engines install`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The engines' names; or quick, for all that take a few minutes; or all
    #[arg(required_unless_present = "list", value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,
    /// List what can be installed
    #[arg(long, conflicts_with_all = ["names", "reinstall"])]
    list: bool,
    /// Install again what is there already
    #[arg(long, visible_alias = "force")]
    reinstall: bool,
}

/// Installs the engines.
///
/// # Errors
/// Names that no engine has, and folders that cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        let catalog = Catalog::load().map_err(Failure::Other)?;
        let folders = trueput_drivers::engine_folders();
        output::write(&engine_installation::list(&catalog, &folders))?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_flag(LEFT_OF_INSTALLATION)?;
    let request = InstallationRequest {
        words: &arguments.names,
        is_reinstallation: arguments.reinstall,
    };
    Ok(match engine_installation::install(&request, stop)? {
        InstallationResult::Complete => ExitCode::SUCCESS,
        InstallationResult::Incomplete => ExitCode::FAILURE,
        InstallationResult::Interruption => ExitCode::from(INTERRUPTED),
    })
}
