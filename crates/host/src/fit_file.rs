//! The file that a fit of a storage model measures: locked as long as its process lives, so that
//! others know what a killed fit has left.

use crate::private_files;
use crate::process::is_alive;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The beginning of the file's name. The number of its process follows.
const PREFIX: &str = ".trueput-fit-";

/// The file of this process's fit, which is removed when this is dropped.
#[derive(Debug)]
pub struct FitFile {
    path: PathBuf,
    /// Open, and so locked.
    file: File,
}

impl FitFile {
    /// Creates the file in a folder, of one byte.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("{PREFIX}{}", std::process::id()));
        let file = private_files::create_file(&path)?;
        // On a file system without locks the number of the process tells whether it lives.
        let _ = file.try_lock();
        let created = Self { path, file };
        // One that is empty is not locked yet.
        created.file.set_len(1)?;
        Ok(created)
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FitFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The file of a fit whose process has ended without removing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbandonedFitFile {
    /// The process.
    pub pid: u32,
    /// The file.
    pub path: PathBuf,
}

/// Finds the files that killed fits have left in a folder.
#[must_use]
pub fn find_abandoned(folder: &Path) -> Vec<AbandonedFitFile> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name();
        let pid = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
        let file = AbandonedFitFile {
            pid,
            path: entry.path(),
        };
        file.is_abandoned().then_some(file)
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by_key(|file| file.pid);
    files
}

impl AbandonedFitFile {
    fn is_abandoned(&self) -> bool {
        // One that is empty was just created, and may not be locked yet.
        let is_written = |found: fs::Metadata| found.is_file() && found.len() > 0;
        let found = self.path.symlink_metadata();
        if !found.is_ok_and(is_written) {
            return false;
        }
        match File::open(&self.path).map(|file| file.try_lock()) {
            Ok(Ok(())) => true,
            Ok(Err(TryLockError::Error(_))) => !is_alive(self.pid),
            Ok(Err(TryLockError::WouldBlock)) | Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_abandoned_once_its_process_has_ended_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let left = |name: &str| folder.path().join(format!("{PREFIX}{name}"));
        fs::write(left("7"), "left").unwrap();
        fs::write(left("mine"), "of somebody else").unwrap();
        fs::write(folder.path().join("8"), "the same").unwrap();
        fs::create_dir(left("9")).unwrap();
        std::os::unix::fs::symlink(left("7"), left("10")).unwrap();
        let own = FitFile::create(folder.path()).unwrap();
        let abandoned = AbandonedFitFile {
            pid: 7,
            path: left("7"),
        };
        assert_eq!(find_abandoned(folder.path()), [abandoned]);
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
        // One that was created and not locked yet.
        fs::write(left("7"), "").unwrap();
        assert_eq!(find_abandoned(folder.path()), []);
        assert_eq!(find_abandoned(Path::new("/absent")), []);
    }
}
