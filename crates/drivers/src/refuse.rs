//! What every driver refuses in the same words: calls out of turn, levels that it has not.

use std::ffi::c_int;
use std::io::ErrorKind;
use trueput_engine::{Datum, Durability, Error, Result};

/// A begin while a transaction is open.
pub(crate) fn already_open() -> Error {
    Error::Unsupported("a transaction is open already".to_owned())
}

/// Anything but a begin while no transaction is open.
pub(crate) fn no_transaction() -> Error {
    Error::Unsupported("no transaction is open".to_owned())
}

/// A put or delete in a read transaction.
pub(crate) fn write_in_read() -> Error {
    Error::Unsupported("a write in a read transaction".to_owned())
}

/// A statement that the session has not prepared.
pub(crate) fn no_statement() -> Error {
    Error::Unsupported("this session has not prepared that statement".to_owned())
}

/// A parameter that is an array, where `engine` has no such type.
pub(crate) fn no_arrays(engine: &str) -> Error {
    Error::Unsupported(format!("{engine} takes no array as a parameter"))
}

/// Anything but the number of parameters that a statement has.
pub(crate) fn check_parameters(has: usize, given: &[Datum<'_>]) -> Result<()> {
    let given = given.len();
    if has == given {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "the statement has {has} parameters, {given} were given"
    )))
}

/// A level of durability that `engine` has not.
pub(crate) fn no_durability(engine: &str, durability: Durability) -> Error {
    Error::Unsupported(format!(
        "{engine} does not support durability '{durability}'"
    ))
}

/// Whether the operating system's error `code` says that storage is full.
pub(crate) fn is_no_space(code: c_int) -> bool {
    let full = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::FileTooLarge,
    ];
    code > 0 && full.contains(&std::io::Error::from_raw_os_error(code).kind())
}
