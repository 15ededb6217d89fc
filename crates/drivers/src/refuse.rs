//! What every driver refuses in the same words: calls out of turn, levels that it has not.

use std::ffi::c_int;
use std::io::ErrorKind;
use trueput_engine::{Durability, Error};

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

/// A level of durability that `engine` has not.
pub(crate) fn no_durability(engine: &str, durability: Durability) -> Error {
    Error::Unsupported(format!("{engine} has no durability '{durability}'"))
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
