//! LMDB's return codes as the contract's errors.

use super::build::Api;
use lmdb_master_sys as ffi;
use std::ffi::{CStr, c_int};
use std::io::ErrorKind;
use trueput_engine::{Error, Result, common_errors};

/// Whether another process was opening or closing the database at the same moment.
pub(super) fn is_opening_race(code: c_int) -> bool {
    code > 0 && std::io::Error::from_raw_os_error(code).kind() == ErrorKind::WouldBlock
}

impl Api {
    /// Converts a code to success or an error.
    #[inline]
    pub(super) fn check(&self, code: c_int) -> Result<()> {
        if code == ffi::MDB_SUCCESS {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }

    /// The contract's error for `code`, with LMDB's own code and words.
    #[cold]
    pub(super) fn error(&self, code: c_int) -> Error {
        // SAFETY: mdb_strerror accepts every code and returns text that ends in a zero byte: a
        // static one for its own codes, strerror's otherwise, which is copied before anything else
        // runs.
        let text = unsafe { CStr::from_ptr((self.mdb_strerror)(code)) }
            .to_string_lossy()
            .into_owned();
        let explained = |reason: &str| common_errors::coded(code, format!("{text}: {reason}"));
        match code {
            ffi::MDB_MAP_FULL => {
                Error::Full(format!("{text} (code {code}); map_size is the limit"))
            }
            ffi::MDB_READERS_FULL => {
                Error::Full(format!("{text} (code {code}); max_readers is the limit"))
            }
            ffi::MDB_TXN_FULL => Error::Full(format!("{text} (code {code})")),
            ffi::MDB_BAD_VALSIZE => Error::Unsupported(format!("{text} (code {code})")),
            ffi::MDB_MAP_RESIZED => explained(
                "another process opened this database with a larger map_size; every process must \
                 use the same",
            ),
            ffi::MDB_VERSION_MISMATCH => explained(
                "another build of LMDB made this database or has it open, and lays its files out \
                 otherwise",
            ),
            _ => common_errors::of_code(code, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: c_int) -> Error {
        Api::LINKED.error(code)
    }

    #[test]
    fn limits_are_full_and_name_the_knob() {
        assert!(matches!(error(ffi::MDB_MAP_FULL), Error::Full(text) if text.contains("map_size")));
        let readers = error(ffi::MDB_READERS_FULL);
        assert!(matches!(readers, Error::Full(text) if text.contains("max_readers")));
        let disk = std::io::Error::from(ErrorKind::StorageFull)
            .raw_os_error()
            .unwrap_or(28);
        assert!(matches!(error(disk), Error::Full(_)));
    }

    #[test]
    fn other_codes_keep_their_number_and_words() {
        let Error::Engine { code, text } = error(ffi::MDB_CORRUPTED) else {
            unreachable!("a corrupted page is the engine's error")
        };
        assert_eq!(code, i64::from(ffi::MDB_CORRUPTED));
        assert!(text.contains("MDB_CORRUPTED"), "{text}");
    }

    #[test]
    fn a_map_that_another_process_grew_is_explained() {
        assert!(error(ffi::MDB_MAP_RESIZED).to_string().contains("map_size"));
    }

    #[test]
    fn another_builds_files_are_explained() {
        let text = error(ffi::MDB_VERSION_MISMATCH).to_string();
        assert!(text.contains("MDB_VERSION_MISMATCH"), "{text}");
        assert!(text.contains("another build of LMDB"), "{text}");
    }
}
