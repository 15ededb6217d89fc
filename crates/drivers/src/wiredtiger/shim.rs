//! WiredTiger's functions: three of its library, the rest through `shim/wiredtiger.c`.

use super::{INSTALL, TITLE};
use crate::library::{self, FileCache, Library, LibrarySearch, symbols};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use trueput_engine::{Error, Result, common_errors};

/// A pointer of the shim's: a `database` or a `session` there.
pub(super) type Handle = *mut c_void;
/// Of the type that `wiredtiger_open` has; the shim calls it.
type OpenFunction = *const c_void;
pub(super) type NumberVisitor = unsafe extern "C" fn(*mut c_void, *const c_char, i64);
pub(super) type TextVisitor = unsafe extern "C" fn(*mut c_void, *const c_char);

/// `wiredtiger.h`: the code of a search that finds no record.
pub(super) const NOT_FOUND: c_int = -31803;
/// `wiredtiger.h`: another transaction was in the way.
const ROLLBACK: c_int = -31800;
/// `wiredtiger.h`: the engine has given up.
const PANIC: c_int = -31804;
/// `wiredtiger.h`: the cache is full, and has nowhere to go.
const CACHE_FULL: c_int = -31807;

/// `INTERFACE` in the shim.
const INTERFACE: c_int = 3;

symbols! {
    /// The functions that the library itself exports.
    ExportedFunctions {
        open: fn(),
        strerror: fn(c_int) -> *const c_char,
        version: fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char,
    }
}

symbols! {
    /// The functions that take the shim: they are called through the handles.
    ShimFunctions {
        interface: fn() -> c_int,
        header: fn(*mut c_int, *mut c_int, *mut c_int),
        message: fn(*mut c_char, usize),
        open: fn(OpenFunction, *const c_char, *const c_char, *mut Handle) -> c_int,
        close: fn(Handle) -> c_int,
        no_space: fn(Handle) -> c_int,
        create: fn(Handle, *const c_char, *const c_char) -> c_int,
        checkpoint: fn(Handle, c_int) -> c_int,
        compact: fn(Handle, *const c_char) -> c_int,
        verify: fn(Handle, *const c_char) -> c_int,
        statistics: fn(Handle, NumberVisitor, *mut c_void) -> c_int,
        metadata: fn(Handle, *const c_char, TextVisitor, *mut c_void) -> c_int,
        session_open: fn(Handle, *const c_char, *const c_char, *mut Handle) -> c_int,
        session_close: fn(Handle),
        begin: fn(Handle) -> c_int,
        commit: fn(Handle) -> c_int,
        rollback: fn(Handle) -> c_int,
        get: fn(Handle, *const u8, usize, *mut *const u8, *mut usize) -> c_int,
        put: fn(Handle, *const u8, usize, *const u8, usize) -> c_int,
        remove: fn(Handle, *const u8, usize) -> c_int,
        seek: fn(Handle, *const u8, usize, *mut c_int) -> c_int,
        next: fn(Handle) -> c_int,
        previous: fn(Handle) -> c_int,
        record: fn(Handle, *mut *const u8, *mut usize, *mut *const u8, *mut usize) -> c_int,
        reset: fn(Handle) -> c_int,
    }
}

/// The shims that the installer compiled, each in `wiredtiger-shim-VERSION`.
const SHIMS: LibrarySearch = LibrarySearch::new(&["wiredtiger-shim"], "libtrueput_wiredtiger.so");

/// The functions of one library.
pub(super) struct WiredTigerApi {
    exported: ExportedFunctions,
    /// Whether the library was built with WiredTiger's own checks (`HAVE_DIAGNOSTIC`).
    pub(super) is_diagnostic: bool,
    pub(super) shim: ShimFunctions,
}

impl WiredTigerApi {
    /// Takes it from the library at `path` and the shim for its version, once.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        static LIBRARIES: FileCache<Library> = FileCache::new();
        static APIS: FileCache<WiredTigerApi> = FileCache::new();
        APIS.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, TITLE))?;
            let exported = ExportedFunctions::load(library, "wiredtiger_")?;
            let shim = shim_for(path, version(&exported))?;
            // SAFETY: it is not called. `bt_debug.c` is compiled into diagnostic builds only.
            let debug = unsafe { library.symbol::<unsafe extern "C" fn()>("__wt_debug_addr") };
            Ok(Self {
                exported,
                is_diagnostic: debug.is_ok(),
                shim,
            })
        })
    }

    /// The version that the library reports, as `11.3.1`.
    pub(super) fn version(&self) -> String {
        format_version(version(&self.exported))
    }

    /// `wiredtiger_open`, for the shim.
    pub(super) fn open_function(&self) -> OpenFunction {
        self.exported.open as OpenFunction
    }

    /// The contract's error for a code that is not 0, with the engine's own words.
    #[cold]
    pub(super) fn error(&self, code: c_int) -> Error {
        let mut message = [0_u8; 512];
        // SAFETY: the shim ends the message with a zero byte within the buffer; the text for a code
        // is static or of this thread's, and is copied before anything else runs.
        let (message, text) = unsafe {
            (self.shim.message)(message.as_mut_ptr().cast(), message.len());
            let text = CStr::from_ptr((self.exported.strerror)(code));
            let message = CStr::from_bytes_until_nul(&message).unwrap_or_default();
            (message.to_string_lossy(), text.to_string_lossy())
        };
        // A message begins with the time, the process and the thread in brackets.
        let message = message
            .split_once("], ")
            .map_or(&*message, |(_, rest)| rest);
        let text = if message.is_empty() {
            text.into_owned()
        } else {
            format!("{text}: {message}")
        };
        match code {
            ROLLBACK => Error::Conflict(text),
            CACHE_FULL => Error::Full(format!("{text} (code {code}); cache_size is the limit")),
            _ => common_errors::of_code(code, text),
        }
    }

    /// Like [`WiredTigerApi::error`], for an open database: after a full disk the engine's code
    /// says only that it has panicked.
    #[cold]
    pub(super) fn error_of(&self, database: Handle, code: c_int) -> Error {
        // SAFETY: the database is open.
        let is_full = code == PANIC && unsafe { (self.shim.no_space)(database) } != 0;
        match self.error(code) {
            Error::Engine { code, text } if is_full => {
                Error::Full(format!("{text} (code {code}): no space left on the disk"))
            }
            error => error,
        }
    }
}

fn format_version([major, minor, patch]: [c_int; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}

fn version(exported: &ExportedFunctions) -> [c_int; 3] {
    let mut numbers = [0; 3];
    let [major, minor, patch] = &mut numbers;
    // SAFETY: the three can be written; the text that is returned is not looked at.
    unsafe { (exported.version)(major, minor, patch) };
    numbers
}

/// Returns the error if there is no shim at all.
pub(super) fn missing(library: &Path) -> Option<Error> {
    let is_beside = library.with_file_name(SHIMS.system).is_file();
    (!is_beside && SHIMS.run().is_empty()).then(|| {
        let system = SHIMS.system;
        Error::engine(format!(
            "no shim for WiredTiger ({system}); `{INSTALL}` compiles it"
        ))
    })
}

/// The shim for a library of that version, from the library's folder or from the installer: the
/// layout of the handles differs between versions.
fn shim_for(library: &Path, wanted: [c_int; 3]) -> Result<ShimFunctions> {
    static LOADED: FileCache<Library> = FileCache::new();
    let beside = Some(library.with_file_name(SHIMS.system)).filter(|path| path.is_file());
    let candidates: Vec<PathBuf> = beside.into_iter().chain(SHIMS.run()).collect();
    for path in candidates {
        let from = LOADED.get(&path, |path| library::load(path, "shim for WiredTiger"))?;
        // One of an older interface may lack functions.
        let Ok(shim) = ShimFunctions::load(from, "trueput_wt_") else {
            continue;
        };
        let mut compiled_for = [0; 3];
        let [major, minor, patch] = &mut compiled_for;
        // SAFETY: the three can be written.
        let interface = unsafe {
            (shim.header)(major, minor, patch);
            (shim.interface)()
        };
        if (compiled_for, interface) == (wanted, INTERFACE) {
            return Ok(shim);
        }
    }
    let (library, wanted, shim) = (library.display(), format_version(wanted), SHIMS.system);
    Err(Error::missing(format!(
        "{library} is {TITLE} {wanted}, and there is no current {shim} for it: `{INSTALL}` \
         compiles those for the versions that it installs, docs/ENGINES.md says how for others"
    )))
}
