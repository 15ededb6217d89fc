//! The folder of a database: whether it was ever made whole.

use std::fs::{File, read_dir, remove_file};
use std::path::Path;
use trueput_engine::{Error, Result};

/// There once the database was made whole. What lacks it holds no commit that was acknowledged.
const COMPLETE_MARKER: &str = "trueput.made";

/// A folder that is a database's alone.
pub(super) struct TokuFolder<'a>(pub(super) &'a Path);

impl TokuFolder<'_> {
    /// Whether the database was ever whole.
    pub(super) fn is_complete(&self) -> bool {
        self.0.join(COMPLETE_MARKER).exists()
    }

    /// Notes that the database is whole, and flushes the folder's names.
    pub(super) fn mark_complete(&self) -> Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        let flushed = |path: &Path| File::open(path).and_then(|file| file.sync_all());
        File::create(self.0.join(COMPLETE_MARKER))
            .and_then(|mark| mark.sync_all())
            .and_then(|()| flushed(self.0))
            .map_err(|error| self.error(&error))
    }

    /// Removes the library's files.
    pub(super) fn clear(&self) -> Result<()> {
        let entries = read_dir(self.0).map_err(|error| self.error(&error))?;
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(is_library_file) {
                remove_file(entry.path()).map_err(|error| self.error(&error))?;
            }
        }
        Ok(())
    }

    fn error(&self, error: &std::io::Error) -> Error {
        Error::engine(format!("{}: {error}", self.0.display()))
    }
}

/// Whether the name is one of TokuDB's files: dictionaries, logs, and the environment's own files.
fn is_library_file(name: &str) -> bool {
    name.starts_with("tokudb.") || name.ends_with(".tokudb") || name.contains(".tokulog")
}
