//! A session: one reader slot, kept; at most one transaction at a time.

use super::build::Api;
use super::environment::Environment;
use crate::refuse;
use lmdb_master_sys as ffi;
use std::ops::Bound;
use std::ptr;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

/// One worker's way into an environment.
pub(super) struct LmdbSession<'e> {
    api: &'static Api,
    environment: &'e Environment,
    /// The open transaction; null when none is.
    open: *mut ffi::MDB_txn,
    mode: Mode,
    /// The read transaction: renewed and reset, so that its slot is claimed once.
    reader: *mut ffi::MDB_txn,
    /// The cursor of read transactions, kept like `reader`; null until the first scan.
    read_cursor: *mut ffi::MDB_cursor,
}

impl<'e> LmdbSession<'e> {
    /// A session with its reader slot claimed.
    pub(super) fn new(environment: &'e Environment) -> Result<Self> {
        let api = environment.api();
        let mut reader = ptr::null_mut();
        // SAFETY: the environment is open as long as `'e`; a transaction that was begun is reset,
        // which keeps its slot but no snapshot.
        unsafe {
            api.check((api.mdb_txn_begin)(
                environment.handle(),
                ptr::null_mut(),
                ffi::MDB_RDONLY,
                &raw mut reader,
            ))?;
            (api.mdb_txn_reset)(reader);
        }
        let (open, read_cursor) = (ptr::null_mut(), ptr::null_mut());
        Ok(Self {
            api,
            environment,
            open,
            mode: Mode::Read,
            reader,
            read_cursor,
        })
    }

    #[inline]
    fn need_open(&self) -> Result<()> {
        if self.open.is_null() {
            Err(refuse::no_transaction())
        } else {
            Ok(())
        }
    }

    #[inline]
    fn need_write(&self) -> Result<()> {
        self.need_open()?;
        match self.mode {
            Mode::Write => Ok(()),
            Mode::Read => Err(refuse::write_in_read()),
        }
    }

    fn begin_write(&mut self) -> Result<()> {
        if self.environment.is_writer() {
            let why = "another session of this thread has the write transaction";
            return Err(Error::Conflict(why.to_owned()));
        }
        let handle = self.environment.handle();
        // SAFETY: the environment is open; `open` receives the transaction, and stays null where
        // LMDB begins none. This thread has no other write transaction of this environment.
        self.api.check(unsafe {
            (self.api.mdb_txn_begin)(handle, ptr::null_mut(), 0, &raw mut self.open)
        })?;
        self.environment.set_writer(true);
        Ok(())
    }

    /// Takes the open transaction out of the session, to end it.
    #[inline]
    fn take(&mut self) -> Result<*mut ffi::MDB_txn> {
        self.need_open()?;
        if self.mode == Mode::Write {
            self.environment.set_writer(false);
        }
        Ok(std::mem::replace(&mut self.open, ptr::null_mut()))
    }

    /// A cursor of the open transaction.
    fn cursor(&mut self) -> Result<Cursor> {
        let mut handle = self.read_cursor;
        // SAFETY: a transaction is open, as `scan` has checked. A kept cursor was opened on this
        // session's read transaction and the same database, as renewing demands.
        let code = unsafe {
            if self.mode == Mode::Read && !handle.is_null() {
                (self.api.mdb_cursor_renew)(self.open, handle)
            } else {
                (self.api.mdb_cursor_open)(self.open, self.environment.dbi, &raw mut handle)
            }
        };
        self.api.check(code)?;
        if self.mode == Mode::Read {
            self.read_cursor = handle;
        }
        let (key, value) = (EMPTY, EMPTY);
        Ok(Cursor {
            api: self.api,
            handle,
            is_kept: self.mode == Mode::Read,
            key,
            value,
        })
    }
}

impl Session for LmdbSession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if !self.open.is_null() {
            return Err(refuse::already_open());
        }
        match mode {
            Mode::Read => {
                // SAFETY: the read transaction was begun in `new` and is reset.
                let code = unsafe { (self.api.mdb_txn_renew)(self.reader) };
                self.api.check(code)?;
                self.open = self.reader;
            }
            Mode::Write => self.begin_write()?,
        }
        self.mode = mode;
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.need_open()?;
        let mut key = borrowed(key);
        let mut value = EMPTY;
        let dbi = self.environment.dbi;
        // SAFETY: the transaction is open and this thread's; LMDB reads the key only.
        match unsafe { (self.api.mdb_get)(self.open, dbi, &raw mut key, &raw mut value) } {
            ffi::MDB_SUCCESS => {
                // SAFETY: the value lies in the map, or in a dirty page, until the transaction ends
                // or writes; the session is borrowed, so neither happens before the visitor is done.
                visitor(unsafe { bytes(&value) });
                Ok(true)
            }
            ffi::MDB_NOTFOUND => Ok(false),
            code => Err(self.api.error(code)),
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.need_write()?;
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        let dbi = self.environment.dbi;
        // SAFETY: the write transaction is open and this thread's; without MDB_RESERVE LMDB only
        // reads the key and the value, and copies them.
        self.api
            .check(unsafe { (self.api.mdb_put)(self.open, dbi, &raw mut key, &raw mut value, 0) })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.need_write()?;
        let mut key = borrowed(key);
        let dbi = self.environment.dbi;
        // SAFETY: the write transaction is open and this thread's; no value means whichever is there.
        match unsafe { (self.api.mdb_del)(self.open, dbi, &raw mut key, ptr::null_mut()) } {
            ffi::MDB_SUCCESS | ffi::MDB_NOTFOUND => Ok(()),
            code => Err(self.api.error(code)),
        }
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.need_open()?;
        if range.is_empty() {
            return Ok(0);
        }
        let mut cursor = self.cursor()?;
        let mut shown = 0;
        let (mut found, step) = match direction {
            Direction::Forward => (cursor.seek_lowest(&range)?, ffi::MDB_NEXT),
            Direction::Backward => (cursor.seek_highest(&range)?, ffi::MDB_PREV),
        };
        while found {
            // SAFETY: key and value lie in the map, or in a dirty page, until the transaction ends or
            // writes; the session is borrowed, so neither happens before the visitor is done.
            let (key, value) = unsafe { (bytes(&cursor.key), bytes(&cursor.value)) };
            let inside = match direction {
                Direction::Forward => range.admits_from_above(key),
                Direction::Backward => range.admits_from_below(key),
            };
            if !inside {
                break;
            }
            shown += 1;
            if visitor(key, value).is_break() {
                break;
            }
            found = cursor.step(step)?;
        }
        Ok(shown)
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        let transaction = self.take()?;
        if self.mode == Mode::Read {
            // SAFETY: the read transaction was renewed; its slot is kept for the next one.
            unsafe { (self.api.mdb_txn_reset)(transaction) };
            return Ok(());
        }
        // SAFETY: the write transaction is open and this thread's; it is gone whatever is returned,
        // and the session has forgotten it.
        self.api
            .check(unsafe { (self.api.mdb_txn_commit)(transaction) })
    }

    fn abort(&mut self) -> Result<()> {
        let transaction = self.take()?;
        // SAFETY: the transaction is open and this thread's; a read transaction keeps its slot, a
        // write transaction is gone, and the session has forgotten it.
        unsafe {
            match self.mode {
                Mode::Read => (self.api.mdb_txn_reset)(transaction),
                Mode::Write => (self.api.mdb_txn_abort)(transaction),
            }
        }
        Ok(())
    }
}

impl Drop for LmdbSession<'_> {
    fn drop(&mut self) {
        if !self.open.is_null() {
            // It ends without an error: a transaction is open.
            let _ = self.abort();
        }
        // SAFETY: the cursor is kept by read transactions only, which allow closing it before or
        // after they end; the read transaction was begun in `new` and is ended here only.
        unsafe {
            if !self.read_cursor.is_null() {
                (self.api.mdb_cursor_close)(self.read_cursor);
            }
            (self.api.mdb_txn_abort)(self.reader);
        }
    }
}

/// A cursor and the record that it stands on.
struct Cursor {
    api: &'static Api,
    handle: *mut ffi::MDB_cursor,
    /// The session keeps the handle for its next scan.
    is_kept: bool,
    key: ffi::MDB_val,
    value: ffi::MDB_val,
}

impl Cursor {
    /// Moves; false where there is no such record.
    fn step(&mut self, operation: ffi::MDB_cursor_op) -> Result<bool> {
        let (key, value) = (&raw mut self.key, &raw mut self.value);
        // SAFETY: the cursor's transaction is open: the session is borrowed by the scan.
        match unsafe { (self.api.mdb_cursor_get)(self.handle, key, value, operation) } {
            ffi::MDB_SUCCESS => Ok(true),
            ffi::MDB_NOTFOUND => Ok(false),
            code => Err(self.api.error(code)),
        }
    }

    /// Moves to the first record whose key is `key` or above.
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        if key.is_empty() {
            // LMDB has no empty key and refuses to look for one.
            return self.step(ffi::MDB_FIRST);
        }
        self.key = borrowed(key);
        self.step(ffi::MDB_SET_RANGE)
    }

    fn stands_on(&self, key: &[u8]) -> bool {
        // SAFETY: called right after a successful move, before anything is written.
        unsafe { bytes(&self.key) == key }
    }

    /// Moves to the lowest record within the low end of `range`.
    fn seek_lowest(&mut self, range: &KeyRange<'_>) -> Result<bool> {
        match range.lower {
            Bound::Unbounded => self.step(ffi::MDB_FIRST),
            Bound::Included(key) => self.seek(key),
            Bound::Excluded(key) => {
                let found = self.seek(key)?;
                if found && self.stands_on(key) {
                    self.step(ffi::MDB_NEXT)
                } else {
                    Ok(found)
                }
            }
        }
    }

    /// Moves to the highest record within the high end of `range`.
    fn seek_highest(&mut self, range: &KeyRange<'_>) -> Result<bool> {
        let (Bound::Included(key) | Bound::Excluded(key)) = range.upper else {
            return self.step(ffi::MDB_LAST);
        };
        if !self.seek(key)? {
            return self.step(ffi::MDB_LAST);
        }
        if self.stands_on(key) && matches!(range.upper, Bound::Included(_)) {
            return Ok(true);
        }
        self.step(ffi::MDB_PREV)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        if !self.is_kept {
            // SAFETY: the cursor was opened by this scan, whose transaction is still open.
            unsafe { (self.api.mdb_cursor_close)(self.handle) };
        }
    }
}

const EMPTY: ffi::MDB_val = ffi::MDB_val {
    mv_size: 0,
    mv_data: ptr::null_mut(),
};

/// `slice` as LMDB takes it. LMDB's type has no notion of const; it does not write there.
#[inline]
fn borrowed(slice: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: slice.len(),
        mv_data: slice.as_ptr().cast_mut().cast(),
    }
}

/// What `value` shows.
///
/// # Safety
/// LMDB filled `value` with success, and its page is neither freed nor written during `'v`.
#[inline]
unsafe fn bytes<'v>(value: &ffi::MDB_val) -> &'v [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast(), value.mv_size) }
}
