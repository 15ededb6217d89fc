//! Errors that several drivers report in the same words, and checks that return them.

use crate::{Datum, Error, Mode, Result};
use std::ffi::c_int;
use std::io::ErrorKind;

/// The error for a begin while a transaction is open.
#[cold]
pub fn already_open() -> Error {
    Error::Unsupported("a transaction is open already".to_owned())
}

/// The error for anything but a begin while no transaction is open.
#[cold]
pub fn no_transaction() -> Error {
    Error::Unsupported("no transaction is open".to_owned())
}

/// The error for a put or delete in a read transaction.
#[cold]
pub fn write_in_read() -> Error {
    Error::Unsupported("a write in a read transaction".to_owned())
}

/// Refuses a call that needs that no transaction is open.
#[inline]
pub fn require_closed(open: Option<Mode>) -> Result<()> {
    match open {
        None => Ok(()),
        Some(_) => Err(already_open()),
    }
}

/// Refuses a call that needs an open transaction; returns the mode of the one that is open.
#[inline]
pub fn require_open(open: Option<Mode>) -> Result<Mode> {
    open.ok_or_else(no_transaction)
}

/// Refuses a call that needs an open write transaction.
#[inline]
pub fn require_write(open: Option<Mode>) -> Result<()> {
    match open {
        Some(Mode::Write) => Ok(()),
        Some(Mode::Read) => Err(write_in_read()),
        None => Err(no_transaction()),
    }
}

/// The error for a statement that the session has not prepared.
pub fn no_statement() -> Error {
    Error::Unsupported("this session has not prepared that statement".to_owned())
}

/// The error for an array parameter to an engine that has no array type.
pub fn no_arrays(engine: &str) -> Error {
    Error::Unsupported(format!("{engine} takes no array as a parameter"))
}

/// Refuses another number of parameters than a statement has.
pub fn check_parameters(has: usize, given: &[Datum<'_>]) -> Result<()> {
    let given = given.len();
    if has == given {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "the statement has {has} parameters, {given} were given"
    )))
}

/// Whether the operating system's error `code` says that storage is full.
fn is_no_space(code: c_int) -> bool {
    let full = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::FileTooLarge,
    ];
    code > 0 && full.contains(&std::io::Error::from_raw_os_error(code).kind())
}

/// The engine's own error.
pub fn coded(code: impl Into<i64>, text: impl Into<String>) -> Error {
    Error::Engine {
        code: code.into(),
        text: text.into(),
    }
}

/// The error for a code of an engine that passes the operating system's codes on: storage is full,
/// or the engine's own.
pub fn of_code(code: c_int, text: String) -> Error {
    if is_no_space(code) {
        Error::Full(format!("{text} (code {code})"))
    } else {
        coded(code, text)
    }
}

/// The longest keys and values of an engine, bytes.
#[derive(Debug, Clone, Copy)]
pub struct LengthLimits {
    /// Of a key.
    pub key_bytes: usize,
    /// Of a value.
    pub value_bytes: usize,
}

impl LengthLimits {
    /// These limits.
    #[must_use]
    pub const fn new(key_bytes: usize, value_bytes: usize) -> Self {
        Self {
            key_bytes,
            value_bytes,
        }
    }

    /// Refuses a record that is longer.
    #[inline]
    pub fn check(self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() <= self.key_bytes && value.len() <= self.value_bytes {
            Ok(())
        } else {
            Err(self.refuse(key.len(), value.len()))
        }
    }

    #[cold]
    fn refuse(self, key_bytes: usize, value_bytes: usize) -> Error {
        Error::Unsupported(format!(
            "a key of {key_bytes} bytes with a value of {value_bytes}; the most are {} and {}",
            self.key_bytes, self.value_bytes
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_one_byte_too_long_is_refused() {
        let limits = LengthLimits::new(2, 3);
        assert!(limits.check(b"kk", b"vvv").is_ok());
        assert!(limits.check(b"kkk", b"").is_err() && limits.check(b"", b"vvvv").is_err());
    }
}
