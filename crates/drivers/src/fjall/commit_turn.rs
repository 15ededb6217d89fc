//! Keeps a read transaction from seeing part of a commit.

use ::fjall::{Database, PersistMode, Snapshot};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// [`CommitTurn::visible_before`] while no commit is being applied.
const IDLE: u64 = u64::MAX;

/// The commit that fjall is applying, if there is one.
///
/// A commit gets its sequence number, is written to the journal and is put into the memtable record
/// by record; then its number becomes visible. A memtable that is written out meanwhile makes a
/// higher number visible (`upgrade_version_with_seqno` in lsm-tree 3.1.10), and a snapshot that
/// begins then has the records that are in the memtable so far, and later all of them. fjall 3.1.13
/// takes the snapshot of a write transaction between commits, and so does not have this there.
pub(super) struct CommitTurn {
    /// Held by one commit from its beginning to its return. fjall makes commits take turns as well.
    turn: Mutex<()>,
    /// The sequence number that was visible before the commit that is being applied.
    visible_before: AtomicU64,
}

impl CommitTurn {
    pub(super) fn new() -> Self {
        Self {
            turn: Mutex::new(()),
            visible_before: AtomicU64::new(IDLE),
        }
    }

    /// Commits, so that [`snapshot`](Self::snapshot) knows that it does.
    pub(super) fn apply<R>(&self, engine: &Database, commit: impl FnOnce() -> R) -> R {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.visible_before
            .store(engine.visible_seqno(), Ordering::SeqCst);
        let result = commit();
        self.visible_before.store(IDLE, Ordering::SeqCst);
        result
    }

    /// Takes a snapshot that has no part of a commit. If a number became visible since a commit
    /// began, the snapshot can have some of its records; it is used when all of them are there.
    /// fjall holds the journal's lock until then, but not while it delays a writer afterwards, so
    /// the snapshot waits for that lock, by a call that writes the journal's buffer to the kernel.
    ///
    /// # Errors
    /// An error of fjall about the journal.
    pub(super) fn snapshot(&self, engine: &Database) -> ::fjall::Result<Snapshot> {
        let snapshot = engine.snapshot();
        if engine.visible_seqno() > self.visible_before.load(Ordering::SeqCst) {
            engine.persist(PersistMode::Buffer)?;
        }
        Ok(snapshot)
    }
}
