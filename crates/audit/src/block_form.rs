//! The block form of an audit: the engine's files lie in a file system of their own, in an image on
//! the recording file system, which sees blocks and flushes of the device.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use trueput_host::trial_file_system::{MountImageError, create, mount_image, unmount_all};
use trueput_record::Conditions;
use trueput_record::audit::StorageModel;
use trueput_record::filesystem::{FileSystem, FileSystemKind};

/// The size of the image if the user names none, bytes: xfs has no smaller ones.
const IMAGE_BYTES: u64 = 320 << 20;

/// The part of an image that is treated as a file is in the folder form: what is written there may
/// be missing as a whole. File systems place their journal, tables and data in parts of this size.
pub(crate) const REGION_BYTES: u64 = 4 << 20;

/// The image in the folder of the recording.
const IMAGE: &str = "data.img";

/// The folder on which its file system is mounted, in the folder of the recording.
const MOUNT_POINT: &str = "mnt";

/// An image whose file system holds a database.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ImageMount {
    image: PathBuf,
    kind: String,
    options: Vec<String>,
    mount_point: PathBuf,
}

impl ImageMount {
    /// Returns the image in the folder of a state, to be mounted where it was recorded; `None` for
    /// a file system that is not made in an image.
    pub(crate) fn of(file_system: &FileSystem, state: &Path, recorded: &Path) -> Option<Self> {
        let FileSystemKind::Made(kind) = &file_system.kind else {
            return None;
        };
        let mut options = file_system.mount.clone();
        // Several states of one file system are mounted at once.
        options.extend((kind == "xfs").then(|| "nouuid".to_owned()));
        Some(Self {
            image: state.join(IMAGE),
            kind: kind.clone(),
            options,
            mount_point: recorded.join(MOUNT_POINT),
        })
    }

    /// Mounts it: the file system recovers by its own journal.
    pub(crate) fn mount(&self) -> Result<(), MountImageError> {
        mount_image(&self.image, &self.kind, &self.options, &self.mount_point)
    }
}

/// Returns the folder of the database, in a folder in which an image was recorded.
pub(crate) fn database_folder(recorded: &Path) -> PathBuf {
    recorded.join(MOUNT_POINT).join("database")
}

/// A file system in an image on the recording file system, which is unmounted when dropped.
pub(crate) struct RecordedImage {
    folder: PathBuf,
}

impl RecordedImage {
    /// Makes and mounts the file system.
    ///
    /// # Errors
    /// [`Failure::Image`].
    pub(crate) fn create(folder: &Path, file_system: &FileSystem) -> Result<Self, Failure> {
        let conditions = Conditions {
            file_system: Some(file_system.with_image(Some(IMAGE_BYTES))),
            ..Conditions::default()
        };
        let made = Self {
            folder: folder.to_owned(),
        };
        create(folder, &conditions, 0, None)?;
        Ok(made)
    }
}

impl Drop for RecordedImage {
    fn drop(&mut self) {
        // What cannot be unmounted here is gone with the process's view of mounts.
        let _ = unmount_all(&self.folder, None);
    }
}

/// Returns whether several states of a file system can be mounted at once: the kernel takes images
/// of one btrfs for its devices.
pub(crate) fn mounts_several(file_system: &FileSystem) -> bool {
    file_system.kind != FileSystemKind::Made("btrfs".to_owned())
}

/// Returns whether a model of storage says something of a device. Killed processes leave the same
/// in both forms, and a device has no names that could be lost.
#[must_use]
pub fn concerns_devices(model: StorageModel) -> bool {
    !matches!(model, StorageModel::Kill | StorageModel::Posix)
}
