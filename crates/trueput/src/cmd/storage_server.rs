//! `trueput storage-server`: the process of an image on modeled storage, or of a folder. A run
//! starts it.

use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_faultfs::modelled_folder::serve_modelled_folder;
use trueput_faultfs::modelled_image::{ImageFolders, serve_image};
use trueput_faultfs::named_model::find_model;
use trueput_record::storage_model::is_in_folder;

/// The arguments of `trueput storage-server`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file with the bytes of the image, or the folder that holds the files
    backing: PathBuf,
    /// The folder on which to mount
    mount_point: PathBuf,
    /// The file of the report
    report: PathBuf,
    /// The size of the image, or of the device below the folder, in bytes
    size_bytes: u64,
    /// The storage model; in its folder form that of a folder
    model: String,
    /// The seed of the delays
    seed: u64,
}

/// Serves the image or the folder until standard input ends.
///
/// # Errors
/// [`Failure::Other`] if there is no such model, what it serves cannot be served, or is in use at
/// the end.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let model = find_model(&arguments.model);
    let folders = ImageFolders {
        backing: arguments.backing.clone(),
        mount_point: arguments.mount_point.clone(),
        report: arguments.report.clone(),
        size_bytes: arguments.size_bytes,
        model: model.map_err(|error| Failure::Other(error.to_string()))?,
        seed: arguments.seed,
    };
    let served = if is_in_folder(Some(arguments.model.as_str())) {
        serve_modelled_folder(&folders)
    } else {
        serve_image(&folders)
    };
    served.map_err(|error| Failure::Other(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
