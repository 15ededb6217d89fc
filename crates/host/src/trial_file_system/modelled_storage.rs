//! Images on modeled storage: the servers below the loop devices of a trial's file systems. And
//! folders on it: the server above the files of a database.

use super::error::{FileSystemError, TrialFileSystemError};
use super::marker::{FileSystemPart, Marker};
use super::mounting;
use super::tools::check_fuse;
use crate::fuse::find_own_at;
use crate::image_store::{ImageService, ImageStore, ModelledImage};
use std::fs;
use std::path::Path;
use trueput_record::Conditions;
use trueput_record::storage_model::is_in_folder;

/// Checks that a storage model in its folder form is alone below a database, and that this machine
/// has what it takes.
///
/// # Errors
/// [`FileSystemError`], one sentence.
pub(super) fn check_folder_form(conditions: &Conditions) -> Result<(), FileSystemError> {
    if is_in_folder(conditions.log_storage_model.as_deref()) {
        return Err(FileSystemError::FolderFormOfLog);
    }
    if !is_in_folder(conditions.storage_model.as_deref()) {
        return Ok(());
    }
    // A log would be in the folder, with the same delays. What a fault leaves in the page cache
    // above the delays would be in a second one below it.
    let others = [
        ("log_filesystem", conditions.log_file_system.is_some()),
        ("log_storage_model", conditions.log_storage_model.is_some()),
        ("fault", conditions.fault.is_some()),
    ];
    match others.into_iter().find(|(_, is_named)| *is_named) {
        Some((other, _)) => Err(FileSystemError::FolderFormWith(other)),
        None => check_fuse("a storage model"),
    }
}

/// Serves an image of a part that is on a storage model, without delays until [`begin_delays`].
///
/// # Errors
/// [`TrialFileSystemError`].
pub(super) fn serve(
    part: &FileSystemPart,
    image: &Path,
    bytes: u64,
    service: Option<ImageService<'_>>,
) -> Result<(), TrialFileSystemError> {
    let (Some(model), Some(mount_point)) = (&part.storage_model, part.storage_of(image)) else {
        return Ok(());
    };
    serve_on(model, image, bytes, &mount_point, service)
}

/// Serves the files of a database whose model is in its folder form, likewise. The modeled device
/// has so many bytes.
///
/// # Errors
/// [`TrialFileSystemError`].
pub(super) fn serve_folder(
    marker: &Marker,
    bytes: u64,
    service: Option<ImageService<'_>>,
) -> Result<(), TrialFileSystemError> {
    match (&marker.folder_model, marker.shown_folder()) {
        (Some(model), Some(shown)) => serve_on(model, &marker.files(), bytes, &shown, service),
        _ => Ok(()),
    }
}

fn serve_on(
    model: &str,
    backing: &Path,
    bytes: u64,
    mount_point: &Path,
    service: Option<ImageService<'_>>,
) -> Result<(), TrialFileSystemError> {
    let ImageService { store, seed } = service.ok_or(TrialFileSystemError::NoImageStore)?;
    let created = fs::create_dir(mount_point);
    created.map_err(TrialFileSystemError::of_path(mount_point, "made"))?;
    let image = ModelledImage {
        backing,
        bytes,
        mount_point,
        model,
        seed,
    };
    Ok(store.serve(&image)?)
}

/// Begins the delays of a trial's images: its file systems are made.
///
/// # Errors
/// [`TrialFileSystemError::Storage`].
pub(super) fn begin_delays(
    marker: &Marker,
    service: Option<ImageService<'_>>,
) -> Result<(), TrialFileSystemError> {
    let Some(ImageService { store, .. }) = service else {
        return Ok(());
    };
    let points = marker.storage_mount_points();
    let mut served = points.iter().filter(|point| store.serves(point));
    Ok(served.try_for_each(|point| store.set_delayed(point, true))?)
}

/// Ends the delays of an image that is going to be unmounted: what is not written yet is of no
/// interest any more. If no server does so, whoever waits for it gets an error.
pub(super) fn end_delays(store: Option<&dyn ImageStore>, mount_point: &Path) {
    let store = store.filter(|store| store.serves(mount_point));
    let ended = store.map(|store| store.set_delayed(mount_point, false));
    if matches!(ended, Some(Ok(()))) {
        return;
    }
    if let Some(mount) = find_own_at(mount_point) {
        // Without the right to do this, unmounting may still work.
        let _ = mount.abort();
    }
}

/// Ends the server of an image that is no longer attached, and removes its mount point, or that of
/// any other file system of this program. Does nothing where there is none.
///
/// # Errors
/// [`TrialFileSystemError::NotUnmounted`].
pub(super) fn unmount(
    store: Option<&dyn ImageStore>,
    mount_point: &Path,
) -> Result<(), TrialFileSystemError> {
    if let Some(store) = store.filter(|store| store.serves(mount_point)) {
        store.end(mount_point);
    }
    // A server that was killed has left it.
    while find_own_at(mount_point).is_some() {
        match mounting::unmount(mount_point) {
            // One that is ending, because its run was killed, was faster.
            Err(_) if find_own_at(mount_point).is_none() => {}
            unmounted => unmounted?,
        }
    }
    // Fails where something else is in it, as it should.
    let _ = fs::remove_dir(mount_point);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial_file_system::{check_conditions, estimate_taken_bytes};

    fn folder_form() -> Conditions {
        Conditions {
            storage_model: Some("folder:hdd-7200".to_owned()),
            ..Conditions::default()
        }
    }

    #[test]
    fn a_folder_form_is_refused_a_log_elsewhere_and_a_fault() {
        let mut others = [(); 4].map(|()| folder_form());
        others[0].log_file_system = "tmpfs".parse().ok();
        others[1].log_storage_model = Some("hdd-7200".to_owned());
        others[2].fault = "fsync:eio@3".parse().ok();
        others[3].storage_model = None;
        others[3].log_storage_model = Some("folder:hdd-7200".to_owned());
        let keys = ["log_filesystem", "log_storage_model", "fault", "of a log"];
        for (conditions, key) in others.iter().zip(keys) {
            let refused = check_folder_form(conditions).unwrap_err();
            assert!(refused.is_invalid(), "{refused}");
            assert!(refused.to_string().contains(key), "{key}: {refused}");
        }
        // The controls: alone it takes FUSE only, and another model is another question.
        let is_refused = |refused: FileSystemError| refused.is_invalid();
        assert!(!check_conditions(&folder_form()).is_err_and(is_refused));
        assert_eq!(check_folder_form(&Conditions::default()), Ok(()));
    }

    #[test]
    fn a_folder_form_goes_with_any_file_system_and_takes_no_image() {
        for file_system in ["tmpfs", "folder:/", "here"] {
            let mut conditions = folder_form();
            conditions.file_system = file_system.parse().ok();
            let refused = check_folder_form(&conditions);
            assert!(!refused.is_err_and(|it| it.is_invalid()), "{file_system}");
        }
        assert_eq!(estimate_taken_bytes(&folder_form(), 1 << 30), 1 << 30);
    }
}
