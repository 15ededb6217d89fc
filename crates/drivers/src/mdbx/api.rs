//! libmdbx's functions, as a library has them, and the types of its C header that they take.

use crate::library::{self, FileCache, symbols};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use trueput_engine::{Error, Result};

pub(super) const TITLE: &str = "libmdbx";

/// `MDBX_LOG_FATAL`: libmdbx writes only fatal errors to standard error. Other errors are returned
/// as codes.
const LOG_FATAL: c_int = 0;

/// An environment of libmdbx.
#[repr(C)]
pub(crate) struct Env {
    _opaque: [u8; 0],
}

/// A transaction of libmdbx.
#[repr(C)]
pub(crate) struct Txn {
    _opaque: [u8; 0],
}

/// A cursor of libmdbx.
#[repr(C)]
pub(crate) struct RawCursor {
    _opaque: [u8; 0],
}

/// A table's handle.
pub(super) type Dbi = u32;

/// `MDBX_val`, which is `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Val {
    pub(super) base: *mut c_void,
    pub(super) bytes: usize,
}

/// `MDBX_stat`.
#[repr(C)]
pub(super) struct Stat {
    pub(super) page_bytes: u32,
    pub(super) depth: u32,
    pub(super) branch_pages: u64,
    pub(super) leaf_pages: u64,
    pub(super) overflow_pages: u64,
    pub(super) entries: u64,
    pub(super) mod_txnid: u64,
}

/// `mi_geo` of `MDBX_envinfo`, bytes.
#[repr(C)]
pub(super) struct Geometry {
    pub(super) lower: u64,
    pub(super) upper: u64,
    pub(super) current: u64,
    pub(super) shrink: u64,
    pub(super) grow: u64,
}

/// `mi_pgop_stat` of `MDBX_envinfo`: counts since the first process opened the database.
#[repr(C)]
pub(super) struct PageOperations {
    pub(super) newly: u64,
    pub(super) cow: u64,
    pub(super) clone: u64,
    pub(super) split: u64,
    pub(super) merge: u64,
    pub(super) spill: u64,
    pub(super) unspill: u64,
    pub(super) wops: u64,
    pub(super) prefault: u64,
    pub(super) mincore: u64,
    pub(super) msync: u64,
    pub(super) fsync: u64,
}

/// `MDBX_envinfo`.
#[repr(C)]
pub(super) struct EnvInfo {
    pub(super) geometry: Geometry,
    pub(super) map_bytes: u64,
    pub(super) file_bytes: u64,
    pub(super) file_allocated_bytes: u64,
    pub(super) last_page: u64,
    pub(super) recent_txnid: u64,
    pub(super) latter_reader_txnid: u64,
    pub(super) self_latter_reader_txnid: u64,
    pub(super) meta_txnid: [u64; 3],
    pub(super) meta_sign: [u64; 3],
    pub(super) max_readers: u32,
    pub(super) readers: u32,
    pub(super) page_bytes: u32,
    pub(super) system_page_bytes: u32,
    pub(super) system_cache_block_bytes: u32,
    pub(super) system_io_block_bytes: u32,
    /// Of this boot of the machine; zeros if libmdbx cannot determine it.
    pub(super) boot_id: [u64; 2],
    pub(super) meta_boot_ids: [[u64; 2]; 3],
    pub(super) unsynced_bytes: u64,
    pub(super) sync_bytes: u64,
    pub(super) since_sync: u32,
    pub(super) sync_period: u32,
    pub(super) since_reader_check: u32,
    pub(super) mode: u32,
    pub(super) pages: PageOperations,
    pub(super) file_id: [u64; 2],
}

/// The start of `mdbx_version`.
#[repr(C)]
struct VersionInfo {
    major: u16,
    minor: u16,
    patch: u16,
    tweak: u16,
}

/// `mdbx_build`.
#[repr(C)]
struct BuildInfo {
    datetime: *const c_char,
    target: *const c_char,
    options: *const c_char,
    compiler: *const c_char,
    flags: *const c_char,
    metadata: *const c_char,
}

/// The values of the header's enumerations that the driver uses, by their own names.
pub(super) mod value {
    use std::ffi::{c_int, c_uint};

    pub(crate) const MDBX_SUCCESS: c_int = 0;
    pub(crate) const MDBX_RESULT_TRUE: c_int = -1;
    pub(crate) const MDBX_KEYEXIST: c_int = -30799;
    pub(crate) const MDBX_NOTFOUND: c_int = -30798;
    pub(crate) const MDBX_VERSION_MISMATCH: c_int = -30794;
    pub(crate) const MDBX_INVALID: c_int = -30793;
    pub(crate) const MDBX_MAP_FULL: c_int = -30792;
    pub(crate) const MDBX_READERS_FULL: c_int = -30790;
    pub(crate) const MDBX_TXN_FULL: c_int = -30788;
    pub(crate) const MDBX_UNABLE_EXTEND_MAPSIZE: c_int = -30785;
    pub(crate) const MDBX_INCOMPATIBLE: c_int = -30784;
    pub(crate) const MDBX_BAD_VALSIZE: c_int = -30781;
    pub(crate) const MDBX_BUSY: c_int = -30778;

    pub(crate) const MDBX_SAFE_NOSYNC: c_uint = 0x1_0000;
    pub(crate) const MDBX_RDONLY: c_uint = 0x2_0000;
    pub(crate) const MDBX_NOMETASYNC: c_uint = 0x4_0000;
    pub(crate) const MDBX_WRITEMAP: c_uint = 0x8_0000;
    pub(crate) const MDBX_UTTERLY_NOSYNC: c_uint = MDBX_SAFE_NOSYNC | 0x10_0000;
    pub(crate) const MDBX_NOSTICKYTHREADS: c_uint = 0x20_0000;
    pub(crate) const MDBX_NORDAHEAD: c_uint = 0x80_0000;
    pub(crate) const MDBX_NOMEMINIT: c_uint = 0x100_0000;
    pub(crate) const MDBX_LIFORECLAIM: c_uint = 0x400_0000;
    pub(crate) const MDBX_TXN_RDONLY: c_uint = MDBX_RDONLY;
    pub(crate) const MDBX_NOOVERWRITE: c_uint = 0x10;
    pub(crate) const MDBX_APPEND: c_uint = 0x2_0000;

    pub(crate) const MDBX_OPT_MAX_READERS: c_uint = 1;
    pub(crate) const MDBX_OPT_SYNC_BYTES: c_uint = 2;
    pub(crate) const MDBX_OPT_SYNC_PERIOD: c_uint = 3;
    pub(crate) const MDBX_OPT_WRITETHROUGH_THRESHOLD: c_uint = 13;

    pub(crate) const MDBX_FIRST: c_uint = 0;
    pub(crate) const MDBX_LAST: c_uint = 6;
    pub(crate) const MDBX_NEXT: c_uint = 8;
    pub(crate) const MDBX_PREV: c_uint = 12;
    pub(crate) const MDBX_SET_RANGE: c_uint = 17;
    pub(crate) const MDBX_TO_KEY_LESSER_THAN: c_uint = 21;
    pub(crate) const MDBX_TO_KEY_LESSER_OR_EQUAL: c_uint = 22;
    pub(crate) const MDBX_TO_KEY_GREATER_THAN: c_uint = 25;
}

symbols! {
    /// The functions that the driver calls, by libmdbx's names without `mdbx_`.
    Api {
        setup_debug: fn(c_int, c_int, isize) -> c_int,
        strerror_r: fn(c_int, *mut c_char, usize) -> *const c_char,
        env_create: fn(*mut *mut Env) -> c_int,
        env_open: fn(*mut Env, *const c_char, c_uint, u32) -> c_int,
        env_close_ex: fn(*mut Env, bool) -> c_int,
        env_set_geometry: fn(*mut Env, isize, isize, isize, isize, isize, isize) -> c_int,
        env_set_option: fn(*mut Env, c_uint, u64) -> c_int,
        env_get_option: fn(*const Env, c_uint, *mut u64) -> c_int,
        env_get_flags: fn(*const Env, *mut c_uint) -> c_int,
        env_get_maxkeysize_ex: fn(*const Env, c_uint) -> c_int,
        env_info_ex: fn(*const Env, *const Txn, *mut EnvInfo, usize) -> c_int,
        env_sync_ex: fn(*mut Env, bool, bool) -> c_int,
        reader_check: fn(*mut Env, *mut c_int) -> c_int,
        txn_begin_ex: fn(*mut Env, *mut Txn, c_uint, *mut *mut Txn, *mut c_void) -> c_int,
        txn_commit_ex: fn(*mut Txn, *mut c_void) -> c_int,
        txn_abort: fn(*mut Txn) -> c_int,
        txn_reset: fn(*mut Txn) -> c_int,
        txn_renew: fn(*mut Txn) -> c_int,
        dbi_open: fn(*mut Txn, *const c_char, c_uint, *mut Dbi) -> c_int,
        dbi_stat: fn(*const Txn, Dbi, *mut Stat, usize) -> c_int,
        get: fn(*const Txn, Dbi, *const Val, *mut Val) -> c_int,
        put: fn(*mut Txn, Dbi, *const Val, *mut Val, c_uint) -> c_int,
        del: fn(*mut Txn, Dbi, *const Val, *const Val) -> c_int,
        cursor_open: fn(*mut Txn, Dbi, *mut *mut RawCursor) -> c_int,
        cursor_renew: fn(*mut Txn, *mut RawCursor) -> c_int,
        cursor_close: fn(*mut RawCursor),
        cursor_get: fn(*mut RawCursor, *mut Val, *mut Val, c_uint) -> c_int,
    }
}

/// A build of libmdbx: its functions and its version.
pub(super) struct MdbxBuild {
    pub(super) api: Api,
    pub(super) version: String,
    /// The options that it was compiled with, as it lists them.
    pub(super) options: String,
}

impl MdbxBuild {
    /// The one in the library at `path`.
    ///
    /// # Errors
    /// One line: the library's defect, or that its version is not known.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        static LIBRARIES: FileCache<library::Library> = FileCache::new();
        static LOADED: FileCache<MdbxBuild> = FileCache::new();
        LOADED.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, TITLE))?;
            // SAFETY: both are objects of these types in the header, whose text ends in zero bytes;
            // every version has them, and one that lays them out otherwise begins with a number
            // that is refused before the text is looked at. The library is never unloaded.
            let (version, options) = unsafe {
                let version: *const VersionInfo = library.symbol("mdbx_version")?;
                let build: *const BuildInfo = library.symbol("mdbx_build")?;
                (
                    check_version(path, &*version)?,
                    CStr::from_ptr((*build).options),
                )
            };
            let api = Api::load(library, "mdbx_")?;
            // SAFETY: -1 leaves the flags and the logger as they are.
            unsafe { (api.setup_debug)(LOG_FATAL, -1, -1) };
            Ok(Self {
                api,
                version,
                options: options.to_string_lossy().trim().to_owned(),
            })
        })
    }

    /// Whether its assertions are compiled in.
    pub(super) fn has_assertions(&self) -> bool {
        has_assertions(&self.options)
    }
}

/// libmdbx lists `DEBUG` and `CHECKING` with their levels: 0 and below leave assertions out.
fn has_assertions(options: &str) -> bool {
    options.split_whitespace().any(|option| {
        let level = option
            .strip_prefix("DEBUG=")
            .or_else(|| option.strip_prefix("CHECKING="));
        level.is_some_and(|level| level.parse().is_ok_and(|level: i32| level > 0))
    })
}

/// Returns the version as text; refuses one whose structs and constants could differ from those of
/// 0.14, for which the driver was written.
fn check_version(path: &Path, version: &VersionInfo) -> Result<String> {
    let (major, minor, patch) = (version.major, version.minor, version.patch);
    if (major, minor) == (0, 14) {
        return Ok(match version.tweak {
            0 => format!("{major}.{minor}.{patch}"),
            tweak => format!("{major}.{minor}.{patch}.{tweak}"),
        });
    }
    let path = path.display();
    Err(Error::engine(format!(
        "{path} is another version of {TITLE} than 0.14, which this driver knows: name a library \
         of that version"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(major: u16, minor: u16, tweak: u16) -> VersionInfo {
        let patch = 4;
        VersionInfo {
            major,
            minor,
            patch,
            tweak,
        }
    }

    #[test]
    fn a_version_other_than_the_known_one_is_refused_in_one_line() {
        let path = Path::new("/opt/libmdbx.so");
        assert_eq!(check_version(path, &version(0, 14, 0)).unwrap(), "0.14.4");
        assert_eq!(check_version(path, &version(0, 14, 7)).unwrap(), "0.14.4.7");
        for other in [(0, 13), (0, 15), (1, 14)] {
            let refused = check_version(path, &version(other.0, other.1, 0));
            let text = refused.unwrap_err().to_string();
            assert!(
                text.contains("/opt/libmdbx.so is another version"),
                "{text}"
            );
            assert!(text.contains("0.14") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn assertions_are_recognized_by_the_options_that_it_lists() {
        assert!(!has_assertions("DEBUG=0 CHECKING=0 WORDBITS=64"));
        assert!(has_assertions("DEBUG=2 CHECKING=0"));
        assert!(has_assertions("DEBUG=0 CHECKING=1"));
    }

    #[test]
    fn the_structs_are_as_large_as_the_headers() {
        assert_eq!(size_of::<EnvInfo>(), 376);
        assert_eq!(size_of::<Stat>(), 48);
    }
}
