//! The handle by which a process starts and ends the server of an image.

use crate::modelled_image::server::{BEGIN_DELAYS, END_DELAYS};
use crate::server_process::{MountError, ServerProcess};
use rustix::mount::UnmountFlags;
use std::path::{Path, PathBuf};
use std::process::Command;
use trueput_host::image_store::SERVED_IMAGE;

/// An image that a process serves, which ends when this is dropped.
#[derive(Debug)]
pub struct ServedImage {
    server: ServerProcess,
}

impl ServedImage {
    /// Starts `command`, which must call [`crate::modelled_image::serve_image`] with that mount
    /// point, and waits until the image is served. There are no delays yet.
    ///
    /// # Errors
    /// [`MountError::NoFuse`] if this kernel or user has no FUSE, [`MountError::Failed`] otherwise.
    pub fn start(command: Command, mount_point: &Path) -> Result<Self, MountError> {
        // What is above it must be removed first: a mount that is in use stays, with its path.
        let removal = UnmountFlags::empty();
        let server = ServerProcess::start("modeled storage", command, mount_point, removal)?;
        Ok(Self { server })
    }

    /// Returns the image as it is served.
    #[must_use]
    pub fn image(&self) -> PathBuf {
        self.server.mount_point().join(SERVED_IMAGE)
    }

    /// Returns the server's process; `None` if it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Returns whether the server's process has ended, as one does that was killed.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.server.has_ended()
    }

    /// Begins or ends the delays, and waits until that is done.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the server has ended, or does not answer.
    pub fn set_delayed(&mut self, is_delayed: bool) -> Result<(), MountError> {
        let order = if is_delayed { BEGIN_DELAYS } else { END_DELAYS };
        self.server.order(order)
    }

    /// Ends the server and unmounts the image. No process and no loop device may use it.
    ///
    /// # Errors
    /// [`MountError::Failed`] if the image is in use, or the server does not end well.
    pub fn stop(mut self) -> Result<(), MountError> {
        match self.server.end() {
            None => Ok(()),
            Some(words) => Err(self.server.error(words)),
        }
    }
}
