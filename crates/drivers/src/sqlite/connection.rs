//! SQLite's C API with its handles owned: connections, prepared statements, result codes.

use super::build::Api;
use rusqlite::ffi;
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use trueput_engine::{Datum, Error, Result, Value, common_errors};

/// The name of the database that a connection opens.
const MAIN: &CStr = c"main";

/// A connection; one thread at a time may use it.
pub(super) struct SqliteConnection {
    api: &'static Api,
    handle: *mut ffi::sqlite3,
}

// SAFETY: every build that is used is thread-safe (SQLITE_THREADSAFE=1 or 2) and the connection
// opened with SQLITE_OPEN_NOMUTEX: any thread may use it, one at a time, which `&mut` and Mutex see
// to.
unsafe impl Send for SqliteConnection {}

impl SqliteConnection {
    /// Opens the database file `path`, making it if it is not there.
    pub(super) fn open(api: &'static Api, path: &Path) -> Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(Error::engine)?;
        let flags = ffi::SQLITE_OPEN_READWRITE
            | ffi::SQLITE_OPEN_CREATE
            | ffi::SQLITE_OPEN_NOMUTEX
            | ffi::SQLITE_OPEN_PRIVATECACHE
            | ffi::SQLITE_OPEN_EXRESCODE;
        let mut handle = ptr::null_mut();
        // SAFETY: `path` ends in a zero byte, `handle` can be written, null is the default VFS.
        let code =
            unsafe { (api.sqlite3_open_v2)(path.as_ptr(), &raw mut handle, flags, ptr::null()) };
        // A handle comes with most errors too, and is to be closed.
        let connection = Self { api, handle };
        connection.check(code)?;
        Ok(connection)
    }

    /// Converts a code to success or an error with the connection's own message.
    #[inline]
    pub(super) fn check(&self, code: c_int) -> Result<()> {
        if code == ffi::SQLITE_OK {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }

    /// The contract's error for `code`.
    #[cold]
    pub(super) fn error(&self, code: c_int) -> Error {
        // SAFETY: both return text that ends in a zero byte and lives until the next call; a null
        // handle (out of memory) is answered with static text.
        let text = unsafe {
            let text = if self.handle.is_null() {
                (self.api.sqlite3_errstr)(code)
            } else {
                (self.api.sqlite3_errmsg)(self.handle)
            };
            CStr::from_ptr(text).to_string_lossy().into_owned()
        };
        match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_PROTOCOL => {
                Error::Conflict(format!("{text} (code {code})"))
            }
            ffi::SQLITE_FULL => Error::Full(format!("{text} (code {code})")),
            ffi::SQLITE_TOOBIG => Error::Unsupported(format!("{text} (code {code})")),
            _ => common_errors::coded(code, text),
        }
    }

    /// Runs statements whose rows, if any, are of no interest.
    pub(super) fn execute(&self, sql: &str) -> Result<()> {
        let sql = CString::new(sql).map_err(Error::engine)?;
        // SAFETY: the connection is open and `sql` ends in a zero byte; no callback is given.
        self.check(unsafe {
            (self.api.sqlite3_exec)(
                self.handle,
                sql.as_ptr(),
                None,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })
    }

    /// The first column of the first row, an integer or a text; `None` if there is no row.
    pub(super) fn query(&self, sql: &str) -> Result<Option<Value>> {
        let statement = self.prepare(sql)?;
        let row = statement.step();
        if row == ffi::SQLITE_DONE {
            return Ok(None);
        }
        if row != ffi::SQLITE_ROW {
            return Err(self.error(row));
        }
        Ok(Some(statement.value(0)))
    }

    /// A statement to be kept and run often.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement> {
        let sql = CString::new(sql).map_err(Error::engine)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is open, `sql` ends in a zero byte (length -1 says so), and
        // `handle` can be written.
        self.check(unsafe {
            (self.api.sqlite3_prepare_v3)(
                self.handle,
                sql.as_ptr(),
                -1,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &raw mut handle,
                ptr::null_mut(),
            )
        })?;
        Ok(Statement {
            api: self.api,
            handle,
        })
    }

    /// Whether no transaction is open.
    pub(super) fn is_autocommit(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { (self.api.sqlite3_get_autocommit)(self.handle) != 0 }
    }

    /// Returns the number of rows that the last statement changed.
    pub(super) fn changes(&self) -> u64 {
        // SAFETY: the connection is open.
        let changed = unsafe { (self.api.sqlite3_changes)(self.handle) };
        u64::try_from(changed).unwrap_or(0)
    }

    /// Waits for locks by SQLite's own handler, at most so long.
    pub(super) fn set_busy_timeout(&self, timeout_ms: c_int) -> Result<()> {
        // SAFETY: the connection is open.
        self.check(unsafe { (self.api.sqlite3_busy_timeout)(self.handle, timeout_ms) })
    }

    /// Waits for locks by `handler`, which is called with `context` and the number of calls for
    /// this lock so far, and answers 0 to give up.
    ///
    /// # Safety
    /// `context` is what `handler` expects, as long as the connection lives.
    pub(super) unsafe fn set_busy_handler(
        &self,
        handler: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
        context: *mut c_void,
    ) -> Result<()> {
        // SAFETY: the connection is open; the rest is the caller's promise.
        self.check(unsafe { (self.api.sqlite3_busy_handler)(self.handle, Some(handler), context) })
    }

    /// One of the connection's counters (`SQLITE_DBSTATUS_…`).
    pub(super) fn status(&self, counter: c_int) -> Result<u64> {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: the connection is open and both numbers can be written.
        self.check(unsafe {
            let (current, highest) = (&raw mut current, &raw mut highest);
            (self.api.sqlite3_db_status)(self.handle, counter, current, highest, 0)
        })?;
        Ok(u64::try_from(current).unwrap_or(0))
    }

    /// Moves everything in a write-ahead log into the database file, and flushes that file,
    /// regardless of `synchronous`.
    pub(super) fn checkpoint(&self) -> Result<()> {
        let nowhere = ptr::null_mut();
        let mode = ffi::SQLITE_CHECKPOINT_FULL;
        // SAFETY: the connection is open; null pointers mean that the counts are not wanted. A
        // database without a write-ahead log answers with success.
        self.check(unsafe {
            (self.api.sqlite3_wal_checkpoint_v2)(self.handle, MAIN.as_ptr(), mode, nowhere, nowhere)
        })?;
        self.flush_file()
    }

    /// Flushes the database file through SQLite's own handle of it: opening and closing the file a
    /// second time would drop SQLite's locks.
    fn flush_file(&self) -> Result<()> {
        let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open, and SQLITE_FCNTL_FILE_POINTER writes a pointer to the
        // file object, which belongs to the connection and is open as long as it has methods.
        let code = unsafe {
            let operation = ffi::SQLITE_FCNTL_FILE_POINTER;
            let wanted = (&raw mut file).cast();
            self.check((self.api.sqlite3_file_control)(
                self.handle,
                MAIN.as_ptr(),
                operation,
                wanted,
            ))?;
            match file
                .as_ref()
                .and_then(|file| file.pMethods.as_ref())
                .and_then(|of| of.xSync)
            {
                Some(flush) => flush(file, ffi::SQLITE_SYNC_NORMAL),
                None => ffi::SQLITE_OK,
            }
        };
        self.check(code)
    }
}

impl Drop for SqliteConnection {
    fn drop(&mut self) {
        // SAFETY: the handle is closed once, and may be null. Were a statement still to be
        // finalized, SQLite would refuse and leave the connection open.
        unsafe { (self.api.sqlite3_close)(self.handle) };
    }
}

/// A prepared statement.
pub(super) struct Statement {
    api: &'static Api,
    handle: *mut ffi::sqlite3_stmt,
}

impl Statement {
    /// Binds `bytes` to parameter `index`, which counts from 1, without a copy. The statement shows
    /// them to SQLite only within [`Statement::step`].
    ///
    /// # Safety
    /// `bytes` stay where they are until the last step before the statement is bound again or
    /// dropped.
    #[inline]
    pub(super) unsafe fn bind(&self, index: c_int, bytes: &[u8]) -> c_int {
        let Ok(length) = c_int::try_from(bytes.len()) else {
            return ffi::SQLITE_TOOBIG;
        };
        // SAFETY: the statement is alive and reset; the bytes are the caller's promise.
        unsafe {
            let data = bytes.as_ptr().cast();
            (self.api.sqlite3_bind_blob)(self.handle, index, data, length, ffi::SQLITE_STATIC())
        }
    }

    /// Runs to the next row (`SQLITE_ROW`), the end (`SQLITE_DONE`) or an error.
    #[inline]
    pub(super) fn step(&self) -> c_int {
        // SAFETY: the statement is alive; what is bound is alive by the promise of `bind`.
        unsafe { (self.api.sqlite3_step)(self.handle) }
    }

    /// Makes it ready to be bound and run again. What it last answered is answered again.
    #[inline]
    pub(super) fn reset(&self) {
        // SAFETY: the statement is alive.
        unsafe { (self.api.sqlite3_reset)(self.handle) };
    }

    /// Runs a statement without rows to its end and resets it.
    #[inline]
    pub(super) fn run(&self) -> c_int {
        let code = self.step();
        self.reset();
        if code == ffi::SQLITE_DONE {
            ffi::SQLITE_OK
        } else {
            code
        }
    }

    /// A column of the current row, in SQLite's memory.
    ///
    /// # Safety
    /// The statement is on a row, and is neither stepped nor reset during `'v`.
    #[inline]
    pub(super) unsafe fn blob<'v>(&self, column: c_int) -> &'v [u8] {
        // SAFETY: the statement is on a row; the blob is asked for before its length, as SQLite
        // demands; an empty one is null.
        unsafe {
            let data: *const u8 = (self.api.sqlite3_column_blob)(self.handle, column).cast();
            let length = (self.api.sqlite3_column_bytes)(self.handle, column);
            match usize::try_from(length) {
                Ok(length) if !data.is_null() => std::slice::from_raw_parts(data, length),
                _ => &[],
            }
        }
    }

    /// Binds the value to parameter `index`, which counts from 1, without a copy. Decimals and
    /// moments become whole numbers; an array has no type here.
    ///
    /// # Safety
    /// As [`Statement::bind`].
    #[inline]
    pub(super) unsafe fn bind_datum(&self, index: c_int, datum: Datum<'_>) -> c_int {
        // SAFETY: the statement is alive and reset; text and bytes are the caller's promise.
        unsafe {
            match datum {
                Datum::Null => (self.api.sqlite3_bind_null)(self.handle, index),
                Datum::Integer(number)
                | Datum::Decimal { units: number, .. }
                | Datum::Timestamp(number) => {
                    (self.api.sqlite3_bind_int64)(self.handle, index, number)
                }
                Datum::Bytes(bytes) => self.bind(index, bytes),
                Datum::Text(text) => {
                    let Ok(length) = c_int::try_from(text.len()) else {
                        return ffi::SQLITE_TOOBIG;
                    };
                    let (data, keep) = (text.as_ptr().cast(), ffi::SQLITE_STATIC());
                    (self.api.sqlite3_bind_text)(self.handle, index, data, length, keep)
                }
                Datum::Integers(_) => ffi::SQLITE_MISMATCH,
            }
        }
    }

    /// Returns the number of its parameters.
    pub(super) fn parameters(&self) -> usize {
        // SAFETY: the statement is alive.
        let count = unsafe { (self.api.sqlite3_bind_parameter_count)(self.handle) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Returns the number of its columns; 0 for a statement that gives no rows.
    pub(super) fn columns(&self) -> usize {
        // SAFETY: the statement is alive.
        let count = unsafe { (self.api.sqlite3_column_count)(self.handle) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Whether it changes no data.
    pub(super) fn is_read_only(&self) -> bool {
        // SAFETY: the statement is alive.
        unsafe { (self.api.sqlite3_stmt_readonly)(self.handle) != 0 }
    }

    /// A column of the current row, text and bytes where they are in SQLite's memory.
    ///
    /// # Errors
    /// A type that the contract does not have, or text that is not UTF-8.
    ///
    /// # Safety
    /// As [`Statement::blob`].
    #[inline]
    pub(super) unsafe fn datum<'v>(&self, column: c_int) -> Result<Datum<'v>> {
        // SAFETY: the statement is on a row; the rest is the caller's promise. A blob's bytes
        // are also a text's: the database is in UTF-8.
        unsafe {
            match (self.api.sqlite3_column_type)(self.handle, column) {
                ffi::SQLITE_INTEGER => {
                    let number = (self.api.sqlite3_column_int64)(self.handle, column);
                    Ok(Datum::Integer(number))
                }
                ffi::SQLITE_NULL => Ok(Datum::Null),
                ffi::SQLITE_BLOB => Ok(Datum::Bytes(self.blob(column))),
                ffi::SQLITE_TEXT => std::str::from_utf8(self.blob(column))
                    .map(Datum::Text)
                    .map_err(|error| Error::engine(format!("column {}: {error}", column + 1))),
                _ => Err(Error::Unsupported(format!(
                    "column {} is a floating-point number: write whole numbers",
                    column + 1
                ))),
            }
        }
    }

    /// Reads a column of the current row: an integer as an integer, everything else as text.
    fn value(&self, column: c_int) -> Value {
        // SAFETY: the statement is on a row; text ends in a zero byte and is copied at once.
        unsafe {
            if (self.api.sqlite3_column_type)(self.handle, column) == ffi::SQLITE_INTEGER {
                return Value::Integer((self.api.sqlite3_column_int64)(self.handle, column));
            }
            let text = (self.api.sqlite3_column_text)(self.handle, column);
            if text.is_null() {
                return Value::from("");
            }
            Value::from(CStr::from_ptr(text.cast()).to_string_lossy().into_owned())
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is finalized once; its connection is not closed before that.
        unsafe { (self.api.sqlite3_finalize)(self.handle) };
    }
}
