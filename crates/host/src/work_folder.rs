//! The folder in which databases are created: claimed, marked as trueput's, and left as it was
//! found.
//!
//! ```text
//! WORK/
//!   .trueput-work     the purpose of the folder, and the parents that trueput created
//!   RUN/              a folder per run, with the name of its run folder
//!     .trueput-run    its owner, as long as the run lasts
//!     TRIAL/          a folder per trial: the database
//! ```
//!
//! Outside `WORK/RUN`, only empty folders that trueput created are ever removed.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = ".trueput-work";
const MARKER_FIRST_LINE: &str =
    "This is a work directory of trueput: it creates databases here and removes them.";
/// The first line that earlier versions wrote.
const FORMER_MARKER_FIRST_LINE: &str =
    "This is a work folder of trueput: it makes databases here and removes them.";
const CREATED: &str = "created: ";

/// The reason why a work folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("work folder {path}: {problem}")]
pub struct WorkFolderError {
    /// The folder.
    pub path: PathBuf,
    /// The reason and the remedy.
    pub problem: FolderProblem,
}

/// The reason why a folder cannot be used: what follows its path.
#[derive(Debug, thiserror::Error)]
pub enum FolderProblem {
    /// There is a file on the way to it.
    #[error("is not a directory: name a directory, or a new name")]
    FileInPath,
    /// There is something else in its place, such as a link.
    #[error("exists and is not a directory")]
    NotFolder,
    /// It cannot be made.
    #[error("cannot be made: {0}")]
    NotMade(io::Error),
    /// It cannot be opened.
    #[error("cannot be opened: {0}")]
    NotOpened(io::Error),
    /// It cannot be looked at.
    #[error(transparent)]
    NotRead(io::Error),
    /// It cannot be marked, or no file can be made in it.
    #[error("cannot be used: {0}")]
    NotUsable(io::Error),
    /// Its path cannot be put in the words of a marker.
    #[error(transparent)]
    Marker(#[from] serde_json::Error),
    /// It is somebody else's.
    #[error(
        "is not trueput's: it holds files, but no mark of trueput; name an empty or new directory"
    )]
    Foreign,
    /// Another run works in it.
    #[error(
        "another run of that name is active here: name another work directory, or wait until it \
         has finished"
    )]
    Active,
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
    /// A [`WorkFolderError`] if it is somebody else's (neither empty nor marked), is not a folder,
    /// or cannot be written.
    pub fn claim(path: &Path) -> Result<Self, WorkFolderError> {
        let refuse = |problem| WorkFolderError {
            path: path.to_owned(),
            problem,
        };
        let refuse_error = |error| refuse(FolderProblem::NotUsable(error));
        let absolute = std::path::absolute(path).map_err(refuse_error)?;
        let created = first_missing(&absolute);
        if let Err(error) = fs::create_dir_all(&absolute) {
            remove_empty(&absolute, created.as_deref());
            return Err(refuse(match error.kind() {
                ErrorKind::AlreadyExists | ErrorKind::NotADirectory => FolderProblem::FileInPath,
                _ => FolderProblem::NotMade(error),
            }));
        }
        // From here on under its canonical path, so that changing a link later has no effect.
        let folder = Self {
            path: absolute.canonicalize().map_err(refuse_error)?,
        };
        if folder.is_marked().map_err(refuse_error)? {
            folder.probe().map_err(refuse_error)?;
        } else if !is_empty(&folder.path).map_err(refuse_error)? {
            return Err(refuse(FolderProblem::Foreign));
        } else {
            folder.mark(created.as_deref()).map_err(|error| {
                remove_empty(&folder.path, created.as_deref());
                refuse_error(error)
            })?;
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

    /// Removes the marker if nothing else is left, and then the folders that trueput created on the
    /// way if they are empty.
    pub fn release(self) {
        let marker = self.path.join(MARKER);
        let only_marker = holds_only(&self.path, &[MARKER, NEW_FILE_SYSTEM]).unwrap_or(false);
        let text = fs::read_to_string(&marker).unwrap_or_default();
        if only_marker && fs::remove_file(&marker).is_ok() {
            let created = text.lines().find_map(|line| line.strip_prefix(CREATED));
            remove_empty(&self.path, created.map(Path::new));
        }
    }

    fn is_marked(&self) -> std::io::Result<bool> {
        let marker = self.path.join(MARKER);
        match fs::symlink_metadata(&marker) {
            // A planted link could make another user's folder look like trueput's.
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
        let file = fs::File::create_new(self.path.join(MARKER))?;
        write_mark(file, &self.path, text.as_bytes())
    }

    /// Checks that files can be made in it.
    fn probe(&self) -> std::io::Result<()> {
        let probe = self.path.join(format!(".probe-{}", std::process::id()));
        fs::create_dir(&probe)?;
        fs::remove_dir(&probe)
    }
}

/// Writes the mark of a folder and flushes both: after lost power an empty mark would make the
/// folder somebody else's.
pub(crate) fn write_mark(mut mark: fs::File, folder: &Path, text: &[u8]) -> std::io::Result<()> {
    mark.write_all(text)?;
    mark.sync_all()?;
    // Not every file system can flush a folder.
    let _ = fs::File::open(folder)?.sync_all();
    Ok(())
}

/// The folder that a new ext2, ext3 or ext4 has.
const NEW_FILE_SYSTEM: &str = "lost+found";

/// Returns whether a folder has nothing in it but what a new file system has.
pub(crate) fn is_empty(path: &Path) -> std::io::Result<bool> {
    holds_only(path, &[NEW_FILE_SYSTEM])
}

/// Returns whether a folder has no entries but these.
fn holds_only(path: &Path, names: &[&str]) -> std::io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if !names.iter().any(|known| name == *known) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the topmost folder that must be created for `path` to exist; `None` if it exists.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let missing = path
        .ancestors()
        .take_while(|ancestor| fs::symlink_metadata(ancestor).is_err());
    missing.last().map(Path::to_owned)
}

/// Removes empty folders from `path` up to `topmost`, both included; none without `topmost`.
fn remove_empty(path: &Path, topmost: Option<&Path>) {
    let Some(topmost) = topmost else { return };
    // The marker holds the path from before links were resolved.
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
    fn a_new_file_system_can_be_worked_in_and_keeps_its_own_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("lost+found");
        fs::create_dir(&own).unwrap();
        WorkFolder::claim(folder.path()).unwrap().release();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(own.is_dir());
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
}
