//! Tracks a process's own databases and threads, for engines that do not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_engine::{Error, Result};

/// The folders whose databases this process has open, of an engine that opens each once.
pub(crate) struct OpenFolders {
    /// The engine's name, for messages.
    engine: &'static str,
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl OpenFolders {
    /// No folder of an engine.
    pub(crate) const fn new(engine: &'static str) -> Self {
        Self {
            engine,
            folders: Mutex::new(BTreeSet::new()),
        }
    }

    /// Locks the folders: opening or closing a database holds the lock, so that the two never
    /// overlap in this process.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the folders to open the database in `folder`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this process has that database open.
    pub(crate) fn lock_to_open(&self, folder: &Path) -> Result<MutexGuard<'_, BTreeSet<PathBuf>>> {
        let folders = self.lock();
        if folders.contains(folder) {
            let (engine, folder) = (self.engine, folder.display());
            return Err(Error::Unsupported(format!(
                "{engine} opens a database once per process, and {folder} is open in this one"
            )));
        }
        Ok(folders)
    }
}

/// The thread of this process that has a database's write transaction, if any.
#[derive(Default)]
pub(crate) struct WriterThread(AtomicUsize);

impl WriterThread {
    /// Errors if the calling thread has the write transaction: it would deadlock with itself. Only
    /// the thread itself writes its mark, so it reads it back.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) == thread_mark() {
            let reason = "another session of this thread has the write transaction";
            return Err(Error::Conflict(reason.to_owned()));
        }
        Ok(())
    }

    /// Notes that the calling thread has the write transaction. Called only while it holds the
    /// engine's writer lock.
    #[inline]
    pub(crate) fn set(&self) {
        self.0.store(thread_mark(), Ordering::Relaxed);
    }

    /// Notes that the calling thread is about to end the write transaction, which it has.
    #[inline]
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A number that no other living thread has, and that is not 0.
#[inline]
fn thread_mark() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}
