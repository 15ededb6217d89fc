//! A run that is resumed. Its folder may come from anybody, so it is checked first.

use crate::failure::Failure;
use crate::prepared_run::{self, PreparedRun};
use crate::repeats;
use crate::run_options::RunOptions;
use crate::size_limit::{SizeLimit, explained};
use crate::trust::{Trust, UntrustedInputs};
use std::collections::HashSet;
use std::path::Path;
use trueput_findings::shell::quoted;
use trueput_record::parameter::{Parameter, resolve};
use trueput_record::search::SearchSettings;
use trueput_record::value::Settings;
use trueput_record::{Error, Outcome, RunFolder, RunManifest, TrialSpec};
use trueput_runner::Registry;

/// What a folder must be before a command goes on with its run.
#[derive(Clone, Copy)]
pub struct FolderChecks {
    /// Whether it may name code and places.
    pub trust: Trust,
    /// How large it may be.
    pub size: SizeLimit,
    /// Whether the command continues runs with this search, or without any.
    pub is_own: fn(Option<&SearchSettings>) -> bool,
}

/// Opens a run to go on with, once its libraries and folders are trusted; a search has a new budget
/// if one is given.
///
/// # Errors
/// A usage error if it is no run folder, is continued by another command, cannot be trusted, or has
/// a wrong knob or setting.
pub fn open<'a>(
    path: &Path,
    budget_s: Option<f64>,
    given: &'a RunOptions,
    checks: FolderChecks,
    registry: &'a Registry,
) -> Result<PreparedRun<'a>, Failure> {
    let mut options = given.of_runner()?;
    let opened = RunFolder::open_limited(path, checks.size.max_bytes);
    let (folder, mut manifest) = opened.map_err(explained)?;
    trueput_runner::check_folder(&folder)?;
    if !(checks.is_own)(manifest.search.as_ref()) {
        return Err(other_command(&manifest, path));
    }
    let foreign = UntrustedInputs::of_run(&folder, &manifest, given.places.work.as_deref());
    checks.trust.check(&path.display().to_string(), &foreign)?;
    check_parameters(&folder, &manifest, registry)?;
    check_engines(&folder, &manifest, registry)?;
    if let (Some(settings), Some(budget_s)) = (&mut manifest.search, budget_s) {
        settings.set_budget_s(budget_s);
    }
    options.until = repeats::stated(&manifest);
    Ok(PreparedRun {
        folder,
        manifest,
        options,
        registry,
        given,
    })
}

/// The failure for a run that another command continues.
fn other_command(manifest: &RunManifest, path: &Path) -> Failure {
    let search = match manifest.search {
        Some(SearchSettings::Capacity(_)) => "a search for capacity",
        Some(SearchSettings::Tuning(_)) => "a search for knobs",
        Some(SearchSettings::Choice(_)) => "a choice",
        Some(SearchSettings::Decision(_)) => "a run of a plan",
        None => "no search",
    };
    Failure::usage(format!(
        "{} is {search}; continue it with: {}",
        path.display(),
        resume_command(manifest, path)
    ))
}

/// The command that continues a run.
pub fn resume_command(manifest: &RunManifest, path: &Path) -> String {
    let search = manifest.search.as_ref();
    let command = search.map_or("run", SearchSettings::command);
    let path = path.display().to_string();
    let program = prepared_run::program_name();
    format!("{program} {command} --resume {}", quoted(&path))
}

/// Checks that the engines are here that trials still need. Without them the trials would be
/// INVALID, and done.
///
/// # Errors
/// A usage error that names the run, the trial and what is missing.
fn check_engines(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
) -> Result<(), Failure> {
    let stored = folder.trials()?.trials;
    let ended = stored
        .iter()
        .filter(|record| record.outcome != Outcome::Interrupted);
    let ended: HashSet<&str> = ended.map(|record| record.spec.id.as_str()).collect();
    let is_open = |spec: &&TrialSpec| {
        !ended.contains(spec.id.as_str()) && spec.engine != trueput_engine::storage::NAME
    };
    for spec in manifest.trials.iter().filter(is_open) {
        let missing = match registry.engine_of(&spec.engine, spec.build.as_deref()) {
            Err(reason) => Some(reason.to_string()),
            // A library may be on the hosts alone.
            Ok(engine) if spec.build.is_none() && spec.conditions.hosts.is_none() => {
                engine.missing_reason().map(|error| error.to_string())
            }
            Ok(_) => None,
        };
        if let Some(reason) = missing {
            return Err(Failure::usage(format!(
                "{}: trial {} cannot be run: {reason}; nothing was run, and nothing changed",
                folder.path().display(),
                spec.id
            )));
        }
    }
    Ok(())
}

/// Checks each knob and setting against what the command line would take.
///
/// # Errors
/// A usage error in one line that names the file, the line, the value and what would be right.
fn check_parameters(
    folder: &RunFolder,
    manifest: &RunManifest,
    registry: &Registry,
) -> Result<(), Failure> {
    for (index, spec) in manifest.trials.iter().enumerate() {
        let check = |field: &str, owner: &str, parameters: &[Parameter], given: &Settings| {
            let Err(error) = resolve(owner, parameters, given) else {
                return Ok(());
            };
            let place = ["trials", &index.to_string(), field, error.name()];
            let (path, line) = folder.place_in_manifest(&place.map(str::to_owned));
            Err(Failure::from(Error::Invalid {
                path,
                line,
                message: error.to_string(),
            }))
        };
        // A name that this program does not know is told when the trial runs.
        if let Ok(workload) = registry.workload(&spec.workload) {
            let (owner, settings) = (&spec.workload, &spec.settings);
            check("settings", owner, workload.settings(), settings)?;
        }
        if let Ok(engine) = registry.engine_of(&spec.engine, spec.build.as_deref()) {
            check("knobs", &spec.engine, engine.knobs(), &spec.knobs)?;
        }
    }
    Ok(())
}
