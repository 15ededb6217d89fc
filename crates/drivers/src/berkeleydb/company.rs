//! Whether other processes have the database open.
//!
//! Two lock files: one is held exclusively while a process comes or goes, so that this happens one
//! at a time; the other is shared by all that are there. Locks end with their process.

use std::fs::{File, TryLockError};
use std::path::Path;
use trueput_engine::{Error, Result};

/// The lock files of a database.
pub(super) struct Company {
    door: File,
    room: File,
}

/// A process that is coming or going; nobody else does meanwhile.
pub(super) struct Passing<'c> {
    company: &'c Company,
    is_alone: bool,
    stays: bool,
}

impl Company {
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
            door: open("trueput.door")?,
            room: open("trueput.room")?,
        })
    }

    /// Waits until nobody else comes or goes, and looks whether anybody else is there. A process
    /// that was there itself has left with this.
    pub(super) fn pass(&self) -> Result<Passing<'_>> {
        self.door.lock().map_err(Error::engine)?;
        let is_alone = match self.room.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => return Err(Error::engine(error)),
        };
        Ok(Passing {
            company: self,
            is_alone,
            stays: false,
        })
    }
}

impl Passing<'_> {
    /// Nobody else is there.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// This process is there from now on.
    pub(super) fn stay(mut self) -> Result<()> {
        self.stays = true;
        self.company.room.lock_shared().map_err(Error::engine)
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        // Unlocking does not fail.
        if !self.stays {
            let _ = self.company.room.unlock();
        }
        let _ = self.company.door.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_and_the_last_to_go_are_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = Company::new(folder.path()).unwrap();
        let second = Company::new(folder.path()).unwrap();
        let entered = first.pass().unwrap();
        assert!(entered.is_alone());
        entered.stay().unwrap();
        let entered = second.pass().unwrap();
        assert!(!entered.is_alone());
        entered.stay().unwrap();
        assert!(!first.pass().unwrap().is_alone());
        drop(first);
        assert!(second.pass().unwrap().is_alone());
    }
}
