//! A session whose write transactions are RocksDB's own.

use super::symbols::RocksDbLibrary;
use crate::lsm::{Cursor, Handle, LsmDatabase, SessionReader};
use std::ptr;
use trueput_engine::{
    BatchVisitor, Direction, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor, Result,
    Session, ValueVisitor, common_errors, get_each,
};

/// The function and options that begin a transaction.
pub(super) struct TransactionFactory {
    /// `rocksdb_transaction_begin`, or that of optimistic transactions.
    pub(super) begin: unsafe extern "C" fn(Handle, Handle, Handle, Handle) -> Handle,
    /// The database with transactions.
    pub(super) database: Handle,
    /// The options of its transactions.
    pub(super) options: Handle,
}

/// A session over a database with transactions.
///
/// A read in a write transaction asks for the key as one that will be written: it is locked, or
/// looked at again at commit, so that no update is lost.
pub(super) struct TransactionSession<'db> {
    symbols: &'static RocksDbLibrary,
    reader: SessionReader<'db>,
    factory: &'db TransactionFactory,
    /// Kept when it has ended, for the next; null before the first.
    transaction: Handle,
    open: Option<Mode>,
}

impl<'db> TransactionSession<'db> {
    pub(super) fn new(
        symbols: &'static RocksDbLibrary,
        store: &'db LsmDatabase,
        factory: &'db TransactionFactory,
    ) -> Self {
        let (reader, transaction) = (SessionReader::new(store), ptr::null_mut());
        Self {
            symbols,
            reader,
            factory,
            transaction,
            open: None,
        }
    }

    fn roll_back(&self) -> Result<()> {
        let rollback = self.symbols.transactions.rollback;
        // SAFETY: the transaction was begun and not ended.
        self.reader
            .store
            .call(|error| unsafe { rollback(self.transaction, error) })
    }
}

impl Session for TransactionSession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open)?;
        match mode {
            Mode::Read => self.reader.take_snapshot(),
            Mode::Write => {
                let TransactionFactory {
                    begin,
                    database,
                    options,
                } = *self.factory;
                let write_options = self.reader.store.write_options;
                // SAFETY: the database is open and the options live as long; the old transaction
                // has ended, or is null, and its memory is taken over.
                self.transaction =
                    unsafe { begin(database, write_options, options, self.transaction) };
            }
        }
        self.open = Some(mode);
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        if common_errors::require_open(self.open)? == Mode::Read {
            return self.reader.get(key, visitor);
        }
        let get = self.symbols.transactions.get_pinned_for_update;
        let (options, exclusive) = (self.reader.latest_options, 1);
        // SAFETY: the transaction is open, the options live, the key outlives the call.
        let pinned = self.reader.store.call(|error| unsafe {
            get(
                self.transaction,
                options,
                key.as_ptr(),
                key.len(),
                exclusive,
                error,
            )
        })?;
        Ok(self.reader.store.show_pinned(pinned, visitor))
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
        let put = self.symbols.transactions.put;
        let (key_bytes, value_bytes) = (key.len(), value.len());
        // SAFETY: the transaction is open; RocksDB copies key and value.
        store.call(|error| unsafe {
            put(
                self.transaction,
                key.as_ptr(),
                key_bytes,
                value.as_ptr(),
                value_bytes,
                error,
            );
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        let store = self.reader.store;
        store.limits.check(key, &[])?;
        let delete = self.symbols.transactions.delete;
        // SAFETY: as in `put`.
        store.call(|error| unsafe { delete(self.transaction, key.as_ptr(), key.len(), error) })
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mode = common_errors::require_open(self.open)?;
        if range.is_empty() {
            return Ok(0);
        }
        let mut cursor = match mode {
            Mode::Read => self.reader.cursor(),
            Mode::Write => {
                let create = self.symbols.transactions.create_iterator;
                // SAFETY: the transaction is open until after the cursor is gone: the session is
                // borrowed by the scan.
                let iterator = unsafe { create(self.transaction, self.reader.latest_options) };
                Cursor::new(self.reader.store, iterator)
            }
        };
        cursor.scan(&range, direction, visitor)
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        let mode = common_errors::require_open(self.open)?;
        self.open = None;
        if mode == Mode::Read {
            self.reader.release_snapshot();
            return Ok(());
        }
        let commit = self.symbols.transactions.commit;
        // SAFETY: the transaction is open.
        let ended = self
            .reader
            .store
            .call(|error| unsafe { commit(self.transaction, error) });
        if ended.is_err() {
            // The first error is the one to report.
            let _ = self.roll_back();
        }
        ended
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        common_errors::require_closed(self.open)?;
        self.reader.store.bulk_load(records)
    }

    fn abort(&mut self) -> Result<()> {
        let mode = common_errors::require_open(self.open)?;
        self.open = None;
        if mode == Mode::Read {
            self.reader.release_snapshot();
            return Ok(());
        }
        self.roll_back()
    }
}

impl Drop for TransactionSession<'_> {
    fn drop(&mut self) {
        if !self.transaction.is_null() {
            // SAFETY: it is ours; one that is open is rolled back with it.
            unsafe { (self.symbols.transactions.destroy)(self.transaction) };
        }
    }
}
