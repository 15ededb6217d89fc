//! The marker of a run in its work folder: its owner, as long as the run lasts.

use crate::private_files;
use crate::work_folder::write_mark;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const RUN_MARKER: &str = ".trueput-run";
const RUN_MAGIC: &str = "The trueput run of this name creates databases here and removes them";
/// The text that earlier versions wrote.
const FORMER_RUN_MAGIC: &str = "trueput's run of this name makes databases here and removes them";

/// The marker of a run that is active or was killed. A run that ends removes its marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMarker {
    magic: String,
    /// The folder itself: a marker that was copied elsewhere is invalid.
    folder: PathBuf,
    /// The process of the run.
    pub pid: u32,
}

impl RunMarker {
    /// Marks a folder as that of a run of this process.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn write(folder: &Path) -> Result<(), String> {
        let marker = Self {
            magic: RUN_MAGIC.to_owned(),
            folder: folder.to_owned(),
            pid: std::process::id(),
        };
        let text = serde_json::to_vec(&marker).map_err(|error| error.to_string())?;
        let written = fs::File::create(folder.join(RUN_MARKER))
            .and_then(|mark| write_mark(mark, folder, &text));
        written.map_err(|error| format!("cannot be used: {error}"))
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
    /// A sentence, if the run is active.
    pub fn lock(&self, folder: &Path) -> Result<fs::File, String> {
        let lock = fs::File::open(folder).map_err(|error| error.to_string())?;
        let at_work = || {
            format!(
                "{}: the run is active (process {})",
                folder.display(),
                self.pid
            )
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
    /// A sentence.
    pub fn remove(folder: &Path) -> Result<(), String> {
        let path = folder.join(RUN_MARKER);
        fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
    }

    /// Removes a run's folder in which only the marker is left. A folder with other files keeps its
    /// marker, so that it is found again.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn remove_with_folder(folder: &Path) -> Result<(), String> {
        let failed = |error| format!("cannot remove {}: {error}", folder.display());
        let entries = fs::read_dir(folder).map_err(failed)?.flatten();
        let mut paths = entries.map(|entry| entry.path());
        if let Some(file) = paths.find(|path| !path.ends_with(RUN_MARKER)) {
            return Err(format!(
                "cannot remove {}: {} is not trueput's; move it away",
                folder.display(),
                file.display()
            ));
        }
        Self::remove(folder)?;
        fs::remove_dir(folder).map_err(failed)
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
    /// One sentence.
    pub fn create(path: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        private_files::create_folder(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let lock = fs::File::open(&path).map_err(failed)?;
        // On a file system without locks the number of the process tells whether it is at work.
        let _ = lock.try_lock();
        RunMarker::write(&path)?;
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
        RunMarker::write(&run).unwrap();
        let notes = run.join("notes");
        fs::write(&notes, "mine").unwrap();
        let reason = RunMarker::remove_with_folder(&run).unwrap_err();
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
        };
        fs::write(run.join(RUN_MARKER), serde_json::to_vec(&marker).unwrap()).unwrap();
        assert!(RunMarker::read(&run).is_some());
    }
}
