//! The folder in which databases are made: claimed, marked as ours, and left as it was found.
//!
//! ```text
//! WORK/
//!   .trueput-work     says what this folder is, and what trueput created to get here
//!   RUN/              a folder per run, named as its run folder
//!     .trueput-run    whose it is, while the run lasts
//!     TRIAL/          a folder per trial: the database
//! ```
//!
//! Nothing outside `WORK/RUN` is ever removed but folders that trueput created and that are empty.

use super::trial_file_system;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = ".trueput-work";
const MARKER_FIRST_LINE: &str =
    "This is a work directory of trueput: it creates databases here and removes them.";
/// The first line that earlier versions wrote.
const FORMER_MARKER_FIRST_LINE: &str =
    "This is a work folder of trueput: it makes databases here and removes them.";
const CREATED: &str = "created: ";
const RUN_MARKER: &str = ".trueput-run";
const RUN_MAGIC: &str = "The trueput run of this name creates databases here and removes them";
/// The text that earlier versions wrote.
const FORMER_RUN_MAGIC: &str = "trueput's run of this name makes databases here and removes them";

/// Why a work folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("work folder {path}: {message}")]
pub struct WorkFolderError {
    /// The folder.
    pub path: PathBuf,
    /// Why not, and what would be right.
    pub message: String,
}

/// A work folder in use.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
}

impl WorkFolder {
    /// Creates the folder if necessary, and marks it.
    ///
    /// # Errors
    /// A [`WorkFolderError`] where it is somebody else's (neither empty nor marked), no folder, or
    /// cannot be written.
    pub fn claim(path: &Path) -> Result<Self, WorkFolderError> {
        let refuse = |message: String| WorkFolderError {
            path: path.to_owned(),
            message,
        };
        let refuse_error = |error: std::io::Error| refuse(format!("cannot be used: {error}"));
        let absolute = std::path::absolute(path).map_err(refuse_error)?;
        let created = first_missing(&absolute);
        if let Err(error) = fs::create_dir_all(&absolute) {
            remove_empty(&absolute, created.as_deref());
            return Err(match error.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    refuse("is not a directory: name a directory, or a new name".to_owned())
                }
                _ => refuse(format!("cannot be made: {error}")),
            });
        }
        // From here on by its real name, so that a link that is turned later changes nothing.
        let folder = Self {
            path: absolute.canonicalize().map_err(refuse_error)?,
        };
        match folder.is_marked().map_err(refuse_error)? {
            true => folder.probe().map_err(refuse_error)?,
            false if !is_empty(&folder.path).map_err(refuse_error)? => {
                return Err(refuse(
                    "is not trueput's: it holds files, but no mark of trueput; name \
                     an empty or new directory"
                        .to_owned(),
                ));
            }
            false => folder.mark(created.as_deref()).map_err(|error| {
                remove_empty(&folder.path, created.as_deref());
                refuse_error(error)
            })?,
        }
        Ok(folder)
    }

    /// Returns the folder's real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder at that path; `None` unless it exists and is marked.
    pub fn open_marked(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let folder = Self { path };
        folder
            .is_marked()
            .is_ok_and(|marked| marked)
            .then_some(folder)
    }

    /// Removes the mark if nothing else is left, and then the folders that were created to get here
    /// as far as they are empty.
    pub fn release(self) {
        let marker = self.path.join(MARKER);
        let only_marker = fs::read_dir(&self.path).is_ok_and(|entries| entries.count() == 1);
        let text = fs::read_to_string(&marker).unwrap_or_default();
        if only_marker && fs::remove_file(&marker).is_ok() {
            let created = text.lines().find_map(|line| line.strip_prefix(CREATED));
            remove_empty(&self.path, created.map(Path::new));
        }
    }

    fn is_marked(&self) -> std::io::Result<bool> {
        let marker = self.path.join(MARKER);
        match fs::symlink_metadata(&marker) {
            // A link could be planted to make a stranger's folder look like ours.
            Ok(metadata) if !metadata.is_file() => Ok(false),
            Ok(_) => {
                let text = fs::read_to_string(&marker)?;
                let ours = [MARKER_FIRST_LINE, FORMER_MARKER_FIRST_LINE];
                Ok(ours.iter().any(|line| text.starts_with(line)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn mark(&self, created: Option<&Path>) -> std::io::Result<()> {
        let mut text = format!("{MARKER_FIRST_LINE}\n");
        if let Some(created) = created.and_then(Path::to_str) {
            text.push_str(&format!("{CREATED}{created}\n"));
        }
        let mut file = fs::File::create_new(self.path.join(MARKER))?;
        file.write_all(text.as_bytes())
    }

    /// Checks that files can be made in it.
    fn probe(&self) -> std::io::Result<()> {
        let probe = self.path.join(format!(".probe-{}", std::process::id()));
        fs::create_dir(&probe)?;
        fs::remove_dir(&probe)
    }
}

/// The folder of one run in a work folder. What is left in it is removed when it is closed, unless
/// it is to be kept.
#[derive(Debug)]
pub struct RunWorkFolder {
    work: WorkFolder,
    path: PathBuf,
    /// Locked, so that no other run of that name works here.
    _lock: fs::File,
}

impl RunWorkFolder {
    /// Makes the folder of the run `name`, or takes up the one that an earlier part of the run
    /// left.
    ///
    /// # Errors
    /// A [`WorkFolderError`].
    pub fn open(work: WorkFolder, name: impl AsRef<Path>) -> Result<Self, WorkFolderError> {
        let path = work.path().join(name.as_ref());
        match make_folder(&path)
            .and_then(|()| lock(&path))
            .and_then(|lock| {
                RunMarker::write(&path)?;
                Ok(lock)
            }) {
            Ok(lock) => Ok(Self {
                work,
                path,
                _lock: lock,
            }),
            Err(message) => Err(WorkFolderError { path, message }),
        }
    }

    /// Returns the type of its file system, such as `ext4`.
    pub fn file_system(&self) -> String {
        crate::file_system(&self.path).kind
    }

    /// Creates the folder of a trial's database, and says whether an earlier attempt left something
    /// in it.
    ///
    /// # Errors
    /// A sentence, where it cannot be made.
    pub fn trial_folder(&self, id: &str) -> Result<(PathBuf, bool), String> {
        let path = self.path.join(id);
        make_folder(&path).map_err(|message| format!("{}: {message}", path.display()))?;
        let empty = is_empty(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path, !empty))
    }

    /// Removes a trial's folder and the file systems made in it.
    ///
    /// # Errors
    /// A sentence, where something cannot be removed.
    pub fn remove_trial(&self, id: &str) -> Result<(), String> {
        let path = self.path.join(id);
        trial_file_system::remove(&path)?;
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("cannot remove {}: {error}", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Unmounts the file systems of a trial whose database is kept; the images stay.
    ///
    /// # Errors
    /// A sentence, where something cannot be unmounted.
    pub fn unmount_trial(&self, id: &str) -> Result<(), String> {
        trial_file_system::unmount_all(&self.path.join(id))
    }

    /// Leaves the work folder as it was found, except for databases that are kept.
    pub fn close(self) {
        let _ = fs::remove_file(self.path.join(RUN_MARKER));
        // Fails where a database is kept, as it should.
        let _ = fs::remove_dir(&self.path);
        self.work.release();
    }
}

/// The marker of a run that is active or was killed. A run that ends removes its marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMarker {
    magic: String,
    /// The folder itself: a mark that was copied elsewhere is none.
    folder: PathBuf,
    /// The process of the run.
    pub pid: u32,
}

impl RunMarker {
    fn write(folder: &Path) -> Result<(), String> {
        let mark = Self {
            magic: RUN_MAGIC.to_owned(),
            folder: folder.to_owned(),
            pid: std::process::id(),
        };
        let text = serde_json::to_vec(&mark).map_err(|error| error.to_string())?;
        fs::write(folder.join(RUN_MARKER), text).map_err(|error| format!("cannot be used: {error}"))
    }

    /// Reads the marker of a run's folder; `None` where it has none.
    pub fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(RUN_MARKER);
        let plain = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
        let text = plain.then(|| fs::read(&path).ok())??;
        let mark: Self = serde_json::from_slice(&text).ok()?;
        let is_ours = [RUN_MAGIC, FORMER_RUN_MAGIC].contains(&mark.magic.as_str());
        (is_ours && mark.folder == folder).then_some(mark)
    }

    /// Whether the run is still active in its folder.
    pub fn is_active(&self, folder: &Path) -> bool {
        self.lock(folder).is_err()
    }

    /// Locks the folder of a run that has ended.
    ///
    /// # Errors
    /// A sentence, where the run is at work.
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

    /// Removes the marker.
    ///
    /// # Errors
    /// A sentence.
    pub fn remove(&self, folder: &Path) -> Result<(), String> {
        let path = folder.join(RUN_MARKER);
        fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
    }
}

/// Locks a folder for as long as the file lives.
fn lock(path: &Path) -> Result<fs::File, String> {
    let folder = fs::File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    match folder.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(
            "another run of that name is active here: name another work directory, or wait until \
             it has finished"
                .to_owned(),
        ),
        // A file system that has no locks is no reason not to measure on it.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(folder),
    }
}

/// Makes a folder, or finds that it is one already; a link is none.
fn make_folder(path: &Path) -> Result<(), String> {
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let metadata = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
            let folder = metadata.is_dir();
            folder
                .then_some(())
                .ok_or_else(|| "exists and is not a directory".to_owned())
        }
        Err(error) => Err(format!("cannot be made: {error}")),
    }
}

fn is_empty(path: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(path)?.next().is_none())
}

/// The topmost folder that would have to be made for `path` to exist; `None` where it exists.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let missing = path
        .ancestors()
        .take_while(|ancestor| fs::symlink_metadata(ancestor).is_err());
    missing.last().map(Path::to_owned)
}

/// Removes empty folders from `path` up to `topmost`, both included; without it, none.
fn remove_empty(path: &Path, topmost: Option<&Path>) {
    let Some(topmost) = topmost else { return };
    // The mark was made before links were followed.
    let topmost = topmost
        .canonicalize()
        .unwrap_or_else(|_| topmost.to_owned());
    for ancestor in path
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with(&topmost))
    {
        let removed = fs::remove_dir(ancestor);
        if removed.is_err_and(|error| error.kind() != ErrorKind::NotFound) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_made_is_gone_when_it_is_released_and_its_parent_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        WorkFolder::claim(&path).unwrap().release();
        assert!(is_empty(parent.path()).unwrap());
    }

    #[test]
    fn an_empty_folder_that_was_there_is_left_empty() {
        let folder = tempfile::tempdir().unwrap();
        WorkFolder::claim(folder.path()).unwrap().release();
        assert!(is_empty(folder.path()).unwrap());
    }

    #[test]
    fn a_folder_with_strangers_files_is_refused_and_untouched() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "ten years").unwrap();
        let error = WorkFolder::claim(folder.path()).unwrap_err();
        assert!(error.to_string().contains("is not trueput's"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_mark_that_is_a_link_or_says_something_else_is_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let real = tempfile::tempdir().unwrap();
        WorkFolder::claim(real.path()).unwrap();
        let marker = folder.path().join(MARKER);
        std::os::unix::fs::symlink(real.path().join(MARKER), &marker).unwrap();
        assert!(WorkFolder::claim(folder.path()).is_err());
        fs::remove_file(&marker).unwrap();
        fs::write(&marker, "something else").unwrap();
        assert!(WorkFolder::claim(folder.path()).is_err());
    }

    #[test]
    fn what_an_earlier_version_marked_is_still_ours() {
        let folder = tempfile::tempdir().unwrap();
        let former = format!("{FORMER_MARKER_FIRST_LINE}\n");
        fs::write(folder.path().join(MARKER), former).unwrap();
        assert!(WorkFolder::claim(folder.path()).is_ok());
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        let mark = RunMarker {
            magic: FORMER_RUN_MAGIC.to_owned(),
            folder: run.clone(),
            pid: 1,
        };
        fs::write(run.join(RUN_MARKER), serde_json::to_vec(&mark).unwrap()).unwrap();
        assert!(RunMarker::read(&run).is_some());
    }

    #[test]
    fn a_file_in_the_way_is_named_as_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = WorkFolder::claim(&path).unwrap_err();
            assert!(error.to_string().contains("is not a directory"), "{error}");
        }
    }

    #[test]
    fn a_bystander_in_a_marked_folder_stays_when_a_run_is_closed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("work");
        let area = RunWorkFolder::open(WorkFolder::claim(&path).unwrap(), "run").unwrap();
        let (trial_folder, left) = area.trial_folder("0001").unwrap();
        assert!(!left);
        fs::write(trial_folder.join("data"), "x").unwrap();
        assert!(area.trial_folder("0001").unwrap().1);
        fs::write(path.join("bystander"), "x").unwrap();
        area.remove_trial("0001").unwrap();
        area.close();
        assert!(path.join("bystander").exists() && !path.join("run").exists());
    }

    #[test]
    fn the_area_of_a_run_is_one_runs_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let open = || {
            RunWorkFolder::open(
                WorkFolder::claim(&parent.path().join("work")).unwrap(),
                "run",
            )
        };
        let area = open().unwrap();
        let error = open().unwrap_err();
        assert!(error.to_string().contains("active here"), "{error}");
        drop(area);
        open().unwrap().close();
    }

    #[test]
    fn a_link_in_place_of_a_trial_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("precious"), "x").unwrap();
        let work = WorkFolder::claim(&parent.path().join("work")).unwrap();
        let area = RunWorkFolder::open(work, "run").unwrap();
        std::os::unix::fs::symlink(victim.path(), area.path.join("0001")).unwrap();
        assert!(area.trial_folder("0001").is_err());
        // Whether or not the link itself goes, what it points to stays.
        let _ = area.remove_trial("0001");
        assert!(victim.path().join("precious").exists());
    }
}
