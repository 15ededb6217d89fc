//! A view of mounted file systems that belongs to this process and its children alone.

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::io;
use std::path::Path;

/// Gives this process a view of its own: what it mounts from now on nobody else sees, and it is
/// gone when the process and its children have ended, however they end. Shared memory of System V
/// is its own, too. Call it before the process has a second thread.
///
/// # Errors
/// The system's own; only root may.
pub fn enter_private() -> io::Result<()> {
    // SAFETY: only the views of mounts and of System V IPC are no longer shared; no memory of the
    // process and no descriptor is affected.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWIPC) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", private)?)
}

/// Mounts a file system in memory on a folder.
///
/// # Errors
/// The system's own; only root may.
pub fn mount_memory(folder: &Path) -> io::Result<()> {
    let options = CString::new("mode=0755,size=75%").unwrap_or_default();
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    Ok(mount(
        "trueput",
        folder,
        "tmpfs",
        flags,
        options.as_c_str(),
    )?)
}

/// Shows a file or folder in the place of another one.
///
/// # Errors
/// The system's own; only root may.
pub fn bind(shown: &Path, place: &Path) -> io::Result<()> {
    Ok(mount_bind(shown, place)?)
}

/// Unmounts what is mounted on a folder.
///
/// # Errors
/// The system's own.
pub fn unmount(folder: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(folder, UnmountFlags::DETACH)?)
}
