//! Opens files of a folder of unknown origin: regular files only, without following links.
//!
//! The checked file is the opened file: each part of a path is opened relative to the one before
//! it, and the type is read from the open file, so that nobody can replace it in between.

use crate::Error;
use crate::value::format_bytes;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open as open_at_path, openat};
use nix::sys::stat::Mode;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Read, Result as IoResult, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// The access mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To be read.
    Read,
    /// Read and append; created if it does not exist.
    Append,
    /// Overwrite; created if it does not exist.
    Overwrite,
}

impl OpenMode {
    fn flags(self) -> OFlag {
        match self {
            Self::Read => OFlag::O_RDONLY,
            Self::Append => OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT,
            Self::Overwrite => OFlag::O_WRONLY | OFlag::O_CREAT,
        }
    }
}

/// Opens a regular file by its path within a folder. Links within the folder are not followed; the
/// folder's own path may be a link.
///
/// # Errors
/// The error of the operating system, or the actual type of a file that is not regular.
pub fn open(folder: &Path, within: &Path, access: OpenMode) -> IoResult<File> {
    // Without O_NONBLOCK the opening of a FIFO waits until somebody opens its other end.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let mode = Mode::from_bits_truncate(0o666);
    let (parent, name) = open_parent(folder, within)?;
    let opened = openat(&parent, name.as_path(), access.flags() | flags, mode);
    let file = File::from(opened.map_err(|errno| refused(errno, "a regular file"))?);
    let kind = file.metadata()?.file_type();
    if !kind.is_file() {
        let actual_type = if kind.is_dir() {
            "a folder"
        } else if kind.is_fifo() {
            "a FIFO"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "a device"
        };
        return Err(IoError::other(format!(
            "it is {actual_type}, not a regular file"
        )));
    }
    if access == OpenMode::Overwrite {
        // Not O_TRUNC: the file is emptied only once it is known to be regular.
        file.set_len(0)?;
    }
    Ok(file)
}

/// Writes a file of a folder, whole or not at all: what has its name until then is replaced when
/// all is written.
///
/// # Errors
/// What has the name is no regular file; the error of the operating system.
pub fn replace(folder: &Path, name: &str, bytes: &[u8]) -> IoResult<()> {
    let kind = folder.join(name).symlink_metadata();
    match kind.map(|known| known.file_type()) {
        Ok(kind) if kind.is_symlink() => return Err(refused(Errno::ELOOP, "a file")),
        Ok(kind) if !kind.is_file() => return Err(IoError::other("it is not a regular file")),
        _ => {}
    }
    let partial = format!("{name}.partial");
    let written = open(folder, Path::new(&partial), OpenMode::Overwrite)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(folder.join(&partial), folder.join(name)));
    if written.is_err() {
        // Half a file is worse than none. It may not be there.
        let _ = std::fs::remove_file(folder.join(&partial));
    }
    written
}

/// Returns the names in a folder within a folder; empty if it does not exist.
///
/// # Errors
/// The error of the operating system; also if the folder is a link.
pub fn names(folder: &Path, within: &str) -> IoResult<Vec<std::ffi::OsString>> {
    let at = folder.join(within);
    if !within.is_empty() {
        match at.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Ok(seen) if !seen.is_dir() => {
                return Err(IoError::other(format!("{} is no folder", at.display())));
            }
            other => other.map(drop)?,
        }
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&at)? {
        names.push(entry?.file_name());
    }
    names.sort();
    Ok(names)
}

/// Reads a whole regular file of a folder if it is no longer than `most` bytes.
///
/// # Errors
/// [`Error::TooLarge`] if it is longer, [`Error::Io`] if it cannot be read.
pub fn read(folder: &Path, within: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let path = folder.join(within);
    let io = |source| Error::io(&path, source);
    let file = open(folder, within, OpenMode::Read).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let too_large = || Error::TooLarge {
        path: path.clone(),
        problem: format!("it has more than {}", format_bytes(most)),
    };
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let limited = &mut file.take(most.saturating_add(1));
    limited.read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > most {
        Err(too_large())
    } else {
        Ok(bytes)
    }
}

/// Opens the folder that contains a file, and returns it with the file's name.
fn open_parent(folder: &Path, within: &Path) -> IoResult<(OwnedFd, PathBuf)> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let empty = folder.as_os_str().is_empty();
    let folder = if empty { Path::new(".") } else { folder };
    let mut at = open_at_path(folder, flags, Mode::empty())?;
    // An absolute path would be opened from the root, not from the folder.
    let names = within.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(IoError::other("its path leads out of the folder")),
    });
    let mut names = names.collect::<IoResult<Vec<_>>>()?;
    let name = names
        .pop()
        .ok_or_else(|| IoError::other("no file is named"))?;
    for below in names {
        let opened = openat(&at, below, flags | OFlag::O_NOFOLLOW, Mode::empty());
        at = opened.map_err(|errno| match errno {
            // O_NOFOLLOW with O_DIRECTORY reports a link to a folder as ENOTDIR.
            Errno::ENOTDIR => refused(Errno::ELOOP, "a folder"),
            other => refused(other, "a folder"),
        })?;
    }
    Ok((at, name.into()))
}

fn refused(errno: Errno, expected: &str) -> IoError {
    match errno {
        Errno::ELOOP => IoError::other(format!("it is a symbolic link, not {expected}")),
        // A FIFO without a reader.
        Errno::ENXIO => IoError::other(format!("it is a FIFO or a socket, not {expected}")),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_fifos_and_folders_are_refused_and_a_regular_file_is_read() {
        let place = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (place.path().join("run"), place.path().join("elsewhere"));
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(elsewhere.join("secret"), "secret").unwrap();
        std::fs::write(folder.join("inner/plain"), "plain").unwrap();
        symlink(elsewhere.join("secret"), folder.join("link")).unwrap();
        symlink(&elsewhere, folder.join("linked")).unwrap();
        nix::unistd::mkfifo(&folder.join("fifo"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let said =
            |within: &str| read(&folder, Path::new(within), 10).map_err(|error| error.to_string());
        assert_eq!(said("inner/plain").unwrap(), b"plain");
        for (within, reason) in [
            ("link", "it is a symbolic link"),
            ("linked/secret", "it is a symbolic link"),
            ("fifo", "it is a FIFO"),
            ("inner", "it is a folder"),
            ("none", "No such file"),
            (elsewhere.join("secret").to_str().unwrap(), "leads out"),
            ("../elsewhere/secret", "leads out"),
            ("inner/../../elsewhere/secret", "leads out"),
        ] {
            let told = said(within).unwrap_err();
            assert!(told.contains(reason), "{within}: {told}");
        }
        for within in ["link", "fifo"] {
            for access in [OpenMode::Append, OpenMode::Overwrite] {
                assert!(
                    open(&folder, Path::new(within), access).is_err(),
                    "{within}"
                );
            }
        }
        assert_eq!(std::fs::read(elsewhere.join("secret")).unwrap(), b"secret");
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all_and_a_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        std::fs::write(folder.join("theirs"), "theirs").unwrap();
        symlink("theirs", folder.join("link")).unwrap();
        for text in ["first", "2nd"] {
            replace(folder, "page", text.as_bytes()).unwrap();
            assert_eq!(read("page"), text);
        }
        // A file replaces neither a link nor a folder.
        let said = replace(folder, "link", b"text").unwrap_err().to_string();
        assert!(said.starts_with("it is a symbolic link"), "{said}");
        assert_eq!(read("theirs"), "theirs");
        std::fs::create_dir(folder.join("taken")).unwrap();
        assert!(replace(folder, "taken", b"text").is_err());
        let left = names(folder, "").unwrap();
        assert_eq!(left, ["link", "page", "taken", "theirs"]);
    }

    #[test]
    fn what_is_longer_than_the_limit_is_refused_before_it_is_read() {
        let place = tempfile::tempdir().unwrap();
        let file = File::create(place.path().join("long")).unwrap();
        file.set_len(1 << 40).unwrap();
        let error = read(place.path(), Path::new("long"), 1 << 20).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("more than 1 MiB"), "{error}");
        file.set_len(1 << 20).unwrap();
        let whole = read(place.path(), Path::new("long"), 1 << 20).unwrap();
        assert_eq!(whole.len(), 1 << 20);
    }
}
