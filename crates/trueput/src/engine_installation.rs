//! Installs engines: each by the ordinary client of its registry, at a pinned version and with its
//! checksum verified, into a folder of its own.
//!
//! The engines are data (`engines.toml`); a step that several have is code. What is there already
//! is left as it is, and an engine that fails leaves the others alone.

mod catalog;
mod compilation;
mod console;
mod display;
mod downloads;
mod error;
mod listing;
mod packages;
mod plugins;
mod steps;
mod workspace;

pub use catalog::Catalog;
pub use listing::list;

use crate::failure::Failure;
use crate::output;
use console::Console;
use error::{InstallationError, Result};
use nix::sys::stat::{Mode, umask};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trueput_drivers::InstallationFolder;
use workspace::{PREFIX, Workspace};

/// What to install.
pub struct InstallationRequest<'r> {
    /// The words of the command line: names, or the name of a group.
    pub words: &'r [String],
    /// Whether what is there is made again.
    pub is_reinstallation: bool,
}

/// The result of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallationResult {
    /// Every engine is there.
    Complete,
    /// Some engines failed.
    Incomplete,
    /// The user stopped the program.
    Interruption,
}

/// Installs engines, one after the other.
///
/// # Errors
/// A name that no engine has, and a folder that cannot be written or is in use.
pub fn install(
    request: &InstallationRequest<'_>,
    stop: Arc<AtomicBool>,
) -> std::result::Result<InstallationResult, Failure> {
    let catalog = Catalog::load().map_err(Failure::Other)?;
    let names = catalog.select(request.words).map_err(Failure::Usage)?;
    // Others must be able to read what is installed, and nobody else to write it.
    umask(Mode::from_bits_truncate(0o022));
    let folders = trueput_drivers::installation_folder().ok_or_else(|| {
        let reason = "HOME is not set, and this user has none: set TRUEPUT_ENGINES";
        Failure::Other(reason.to_owned())
    })?;
    let _lock = prepare(&folders.target)?;
    let console = Console::open(&folders.target, stop)
        .map_err(|error| unwritable(&folders.target, &error))?;
    let is_all = matches!(request.words, [word] if word == "all");
    let mut failed = Vec::new();
    for &name in &names {
        console.display.begin_engine(name);
        let result = install_engine(name, &catalog, &console, &folders, request);
        console.display.clear();
        match result {
            Ok(()) => {}
            Err(InstallationError::Interruption) => return Ok(InstallationResult::Interruption),
            Err(InstallationError::MissingTool(reason)) => {
                console.display.say(&format!("left out: {reason}"));
                if !is_all {
                    failed.push(name);
                }
            }
            Err(InstallationError::Failure(reason)) => {
                console.display.say_failure(&reason);
                failed.push(name);
            }
        }
    }
    if failed.len() < names.len()
        && let Err(error) = trueput_drivers::remember_folder(&folders.target)
    {
        let shown = folders.target.display();
        output::note(&format!(
            "trueput looks in {shown} only with TRUEPUT_ENGINES={shown}: {error}"
        ));
    }
    if failed.is_empty() {
        return Ok(InstallationResult::Complete);
    }
    output::note(&format!("not installed: {}", failed.join(" ")));
    Ok(InstallationResult::Incomplete)
}

fn install_engine(
    name: &str,
    catalog: &Catalog,
    console: &Console,
    folders: &InstallationFolder,
    request: &InstallationRequest<'_>,
) -> Result<()> {
    console.check_stop()?;
    let mut workspace = Workspace::create(console, folders)?;
    workspace.is_reinstallation = request.is_reinstallation;
    match catalog.find(name) {
        Some(recipe) => steps::install(&mut workspace, recipe, catalog),
        None => plugins::install(&mut workspace, name),
    }
}

fn unwritable(folder: &Path, error: &std::io::Error) -> Failure {
    let shown = folder.display();
    let advice = "set TRUEPUT_ENGINES to a folder of yours";
    Failure::Other(format!("cannot write to {shown}: {error}; {advice}"))
}

/// Creates the folder of engines, holds it for this program alone, and removes what a killed
/// installation has left in it.
fn prepare(folder: &Path) -> std::result::Result<File, Failure> {
    let failure = |error| unwritable(folder, &error);
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(failure)?;
    let lock = File::open(folder).map_err(failure)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let shown = folder.display();
            let reason = format!("another installation uses {shown}: wait until it ends");
            return Err(Failure::Other(reason));
        }
        Err(TryLockError::Error(error)) => return Err(failure(error)),
    }
    for entry in fs::read_dir(folder).map_err(failure)?.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // The next installation tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(lock)
}
