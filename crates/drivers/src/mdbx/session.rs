//! A session: one reader slot and one cursor, kept; at most one transaction at a time.

use super::MAX_KEY_BYTES;
use super::api::{Api, RawCursor, Txn, Val, value};
use super::environment::Environment;
use crate::refuse;
use std::ops::Bound;
use std::ptr;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

/// One worker's way into an environment.
pub(super) struct MdbxSession<'e> {
    api: &'static Api,
    environment: &'e Environment,
    /// The open transaction; null when none is.
    open: *mut Txn,
    mode: Mode,
    /// The read transaction: renewed and reset, so that its slot is claimed once.
    reader: *mut Txn,
    /// The cursor, which libmdbx unbinds when a transaction ends; null until the first scan.
    cursor: *mut RawCursor,
}

impl<'e> MdbxSession<'e> {
    /// A session with its reader slot claimed.
    pub(super) fn new(environment: &'e Environment) -> Result<Self> {
        let mut session = Self {
            api: environment.api(),
            environment,
            open: ptr::null_mut(),
            mode: Mode::Read,
            reader: ptr::null_mut(),
            cursor: ptr::null_mut(),
        };
        session.reader = session.begin_new(value::MDBX_TXN_RDONLY)?;
        // SAFETY: the read transaction was just begun; it keeps its slot but no snapshot.
        let code = unsafe { (session.api.txn_reset)(session.reader) };
        session.api.check(code)?;
        Ok(session)
    }

    fn begin_new(&self, flags: u32) -> Result<*mut Txn> {
        let mut transaction = ptr::null_mut();
        let (parent, context) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment is open as long as `'e`. Where this thread has its write
        // transaction already, libmdbx says so instead of waiting.
        let code = unsafe {
            (self.api.txn_begin_ex)(
                self.environment.handle(),
                parent,
                flags,
                &raw mut transaction,
                context,
            )
        };
        self.api.check(code)?;
        Ok(transaction)
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

    /// Takes the open transaction out of the session, to end it.
    #[inline]
    fn take(&mut self) -> Result<*mut Txn> {
        self.need_open()?;
        Ok(std::mem::replace(&mut self.open, ptr::null_mut()))
    }

    /// The cursor, bound to the open transaction.
    fn cursor(&mut self) -> Result<Cursor> {
        // SAFETY: a transaction is open, as `scan` has checked. A kept cursor is of the same table;
        // it may be bound to this transaction already.
        let code = unsafe {
            if self.cursor.is_null() {
                let dbi = self.environment.dbi;
                (self.api.cursor_open)(self.open, dbi, &raw mut self.cursor)
            } else {
                (self.api.cursor_renew)(self.open, self.cursor)
            }
        };
        self.api.check(code)?;
        Ok(Cursor {
            api: self.api,
            handle: self.cursor,
            key: EMPTY,
            value: EMPTY,
        })
    }
}

impl Session for MdbxSession<'_> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if !self.open.is_null() {
            return Err(refuse::already_open());
        }
        match mode {
            Mode::Read => {
                // SAFETY: the read transaction was begun in `new` and is reset.
                let code = unsafe { (self.api.txn_renew)(self.reader) };
                self.api.check(code)?;
                self.open = self.reader;
            }
            Mode::Write => self.open = self.begin_new(0)?,
        }
        self.mode = mode;
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.need_open()?;
        let key = borrowed(key);
        let mut found = EMPTY;
        let dbi = self.environment.dbi;
        // SAFETY: the transaction is open and this session's.
        match unsafe { (self.api.get)(self.open, dbi, &raw const key, &raw mut found) } {
            value::MDBX_SUCCESS => {
                // SAFETY: the value lies in the map, or in a dirty page, until the transaction ends
                // or writes; the session is borrowed, so neither happens before that is done.
                visitor(unsafe { bytes(&found) });
                Ok(true)
            }
            value::MDBX_NOTFOUND => Ok(false),
            code => Err(self.api.error(code)),
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.need_write()?;
        if key.len() > MAX_KEY_BYTES {
            return Err(too_long(key.len()));
        }
        let (key, mut value) = (borrowed(key), borrowed(value));
        let dbi = self.environment.dbi;
        // SAFETY: the write transaction is open and this thread's; without MDBX_RESERVE libmdbx
        // only reads the key and the value, and copies them.
        self.api
            .check(unsafe { (self.api.put)(self.open, dbi, &raw const key, &raw mut value, 0) })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.need_write()?;
        let key = borrowed(key);
        let dbi = self.environment.dbi;
        // SAFETY: the write transaction is open and this thread's; no value means any.
        match unsafe { (self.api.del)(self.open, dbi, &raw const key, ptr::null()) } {
            value::MDBX_SUCCESS | value::MDBX_NOTFOUND => Ok(()),
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
        let (start, step) = match direction {
            Direction::Forward => (lowest(range.lower), value::MDBX_NEXT),
            Direction::Backward => (highest(range.upper), value::MDBX_PREV),
        };
        let mut found = cursor.start(start)?;
        while found {
            // SAFETY: key and value lie in the map, or in a dirty page, until the transaction ends
            // or writes; the session is borrowed, so neither happens before the visitor is done.
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
        // SAFETY: the transaction is open and this session's, a write transaction this thread's. A
        // read transaction keeps its slot; a write transaction is gone whatever is returned, and
        // the session has forgotten it.
        self.api.check(unsafe {
            match self.mode {
                Mode::Read => (self.api.txn_reset)(transaction),
                Mode::Write => (self.api.txn_commit_ex)(transaction, ptr::null_mut()),
            }
        })
    }

    fn abort(&mut self) -> Result<()> {
        let transaction = self.take()?;
        // SAFETY: as for `commit`.
        self.api.check(unsafe {
            match self.mode {
                Mode::Read => (self.api.txn_reset)(transaction),
                Mode::Write => (self.api.txn_abort)(transaction),
            }
        })
    }
}

impl Drop for MdbxSession<'_> {
    fn drop(&mut self) {
        if !self.open.is_null() {
            // Nobody is left to hear of an error.
            let _ = self.abort();
        }
        // SAFETY: no transaction is open, so that the cursor is bound to none; the read transaction
        // was begun in `new` and is ended here only.
        unsafe {
            if !self.cursor.is_null() {
                (self.api.cursor_close)(self.cursor);
            }
            if !self.reader.is_null() {
                (self.api.txn_abort)(self.reader);
            }
        }
    }
}

#[cold]
fn too_long(key_bytes: usize) -> Error {
    Error::Unsupported(format!(
        "a key of {key_bytes} bytes; libmdbx takes up to {MAX_KEY_BYTES}"
    ))
}

/// How a scan finds its first record: an operation of libmdbx and the key that it takes.
type Start<'k> = (u32, &'k [u8]);

/// The lowest record within the low end of a range.
fn lowest(lower: Bound<&[u8]>) -> Start<'_> {
    match lower {
        Bound::Unbounded => (value::MDBX_FIRST, &[]),
        Bound::Included(key) => (value::MDBX_SET_RANGE, key),
        Bound::Excluded(key) => (value::MDBX_TO_KEY_GREATER_THAN, key),
    }
}

/// The highest record within the high end of a range.
fn highest(upper: Bound<&[u8]>) -> Start<'_> {
    match upper {
        Bound::Unbounded => (value::MDBX_LAST, &[]),
        Bound::Included(key) => (value::MDBX_TO_KEY_LESSER_OR_EQUAL, key),
        Bound::Excluded(key) => (value::MDBX_TO_KEY_LESSER_THAN, key),
    }
}

/// The session's cursor and the record that it stands on.
struct Cursor {
    api: &'static Api,
    handle: *mut RawCursor,
    key: Val,
    value: Val,
}

impl Cursor {
    /// Moves to the first record of a scan; false where there is none.
    fn start(&mut self, (operation, key): Start<'_>) -> Result<bool> {
        self.key = borrowed(key);
        self.step(operation)
    }

    /// Moves; false where there is no such record.
    fn step(&mut self, operation: u32) -> Result<bool> {
        let (key, found) = (&raw mut self.key, &raw mut self.value);
        // SAFETY: the cursor's transaction is open: the session is borrowed by the scan.
        match unsafe { (self.api.cursor_get)(self.handle, key, found, operation) } {
            value::MDBX_SUCCESS => Ok(true),
            value::MDBX_NOTFOUND => Ok(false),
            code => Err(self.api.error(code)),
        }
    }
}

const EMPTY: Val = Val {
    base: ptr::null_mut(),
    bytes: 0,
};

/// `slice` as libmdbx takes it. Its type has no notion of const; it does not write there.
#[inline]
fn borrowed(slice: &[u8]) -> Val {
    Val {
        base: slice.as_ptr().cast_mut().cast(),
        bytes: slice.len(),
    }
}

/// What `value` shows.
///
/// # Safety
/// libmdbx filled `value` with success, and its page is neither freed nor written during `'v`.
#[inline]
unsafe fn bytes<'v>(value: &Val) -> &'v [u8] {
    if value.bytes == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(value.base.cast(), value.bytes) }
}
