//! Builds of LMDB: the one compiled in, and libraries that a plan names.
//!
//! Each is a table of LMDB's functions, so that one code drives them all.

use crate::library::{self, FileCache, symbols};
use lmdb_master_sys as ffi;
use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use trueput_engine::{Error, Result};

pub(super) const TITLE: &str = "LMDB";

symbols! {
    /// The functions that the driver calls, by LMDB's names.
    Api, linked from ffi {
        mdb_version: fn(*mut c_int, *mut c_int, *mut c_int) -> *mut c_char,
        mdb_strerror: fn(c_int) -> *mut c_char,
        mdb_env_create: fn(*mut *mut ffi::MDB_env) -> c_int,
        mdb_env_open: fn(*mut ffi::MDB_env, *const c_char, c_uint, ffi::mdb_mode_t) -> c_int,
        mdb_env_stat: fn(*mut ffi::MDB_env, *mut ffi::MDB_stat) -> c_int,
        mdb_env_info: fn(*mut ffi::MDB_env, *mut ffi::MDB_envinfo) -> c_int,
        mdb_env_sync: fn(*mut ffi::MDB_env, c_int) -> c_int,
        mdb_env_close: fn(*mut ffi::MDB_env),
        mdb_env_get_flags: fn(*mut ffi::MDB_env, *mut c_uint) -> c_int,
        mdb_env_set_mapsize: fn(*mut ffi::MDB_env, ffi::mdb_size_t) -> c_int,
        mdb_env_set_maxreaders: fn(*mut ffi::MDB_env, c_uint) -> c_int,
        mdb_env_get_maxkeysize: fn(*mut ffi::MDB_env) -> c_int,
        mdb_reader_check: fn(*mut ffi::MDB_env, *mut c_int) -> c_int,
        mdb_txn_begin: fn(
            *mut ffi::MDB_env, *mut ffi::MDB_txn, c_uint, *mut *mut ffi::MDB_txn
        ) -> c_int,
        mdb_txn_commit: fn(*mut ffi::MDB_txn) -> c_int,
        mdb_txn_abort: fn(*mut ffi::MDB_txn),
        mdb_txn_reset: fn(*mut ffi::MDB_txn),
        mdb_txn_renew: fn(*mut ffi::MDB_txn) -> c_int,
        mdb_dbi_open: fn(*mut ffi::MDB_txn, *const c_char, c_uint, *mut ffi::MDB_dbi) -> c_int,
        mdb_get: fn(
            *mut ffi::MDB_txn, ffi::MDB_dbi, *mut ffi::MDB_val, *mut ffi::MDB_val
        ) -> c_int,
        mdb_put: fn(
            *mut ffi::MDB_txn, ffi::MDB_dbi, *mut ffi::MDB_val, *mut ffi::MDB_val, c_uint
        ) -> c_int,
        mdb_del: fn(
            *mut ffi::MDB_txn, ffi::MDB_dbi, *mut ffi::MDB_val, *mut ffi::MDB_val
        ) -> c_int,
        mdb_cursor_open: fn(*mut ffi::MDB_txn, ffi::MDB_dbi, *mut *mut ffi::MDB_cursor) -> c_int,
        mdb_cursor_close: fn(*mut ffi::MDB_cursor),
        mdb_cursor_renew: fn(*mut ffi::MDB_txn, *mut ffi::MDB_cursor) -> c_int,
        mdb_cursor_get: fn(
            *mut ffi::MDB_cursor, *mut ffi::MDB_val, *mut ffi::MDB_val, ffi::MDB_cursor_op
        ) -> c_int,
    }
}

/// A build of LMDB: its functions, version, key limit and assertions.
pub(super) struct LmdbBuild {
    pub(super) api: Api,
    pub(super) version: String,
    /// The longest key, bytes; 0 if it cannot say.
    pub(super) max_key_bytes: usize,
    /// Whether its assertions are compiled in; `None` if unknown.
    pub(super) assertions: Option<bool>,
}

impl LmdbBuild {
    /// The one that is compiled in.
    pub(super) fn linked() -> &'static Self {
        static LINKED: OnceLock<LmdbBuild> = OnceLock::new();
        LINKED.get_or_init(|| {
            let (major, minor, patch) = version(&Api::LINKED);
            Self {
                api: Api::LINKED,
                version: format!("{major}.{minor}.{patch}"),
                max_key_bytes: max_key_bytes(&Api::LINKED),
                assertions: None,
            }
        })
    }

    /// The one in the library at `path`, which is a full path.
    ///
    /// # Errors
    /// One line: the library's defect, or that its version is not known.
    pub(super) fn load(path: &Path) -> Result<&'static Self> {
        static LIBRARIES: FileCache<library::Library> = FileCache::new();
        static LOADED: FileCache<LmdbBuild> = FileCache::new();
        LOADED.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, TITLE))?;
            let api = Api::load(library, "")?;
            let (major, minor, patch) = version(&api);
            check_version(path, (major, minor, patch))?;
            Ok(Self {
                api,
                version: format!("{major}.{minor}.{patch}"),
                max_key_bytes: max_key_bytes(&api),
                assertions: assertions(path),
            })
        })
    }
}

/// Refuses a version whose structs and constants could differ from those of 0.9, for which the
/// driver was written.
fn check_version(path: &Path, (major, minor, patch): (c_int, c_int, c_int)) -> Result<()> {
    if (major, minor) == (0, 9) {
        return Ok(());
    }
    let path = path.display();
    Err(Error::engine(format!(
        "{path} is {TITLE} {major}.{minor}.{patch}; this driver knows 0.9: name a library of that \
         version"
    )))
}

/// Major, minor and patch number.
fn version(api: &Api) -> (c_int, c_int, c_int) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three numbers live through the call; the text that it returns is not used.
    unsafe { (api.mdb_version)(&raw mut major, &raw mut minor, &raw mut patch) };
    (major, minor, patch)
}

/// The longest key, bytes; 0 if the build cannot say.
fn max_key_bytes(api: &Api) -> usize {
    let mut handle = ptr::null_mut();
    // SAFETY: the handle is used only if it was made, and is closed before it is forgotten. The
    // limit is asked of an environment that need not be open.
    unsafe {
        if (api.mdb_env_create)(&raw mut handle) != ffi::MDB_SUCCESS {
            return 0;
        }
        let bytes = (api.mdb_env_get_maxkeysize)(handle);
        (api.mdb_env_close)(handle);
        usize::try_from(bytes).unwrap_or(0)
    }
}

/// Whether the library has LMDB's assertions. They do not call the C library's `__assert_fail` but
/// LMDB's own function, whose message is in the file exactly where they are compiled in.
fn assertions(path: &Path) -> Option<bool> {
    const MESSAGE: &[u8] = b"Assertion '%.200s' failed in";
    let library = std::fs::read(path).ok()?;
    Some(library.windows(MESSAGE.len()).any(|bytes| bytes == MESSAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_other_than_the_known_one_is_refused_in_one_line() {
        let path = Path::new("/opt/liblmdb.so");
        assert!(check_version(path, (0, 9, 24)).is_ok());
        for other in [(1, 0, 0), (0, 10, 1)] {
            let text = check_version(path, other).unwrap_err().to_string();
            assert!(text.contains("/opt/liblmdb.so is LMDB"), "{text}");
            assert!(text.contains("knows 0.9") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn assertions_are_recognized_by_their_message() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("liblmdb.so");
        let message = "%.100s:%d: Assertion '%.200s' failed in %.40s()";
        std::fs::write(&library, message).unwrap();
        assert_eq!(assertions(&library), Some(true));
        std::fs::write(&library, "Assertions are left out").unwrap();
        assert_eq!(assertions(&library), Some(false));
        assert_eq!(assertions(&folder.path().join("missing")), None);
    }
}
