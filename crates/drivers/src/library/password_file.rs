//! Files that hold a password, which nobody else may read.

use nix::libc::O_NONBLOCK;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use trueput_engine::{Error, Result, Secret, decode_utf8};

/// More than any file of passwords has, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a file that holds passwords.
///
/// # Errors
/// One line, if it cannot be read, is not a file, or others can read it.
pub(crate) fn read_secret(path: &Path) -> Result<String> {
    let shown = path.display();
    let cannot = |reason: &dyn std::fmt::Display| {
        Error::engine(format!("cannot read the password file {shown}: {reason}"))
    };
    // Without O_NONBLOCK the opening of a FIFO waits until somebody opens its other end; the open
    // file is asked what it is, so that nobody can put another in its place in between.
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(O_NONBLOCK).open(path);
    let file = opened.map_err(|error| cannot(&error))?;
    let metadata = file.metadata().map_err(|error| cannot(&error))?;
    if !metadata.is_file() {
        return Err(cannot(&"it is not a file"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(Error::engine(format!(
            "the password file {shown} can be read by others: `chmod 600` it"
        )));
    }
    let mut text = Vec::new();
    let read = file.take(MAX_BYTES).read_to_end(&mut text);
    read.map_err(|error| cannot(&error))?;
    let text = decode_utf8(&text).map_err(|error| cannot(&error))?;
    Ok(text.to_owned())
}

/// The password that is the first line of a file.
///
/// # Errors
/// See [`read_secret`].
pub(crate) fn first_line(path: &Path) -> Result<Secret> {
    let text = read_secret(path)?;
    Ok(Secret::new(text.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_password_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "hush hush\nmore\n").unwrap();
        let set = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(0o600);
        assert_eq!(first_line(&path), Ok(Secret::new("hush hush")));
        for mode in [0o640, 0o604] {
            set(mode);
            let reason = first_line(&path).unwrap_err().to_string();
            assert!(
                reason.contains("chmod 600") && !reason.contains("hush hush"),
                "{reason}"
            );
        }
        assert!(first_line(folder.path()).is_err());
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reason = first_line(&fifo).unwrap_err().to_string();
        assert!(reason.contains("not a file"), "{reason}");
    }
}
