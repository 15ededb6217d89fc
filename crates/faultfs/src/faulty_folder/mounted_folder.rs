//! The handle by which a process starts and ends a faulty folder.

use crate::faulty_folder::report::FaultReport;
use crate::faulty_folder::server::{FaultyFolders, FolderOrder};
use crate::report_file;
use crate::server_process::{MountError, ServerProcess};
use rustix::mount::UnmountFlags;
use std::path::Path;
use std::process::Command;

/// A mounted folder on storage that fails, which ends when this is dropped.
#[derive(Debug)]
pub struct FaultyFolder {
    server: ServerProcess,
    folders: FaultyFolders,
}

impl FaultyFolder {
    /// Starts `command`, which must call [`crate::faulty_folder::serve_folder`] with the same
    /// folders, and waits until the folder is mounted. No fault comes before it is armed.
    ///
    /// # Errors
    /// [`MountError::NoFuse`] if this kernel or user has no FUSE, [`MountError::Failed`] otherwise.
    pub fn start(command: Command, folders: FaultyFolders) -> Result<Self, MountError> {
        // Who still has files open when a server was killed gets errors, as from a disk that died.
        let removal = UnmountFlags::DETACH;
        let name = "faulty folder";
        let server = ServerProcess::start(name, command, &folders.mount_point, removal)?;
        Ok(Self { server, folders })
    }

    /// Returns the folder on which it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folders.mount_point
    }

    /// Returns the server's process; `None` if it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Returns whether the server has ended, as one does that was killed: who uses the folder gets
    /// errors then, which are none of the faults.
    pub fn has_ended(&mut self) -> bool {
        self.server.has_ended()
    }

    /// Lets faults come from now on. What is counted goes on where it was if it was armed before;
    /// times count from now.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server has ended, or does not answer.
    pub fn arm(&mut self) -> Result<(), MountError> {
        self.server.order(FolderOrder::Arm.word())
    }

    /// Lets no more faults come, and ends stalls. A process that is killed while it waits in one
    /// ends no sooner.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server has ended, or does not answer.
    pub fn disarm(&mut self) -> Result<(), MountError> {
        self.server.order(FolderOrder::Disarm.word())
    }

    /// Discards what the page cache holds and the storage does not: what a machine that starts
    /// again finds. No process may have a file open, and none may be stalled.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server has ended, does not know what the storage holds
    /// ([`FaultReport::untracked`], [`FaultyFolders::can_lose`]), or cannot write it.
    pub fn lose_caches(&mut self) -> Result<(), MountError> {
        self.server.order(FolderOrder::LoseCaches.word())
    }

    /// Loses power: as [`FaultyFolder::lose_caches`], and what was written and never really flushed
    /// is lost, too.
    ///
    /// # Errors
    /// As for [`FaultyFolder::lose_caches`].
    pub fn lose_power(&mut self) -> Result<(), MountError> {
        self.server.order(FolderOrder::LosePower.word())
    }

    /// Unmounts the folder and returns what came of the faults. No process may have a file on it
    /// open.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server does not end well, or has written no report.
    pub fn stop(mut self) -> Result<FaultReport, MountError> {
        match self.server.end() {
            None => report_file::read(&self.folders.report)
                .map_err(|error| self.server.error(error.to_string())),
            Some(words) => Err(self.server.error(words)),
        }
    }
}
