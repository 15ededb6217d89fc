//! Reads of one session: of the latest state, or of a snapshot.

use super::api::Handle;
use super::cursor::Cursor;
use super::multi_get::LookupArrays;
use super::store::LsmDatabase;
use std::ptr;
use trueput_engine::{BatchVisitor, KeyBatch, Result, ValueVisitor};

/// A session's read options, and the snapshot of its read transaction.
pub(crate) struct SessionReader<'db> {
    pub(crate) store: &'db LsmDatabase,
    /// Options for the latest state.
    pub(crate) latest_options: Handle,
    /// Options for the snapshot.
    snapshot_options: Handle,
    /// Null where no read transaction is open.
    snapshot: Handle,
    /// Those of the last batch of look-ups.
    lookups: LookupArrays,
}

impl<'db> SessionReader<'db> {
    /// A reader without a snapshot.
    pub(crate) fn new(store: &'db LsmDatabase) -> Self {
        let options = || {
            // SAFETY: the options are new; the setter is the library's own for them.
            unsafe {
                let options = (store.api.readoptions_create)();
                if let Some(set) = store.set_read_options {
                    set(options, 1);
                }
                options
            }
        };
        Self {
            store,
            latest_options: options(),
            snapshot_options: options(),
            snapshot: ptr::null_mut(),
            lookups: LookupArrays::default(),
        }
    }

    /// Holds on to the current state.
    pub(crate) fn take_snapshot(&mut self) {
        self.release_snapshot();
        // SAFETY: the database is open; the options do not outlive the snapshot, see
        // `release_snapshot`.
        unsafe {
            self.snapshot = (self.store.reads.create_snapshot)(self.store.database);
            (self.store.api.readoptions_set_snapshot)(self.snapshot_options, self.snapshot);
        }
    }

    /// Lets the state go that was held.
    pub(crate) fn release_snapshot(&mut self) {
        if self.snapshot.is_null() {
            return;
        }
        // SAFETY: the snapshot is of this database, and no iterator of it is left: they end with
        // their scan. The options are set again before their next use.
        unsafe { (self.store.reads.release_snapshot)(self.store.database, self.snapshot) };
        self.snapshot = ptr::null_mut();
    }

    /// The options of the current snapshot, or those of the latest state if there is none.
    #[inline]
    fn options(&self) -> Handle {
        if self.snapshot.is_null() {
            self.latest_options
        } else {
            self.snapshot_options
        }
    }

    /// Shows the value of `key` to `visitor`, of the snapshot or, where none is held, of the latest
    /// state.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.store.read(self.options(), key, visitor)
    }

    /// Shows the values of several keys of the same state, by the library's own look-up of several;
    /// `None` if it has none.
    pub(crate) fn get_many(
        &mut self,
        keys: &KeyBatch,
        visitor: &mut BatchVisitor<'_>,
    ) -> Option<Result<u64>> {
        let multi_get = self.store.multi_get.as_ref()?;
        let (store, options) = (self.store, self.options());
        Some(
            self.lookups
                .look_up(store, multi_get, options, keys, visitor),
        )
    }

    /// A cursor over the state that is read.
    pub(crate) fn cursor(&self) -> Cursor<'db> {
        // SAFETY: the database is open and the options live as long as the session.
        let iterator =
            unsafe { (self.store.reads.create_iterator)(self.store.database, self.options()) };
        Cursor::new(self.store, iterator)
    }
}

impl Drop for SessionReader<'_> {
    fn drop(&mut self) {
        self.release_snapshot();
        // SAFETY: both are ours and not used any more.
        unsafe {
            (self.store.api.readoptions_destroy)(self.snapshot_options);
            (self.store.api.readoptions_destroy)(self.latest_options);
        }
    }
}
