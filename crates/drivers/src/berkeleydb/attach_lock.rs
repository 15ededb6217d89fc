//! Whether other processes have the database open.
//!
//! Two lock files: one is held exclusively while a process attaches or detaches, so that only one
//! does so at a time; the other is shared by all attached processes. Locks end with their process.

use std::fs::{File, TryLockError};
use std::path::Path;
use trueput_engine::{Error, Result};

/// The lock files of a database.
pub(super) struct AttachLock {
    transition: File,
    attached: File,
}

/// The right to attach or detach, which one process has at a time.
pub(super) struct AttachGuard<'c> {
    attach_lock: &'c AttachLock,
    is_alone: bool,
    is_attached: bool,
}

impl AttachLock {
    /// Makes the lock files in `folder` if they are not there.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let open = |name| {
            File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(folder.join(name))
                .map_err(Error::engine)
        };
        Ok(Self {
            transition: open("trueput.door")?,
            attached: open("trueput.room")?,
        })
    }

    /// Waits until no other process attaches or detaches, and checks whether any other is attached.
    /// If this process was attached, it no longer is.
    pub(super) fn lock_transition(&self) -> Result<AttachGuard<'_>> {
        self.transition.lock().map_err(Error::engine)?;
        let is_alone = match self.attached.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(Error::engine(error)),
        };
        Ok(AttachGuard {
            attach_lock: self,
            is_alone,
            is_attached: false,
        })
    }
}

impl AttachGuard<'_> {
    /// Whether no other process is attached.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Marks this process as attached.
    pub(super) fn attach(mut self) -> Result<()> {
        self.is_attached = true;
        self.attach_lock
            .attached
            .lock_shared()
            .map_err(Error::engine)
    }
}

impl Drop for AttachGuard<'_> {
    fn drop(&mut self) {
        // Unlocking does not fail.
        if !self.is_attached {
            let _ = self.attach_lock.attached.unlock();
        }
        let _ = self.attach_lock.transition.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_and_the_last_to_go_are_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = AttachLock::new(folder.path()).unwrap();
        let second = AttachLock::new(folder.path()).unwrap();
        let attach_guard = first.lock_transition().unwrap();
        assert!(attach_guard.is_alone());
        attach_guard.attach().unwrap();
        let attach_guard = second.lock_transition().unwrap();
        assert!(!attach_guard.is_alone());
        attach_guard.attach().unwrap();
        assert!(!first.lock_transition().unwrap().is_alone());
        drop(first);
        assert!(second.lock_transition().unwrap().is_alone());
    }
}
