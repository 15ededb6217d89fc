//! libmdbx's return codes as the contract's errors.

use super::api::{Api, value};
use std::ffi::{CStr, c_int};
use trueput_engine::{Error, Result, common_errors};

/// Enough for every message of libmdbx.
const TEXT_BYTES: usize = 256;

impl Api {
    /// Converts a code to success or an error.
    #[inline]
    pub(super) fn check(&self, code: c_int) -> Result<()> {
        if code == value::MDBX_SUCCESS {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }

    /// The contract's error for `code`, with libmdbx's own code and words.
    #[cold]
    pub(super) fn error(&self, code: c_int) -> Error {
        let text = self.message(code);
        let explained = |reason: &str| common_errors::coded(code, format!("{text}: {reason}"));
        let limited = |limit: &str| Error::Full(format!("{text} (code {code}){limit}"));
        match code {
            value::MDBX_MAP_FULL => limited("; size_upper is the limit"),
            value::MDBX_READERS_FULL => limited("; max_readers is the limit"),
            value::MDBX_TXN_FULL => limited(""),
            value::MDBX_BAD_VALSIZE => Error::Unsupported(format!("{text} (code {code})")),
            value::MDBX_BUSY => {
                Error::Conflict("another session of this thread has the write transaction".into())
            }
            value::MDBX_UNABLE_EXTEND_MAPSIZE => explained(
                "another process opened this database with another size_upper; every process must \
                 use the same",
            ),
            value::MDBX_INCOMPATIBLE => explained(
                "another process has this database open with other flags: the same durability and \
                 knobs are needed",
            ),
            value::MDBX_VERSION_MISMATCH | value::MDBX_INVALID => {
                explained("another engine, or another version of it, made this database")
            }
            _ => common_errors::of_code(code, text),
        }
    }

    fn message(&self, code: c_int) -> String {
        let mut buffer = [0; TEXT_BYTES];
        // SAFETY: libmdbx writes no more than the buffer's size, which it gets, and returns text
        // that ends in a zero byte: there, or a static one.
        let text = unsafe { (self.strerror_r)(code, buffer.as_mut_ptr(), TEXT_BYTES) };
        if text.is_null() {
            return format!("libmdbx error {code}");
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }
}
