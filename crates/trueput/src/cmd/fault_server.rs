//! `trueput fault-server`: the process of a folder on storage that fails. A run starts it.

use crate::failure::Failure;
use clap::{ArgAction, Args};
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_faultfs::faulty_folder::{FaultyFolders, serve_folder};
use trueput_record::storage_fault::{FailedFlush, StorageFault};

/// The arguments of `trueput fault-server`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder that holds the files
    backing: PathBuf,
    /// The folder on which to mount
    mount_point: PathBuf,
    /// The file of the report
    report: PathBuf,
    /// What becomes of pages that a failed flush did not write: dropped or kept
    failed_flush: FailedFlush,
    /// Whether caches or power may be lost: true or false
    #[arg(action = ArgAction::Set)]
    can_lose: bool,
    /// The seed of faults that come at a rate
    seed: u64,
    /// The faults
    faults: Vec<StorageFault>,
}

/// Serves the folder until standard input ends.
///
/// # Errors
/// [`Failure::Other`] if it cannot be mounted, or the report cannot be written.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let folders = FaultyFolders {
        backing: arguments.backing,
        mount_point: arguments.mount_point,
        report: arguments.report,
        faults: arguments.faults,
        failed_flush: arguments.failed_flush,
        can_lose: arguments.can_lose,
        seed: arguments.seed,
    };
    serve_folder(&folders).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
