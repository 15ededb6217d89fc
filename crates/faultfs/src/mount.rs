//! The handle by which a process starts and ends a recording file system.

use crate::clock::OperationClock;
use crate::filter::watch_this_process;
use crate::log::{Recording, open_clock};
use crate::server::Folders;
use crate::server_process::ServerProcess;
use rustix::mount::UnmountFlags;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub use crate::server_process::MountError;

/// A mounted recording file system, which ends when this is dropped.
#[derive(Debug)]
pub struct Mount {
    server: ServerProcess,
    folders: Folders,
}

impl Mount {
    /// Starts `command`, which must call [`crate::server::serve`] with the same folders, and waits
    /// until the file system is mounted.
    ///
    /// # Errors
    /// [`MountError::NoFuse`] if this kernel or user has no FUSE, [`MountError::Failed`] otherwise.
    pub fn start(command: Command, folders: Folders) -> Result<Self, MountError> {
        // A recording that was killed is of no use to anybody who still has files of it open.
        let removal = UnmountFlags::DETACH;
        let name = "recording file system";
        let server = ServerProcess::start(name, command, &folders.mount_point, removal)?;
        Ok(Self { server, folders })
    }

    /// Returns the folder on which it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folders.mount_point
    }

    /// Opens the clock of its log.
    ///
    /// # Errors
    /// The file system's own.
    pub fn clock(&self) -> io::Result<OperationClock> {
        open_clock(&self.folders.log)
    }

    /// Lets the server see the calls that flush of a process that `command` starts, and of whatever
    /// that process starts: each waits until the server has noted it. If the kernel refuses that,
    /// the process runs unseen, and the recording says so.
    pub fn watch(&self, command: &mut Command) {
        let Some(socket) = self.server.socket() else {
            return;
        };
        // SAFETY: between fork and exec the function makes system calls only. The socket is open
        // for as long as this mount, which outlives no command that its owner starts later.
        unsafe {
            command.pre_exec(move || watch_this_process(BorrowedFd::borrow_raw(socket)));
        }
    }

    /// Unmounts the file system and reads what it recorded. No process may have a file on it open.
    ///
    /// # Errors
    /// If the server does not end well, or the log is not complete.
    pub fn stop(mut self) -> Result<Recording, MountError> {
        match self.server.end() {
            None => Recording::read(&self.folders.log)
                .map_err(|error| self.server.error(error.to_string())),
            Some(words) => Err(self.server.error(words)),
        }
    }
}
