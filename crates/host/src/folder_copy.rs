//! Copies a folder with its files: shared blocks where the file system has them, holes elsewhere.

use rustix::fs::{SeekFrom, copy_file_range, ioctl_ficlone, seek, syncfs};
use rustix::io::Errno;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

/// A file or folder that cannot be copied.
#[derive(Debug, thiserror::Error)]
#[error("cannot copy {}: {error}", path.display())]
pub struct CopyError {
    /// Its path.
    pub path: PathBuf,
    /// The error of the operating system.
    pub error: io::Error,
}

/// Copies the contents of `from` into the folder `to`, which exists and is empty: files, folders
/// and links, with their owners and rights. Sockets and pipes belong to processes, and are left
/// out. All of it is on the storage when this returns, so that the kernel writes nothing back
/// later. Before each file `go_on` is asked.
///
/// # Errors
/// [`CopyError`] with the first one that cannot be copied, or is not wanted any more; the others
/// are left where they are.
pub fn copy_contents(from: &Path, to: &Path, go_on: &dyn Fn() -> bool) -> Result<(), CopyError> {
    copy_folder(from, to, go_on)?;
    let synced = File::open(to).and_then(|folder| Ok(syncfs(&folder)?));
    synced.map_err(|error| of(to)(error))
}

fn of(path: &Path) -> impl Fn(io::Error) -> CopyError {
    |error| CopyError {
        path: path.to_owned(),
        error,
    }
}

fn copy_folder(from: &Path, to: &Path, go_on: &dyn Fn() -> bool) -> Result<(), CopyError> {
    let failed = of(from);
    keep_rights(from, to).map_err(&failed)?;
    for entry in fs::read_dir(from).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !go_on() {
            return Err(of(&source)(io::Error::from(io::ErrorKind::Interrupted)));
        }
        let kind = entry.file_type().map_err(of(&source))?;
        if kind.is_dir() {
            fs::create_dir(&target).map_err(of(&source))?;
            copy_folder(&source, &target, go_on)?;
        } else if kind.is_symlink() {
            copy_link(&source, &target).map_err(of(&source))?;
        } else if kind.is_file() {
            copy_file(&source, &target).map_err(of(&source))?;
        }
    }
    Ok(())
}

/// Gives the copy of a file or folder its owner and rights.
fn keep_rights(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::metadata(from)?;
    lchown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    fs::set_permissions(to, Permissions::from_mode(metadata.mode() & 0o7777))
}

fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    symlink(fs::read_link(from)?, to)?;
    let metadata = fs::symlink_metadata(from)?;
    lchown(to, Some(metadata.uid()), Some(metadata.gid()))
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    keep_rights(from, to)?;
    // Not every file system shares blocks.
    if ioctl_ficlone(&target, &source).is_err() {
        copy_blocks(&source, &target)?;
    }
    Ok(())
}

/// Copies the parts of a file that are no holes.
fn copy_blocks(source: &File, target: &File) -> io::Result<()> {
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut at = 0;
    while at < length {
        let Some(data) = seek_to(source, SeekFrom::Data(at))? else {
            return Ok(());
        };
        let hole = seek_to(source, SeekFrom::Hole(data))?.unwrap_or(length);
        let (mut from, mut to) = (data, data);
        while from < hole {
            let left = usize::try_from(hole - from).unwrap_or(usize::MAX);
            let copied = copy_file_range(source, Some(&mut from), target, Some(&mut to), left)?;
            if copied == 0 {
                // It was cut short meanwhile.
                return Ok(());
            }
        }
        at = hole;
    }
    Ok(())
}

/// Seeks data or a hole; `None` if there is none any more.
fn seek_to(file: &File, to: SeekFrom) -> io::Result<Option<u64>> {
    match seek(file, to) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn files_folders_links_and_rights_are_copied_and_sockets_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let (from, to) = (parent.path().join("from"), parent.path().join("to"));
        fs::create_dir_all(from.join("below")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("below/file"), "text").unwrap();
        fs::set_permissions(from.join("below/file"), Permissions::from_mode(0o640)).unwrap();
        symlink("below/file", from.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        copy_contents(&from, &to, &|| true).unwrap();
        assert_eq!(fs::read_to_string(to.join("below/file")).unwrap(), "text");
        let mode = fs::metadata(to.join("below/file")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o640);
        assert_eq!(
            fs::read_link(to.join("link")).unwrap(),
            Path::new("below/file")
        );
        assert!(!to.join("socket").exists());
    }

    #[test]
    fn a_file_with_holes_keeps_its_contents_and_its_length_and_takes_no_more_room() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let source = File::create(&from).unwrap();
        source.set_len(64 << 20).unwrap();
        source.write_at(b"begin", 0).unwrap();
        source.write_at(b"middle", 40 << 20).unwrap();
        copy_file(&from, &to).unwrap();
        let copied = fs::read(&to).unwrap();
        assert!(copied == fs::read(&from).unwrap());
        assert!(fs::metadata(&to).unwrap().blocks() <= fs::metadata(&from).unwrap().blocks() + 8);
    }

    #[test]
    fn what_cannot_be_copied_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent");
        let error = copy_contents(&absent, folder.path(), &|| true).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }

    #[test]
    fn what_is_not_wanted_any_more_is_not_copied() {
        let parent = tempfile::tempdir().unwrap();
        let (from, to) = (parent.path().join("from"), parent.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("file"), "text").unwrap();
        let error = copy_contents(&from, &to, &|| false).unwrap_err();
        assert_eq!(error.error.kind(), io::ErrorKind::Interrupted);
        assert!(!to.join("file").exists());
    }
}
