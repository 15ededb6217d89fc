//! `trueput faultfs`: the process of a recording file system. An audit starts it.

use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_faultfs::server::{Folders, serve};

/// The arguments of `trueput faultfs`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder that holds the files
    backing: PathBuf,
    /// The folder on which to mount
    mount_point: PathBuf,
    /// The folder of the log
    log: PathBuf,
}

/// Serves the file system until standard input ends.
///
/// # Errors
/// [`Failure::Other`] if it cannot be mounted, or the log is not complete.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folders = Folders {
        backing: arguments.backing.clone(),
        mount_point: arguments.mount_point.clone(),
        log: arguments.log.clone(),
    };
    serve(&folders).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
