//! The lock of write transactions, for engines whose transactions are write batches.
//!
//! A transaction that reads before it writes must be isolated, or an update would be lost: it has
//! the database for itself from its first read to its end. Transactions that only write run
//! concurrently, so that the engine can commit them as a group.

use crate::process_locks::WriterThread;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use trueput_engine::Result;

/// The lock of a database's writers.
#[derive(Default)]
pub(crate) struct WriteLock {
    lock: RwLock<()>,
    holder: WriterThread,
}

/// The exclusive lock of one transaction, held until it is dropped.
pub(crate) struct WriteGuard<'t> {
    write_lock: &'t WriteLock,
    _guard: RwLockWriteGuard<'t, ()>,
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        self.write_lock.holder.clear();
    }
}

impl WriteLock {
    /// Waits until no other writes.
    pub(crate) fn lock_exclusive(&self) -> Result<WriteGuard<'_>> {
        self.holder.check()?;
        let guard = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        self.holder.set();
        Ok(WriteGuard {
            write_lock: self,
            _guard: guard,
        })
    }

    /// Does `work` while others may write too, without reading.
    pub(crate) fn write_shared<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.holder.check()?;
        let _guard = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_refused_where_it_would_wait_for_itself() {
        let write_lock = WriteLock::default();
        let write_guard = write_lock.lock_exclusive().unwrap();
        assert!(
            write_lock
                .lock_exclusive()
                .is_err_and(|error| error.is_conflict())
        );
        assert!(
            write_lock
                .write_shared(|| Ok(()))
                .is_err_and(|error| error.is_conflict())
        );
        drop(write_guard);
        assert!(write_lock.lock_exclusive().is_ok());
    }

    #[test]
    fn another_thread_waits_for_the_turn() {
        let write_lock = WriteLock::default();
        let write_guard = write_lock.lock_exclusive().unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| write_lock.write_shared(|| Ok(())));
            assert!(!other.is_finished());
            drop(write_guard);
            assert!(other.join().unwrap().is_ok());
        });
    }
}
