//! Turns of write transactions, for engines whose transactions are write batches.
//!
//! A transaction that reads before it writes must not be overtaken, or an update would be lost: it
//! has the database for itself from its first read to its end. Transactions that only write go
//! beside one another, so that the engine can commit them as a group.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use trueput_engine::{Error, Result};

/// Who may write.
#[derive(Default)]
pub(crate) struct Turns {
    lock: RwLock<()>,
    /// The mark of the thread that has the turn; 0 where none has.
    holder: AtomicUsize,
}

/// The database is this transaction's alone until it is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    _guard: RwLockWriteGuard<'t, ()>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.holder.store(0, Ordering::Relaxed);
    }
}

/// A number that no other living thread has.
fn own_mark() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

impl Turns {
    /// Waits until the database can be had alone.
    pub(crate) fn take(&self) -> Result<Turn<'_>> {
        self.refuse_own()?;
        let guard = self.lock.write().unwrap_or_else(PoisonError::into_inner);
        self.holder.store(own_mark(), Ordering::Relaxed);
        Ok(Turn {
            turns: self,
            _guard: guard,
        })
    }

    /// Does `work` beside others that only write.
    pub(crate) fn beside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.refuse_own()?;
        let _guard = self.lock.read().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// A thread would wait for itself. Only the thread itself writes its mark, so it reads it back.
    fn refuse_own(&self) -> Result<()> {
        if self.holder.load(Ordering::Relaxed) == own_mark() {
            let why = "another session of this thread has the turn to write";
            return Err(Error::Conflict(why.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_refused_where_it_would_wait_for_itself() {
        let turns = Turns::default();
        let turn = turns.take().unwrap();
        assert!(turns.take().is_err_and(|error| error.is_conflict()));
        assert!(
            turns
                .beside(|| Ok(()))
                .is_err_and(|error| error.is_conflict())
        );
        drop(turn);
        assert!(turns.take().is_ok());
    }

    #[test]
    fn another_thread_waits_for_the_turn() {
        let turns = Turns::default();
        let turn = turns.take().unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| turns.beside(|| Ok(())));
            assert!(!other.is_finished());
            drop(turn);
            assert!(other.join().unwrap().is_ok());
        });
    }
}
