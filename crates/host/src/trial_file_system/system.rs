//! Calls of the operating system and their error messages.

use super::error::TrialFileSystemError;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Opens a file or a device.
///
/// # Errors
/// [`TrialFileSystemError::Path`].
pub(super) fn open_file(path: &Path, write: bool) -> Result<File, TrialFileSystemError> {
    let opened = OpenOptions::new().read(true).write(write).open(path);
    opened.map_err(TrialFileSystemError::of_path(path, "opened"))
}

/// Takes the removal of a file or folder that is not there for done.
///
/// # Errors
/// [`TrialFileSystemError::NotRemoved`].
pub(super) fn check_removed(
    path: &Path,
    removed: io::Result<()>,
) -> Result<(), TrialFileSystemError> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let path = path.to_owned();
            Err(TrialFileSystemError::NotRemoved { path, error })
        }
        _ => Ok(()),
    }
}

/// Returns whether this process may mount and attach devices: capability CAP_SYS_ADMIN.
pub(super) fn may_mount() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> CAP_SYS_ADMIN & 1 == 1)
}
