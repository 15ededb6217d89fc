//! SQLite's own API.

use crate::keys::{KEY_BYTES, VALUE, VALUE_BYTES};
use anyhow::{Context, Result, ensure};
use rusqlite::ffi;
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The driver's default settings at `process`.
const SETTINGS: &CStr = c"
    PRAGMA page_size=4096;
    PRAGMA journal_mode=wal;
    PRAGMA synchronous=OFF;
    PRAGMA cache_size=-2000;
    PRAGMA mmap_size=0;
    PRAGMA wal_autocheckpoint=1000;
    CREATE TABLE IF NOT EXISTS record
        (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID";

/// A connection with its statements, never closed: the process ends with the loop.
pub struct SqliteLoop {
    connection: *mut ffi::sqlite3,
    begin_read: *mut ffi::sqlite3_stmt,
    begin_write: *mut ffi::sqlite3_stmt,
    commit: *mut ffi::sqlite3_stmt,
    get: *mut ffi::sqlite3_stmt,
    put: *mut ffi::sqlite3_stmt,
}

impl SqliteLoop {
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("trueput.sqlite");
        let path = CString::new(path.to_str().context("path is not UTF-8")?)?;
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut bare = Self {
            connection: null_mut(),
            begin_read: null_mut(),
            begin_write: null_mut(),
            commit: null_mut(),
            get: null_mut(),
            put: null_mut(),
        };
        // SAFETY: all texts end in a zero byte; null is the default VFS, and no callback.
        unsafe {
            let code = ffi::sqlite3_open_v2(path.as_ptr(), &raw mut bare.connection, flags, null());
            bare.check(code)?;
            let (settings, none) = (SETTINGS.as_ptr(), null_mut());
            bare.check(ffi::sqlite3_exec(
                bare.connection,
                settings,
                None,
                none,
                null_mut(),
            ))?;
        }
        bare.begin_read = bare.prepare(c"BEGIN")?;
        bare.begin_write = bare.prepare(c"BEGIN IMMEDIATE")?;
        bare.commit = bare.prepare(c"COMMIT")?;
        bare.get = bare.prepare(c"SELECT value FROM record WHERE key = ?1")?;
        bare.put = bare.prepare(c"REPLACE INTO record(key, value) VALUES (?1, ?2)")?;
        Ok(bare)
    }

    /// Fails with SQLite's own words.
    fn check(&self, code: c_int) -> Result<()> {
        // SAFETY: the connection is open, or null after lack of memory, which has words too.
        let words = || unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.connection)) };
        ensure!(code == ffi::SQLITE_OK, "{}", words().to_string_lossy());
        Ok(())
    }

    fn prepare(&self, sql: &CStr) -> Result<*mut ffi::sqlite3_stmt> {
        let (mut statement, flags) = (null_mut(), ffi::SQLITE_PREPARE_PERSISTENT);
        // SAFETY: the connection is open, the text ends in a zero byte, as the length -1 says.
        self.check(unsafe {
            let at = &raw mut statement;
            ffi::sqlite3_prepare_v3(self.connection, sql.as_ptr(), -1, flags, at, null_mut())
        })?;
        Ok(statement)
    }

    fn bind(&self, statement: *mut ffi::sqlite3_stmt, index: c_int, bytes: &[u8]) -> Result<()> {
        let (data, length) = (bytes.as_ptr().cast(), c_int::try_from(bytes.len())?);
        // SAFETY: the statement is alive and reset; its bytes live until it has run.
        self.check(unsafe {
            ffi::sqlite3_bind_blob(statement, index, data, length, ffi::SQLITE_STATIC())
        })
    }

    /// Runs a statement without rows.
    fn run(&self, statement: *mut ffi::sqlite3_stmt) -> Result<()> {
        // SAFETY: the statement is alive, and so is what is bound to it.
        self.check(unsafe {
            ffi::sqlite3_step(statement);
            ffi::sqlite3_reset(statement)
        })
    }
}

impl super::BareLoop for SqliteLoop {
    fn read_begin(&mut self) -> Result<()> {
        self.run(self.begin_read)
    }

    fn read_end(&mut self) -> Result<()> {
        self.run(self.commit)
    }

    fn get(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        self.bind(self.get, 1, key)?;
        // SAFETY: the statement is alive and its key bound; the value is in SQLite's memory until
        // the statement is reset.
        unsafe {
            if ffi::sqlite3_step(self.get) == ffi::SQLITE_ROW {
                let value: *const u8 = ffi::sqlite3_column_blob(self.get, 0).cast();
                let length = ffi::sqlite3_column_bytes(self.get, 0);
                let is_whole = usize::try_from(length) == Ok(VALUE_BYTES);
                ensure!(is_whole, "a value of the wrong length");
                std::hint::black_box(*value);
            }
            self.check(ffi::sqlite3_reset(self.get))
        }
    }

    /// To SQLite a statement outside BEGIN and COMMIT is a transaction.
    fn get_alone(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        self.get(key)
    }

    fn write_begin(&mut self) -> Result<()> {
        self.run(self.begin_write)
    }

    fn put(&mut self, key: &[u8; KEY_BYTES]) -> Result<()> {
        self.bind(self.put, 1, key)?;
        self.bind(self.put, 2, &VALUE)?;
        self.run(self.put)
    }

    fn write_commit(&mut self) -> Result<()> {
        self.run(self.commit)
    }
}
