//! `trueput check`: puts engines through the conformance suite, which every trial relies on.

use crate::failure::{FAILED, Failure};
use crate::output;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_engine::knob::resolve;
use trueput_engine::{Durability, Engine, conformance};
use trueput_record::measurement::Check;
use trueput_record::trial::Settings;
use trueput_runner::Registry;

const EXAMPLES: &str = "\
Examples:
  trueput check
  trueput check lmdb sqlite --durability sync";

/// What `trueput check` is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Engines [default: every one that is there]
    #[arg(value_name = "ENGINE")]
    engines: Vec<String>,
    /// Levels [default: every one that the engine has]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    durability: Vec<Durability>,
    /// Where to make the folder for its databases [default: the system's folder for such]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Show the checks that passed, too
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the suite and says what failed.
///
/// # Errors
/// A usage error for an engine or a level that is not there, or an unusable work folder.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let subjects = subjects(arguments, registry)?;
    let parent = arguments.work.clone().unwrap_or_else(std::env::temp_dir);
    let mut failed = 0;
    for (engine, level) in subjects {
        let folder = tempfile::Builder::new()
            .prefix("trueput-check-")
            .tempdir_in(&parent);
        let folder = folder.map_err(|error| {
            Failure::Usage(format!("work folder {}: {error}", parent.display()))
        })?;
        let name = engine.info().name;
        let knobs = resolve(name, engine.knobs(), &Settings::new()).map_err(Failure::Other)?;
        let checks = conformance::run(engine, folder.path(), level, &knobs);
        failed += checks.iter().filter(|check| !check.passed).count();
        tell(name, level, &checks, arguments.verbose)?;
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}

fn tell(name: &str, level: Durability, checks: &[Check], verbose: bool) -> Result<(), Failure> {
    let passed = checks.iter().filter(|check| check.passed).count();
    output::line(&format!(
        "{name} {level}: {passed} of {} checks passed",
        checks.len()
    ))?;
    for check in checks.iter().filter(|check| verbose || !check.passed) {
        let word = if check.passed { "passed" } else { "FAILED" };
        let gap = if check.detail.is_empty() { "" } else { ": " };
        output::line(&format!("  {word} {}{gap}{}", check.name, check.detail))?;
    }
    Ok(())
}

/// Every engine asked for with every level asked for. A level that is named is refused where an
/// engine that is named has it not.
fn subjects(
    arguments: &Arguments,
    registry: &Registry,
) -> Result<Vec<(&'static dyn Engine, Durability)>, Failure> {
    let named = arguments.engines.iter().map(|name| registry.engine(name));
    let engines: Vec<_> = if arguments.engines.is_empty() {
        registry
            .engines
            .iter()
            .copied()
            .filter(|engine| engine.build().is_ok())
            .collect()
    } else {
        named.collect::<Result<_, _>>().map_err(Failure::Usage)?
    };
    let mut subjects = Vec::new();
    for engine in engines {
        let offers = |level: &Durability| engine.promise(*level).is_some();
        for level in &arguments.durability {
            if !arguments.engines.is_empty() && !offers(level) {
                let name = engine.info().name;
                return Err(Failure::Usage(format!(
                    "{name} has no durability '{level}'"
                )));
            }
        }
        let asked = |level: &Durability| {
            arguments.durability.is_empty() || arguments.durability.contains(level)
        };
        let levels = Durability::ALL
            .into_iter()
            .filter(|level| offers(level) && asked(level));
        subjects.extend(levels.map(|level| (engine, level)));
    }
    Ok(subjects)
}
