//! A session whose write transactions are write batches.

use super::api::Handle;
use super::overlay::Overlay;
use super::reader::SessionReader;
use super::store::LsmDatabase;
use super::write_lock::WriteGuard;
use trueput_engine::{
    BatchVisitor, Direction, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor, Result,
    Session, ValueVisitor, common_errors, get_each,
};

/// A session over a plain database.
///
/// Puts go into a batch that is written at commit. The batch's writes are also indexed in memory,
/// but only if the transaction reads after a write.
pub(crate) struct BatchSession<'db> {
    reader: SessionReader<'db>,
    open: Option<Mode>,
    batch: Handle,
    /// The batch has something in it.
    is_dirty: bool,
    /// The contents of the batch, once the transaction has read after a write.
    overlay: Option<Overlay>,
    /// Since the transaction's first read.
    write_guard: Option<WriteGuard<'db>>,
}

impl<'db> BatchSession<'db> {
    /// A session of `store`.
    pub(crate) fn new(store: &'db LsmDatabase) -> Self {
        Self {
            reader: SessionReader::new(store),
            open: None,
            // SAFETY: it needs nothing.
            batch: unsafe { (store.api.writebatch_create)() },
            is_dirty: false,
            overlay: None,
            write_guard: None,
        }
    }

    /// Before a read: the transaction must not be overtaken, and must see its own writes.
    #[inline]
    fn prepare_to_read(&mut self) -> Result<()> {
        if common_errors::require_open(self.open)? == Mode::Read {
            return Ok(());
        }
        if self.write_guard.is_none() {
            self.write_guard = Some(self.reader.store.write_lock.lock_exclusive()?);
        }
        if self.is_dirty && self.overlay.is_none() {
            self.overlay = Some(Overlay::of(&self.reader.store.api, self.batch));
        }
        Ok(())
    }

    /// Forgets the batch and gives the turn back.
    fn end(&mut self) {
        self.reader.release_snapshot();
        if self.is_dirty {
            // SAFETY: the batch is ours.
            unsafe { (self.reader.store.api.writebatch_clear)(self.batch) };
            self.is_dirty = false;
        }
        self.overlay = None;
        self.write_guard = None;
        self.open = None;
    }

    fn write(&self) -> Result<()> {
        let store = self.reader.store;
        let (database, options) = (store.database, store.write_options);
        let write = || {
            // SAFETY: the database is open, the options live as long, and the batch is ours.
            store.call(|error| unsafe { (store.api.write)(database, options, self.batch, error) })
        };
        if self.write_guard.is_some() {
            write()
        } else {
            store.write_lock.write_shared(write)
        }
    }
}

impl Session for BatchSession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open)?;
        if mode == Mode::Read {
            self.reader.take_snapshot();
        }
        self.open = Some(mode);
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.prepare_to_read()?;
        match self.overlay.as_ref().and_then(|overlay| overlay.get(key)) {
            Some(Some(value)) => {
                visitor(value);
                Ok(true)
            }
            Some(None) => Ok(false),
            None => self.reader.get(key, visitor),
        }
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        if common_errors::require_open(self.open)? == Mode::Read
            && let Some(found) = self.reader.get_many(keys, visitor)
        {
            return found;
        }
        get_each(self, keys, visitor)
    }

    #[inline]
    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        common_errors::require_closed(self.open)?;
        self.reader.get(key, visitor)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        let store = self.reader.store;
        store.limits.check(key, value)?;
        // SAFETY: the batch is ours; the library copies key and value.
        unsafe {
            (store.api.writebatch_put)(
                self.batch,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
            );
        }
        self.is_dirty = true;
        if let Some(overlay) = &mut self.overlay {
            overlay.write(key, Some(value));
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        let store = self.reader.store;
        store.limits.check(key, &[])?;
        // SAFETY: as in `put`.
        unsafe { (store.api.writebatch_delete)(self.batch, key.as_ptr(), key.len()) };
        self.is_dirty = true;
        if let Some(overlay) = &mut self.overlay {
            overlay.write(key, None);
        }
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.prepare_to_read()?;
        if range.is_empty() {
            return Ok(0);
        }
        let mut cursor = self.reader.cursor();
        match &self.overlay {
            Some(overlay) => cursor.scan_with_overlay(overlay, &range, direction, visitor),
            None => cursor.scan(&range, direction, visitor),
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        common_errors::require_open(self.open)?;
        let written = if self.is_dirty { self.write() } else { Ok(()) };
        self.end();
        written
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        common_errors::require_closed(self.open)?;
        self.reader.store.bulk_load(records)
    }

    fn abort(&mut self) -> Result<()> {
        common_errors::require_open(self.open)?;
        self.end();
        Ok(())
    }
}

impl Drop for BatchSession<'_> {
    fn drop(&mut self) {
        // SAFETY: the batch is ours and not used any more; snapshot and turn go with their owners.
        unsafe { (self.reader.store.api.writebatch_destroy)(self.batch) };
    }
}
