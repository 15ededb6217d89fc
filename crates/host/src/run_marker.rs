//! The marker of a run in its work folder: its owner, as long as the run lasts.

use crate::private_files;
use crate::work_folder::{FolderProblem, write_mark};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const RUN_MARKER: &str = ".trueput-run";
const RUN_MAGIC: &str = "The trueput run of this name creates databases here and removes them";
/// The text that earlier versions wrote.
const FORMER_RUN_MAGIC: &str = "trueput's run of this name makes databases here and removes them";

/// A file or folder that cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove {}: {error}", path.display())]
pub struct RemovalError {
    /// Its path.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: io::Error,
}

impl RemovalError {
    /// Returns how an error of the operating system becomes that of a path.
    pub(crate) fn of_path(path: &Path) -> impl Fn(io::Error) -> Self {
        |error| Self {
            path: path.to_owned(),
            error,
        }
    }
}

/// The reason why the folder of a run cannot be taken or removed.
#[derive(Debug, thiserror::Error)]
pub enum RunMarkerError {
    /// It cannot be opened.
    #[error(transparent)]
    NotOpened(io::Error),
    /// Its run is active.
    #[error("{}: the run is active (process {pid})", folder.display())]
    Active {
        /// The folder.
        folder: PathBuf,
        /// The process of the run.
        pid: u32,
    },
    /// A file of somebody else's is in it.
    #[error(
        "cannot remove {}: {} is not trueput's; move it away",
        folder.display(),
        file.display()
    )]
    ForeignFile {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// It cannot be removed.
    #[error(transparent)]
    NotRemoved(#[from] RemovalError),
}

/// The reason why a [`MarkedFolder`] cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MarkedFolderError {
    /// It cannot be made.
    #[error("{}: {error}", path.display())]
    NotMade {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// It cannot be marked.
    #[error(transparent)]
    NotMarked(#[from] FolderProblem),
}

/// The marker of a run that is active or was killed. A run that ends removes its marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMarker {
    magic: String,
    /// The folder itself: a marker that was copied elsewhere is invalid.
    folder: PathBuf,
    /// The process of the run.
    pub pid: u32,
    /// Whether nothing in the folder is to outlive the run; `None`: an earlier version wrote it,
    /// which did not say so.
    #[serde(default)]
    pub(crate) is_disposable: Option<bool>,
}

impl RunMarker {
    /// Marks a folder as that of a run of this process, and says whether nothing in it is to
    /// outlive the run.
    ///
    /// # Errors
    /// [`FolderProblem::NotUsable`] or [`FolderProblem::Marker`].
    pub(crate) fn write(folder: &Path, is_disposable: bool) -> Result<(), FolderProblem> {
        let marker = Self {
            magic: RUN_MAGIC.to_owned(),
            folder: folder.to_owned(),
            pid: std::process::id(),
            is_disposable: Some(is_disposable),
        };
        let text = serde_json::to_vec(&marker)?;
        let written = fs::File::create(folder.join(RUN_MARKER))
            .and_then(|mark| write_mark(mark, folder, &text));
        written.map_err(FolderProblem::NotUsable)
    }

    /// Reads the marker of a run's folder; `None` if it has none.
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(RUN_MARKER);
        let plain = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let text = plain.then(|| fs::read(&path).ok())??;
        let marker: Self = serde_json::from_slice(&text).ok()?;
        let is_ours = [RUN_MAGIC, FORMER_RUN_MAGIC].contains(&marker.magic.as_str());
        (is_ours && marker.folder == folder).then_some(marker)
    }

    /// Returns whether the run is still active in its folder.
    pub fn is_active(&self, folder: &Path) -> bool {
        self.lock(folder).is_err()
    }

    /// Locks the folder of a run that has ended.
    ///
    /// # Errors
    /// [`RunMarkerError::Active`] if the run is active.
    pub fn lock(&self, folder: &Path) -> Result<fs::File, RunMarkerError> {
        let lock = fs::File::open(folder).map_err(RunMarkerError::NotOpened)?;
        let at_work = || RunMarkerError::Active {
            folder: folder.to_owned(),
            pid: self.pid,
        };
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(fs::TryLockError::WouldBlock) => Err(at_work()),
            // Without locks, a process of that number is taken for the run.
            Err(fs::TryLockError::Error(_)) => {
                let is_alive = Path::new(&format!("/proc/{}", self.pid)).exists();
                (!is_alive).then_some(lock).ok_or_else(at_work)
            }
        }
    }

    /// Removes the marker of a run's folder.
    ///
    /// # Errors
    /// [`RemovalError`].
    pub fn remove(folder: &Path) -> Result<(), RemovalError> {
        let path = folder.join(RUN_MARKER);
        fs::remove_file(&path).map_err(RemovalError::of_path(&path))
    }

    /// Removes a run's folder in which only the marker is left. A folder with other files keeps its
    /// marker, so that it is found again.
    ///
    /// # Errors
    /// [`RunMarkerError::ForeignFile`] or [`RunMarkerError::NotRemoved`].
    pub(crate) fn remove_with_folder(folder: &Path) -> Result<(), RunMarkerError> {
        let failed = RemovalError::of_path(folder);
        let entries = fs::read_dir(folder).map_err(&failed)?.flatten();
        let mut paths = entries.map(|entry| entry.path());
        if let Some(file) = paths.find(|path| !path.ends_with(RUN_MARKER)) {
            let folder = folder.to_owned();
            return Err(RunMarkerError::ForeignFile { folder, file });
        }
        Self::remove(folder)?;
        Ok(fs::remove_dir(folder).map_err(failed)?)
    }
}

/// A private folder outside of a work folder that is marked and locked while this process works in
/// it: what a killed process leaves, `trueput clean` finds.
#[derive(Debug)]
pub struct MarkedFolder {
    path: PathBuf,
    _lock: fs::File,
}

impl MarkedFolder {
    /// Creates the folder, and marks it.
    ///
    /// # Errors
    /// [`MarkedFolderError`].
    pub fn create(path: &Path) -> Result<Self, MarkedFolderError> {
        let failed = |error| MarkedFolderError::NotMade {
            path: path.to_owned(),
            error,
        };
        private_files::create_folder(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let lock = fs::File::open(&path).map_err(failed)?;
        // On a file system without locks the number of the process tells whether it is at work.
        let _ = lock.try_lock();
        RunMarker::write(&path, false)?;
        Ok(Self { path, _lock: lock })
    }

    /// Keeps the folder and its files as somebody's results.
    pub fn keep(self) {
        let _ = RunMarker::remove(&self.path);
    }

    /// Removes the folder and its files.
    pub fn remove(self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_file_of_somebody_else_keeps_its_marker_and_goes_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        RunMarker::write(&run, true).unwrap();
        let notes = run.join("notes");
        fs::write(&notes, "mine").unwrap();
        let refused = RunMarker::remove_with_folder(&run);
        let reason = refused.unwrap_err().to_string();
        assert!(reason.contains("notes is not trueput's"), "{reason}");
        assert!(RunMarker::read(&run).is_some());
        fs::remove_file(&notes).unwrap();
        RunMarker::remove_with_folder(&run).unwrap();
        assert!(!run.exists());
    }

    #[test]
    fn what_an_earlier_version_marked_is_still_ours() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        let marker = RunMarker {
            magic: FORMER_RUN_MAGIC.to_owned(),
            folder: run.clone(),
            pid: 1,
            is_disposable: Some(true),
        };
        let mut fields = serde_json::to_value(marker).unwrap();
        let map = fields.as_object_mut().unwrap();
        map.remove("is_disposable").unwrap();
        fs::write(run.join(RUN_MARKER), fields.to_string()).unwrap();
        assert_eq!(RunMarker::read(&run).unwrap().is_disposable, None);
    }
}
