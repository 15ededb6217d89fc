//! Image files that a server shows with the delays of a storage model, and folders. The server is
//! another crate's; a trial's file systems need no more of it than this.

use std::fmt::Debug;
use std::path::Path;

/// The name of the file that a server shows in its mount point.
pub const SERVED_IMAGE: &str = "image";

/// An image file that is to be served, or for a model in its folder form a folder.
#[derive(Debug, Clone, Copy)]
pub struct ModelledImage<'a> {
    /// The file with the bytes, or the folder with the files.
    pub backing: &'a Path,
    /// Its size, which stays; that of the device below a folder.
    pub bytes: u64,
    /// The empty folder in which [`SERVED_IMAGE`] shows it, or which shows the files.
    pub mount_point: &'a Path,
    /// The storage model, as the condition `storage_model` names it.
    pub model: &'a str,
    /// Decides the spread of the delays.
    pub seed: u64,
}

/// An image cannot be served, or its server does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ImageStoreError(pub String);

/// Serves image files, each by a process of its own, which ends with this process at the latest.
pub trait ImageStore: Debug + Send + Sync {
    /// Serves an image, at first without delays: nothing is measured while a file system is made.
    ///
    /// # Errors
    /// [`ImageStoreError`], with the server's words.
    fn serve(&self, image: &ModelledImage<'_>) -> Result<(), ImageStoreError>;

    /// Returns whether a server of this store serves the image on that mount point.
    fn serves(&self, mount_point: &Path) -> bool;

    /// Returns the processes of the servers. What they use of the processors is no other program's.
    fn server_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns whether the process of a server has ended that still has an image to serve. The page
    /// cache may hide that from a trial.
    fn has_ended_server(&self) -> bool {
        false
    }

    /// Begins or ends the delays of an image that this store serves. Replies that wait are sent at
    /// once when the delays end.
    ///
    /// # Errors
    /// [`ImageStoreError`] if the server has ended, or does not answer: then it is killed.
    fn set_delayed(&self, mount_point: &Path, is_delayed: bool) -> Result<(), ImageStoreError>;

    /// Ends the server of an image that is no longer in use, and unmounts it. The failure of a
    /// server is that of the trial, whose requests have met it, and leaves nothing to be done here.
    fn end(&self, mount_point: &Path);
}

/// The store of a trial's modeled storage, with what differs from one trial to the next.
#[derive(Debug, Clone, Copy)]
pub struct ImageService<'a> {
    /// The store.
    pub store: &'a dyn ImageStore,
    /// Decides the spread of the delays.
    pub seed: u64,
}
