//! `trueput doctor`: what limits figures on this machine, and what cannot be measured here.

use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::output;
use crate::signals;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trueput_host::machine_checks::measurement::{measure_flush, measure_neighbors};
use trueput_host::machine_checks::{check_abilities, check_conditions};
use trueput_host::{count_cores, read_load_average};
use trueput_record::machine_check::{CheckSeverity, CheckSubject, MachineCheck};
use trueput_report::machine_words::{described, render_checks, verdict};
use trueput_runner::Registry;

/// The time for which neighbors are measured, seconds: the steps of the progress bar.
const MEASURED_S: u64 = 10;

const EXAMPLES: &str = "\
Examples:
  trueput doctor                         # ten seconds, for databases in this folder
  trueput doctor --on /fast/work         # on another disk
  trueput doctor --quick                 # without measuring
  trueput doctor --json | jq '.checks[] | select(.severity != \"fine\")'

docs/DOCTOR.md lists the checks, with their sources. Each run records what the quick ones find.

Exit codes:
  0    nothing voids what is promised to survive lost power; figures may be limited
  1    something does
  2    bad input: command line, folder
  130  interrupted by Ctrl-C or SIGTERM; what was found until then is printed";

/// The arguments of `trueput doctor`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folder whose storage is judged: where databases will be
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    on: PathBuf,
    /// Leave out what takes seconds: other programs, and the time of a flush
    #[arg(long)]
    quick: bool,
    /// Show what is fine, too
    #[arg(long)]
    full: bool,
    /// Write JSON
    #[arg(long, conflicts_with = "full")]
    json: bool,
}

/// Checks this machine, and says what limits figures on it.
///
/// # Errors
/// A usage error if the folder is a file; if standard output is closed.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let folder = arguments.on.as_path();
    if folder.exists() && !folder.is_dir() {
        let folder = folder.display();
        return Err(Failure::usage(format!("{folder} is not a folder")));
    }
    let stop = signals::stop_flag("nothing is left")?;
    let mut checks = Vec::new();
    if !arguments.quick {
        // Before anything else of this program runs.
        checks.extend(measure(folder, &stop));
    }
    checks.extend(check_conditions(
        folder,
        read_load_average()[0],
        count_cores(),
    ));
    checks.extend(check_abilities());
    checks.push(engines(registry));
    if arguments.json {
        let described: Vec<_> = checks.iter().map(described).collect();
        output::json(&serde_json::json!({
            "verdict": verdict(&checks),
            "checks": described,
        }))?;
    } else {
        output::write(&render_checks(&checks, arguments.full, output::style()))?;
    }
    let is_void = |check: &MachineCheck| check.severity == CheckSeverity::VoidsPromises;
    Ok(if stop.load(Ordering::SeqCst) {
        ExitCode::from(INTERRUPTED)
    } else if checks.iter().any(is_void) {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

fn measure(folder: &Path, stop: &AtomicBool) -> Vec<MachineCheck> {
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new(MEASURED_S)
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {eta} left: {msg}") {
        bar.set_style(style);
    }
    bar.set_message("flushes");
    let flush = measure_flush(folder, stop);
    bar.set_message("other programs and interruptions");
    let checks = std::thread::scope(|scope| {
        let length = Duration::from_secs(MEASURED_S);
        let measured = scope.spawn(move || measure_neighbors(length, stop));
        for _ in 0..MEASURED_S {
            if measured.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_secs(1));
            bar.inc(1);
        }
        measured.join().unwrap_or_default()
    });
    bar.finish_and_clear();
    let flush = flush.map_err(|error| output::note(&format!("no flush was timed: {error}")));
    flush.into_iter().chain(checks).collect()
}

/// The engines that are not installed.
fn engines(registry: &Registry) -> MachineCheck {
    let engines = registry.engines.iter();
    let missing = engines.filter(|engine| engine.build().is_err());
    let missing: Vec<&str> = missing.map(|engine| engine.info().name).collect();
    let (severity, found) = if missing.is_empty() {
        (CheckSeverity::Fine, "all installed".to_owned())
    } else {
        let found = format!("not installed: {}", missing.join(", "));
        (CheckSeverity::Missing, found)
    };
    MachineCheck::new(CheckSubject::Engines, severity, found)
}
