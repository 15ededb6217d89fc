//! Images on modeled storage: the servers below the loop devices of a trial's file systems.

use super::error::TrialFileSystemError;
use super::marker::{FileSystemPart, Marker};
use super::mounting;
use crate::fuse::find_own_at;
use crate::image_store::{ImageService, ImageStore, ModelledImage};
use std::fs;
use std::path::Path;

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
    let ImageService { store, seed } = service.ok_or(TrialFileSystemError::NoImageStore)?;
    let created = fs::create_dir(&mount_point);
    created.map_err(TrialFileSystemError::of_path(&mount_point, "made"))?;
    let image = ModelledImage {
        backing: image,
        bytes,
        mount_point: &mount_point,
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
