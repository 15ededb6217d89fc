//! Builds of SQLite: the one compiled in, and libraries that a plan names.
//!
//! Each is a table of SQLite's functions, so that one code drives them all.

use crate::library::{self, FileCache, symbols};
use rusqlite::ffi;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use trueput_engine::{Error, Result};

pub(super) const TITLE: &str = "SQLite";

/// The oldest version that has all that the driver asks for: `SQLITE_OPEN_EXRESCODE` came last.
const OLDEST: c_int = 3_037_000;

type ExecCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type BusyHandler = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type Destructor = unsafe extern "C" fn(*mut c_void);

symbols! {
    /// The functions that the driver calls, by SQLite's names.
    Api, linked from ffi {
        sqlite3_libversion: fn() -> *const c_char,
        sqlite3_libversion_number: fn() -> c_int,
        sqlite3_sourceid: fn() -> *const c_char,
        sqlite3_threadsafe: fn() -> c_int,
        sqlite3_compileoption_get: fn(c_int) -> *const c_char,
        sqlite3_limit: fn(*mut ffi::sqlite3, c_int, c_int) -> c_int,
        sqlite3_open_v2: fn(
            *const c_char, *mut *mut ffi::sqlite3, c_int, *const c_char
        ) -> c_int,
        sqlite3_close: fn(*mut ffi::sqlite3) -> c_int,
        sqlite3_errstr: fn(c_int) -> *const c_char,
        sqlite3_errmsg: fn(*mut ffi::sqlite3) -> *const c_char,
        sqlite3_exec: fn(
            *mut ffi::sqlite3,
            *const c_char,
            Option<ExecCallback>,
            *mut c_void,
            *mut *mut c_char
        ) -> c_int,
        sqlite3_get_autocommit: fn(*mut ffi::sqlite3) -> c_int,
        sqlite3_busy_timeout: fn(*mut ffi::sqlite3, c_int) -> c_int,
        sqlite3_busy_handler: fn(*mut ffi::sqlite3, Option<BusyHandler>, *mut c_void) -> c_int,
        sqlite3_db_status: fn(*mut ffi::sqlite3, c_int, *mut c_int, *mut c_int, c_int) -> c_int,
        sqlite3_wal_checkpoint_v2: fn(
            *mut ffi::sqlite3, *const c_char, c_int, *mut c_int, *mut c_int
        ) -> c_int,
        sqlite3_file_control: fn(*mut ffi::sqlite3, *const c_char, c_int, *mut c_void) -> c_int,
        sqlite3_prepare_v3: fn(
            *mut ffi::sqlite3,
            *const c_char,
            c_int,
            c_uint,
            *mut *mut ffi::sqlite3_stmt,
            *mut *const c_char
        ) -> c_int,
        sqlite3_finalize: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_bind_blob: fn(
            *mut ffi::sqlite3_stmt, c_int, *const c_void, c_int, Option<Destructor>
        ) -> c_int,
        sqlite3_bind_text: fn(
            *mut ffi::sqlite3_stmt, c_int, *const c_char, c_int, Option<Destructor>
        ) -> c_int,
        sqlite3_bind_int64: fn(*mut ffi::sqlite3_stmt, c_int, ffi::sqlite3_int64) -> c_int,
        sqlite3_bind_null: fn(*mut ffi::sqlite3_stmt, c_int) -> c_int,
        sqlite3_bind_parameter_count: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_stmt_readonly: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_changes: fn(*mut ffi::sqlite3) -> c_int,
        sqlite3_column_count: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_step: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_reset: fn(*mut ffi::sqlite3_stmt) -> c_int,
        sqlite3_column_blob: fn(*mut ffi::sqlite3_stmt, c_int) -> *const c_void,
        sqlite3_column_bytes: fn(*mut ffi::sqlite3_stmt, c_int) -> c_int,
        sqlite3_column_type: fn(*mut ffi::sqlite3_stmt, c_int) -> c_int,
        sqlite3_column_int64: fn(*mut ffi::sqlite3_stmt, c_int) -> ffi::sqlite3_int64,
        sqlite3_column_text: fn(*mut ffi::sqlite3_stmt, c_int) -> *const c_uchar,
    }
}

/// A build of SQLite: its functions and its version.
pub(super) struct SqliteBuild {
    pub(super) api: Api,
    /// The version's number, date, time and source id.
    pub(super) version: String,
    /// `SQLITE_MAX_LENGTH`: the most that a row may take, bytes; 0 if it cannot say.
    pub(super) max_row_bytes: usize,
    /// The options that it was compiled with, without their `SQLITE_`.
    pub(super) options: Vec<String>,
}

impl SqliteBuild {
    /// The one that is compiled in.
    pub(super) fn linked() -> &'static Self {
        static LINKED: OnceLock<SqliteBuild> = OnceLock::new();
        LINKED.get_or_init(|| Self::of(Api::LINKED))
    }

    /// The one in the library at `path`, which is a full path.
    ///
    /// # Errors
    /// One line: the library's defect, or a function that it lacks.
    pub(super) fn load(path: &Path) -> Result<&'static Self> {
        static LIBRARIES: FileCache<library::Library> = FileCache::new();
        static LOADED: FileCache<SqliteBuild> = FileCache::new();
        LOADED.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, TITLE))?;
            let api = Api::load(library, "")?;
            let build = Self::of(api);
            // SAFETY: both functions only return constants.
            let (number, threads) = unsafe {
                (
                    (api.sqlite3_libversion_number)(),
                    (api.sqlite3_threadsafe)(),
                )
            };
            match missing_feature(number, threads != 0, &build.options) {
                None => Ok(build),
                Some(reason) => {
                    let version = build.version.split(' ').next().unwrap_or_default();
                    let path = path.display();
                    Err(Error::engine(format!(
                        "{path} is {TITLE} {version}, {reason}"
                    )))
                }
            }
        })
    }

    /// Whether its assertions are compiled in: SQLite turns them off unless it is compiled to
    /// debug.
    pub(super) fn has_assertions(&self) -> bool {
        self.options.iter().any(|option| option == "DEBUG")
    }

    fn of(api: Api) -> Self {
        // SAFETY: both return static text that ends in a zero byte.
        let (number, source) = unsafe {
            (
                CStr::from_ptr((api.sqlite3_libversion)()),
                CStr::from_ptr((api.sqlite3_sourceid)()),
            )
        };
        Self {
            api,
            version: format!("{} {}", number.to_string_lossy(), source.to_string_lossy()),
            max_row_bytes: max_row_bytes(&api),
            options: options(&api),
        }
    }
}

/// Returns the features that a build lacks and the driver needs.
fn missing_feature(version: c_int, has_threads: bool, options: &[String]) -> Option<String> {
    const NEEDED: [(&str, &str); 5] = [
        ("OMIT_WAL", "the write-ahead log"),
        ("OMIT_PRAGMA", "PRAGMA statements"),
        ("OMIT_PAGER_PRAGMAS", "PRAGMA statements"),
        ("OMIT_FLAG_PRAGMAS", "PRAGMA statements"),
        ("OMIT_UPSERT", "INSERT ... ON CONFLICT DO UPDATE"),
    ];
    if version < OLDEST {
        return Some("too old: this driver needs 3.37.0 or newer".to_owned());
    }
    if !has_threads {
        let reason = "built for one thread (SQLITE_THREADSAFE=0): this driver needs 1 or 2";
        return Some(reason.to_owned());
    }
    let omitted = |(option, _): &(&str, &str)| options.iter().any(|built| built == option);
    let (option, feature) = NEEDED.into_iter().find(omitted)?;
    Some(format!(
        "built without {feature} (SQLITE_{option}), which this driver needs"
    ))
}

fn options(api: &Api) -> Vec<String> {
    let option = |index| {
        // SAFETY: any index may be asked for; the answer is null or static text that ends in a zero
        // byte.
        unsafe {
            let text = (api.sqlite3_compileoption_get)(index);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    (0..).map_while(option).collect()
}

/// The limit on a row of a connection to no file; 0 if the build makes none.
fn max_row_bytes(api: &Api) -> usize {
    let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_NOMUTEX;
    let mut handle = ptr::null_mut();
    // SAFETY: the name ends in a zero byte, null is the default VFS; the handle is asked only where
    // it was opened, and closed once, which may be done to null.
    let bytes = unsafe {
        let opened =
            (api.sqlite3_open_v2)(c":memory:".as_ptr(), &raw mut handle, flags, ptr::null());
        let bytes = if opened == ffi::SQLITE_OK {
            (api.sqlite3_limit)(handle, ffi::SQLITE_LIMIT_LENGTH, -1)
        } else {
            0
        };
        (api.sqlite3_close)(handle);
        bytes
    };
    usize::try_from(bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(options: &[&str]) -> Vec<String> {
        options.iter().map(|&option| option.to_owned()).collect()
    }

    #[test]
    fn a_build_that_lacks_what_is_needed_says_what() {
        let usual = built(&["ENABLE_FTS5", "THREADSAFE=1"]);
        assert_eq!(missing_feature(3_040_001, true, &usual), None);
        assert!(
            missing_feature(3_036_000, true, &usual)
                .is_some_and(|reason| reason.contains("3.37.0"))
        );
        let single = missing_feature(3_040_001, false, &usual);
        assert!(single.is_some_and(|reason| reason.contains("SQLITE_THREADSAFE=0")));
        let without = missing_feature(3_040_001, true, &built(&["OMIT_WAL"]));
        assert!(without.is_some_and(|reason| reason.contains("write-ahead log (SQLITE_OMIT_WAL)")));
    }

    #[test]
    fn the_build_that_is_compiled_in_lacks_nothing() {
        let build = SqliteBuild::linked();
        assert!(build.options.iter().any(|option| option == "THREADSAFE=1"));
        assert_eq!(missing_feature(OLDEST, true, &build.options), None);
        assert_eq!(build.max_row_bytes, 1_000_000_000);
    }
}
