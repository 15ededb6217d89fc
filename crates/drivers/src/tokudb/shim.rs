//! TokuDB's functions: those of Berkeley DB's API, and two that only the shim `shim/tokudb.c` has.

use crate::berkeleydb::shim::{BerkeleyApi, Handle, LibraryKind};
use crate::library::{FileCache, LibrarySearch, symbols};
use std::ffi::{c_char, c_int};
use std::path::Path;
use trueput_engine::Result;

/// TokuDB as a library of Berkeley DB's API.
pub(super) static TOKUDB: LibraryKind = LibraryKind {
    title: super::TITLE,
    shims: LibrarySearch::new(&["tokudb-shim"], "libtrueput_tokudb.so"),
    prefix: "trueput_tokudb_",
    transaction_limit_knob: "lock_memory",
    // TokuDB's error text has only the number of DB_LOCK_DEADLOCK.
    deadlock: "code: -30995",
    installed_by: super::INSTALL,
    libraries: FileCache::new(),
};

/// The settings of an environment: `struct trueput_tokudb_settings`.
#[repr(C)]
pub(super) struct TokuSettings {
    pub(super) cache_bytes: u64,
    pub(super) lock_bytes: u64,
    /// 0: never.
    pub(super) checkpoint_period_s: u32,
    /// 0: never.
    pub(super) fsync_log_period_ms: u32,
    pub(super) lock_timeout_ms: u32,
    /// 1: a commit does not flush the log.
    pub(super) is_nosync: u32,
}

/// The layout of a new dictionary: `struct trueput_tokudb_layout`.
#[repr(C)]
pub(super) struct DictionaryLayout {
    pub(super) node_bytes: u32,
    pub(super) basement_bytes: u32,
    pub(super) fanout: u32,
    /// `toku_compression_method`.
    pub(super) compression: u32,
}

symbols! {
    /// The functions that only TokuDB has.
    TokuFunctions {
        env_open: fn(Handle, *const c_char, *const TokuSettings) -> c_int,
        open: fn(Handle, *const c_char, *const DictionaryLayout) -> c_int,
    }
}

/// The functions of one library.
pub(super) struct TokuLibrary {
    pub(super) api: BerkeleyApi,
    pub(super) own: TokuFunctions,
}

impl TokuLibrary {
    /// Loads the library at `path` and the shim for its version; cached per path.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        // `TOKUDB.libraries` caches the loaded file, this the functions found in it and its shim.
        static LIBRARIES_WITH_SHIMS: FileCache<TokuLibrary> = FileCache::new();
        LIBRARIES_WITH_SHIMS.get(path, |path| {
            let (api, shim) = BerkeleyApi::load(path, &TOKUDB)?;
            let own = TokuFunctions::load(shim, TOKUDB.prefix)?;
            Ok(Self { api, own })
        })
    }
}
