//! The session of LMDB and of libmdbx, its descendant: one reader slot, kept; at most one
//! transaction at a time. The two differ in the names of their functions, in the layout of their
//! slices, and in few rules, which [`MappedApi`] states.

use crate::ordered_cursor::{OrderedCursor, SeekingCursor, scan};
use crate::process_locks::WriterThread;
use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordSource, RecordVisitor, Result, Session, ValueVisitor,
    Window, common_errors,
};

/// The window if a commit leaves its meta page to the next one's flush.
pub(crate) fn unflushed_meta_page() -> Window {
    Window {
        commits: Some(1),
        ..Window::until("the next commit, which flushes the last one's meta page")
    }
}

/// A key or value as the library takes and returns it.
pub(crate) trait MappedSlice: Copy {
    /// A slice of this many bytes from `data` on.
    fn new(data: *mut c_void, bytes: usize) -> Self;

    /// The first byte.
    fn data(&self) -> *const c_void;

    /// The length, bytes.
    fn len(&self) -> usize;
}

/// The functions of a build of the library that a session calls.
///
/// The caller of each passes an open handle, transaction or cursor of this library that is the
/// calling thread's; keys and values are only read unless said otherwise.
pub(crate) trait MappedApi: Sized + 'static {
    type Environment;
    type Transaction;
    type RawCursor;
    type Slice: MappedSlice;

    /// The code of success.
    const SUCCESS: c_int;
    /// The code of a search that finds nothing.
    const NOT_FOUND: c_int;
    /// The code of a put of [`MappedApi::NO_OVERWRITE`] whose key exists.
    const KEY_EXISTS: c_int;
    /// The flag of a put that stores only if the key does not exist.
    const NO_OVERWRITE: c_uint;
    /// The flag of a put whose key is behind all others.
    const APPEND: c_uint;
    /// The flag of a read transaction.
    const READ_ONLY: c_uint;
    /// The operations of a cursor: to the first and last record, the next and previous, and to the
    /// first key that is the one given or above.
    const FIRST: c_uint;
    const LAST: c_uint;
    const NEXT: c_uint;
    const PREVIOUS: c_uint;
    const SEEK: c_uint;
    /// Whether a cursor outlives a write transaction. One of read transactions always does.
    const KEEPS_WRITE_CURSOR: bool;

    /// The contract's error for `code`.
    fn error(&self, code: c_int) -> Error;

    /// Refuses a key that the library must not be given.
    fn check_key(_key: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Moves a cursor as [`OrderedCursor::seek_range`] does.
    fn seek_range(
        cursor: &mut MappedCursor<Self>,
        range: &KeyRange<'_>,
        direction: Direction,
    ) -> Result<bool>;

    unsafe fn begin(
        &self,
        environment: *mut Self::Environment,
        flags: c_uint,
        transaction: &mut *mut Self::Transaction,
    ) -> c_int;
    unsafe fn reset(&self, reader: *mut Self::Transaction) -> c_int;
    unsafe fn renew(&self, reader: *mut Self::Transaction) -> c_int;
    unsafe fn commit(&self, transaction: *mut Self::Transaction) -> c_int;
    unsafe fn abort(&self, transaction: *mut Self::Transaction) -> c_int;
    /// `value` receives the value.
    unsafe fn get(
        &self,
        transaction: *mut Self::Transaction,
        table: c_uint,
        key: &mut Self::Slice,
        value: &mut Self::Slice,
    ) -> c_int;
    /// With [`MappedApi::NO_OVERWRITE`], `value` receives the value of a key that exists.
    unsafe fn put(
        &self,
        transaction: *mut Self::Transaction,
        table: c_uint,
        key: &mut Self::Slice,
        value: &mut Self::Slice,
        flags: c_uint,
    ) -> c_int;
    unsafe fn delete(
        &self,
        transaction: *mut Self::Transaction,
        table: c_uint,
        key: &mut Self::Slice,
    ) -> c_int;
    unsafe fn open_cursor(
        &self,
        transaction: *mut Self::Transaction,
        table: c_uint,
        cursor: &mut *mut Self::RawCursor,
    ) -> c_int;
    unsafe fn renew_cursor(
        &self,
        transaction: *mut Self::Transaction,
        cursor: *mut Self::RawCursor,
    ) -> c_int;
    unsafe fn close_cursor(&self, cursor: *mut Self::RawCursor);
    /// `key` and `value` receive the record's.
    unsafe fn move_cursor(
        &self,
        cursor: *mut Self::RawCursor,
        key: &mut Self::Slice,
        value: &mut Self::Slice,
        operation: c_uint,
    ) -> c_int;
}

/// Defines functions of [`MappedApi`], each as one call of the library.
macro_rules! mapped_calls {
    ($self:ident: $(
        $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $call:expr;
    )*) => {
        $(
            #[inline]
            unsafe fn $name(&$self, $($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise, see `MappedApi`.
                unsafe { $call }
            }
        )*
    };
}
pub(crate) use mapped_calls;

/// The parts of an open environment that a session uses.
pub(crate) struct MappedTable<A: MappedApi> {
    /// The functions of the build that opened it.
    pub(crate) api: &'static A,
    /// The library's handle.
    pub(crate) environment: *mut A::Environment,
    /// The main, unnamed table.
    pub(crate) table: c_uint,
}

/// Bytes of keys and values that a load commits at a time: the pages that they change are in
/// memory until then.
const APPENDED_BYTES: usize = 64 << 20;

/// One worker's session over an environment.
pub(crate) struct MappedSession<'e, A: MappedApi> {
    api: &'static A,
    environment: *mut A::Environment,
    table: c_uint,
    /// Set if the library would let a thread deadlock with itself.
    writer: Option<&'e WriterThread>,
    /// The open transaction; null when none is.
    open: *mut A::Transaction,
    mode: Mode,
    /// The read transaction: renewed and reset, so that its slot is claimed once.
    reader: *mut A::Transaction,
    /// The cursor that is kept; null until the first scan.
    cursor: *mut A::RawCursor,
    borrowed: PhantomData<&'e ()>,
}

impl<'e, A: MappedApi> MappedSession<'e, A> {
    /// A session with its reader slot claimed.
    ///
    /// # Safety
    /// The environment and the table are open during `'e`.
    pub(crate) unsafe fn new(
        table: &MappedTable<A>,
        writer: Option<&'e WriterThread>,
    ) -> Result<Self> {
        let mut session = Self {
            api: table.api,
            environment: table.environment,
            table: table.table,
            writer,
            open: ptr::null_mut(),
            mode: Mode::Read,
            reader: ptr::null_mut(),
            cursor: ptr::null_mut(),
            borrowed: PhantomData,
        };
        session.reader = session.begin_new(A::READ_ONLY)?;
        // SAFETY: the read transaction was just begun; it keeps its slot but no snapshot.
        session.check(unsafe { session.api.reset(session.reader) })?;
        Ok(session)
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        check(self.api, code)
    }

    fn begin_new(&self, flags: c_uint) -> Result<*mut A::Transaction> {
        let mut transaction = ptr::null_mut();
        // SAFETY: the environment is open as long as `'e`. This thread has no other write
        // transaction of this environment, or the library says so instead of waiting.
        self.check(unsafe { self.api.begin(self.environment, flags, &mut transaction) })?;
        Ok(transaction)
    }

    fn begin_write(&mut self) -> Result<()> {
        if let Some(writer) = self.writer {
            writer.check()?;
        }
        self.open = self.begin_new(0)?;
        if let Some(writer) = self.writer {
            writer.set();
        }
        Ok(())
    }

    #[inline]
    fn require_open(&self) -> Result<()> {
        if self.open.is_null() {
            Err(common_errors::no_transaction())
        } else {
            Ok(())
        }
    }

    #[inline]
    fn require_write(&self) -> Result<()> {
        self.require_open()?;
        match self.mode {
            Mode::Write => Ok(()),
            Mode::Read => Err(common_errors::write_in_read()),
        }
    }

    /// Takes the open transaction out of the session, to end it.
    #[inline]
    fn take(&mut self) -> Result<*mut A::Transaction> {
        self.require_open()?;
        if self.mode == Mode::Write
            && let Some(writer) = self.writer
        {
            writer.clear();
        }
        Ok(std::mem::replace(&mut self.open, ptr::null_mut()))
    }

    /// Appends records to the table in the open write transaction, until they are so many bytes
    /// that it is to be committed; returns whether there may be more.
    fn append(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        let mut appended = 0;
        while appended < APPENDED_BYTES {
            let Some((key, value)) = records.next_record() else {
                return Ok(false);
            };
            appended += key.len() + value.len();
            A::check_key(key)?;
            let (mut key, mut value) = (borrowed(key), borrowed(value));
            // SAFETY: the write transaction is open and this thread's; the library only reads the
            // key and the value, and copies them.
            self.check(unsafe {
                let (table, flags) = (self.table, A::APPEND);
                self.api.put(self.open, table, &mut key, &mut value, flags)
            })?;
        }
        Ok(true)
    }

    /// A cursor of the open transaction.
    fn cursor(&mut self) -> Result<MappedCursor<A>> {
        let is_kept = A::KEEPS_WRITE_CURSOR || self.mode == Mode::Read;
        let mut handle = if is_kept {
            self.cursor
        } else {
            ptr::null_mut()
        };
        // SAFETY: a transaction is open, as `scan` has checked. A kept cursor is of the same table,
        // and was opened on a transaction that lets it outlive it, as renewing demands.
        let code = unsafe {
            if handle.is_null() {
                self.api.open_cursor(self.open, self.table, &mut handle)
            } else {
                self.api.renew_cursor(self.open, handle)
            }
        };
        self.check(code)?;
        if is_kept {
            self.cursor = handle;
        }
        Ok(MappedCursor {
            api: self.api,
            handle,
            is_kept,
            key: empty(),
            value: empty(),
        })
    }
}

impl<A: MappedApi> Session for MappedSession<'_, A> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if !self.open.is_null() {
            return Err(common_errors::already_open());
        }
        match mode {
            Mode::Read => {
                // SAFETY: the read transaction was begun in `new` and is reset.
                self.check(unsafe { self.api.renew(self.reader) })?;
                self.open = self.reader;
            }
            Mode::Write => self.begin_write()?,
        }
        self.mode = mode;
        Ok(())
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.require_open()?;
        let (mut key, mut value) = (borrowed(key), empty());
        // SAFETY: the transaction is open and this session's; the library reads the key only.
        let code = unsafe { self.api.get(self.open, self.table, &mut key, &mut value) };
        if is_found(self.api, code)? {
            // SAFETY: the value is in the map, or in a dirty page, until the transaction ends or
            // writes; the session is borrowed, so neither happens before the visitor is done.
            visitor(unsafe { bytes(&value) });
            return Ok(true);
        }
        Ok(false)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.require_write()?;
        A::check_key(key)?;
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        // SAFETY: the write transaction is open and this thread's; without reserving, the library
        // only reads the key and the value, and copies them.
        self.check(unsafe {
            let table = self.table;
            self.api.put(self.open, table, &mut key, &mut value, 0)
        })
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.require_write()?;
        A::check_key(key)?;
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        // SAFETY: as in `put`.
        let code = unsafe {
            let (table, flags) = (self.table, A::NO_OVERWRITE);
            self.api.put(self.open, table, &mut key, &mut value, flags)
        };
        if code == A::KEY_EXISTS {
            return Ok(false);
        }
        self.check(code).map(|()| true)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.require_write()?;
        let mut key = borrowed(key);
        // SAFETY: the write transaction is open and this thread's.
        let code = unsafe { self.api.delete(self.open, self.table, &mut key) };
        is_found(self.api, code).map(drop)
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        let mut has_more = true;
        while has_more {
            self.begin(Mode::Write)?;
            let appended = self.append(records);
            has_more = match appended {
                Ok(has_more) => has_more,
                Err(error) => {
                    // The first error is the one to report.
                    let _ = self.abort();
                    return Err(error);
                }
            };
            self.commit()?;
        }
        Ok(true)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        self.require_open()?;
        if range.is_empty() {
            return Ok(0);
        }
        scan(&mut self.cursor()?, &range, direction, visitor)
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        let transaction = self.take()?;
        // SAFETY: the transaction is open and this session's, a write transaction this thread's. A
        // read transaction keeps its slot; a write transaction is gone whatever is returned, and
        // the session has forgotten it.
        self.check(unsafe {
            match self.mode {
                Mode::Read => self.api.reset(transaction),
                Mode::Write => self.api.commit(transaction),
            }
        })
    }

    fn abort(&mut self) -> Result<()> {
        let transaction = self.take()?;
        // SAFETY: as for `commit`.
        self.check(unsafe {
            match self.mode {
                Mode::Read => self.api.reset(transaction),
                Mode::Write => self.api.abort(transaction),
            }
        })
    }
}

impl<A: MappedApi> Drop for MappedSession<'_, A> {
    fn drop(&mut self) {
        if !self.open.is_null() {
            // Nobody is left to hear of an error.
            let _ = self.abort();
        }
        // SAFETY: no transaction is open, and a kept cursor may be closed before or after those it
        // was used in; the read transaction was begun in `new` and is ended here only.
        unsafe {
            if !self.cursor.is_null() {
                self.api.close_cursor(self.cursor);
            }
            if !self.reader.is_null() {
                self.api.abort(self.reader);
            }
        }
    }
}

/// A cursor and the record that it is on.
pub(crate) struct MappedCursor<A: MappedApi> {
    api: &'static A,
    handle: *mut A::RawCursor,
    /// The session keeps the handle for its next scan.
    is_kept: bool,
    key: A::Slice,
    value: A::Slice,
}

impl<A: MappedApi> MappedCursor<A> {
    /// Moves the cursor; returns false if there is no such record.
    pub(crate) fn step(&mut self, operation: c_uint) -> Result<bool> {
        // SAFETY: the cursor's transaction is open: the session is borrowed by the scan.
        let code = unsafe {
            self.api
                .move_cursor(self.handle, &mut self.key, &mut self.value, operation)
        };
        is_found(self.api, code)
    }

    /// Moves by an operation that takes a key.
    pub(crate) fn go_by_key(&mut self, operation: c_uint, key: &[u8]) -> Result<bool> {
        self.key = borrowed(key);
        self.step(operation)
    }
}

impl<A: MappedApi> OrderedCursor for MappedCursor<A> {
    fn seek_range(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<bool> {
        A::seek_range(self, range, direction)
    }

    #[inline]
    fn step(&mut self, direction: Direction) -> Result<bool> {
        self.step(match direction {
            Direction::Forward => A::NEXT,
            Direction::Backward => A::PREVIOUS,
        })
    }

    #[inline]
    fn record(&self) -> Result<(&[u8], &[u8])> {
        // SAFETY: key and value are in the map, or in a dirty page, until the transaction ends or
        // writes; the session is borrowed by the scan, and this cursor by what is returned.
        Ok(unsafe { (bytes(&self.key), bytes(&self.value)) })
    }
}

impl<A: MappedApi> SeekingCursor for MappedCursor<A> {
    fn seek_end(&mut self, direction: Direction) -> Result<bool> {
        self.step(match direction {
            Direction::Forward => A::FIRST,
            Direction::Backward => A::LAST,
        })
    }

    fn seek_key(&mut self, key: &[u8]) -> Result<bool> {
        if key.is_empty() {
            // There is no empty key, and LMDB refuses to search for one.
            self.step(A::FIRST)
        } else {
            self.go_by_key(A::SEEK, key)
        }
    }

    fn key(&self) -> &[u8] {
        // SAFETY: as for `record`.
        unsafe { bytes(&self.key) }
    }
}

impl<A: MappedApi> Drop for MappedCursor<A> {
    fn drop(&mut self) {
        if !self.is_kept {
            // SAFETY: the cursor was opened by this scan, whose transaction is still open.
            unsafe { self.api.close_cursor(self.handle) };
        }
    }
}

/// Converts a code to success or an error.
#[inline]
pub(crate) fn check<A: MappedApi>(api: &A, code: c_int) -> Result<()> {
    if code == A::SUCCESS {
        Ok(())
    } else {
        Err(api.error(code))
    }
}

/// Whether a search or move found something.
#[inline]
fn is_found<A: MappedApi>(api: &A, code: c_int) -> Result<bool> {
    if code == A::SUCCESS {
        Ok(true)
    } else if code == A::NOT_FOUND {
        Ok(false)
    } else {
        Err(api.error(code))
    }
}

#[inline]
fn empty<S: MappedSlice>() -> S {
    S::new(ptr::null_mut(), 0)
}

/// `slice` as the library takes it. Its type has no notion of const; it does not write there.
#[inline]
fn borrowed<S: MappedSlice>(slice: &[u8]) -> S {
    S::new(slice.as_ptr().cast_mut().cast(), slice.len())
}

/// The bytes of a slice.
///
/// # Safety
/// The library filled `slice` with success, and its page is neither freed nor written during `'v`.
#[inline]
unsafe fn bytes<'v, S: MappedSlice>(slice: &S) -> &'v [u8] {
    if slice.len() == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(slice.data().cast(), slice.len()) }
}
