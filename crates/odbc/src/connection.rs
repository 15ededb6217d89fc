//! A connection: its attributes, the information that it reports, and the end of its transactions.

use super::manager::{self, Handle, Manager, NO_DATA, ReturnCode, is_success, until_nul};
use super::source::{DataSource, LOGIN_TIMEOUT_S};
use std::ffi::CString;
use std::ptr::null_mut;
use trueput_engine::{Error, Result, common_errors};

const AUTOCOMMIT: i32 = 102;
const LOGIN_TIMEOUT: i32 = 103;
const TXN_ISOLATION: i32 = 108;
/// A statement attribute: braces in the text are not ODBC escapes.
const NOSCAN: i32 = 2;
const NTS: i32 = -3;
const NO_PROMPT: u16 = 0;
const COMMIT: i16 = 0;
const ROLLBACK: i16 = 1;

const DRIVER_NAME: u16 = 6;
const DRIVER_VERSION: u16 = 7;
const DBMS_NAME: u16 = 17;
const DBMS_VERSION: u16 = 18;
const TXN_CAPABLE: u16 = 46;
const ISOLATION_OPTIONS: u16 = 72;

/// Native error numbers, by their meaning.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NativeErrors {
    /// Transactions waited for each other, and this one was given up.
    pub(super) deadlocks: &'static [i32],
    /// Another transaction was in the way.
    pub(super) conflicts: &'static [i32],
    /// Storage is full.
    pub(super) full: &'static [i32],
}

/// The database system and the driver of a connection, as they report themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceInfo {
    pub(super) dbms: String,
    pub(super) dbms_version: String,
    pub(super) driver: String,
    pub(super) driver_version: String,
    /// A bit for each level of isolation that it has.
    pub(super) isolations: u32,
    /// Whether the data source supports transactions.
    pub(super) has_transactions: bool,
}

/// A connection.
pub(super) struct OdbcConnection {
    pub(super) manager: &'static Manager,
    handle: Handle,
    pub(super) native_errors: NativeErrors,
}

// SAFETY: a connection may be used by any thread, by one at a time: ODBC asks drivers for that.
unsafe impl Send for OdbcConnection {}

impl OdbcConnection {
    /// Connects; `more` is added to the connection string.
    ///
    /// # Errors
    /// One line: no driver manager, no driver, or the data source's error.
    pub(super) fn open(
        source: &DataSource,
        more: &str,
        native_errors: NativeErrors,
    ) -> Result<Self> {
        let manager = manager::manager()?;
        let handle = manager.allocate(manager::CONNECTION, None)?;
        let text = c_text(&source.connect_string(more))?;
        let functions = &manager.functions;
        let mut length = 0;
        // SAFETY: the handle was just made; the string ends with a NUL; nothing is written to where
        // no room is given. A driver that has no such timeout may refuse it.
        let code = unsafe {
            let timeout = LOGIN_TIMEOUT_S as Handle;
            (functions.SetConnectAttr)(handle, LOGIN_TIMEOUT, timeout, 0);
            (functions.DriverConnect)(
                handle,
                null_mut(),
                text.as_ptr(),
                NTS as i16,
                null_mut(),
                0,
                &raw mut length,
                NO_PROMPT,
            )
        };
        if is_success(code) {
            return Ok(Self {
                manager,
                handle,
                native_errors,
            });
        }
        let refusal = source.refusal(manager, &manager.diagnostic(manager::CONNECTION, handle, 1));
        // SAFETY: the handle is of a connection that was not made.
        unsafe { (functions.FreeHandle)(manager::CONNECTION, handle) };
        Err(refusal)
    }

    /// Returns the database system and the driver, as they report themselves.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn info(&self) -> Result<SourceInfo> {
        Ok(SourceInfo {
            dbms: self.text_info(DBMS_NAME)?,
            dbms_version: self.text_info(DBMS_VERSION)?,
            driver: self.text_info(DRIVER_NAME)?,
            driver_version: self.text_info(DRIVER_VERSION)?,
            isolations: self.number_info(ISOLATION_OPTIONS)?,
            // Two bytes, in the low end of the number.
            has_transactions: self.number_info(TXN_CAPABLE)? & 0xFFFF != 0,
        })
    }

    fn text_info(&self, which: u16) -> Result<String> {
        let (mut buffer, mut length) = ([0_u8; 256], 0);
        // SAFETY: the buffer is as long as is said.
        let code = unsafe {
            let room = buffer.len() as i16;
            let into = buffer.as_mut_ptr().cast();
            (self.manager.functions.GetInfo)(self.handle, which, into, room, &raw mut length)
        };
        self.check(code)?;
        Ok(until_nul(&buffer))
    }

    fn number_info(&self, which: u16) -> Result<u32> {
        let (mut number, mut length) = (0_u32, 0);
        // SAFETY: the number has room for the two or four bytes that are written.
        let code = unsafe {
            let into = (&raw mut number).cast();
            (self.manager.functions.GetInfo)(self.handle, which, into, 4, &raw mut length)
        };
        self.check(code)?;
        Ok(number)
    }

    fn set(&self, attribute: i32, value: usize) -> Result<()> {
        // SAFETY: these attributes are whole numbers, handed over in the pointer's place.
        let code = unsafe {
            let value = value as Handle;
            (self.manager.functions.SetConnectAttr)(self.handle, attribute, value, 0)
        };
        self.check(code)
    }

    /// Whether each statement is a transaction.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn set_autocommit(&self, is_on: bool) -> Result<()> {
        self.set(AUTOCOMMIT, usize::from(is_on))
    }

    /// Sets the isolation of the next transactions, by ODBC's bit for it.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn set_isolation(&self, bit: u32) -> Result<()> {
        self.set(TXN_ISOLATION, bit as usize)
    }

    /// Ends the transaction.
    ///
    /// # Errors
    /// [`Error::Conflict`] with another transaction; errors of the data source.
    pub(super) fn end(&self, commits: bool) -> Result<()> {
        let how = if commits { COMMIT } else { ROLLBACK };
        // SAFETY: the handle is a live connection's.
        let code =
            unsafe { (self.manager.functions.EndTran)(manager::CONNECTION, self.handle, how) };
        self.check(code)
    }

    /// A new statement.
    pub(super) fn statement(&self) -> Result<Handle> {
        self.manager.allocate(manager::STATEMENT, Some(self.handle))
    }

    /// Sends a statement that has no parameters; rows that it gives are not looked at.
    ///
    /// # Errors
    /// See [`OdbcConnection::end`].
    pub(super) fn execute(&self, text: &str) -> Result<()> {
        let text = c_text(text)?;
        let handle = self.statement()?;
        let functions = &self.manager.functions;
        // SAFETY: the statement was just made; the text ends with a NUL. A driver may not know the
        // attribute.
        let code = unsafe {
            (functions.SetStmtAttr)(handle, NOSCAN, 1 as Handle, 0);
            (functions.ExecDirect)(handle, text.as_ptr(), NTS)
        };
        let done = if is_success(code) || code == NO_DATA {
            Ok(())
        } else {
            Err(self.error(manager::STATEMENT, handle))
        };
        // SAFETY: the statement is used no more.
        unsafe { (functions.FreeHandle)(manager::STATEMENT, handle) };
        done
    }

    fn check(&self, code: ReturnCode) -> Result<()> {
        if is_success(code) {
            Ok(())
        } else {
            Err(self.error(manager::CONNECTION, self.handle))
        }
    }

    /// Converts the diagnostics of a handle to the contract's error.
    #[cold]
    pub(super) fn error(&self, kind: i16, handle: Handle) -> Error {
        // The second record has the storage engine's own number, if there is one (Informix).
        let [diagnostic, below] =
            [1, 2].map(|record| self.manager.diagnostic(kind, handle, record));
        let is_one_of = |numbers: &[i32]| {
            numbers.contains(&diagnostic.native) || numbers.contains(&below.native)
        };
        let text = match diagnostic.state.as_str() {
            "" | "HY000" => diagnostic.text,
            state => format!("{} (SQLSTATE {state})", diagnostic.text),
        };
        // Class 40 of the standard is a transaction rolled back, for a deadlock among others, of
        // which 40P01 is PostgreSQL's; 55P03 and 53100 are too, for a lock that was not had in time
        // and for a full disk.
        let state = diagnostic.state.as_str();
        if state == "40P01" || is_one_of(self.native_errors.deadlocks) {
            return Error::Deadlock(text);
        }
        if state.starts_with("40") || state == "55P03" || is_one_of(self.native_errors.conflicts) {
            return Error::Conflict(text);
        }
        if state == "53100" || is_one_of(self.native_errors.full) {
            return Error::Full(text);
        }
        common_errors::coded(diagnostic.native, text)
    }
}

impl Drop for OdbcConnection {
    fn drop(&mut self) {
        let functions = &self.manager.functions;
        // SAFETY: the statements of this connection have gone before it. A transaction that is open
        // keeps it from being closed, so it is ended first.
        unsafe {
            (functions.EndTran)(manager::CONNECTION, self.handle, ROLLBACK);
            (functions.Disconnect)(self.handle);
            (functions.FreeHandle)(manager::CONNECTION, self.handle);
        }
    }
}

/// A text for C.
pub(super) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Unsupported("a text with a NUL in it".to_owned()))
}
