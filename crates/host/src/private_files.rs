//! Files and folders that nobody but their owner may change. What root creates, root reads again
//! later: whoever could change it in between would act with root's rights.

use rustix::fs::Mode;
use rustix::process::umask;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The mode of a private file.
const FILE_MODE: u32 = 0o600;

/// The mode of a private folder.
const FOLDER_MODE: u32 = 0o700;

/// The rights that others never get: to change a file of root's.
const WRITE_OF_OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);

/// As root, lets this process and its children create no file or folder that others may write,
/// whatever the user's umask. Call it before the process has a second thread.
pub fn keep_from_others() {
    if crate::is_root() {
        let given = umask(WRITE_OF_OTHERS);
        umask(given | WRITE_OF_OTHERS);
    }
}

/// Creates a file that only its owner may read and write.
///
/// # Errors
/// The file system's own; also if the file exists.
pub fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.mode(FILE_MODE).open(path)
}

/// Creates a folder that only its owner may enter, with the folders on the way to it that are
/// missing. One that exists keeps its mode.
///
/// # Errors
/// The file system's own.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_private_file_and_a_private_folder_are_their_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        create_folder(&folder).unwrap();
        let file = folder.join("file");
        create_file(&file).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!(mode(folder.parent().unwrap()), 0o700);
        assert!(create_file(&file).is_err(), "it was there before");
    }
}
