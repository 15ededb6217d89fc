//! The marker of a folder in which trueput created a file system: written first and removed last,
//! so that leftovers of a killed run can be distinguished from a user's files.

use super::error::TrialFileSystemError;
use super::system::check_removed;
use crate::image_store::SERVED_IMAGE;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use trueput_record::filesystem::{FileSystemKind, MountedFileSystem};

/// The mount point, in a trial's folder, of a server that shows the database's files with delays.
/// An image in this folder has the same one, and there is only one of both.
const SHOWN_FOLDER: &str = "data.storage";

/// The marker's name in a trial's folder.
pub(super) const MARKER: &str = ".trueput-file-system";

/// The text that identifies our marker.
const MAGIC: &str =
    "trueput made the images and mounts in this folder for a trial, and removes them";

/// The use of a trial's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileSystemRole {
    /// It holds the database.
    Data,
    /// It holds the engine's log.
    Log,
}

impl FileSystemRole {
    fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Log => "log",
        }
    }
}

/// The record of the file systems made in a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Marker {
    magic: String,
    /// The folder itself: a marker that was copied elsewhere is invalid.
    folder: PathBuf,
    /// The process of the run.
    pub pid: u32,
    /// In the order in which they are mounted.
    pub parts: Vec<FileSystemPart>,
    /// The storage model of the database's folder, in its folder form; `None`: it has none, or one
    /// below a file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_model: Option<String>,
}

/// One file system of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FileSystemPart {
    /// Its use.
    pub role: FileSystemRole,
    /// Its source: `ext4`, `tmpfs`; empty for a folder of the user's.
    pub kind: String,
    /// A folder created in a folder of the user's, with its own marker above it.
    pub elsewhere: Option<PathBuf>,
    /// The storage model of its images; `None`: the work folder's own storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_model: Option<String>,
    /// The facts known so far.
    pub report: MountedFileSystem,
}

impl FileSystemPart {
    /// Creates the record of a file system that is not made yet.
    pub fn new(role: FileSystemRole, kind: &FileSystemKind) -> Self {
        Self {
            role,
            kind: match kind {
                FileSystemKind::Made(kind) => kind.clone(),
                FileSystemKind::Tmpfs => "tmpfs".to_owned(),
                FileSystemKind::Here | FileSystemKind::Folder(_) => String::new(),
            },
            elsewhere: None,
            storage_model: None,
            report: MountedFileSystem::default(),
        }
    }

    /// Returns the path of its image in the trial's folder.
    pub fn image(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.img", self.role.name()))
    }

    /// Returns the path of the image of its journal.
    pub fn journal(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}-journal.img", self.role.name()))
    }

    /// Returns the folder in which a server shows an image of it with the delays of its storage
    /// model: `data.storage` of `data.img`. `None` without a model.
    pub fn storage_of(&self, image: &Path) -> Option<PathBuf> {
        let model = self.storage_model.as_ref();
        model.map(|_| image.with_extension("storage"))
    }

    /// Returns the file to which the loop device of an image is attached: the image itself, or what
    /// its server shows of it.
    pub fn attached_file(&self, image: &Path) -> PathBuf {
        let storage = self.storage_of(image);
        storage.map_or_else(|| image.to_owned(), |folder| folder.join(SERVED_IMAGE))
    }
}

impl Marker {
    /// Returns the mount points of modeled storage in the folder.
    pub fn storage_mount_points(&self) -> Vec<PathBuf> {
        let images = self.parts.iter().flat_map(|part| {
            let images = [part.image(&self.folder), part.journal(&self.folder)];
            images.map(|image| part.storage_of(&image))
        });
        images.flatten().chain(self.shown_folder()).collect()
    }

    /// Returns the folder in which a server shows the database's files with delays; `None` without
    /// one.
    pub fn shown_folder(&self) -> Option<PathBuf> {
        let model = self.folder_model.as_ref();
        model.map(|_| self.folder.join(SHOWN_FOLDER))
    }

    /// Creates a marker for a folder with these parts, without writing it.
    pub fn new(folder: &Path, parts: Vec<FileSystemPart>) -> Self {
        Self {
            magic: MAGIC.to_owned(),
            folder: folder.to_owned(),
            pid: std::process::id(),
            parts,
            folder_model: None,
        }
    }

    /// Reads a folder's marker; `None` if it has none, or that of another folder.
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(MARKER);
        // A planted link could make another user's folder look like trueput's.
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let marker: Self = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        (marker.magic == MAGIC && marker.folder == folder).then_some(marker)
    }

    /// Writes the marker atomically.
    ///
    /// # Errors
    /// [`TrialFileSystemError`].
    pub fn write(&self) -> Result<(), TrialFileSystemError> {
        let path = self.folder.join(MARKER);
        let draft = self.folder.join(format!("{MARKER}.new"));
        let text = serde_json::to_vec(self)?;
        let write = || {
            let mut file = fs::File::create(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&draft, &path)
        };
        write().map_err(TrialFileSystemError::of_path(&path, "written"))
    }

    /// Returns the folder that it marks.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the database's folder: that with its files, or what shows them with delays.
    pub fn database(&self) -> PathBuf {
        self.shown_folder().unwrap_or_else(|| self.files())
    }

    /// Returns the folder of the database's files: on the file system created for it, or next to
    /// the marker.
    pub fn files(&self) -> PathBuf {
        let data = self
            .parts
            .iter()
            .find(|part| part.role == FileSystemRole::Data);
        match data {
            Some(part) => match &part.elsewhere {
                Some(folder) => folder.clone(),
                None => self.mount_point(part).join("database"),
            },
            None => self.folder.join("database"),
        }
    }

    /// Returns a part's mount point. An engine finds its own log in the subfolder `log`.
    pub fn mount_point(&self, part: &FileSystemPart) -> PathBuf {
        match part.role {
            FileSystemRole::Data => self.folder.join("mnt"),
            FileSystemRole::Log => self.database().join("log"),
        }
    }

    /// Removes the marker.
    ///
    /// # Errors
    /// [`TrialFileSystemError::NotRemoved`].
    pub fn remove(&self) -> Result<(), TrialFileSystemError> {
        let path = self.folder.join(MARKER);
        check_removed(&path, fs::remove_file(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<FileSystemPart> {
        let kind = FileSystemKind::Made("ext4".to_owned());
        vec![
            FileSystemPart::new(FileSystemRole::Data, &kind),
            FileSystemPart::new(FileSystemRole::Log, &kind),
        ]
    }

    #[test]
    fn a_mark_is_read_in_its_own_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let marker = Marker::new(folder.path(), parts());
        marker.write().unwrap();
        assert_eq!(Marker::read(folder.path()), Some(marker));
        let other = tempfile::tempdir().unwrap();
        fs::copy(folder.path().join(MARKER), other.path().join(MARKER)).unwrap();
        assert_eq!(Marker::read(other.path()), None);
    }

    #[test]
    fn a_link_and_a_stranger_s_file_are_no_marks() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MARKER), "{\"magic\":\"mine\"}").unwrap();
        assert_eq!(Marker::read(folder.path()), None);
        let real = tempfile::tempdir().unwrap();
        Marker::new(folder.path(), parts()).write().unwrap();
        fs::rename(folder.path().join(MARKER), real.path().join(MARKER)).unwrap();
        std::os::unix::fs::symlink(real.path().join(MARKER), folder.path().join(MARKER)).unwrap();
        assert_eq!(Marker::read(folder.path()), None);
    }

    #[test]
    fn a_loop_device_shows_what_the_server_of_a_model_shows() {
        let mut parts = parts();
        parts[0].storage_model = Some("hdd-7200".to_owned());
        let marker = Marker::new(Path::new("/w/run/1"), parts);
        let attached = marker.parts.iter().map(|part| {
            let image = part.image(marker.folder());
            part.attached_file(&image)
        });
        let expected = ["/w/run/1/data.storage/image", "/w/run/1/log.img"];
        assert_eq!(attached.collect::<Vec<_>>(), expected.map(PathBuf::from));
        let points = ["/w/run/1/data.storage", "/w/run/1/data-journal.storage"];
        assert_eq!(marker.storage_mount_points(), points.map(PathBuf::from));
    }

    #[test]
    fn a_mark_without_a_storage_model_is_that_of_earlier_versions() {
        let marker = Marker::new(Path::new("/w/run/1"), parts());
        let text = serde_json::to_string(&marker).unwrap();
        assert!(!text.contains("storage_model"), "{text}");
        assert_eq!(serde_json::from_str::<Marker>(&text).unwrap(), marker);
    }

    #[test]
    fn a_folder_with_delays_shows_the_files_of_the_database() {
        let mut marker = Marker::new(Path::new("/w/run/1"), Vec::new());
        let files = Path::new("/w/run/1/database");
        assert_eq!(
            (marker.database().as_path(), marker.shown_folder()),
            (files, None)
        );
        marker.folder_model = Some("folder:hdd-7200".to_owned());
        let shown = PathBuf::from("/w/run/1/data.storage");
        assert_eq!(
            (marker.database(), marker.files()),
            (shown.clone(), files.to_owned())
        );
        assert_eq!(marker.storage_mount_points(), [shown]);
        marker.parts = parts().split_off(1);
        marker.parts[0].role = FileSystemRole::Data;
        assert_eq!(marker.files(), Path::new("/w/run/1/mnt/database"));
        let text = serde_json::to_string(&marker).unwrap();
        assert_eq!(serde_json::from_str::<Marker>(&text).unwrap(), marker);
    }

    #[test]
    fn the_log_is_mounted_in_the_database_s_folder() {
        let marker = Marker::new(Path::new("/w/run/1"), parts());
        assert_eq!(marker.database(), Path::new("/w/run/1/mnt/database"));
        let log = marker.mount_point(&marker.parts[1]);
        assert_eq!(log, Path::new("/w/run/1/mnt/database/log"));
        let alone = Marker::new(Path::new("/w/run/1"), parts().split_off(1));
        assert_eq!(alone.database(), Path::new("/w/run/1/database"));
    }
}
