//! Calls of the operating system and their error messages.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Returns `what` with the error of the last system call.
pub(super) fn syscall_error(subject: &str) -> String {
    format!("{subject}: {}", describe_error(&io::Error::last_os_error()))
}

/// Returns the text of a system error without its number.
pub(super) fn describe_error(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}

/// Opens a file or a device.
///
/// # Errors
/// A sentence with its name.
pub(super) fn open_file(path: &Path, write: bool) -> Result<File, String> {
    let opened = OpenOptions::new().read(true).write(write).open(path);
    opened.map_err(|error| {
        format!(
            "{} cannot be opened: {}",
            path.display(),
            describe_error(&error)
        )
    })
}

/// Returns whether this process may mount and attach devices: capability CAP_SYS_ADMIN.
pub(super) fn may_mount() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> CAP_SYS_ADMIN & 1 == 1)
}
