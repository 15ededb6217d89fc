//! Berkeley DB's functions: four of its library, the rest through `shim/berkeleydb.c`.

use crate::library::{self, FileCache, Library, LibrarySearch, symbols};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use trueput_engine::{Error, Result, Value, common_errors};

/// A handle of Berkeley DB's: `DB_ENV *`, `DB *`, `DB_TXN *` or `DBC *`.
pub(crate) type Handle = *mut c_void;

/// The settings of an environment: `struct trueput_bdb_settings`.
#[repr(C)]
pub(crate) struct BerkeleySettings {
    pub(crate) cache_bytes: u64,
    pub(crate) log_buffer_bytes: u32,
    /// 0: the library's default.
    pub(crate) log_file_bytes: u32,
    pub(crate) max_transactions: u32,
    pub(crate) max_locks: u32,
    /// Index into the shim's `POLICIES`.
    pub(crate) deadlock_policy: u32,
    pub(crate) level: LogFlush,
    pub(crate) log_auto_remove: u32,
    /// Null: in the folder of the data.
    pub(crate) log_directory: *const c_char,
}

/// The flush of the log at a commit: `enum level`.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFlush {
    Sync,
    WriteNosync,
    Nosync,
    LogInMemory,
    NotDurable,
}

/// A move of a cursor: an index into the shim's `MOVES`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorMove {
    First,
    Last,
    Next,
    Previous,
    /// To the first key that is the one given or above.
    Seek,
}

/// The class of a code: `enum class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeClass {
    Absent,
    BufferSmall,
    /// An error.
    Other,
}

const ABSENT: c_int = 1;
const CONFLICT: c_int = 2;
const NO_ROOM: c_int = 3;
const BUFFER_SMALL: c_int = 4;
const NEEDS_RECOVERY: c_int = 5;

/// Memory that receives a key or value: `struct trueput_bdb_buffer`.
#[repr(C)]
pub(crate) struct RawBuffer {
    pub(crate) data: *mut u8,
    pub(crate) capacity: u32,
    pub(crate) size: u32,
}

/// A callback that receives a name and a number.
pub(crate) type NumberVisitor = unsafe extern "C" fn(*mut c_void, *const c_char, u64);

symbols! {
    /// The functions that the library itself exports.
    ExportedFunctions {
        env_create: fn(*mut Handle, u32) -> c_int,
        create: fn(*mut Handle, Handle, u32) -> c_int,
        strerror: fn(c_int) -> *const c_char,
        version: fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char,
    }
}

symbols! {
    /// The functions that take the shim: they are called through the handles, and are the same in
    /// every library with this API.
    ShimFunctions {
        header_version: fn(*mut c_int, *mut c_int),
        take_message: fn() -> *const c_char,
        class: fn(c_int) -> c_int,
        env_close: fn(Handle) -> c_int,
        checkpoint: fn(Handle, u32) -> c_int,
        close: fn(Handle) -> c_int,
        begin: fn(Handle, *mut Handle, c_int) -> c_int,
        commit: fn(Handle) -> c_int,
        abort: fn(Handle) -> c_int,
        get: fn(Handle, Handle, *const u8, u32, *mut RawBuffer, c_int) -> c_int,
        put: fn(Handle, Handle, *const u8, u32, *const u8, u32) -> c_int,
        delete: fn(Handle, Handle, *const u8, u32) -> c_int,
        cursor_open: fn(Handle, Handle, *mut Handle) -> c_int,
        cursor_close: fn(Handle) -> c_int,
        cursor_get: fn(Handle, *mut RawBuffer, *mut RawBuffer, c_int) -> c_int,
        settings: fn(Handle, Handle, NumberVisitor, *mut c_void) -> c_int,
        statistics: fn(Handle, NumberVisitor, *mut c_void) -> c_int,
    }
}

symbols! {
    /// The functions that only Berkeley DB has.
    BerkeleyFunctions {
        env_open: fn(Handle, *const c_char, *const BerkeleySettings) -> c_int,
        env_remove: fn(Handle, *const c_char) -> c_int,
        verify: fn(Handle, *const c_char) -> c_int,
        lsn_reset: fn(Handle, *const c_char) -> c_int,
        open: fn(Handle, *const c_char, c_int, u32, c_int, c_int) -> c_int,
        take_turn: fn(Handle, Handle) -> c_int,
        guard: fn(Handle, Handle, *const u8, u32) -> c_int,
    }
}

/// A kind of library with this API.
pub(crate) struct LibraryKind {
    /// The engine's name for people.
    pub(crate) title: &'static str,
    /// Its shims.
    pub(crate) shims: LibrarySearch,
    /// The prefix of the names of the shim's functions.
    pub(crate) prefix: &'static str,
    /// The knob that limits the size of a transaction, named when one exceeds it.
    pub(crate) transaction_limit_knob: &'static str,
    /// A part of the library's text for `DB_LOCK_DEADLOCK`, whose number differs between versions.
    pub(crate) deadlock: &'static str,
    /// The command that compiles its shim.
    pub(crate) installed_by: &'static str,
    /// The libraries loaded so far. Each kind has its own cache, since a library knows which engine
    /// it serves.
    pub(crate) libraries: FileCache<Library>,
}

pub(super) static BERKELEY_DB: LibraryKind = LibraryKind {
    title: super::TITLE,
    shims: LibrarySearch::new(&["berkeleydb"], "libtrueput_berkeleydb.so"),
    prefix: "trueput_bdb_",
    transaction_limit_knob: "none_log_buffer",
    deadlock: "DB_LOCK_DEADLOCK",
    installed_by: super::INSTALL,
    libraries: FileCache::new(),
};

/// The functions of one library.
pub(crate) struct BerkeleyApi {
    kind: &'static LibraryKind,
    pub(crate) exported: ExportedFunctions,
    pub(crate) shim: ShimFunctions,
}

/// The functions of one library of Berkeley DB.
pub(super) struct BerkeleyLibrary {
    pub(super) api: BerkeleyApi,
    pub(super) own: BerkeleyFunctions,
    /// `trueput_bdb_compact`; `None` in a shim that was compiled before it had that.
    pub(super) compact: Option<unsafe extern "C" fn(Handle) -> c_int>,
}

impl BerkeleyLibrary {
    /// Takes it from the library at `path` and the shim for its version, once.
    pub(super) fn of(path: &Path) -> Result<&'static Self> {
        static LIBRARIES_WITH_SHIMS: FileCache<BerkeleyLibrary> = FileCache::new();
        LIBRARIES_WITH_SHIMS.get(path, |path| {
            let (api, shim) = BerkeleyApi::load(path, &BERKELEY_DB)?;
            let own = BerkeleyFunctions::load(shim, BERKELEY_DB.prefix)
                .map_err(|error| outdated_shim(&error, &BERKELEY_DB))?;
            // SAFETY: the type is that of the function in `shim/berkeleydb.c`.
            let compact = unsafe { shim.symbol("trueput_bdb_compact") }.ok();
            Ok(Self { api, own, compact })
        })
    }
}

/// The handles of an environment and its database, which are open for as long as these are used.
#[derive(Clone, Copy)]
pub(crate) struct DatabaseHandles {
    pub(crate) api: &'static BerkeleyApi,
    pub(crate) env: Handle,
    pub(crate) db: Handle,
}

// SAFETY: both handles are opened with DB_THREAD, so any thread may use them at any time; only
// closing needs to be the last use.
unsafe impl Send for DatabaseHandles {}
// SAFETY: as above.
unsafe impl Sync for DatabaseHandles {}

impl DatabaseHandles {
    /// Settings as the library reports them.
    pub(crate) fn settings(&self) -> Result<Vec<(String, u64)>> {
        let Self { api, env, db } = *self;
        // SAFETY: both are open; the context is that of the visitor.
        api.collect_numbers(|show, context| unsafe { (api.shim.settings)(env, db, show, context) })
    }

    /// The library's counters.
    pub(crate) fn statistics(&self) -> Result<Vec<(String, u64)>> {
        let Self { api, env, .. } = *self;
        // SAFETY: the environment is open; the context is that of the visitor.
        api.collect_numbers(|show, context| unsafe { (api.shim.statistics)(env, show, context) })
    }

    /// The library's counters, as the contract has them.
    pub(crate) fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let counters = self.statistics()?.into_iter();
        Ok(counters.map(|(name, count)| (name, count.into())).collect())
    }

    /// Writes and flushes the log and the modified pages of the cache.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        // SAFETY: the environment is open.
        self.api
            .check(unsafe { (self.api.shim.checkpoint)(self.env, 0) })
    }
}

impl BerkeleyApi {
    /// Loads the functions of the library at `path` and the shim for its version, and returns both.
    pub(crate) fn load(
        path: &Path,
        kind: &'static LibraryKind,
    ) -> Result<(Self, &'static Library)> {
        let load = |path: &Path| library::load(path, kind.title);
        let library = kind.libraries.get(path, load)?;
        let exported = ExportedFunctions::load(library, "db_")?;
        let (shim, from) = shim_for(version(&exported), kind)?;
        let api = Self {
            kind,
            exported,
            shim,
        };
        Ok((api, from))
    }

    /// Converts a code to success or an error.
    #[inline]
    pub(crate) fn check(&self, code: c_int) -> Result<()> {
        if code == 0 {
            Ok(())
        } else {
            Err(self.error(code))
        }
    }

    /// Returns the class of a code that is not 0.
    #[inline]
    pub(crate) fn class(&self, code: c_int) -> CodeClass {
        // SAFETY: the function compares numbers.
        match unsafe { (self.shim.class)(code) } {
            ABSENT => CodeClass::Absent,
            BUFFER_SMALL => CodeClass::BufferSmall,
            _ => CodeClass::Other,
        }
    }

    /// The contract's error for `code`, with the library's own code and text.
    #[cold]
    pub(crate) fn error(&self, code: c_int) -> Error {
        // SAFETY: both return text that ends in a zero byte, static or of this thread's; it is
        // copied before anything else runs. `class` compares numbers.
        let (class, text) = unsafe {
            let text = CStr::from_ptr((self.exported.strerror)(code)).to_string_lossy();
            let message = CStr::from_ptr((self.shim.take_message)()).to_string_lossy();
            let text = if message.is_empty() || message == text {
                text.into_owned()
            } else {
                format!("{text}: {message}")
            };
            ((self.shim.class)(code), text)
        };
        match class {
            CONFLICT if text.contains(self.kind.deadlock) => Error::Deadlock(text),
            CONFLICT => Error::Conflict(text),
            NO_ROOM => Error::Full(format!(
                "{text} (code {code}); {} is the limit",
                self.kind.transaction_limit_knob
            )),
            NEEDS_RECOVERY => common_errors::coded(
                code,
                format!("{text}; every process must close the database and open it again"),
            ),
            _ if is_out_of_memory(code) => Error::Full(format!("{text} (code {code})")),
            _ => common_errors::of_code(code, text),
        }
    }

    /// Collects the names and numbers that `call` passes to its visitor.
    pub(crate) fn collect_numbers(
        &self,
        call: impl FnOnce(NumberVisitor, *mut c_void) -> c_int,
    ) -> Result<Vec<(String, u64)>> {
        let mut shown: Vec<(String, u64)> = Vec::new();
        self.check(call(collect, (&raw mut shown).cast()))?;
        Ok(shown)
    }

    /// The version that the library reports, as `5.3.28`.
    pub(crate) fn version(&self) -> String {
        let [major, minor, patch] = version(&self.exported);
        format!("{major}.{minor}.{patch}")
    }
}

unsafe extern "C" fn collect(shown: *mut c_void, name: *const c_char, number: u64) {
    // SAFETY: `shown` is what `BerkeleyApi::shown` gave, and the name is a literal of the shim's.
    let (shown, name) = unsafe {
        (
            &mut *shown.cast::<Vec<(String, u64)>>(),
            CStr::from_ptr(name),
        )
    };
    shown.push((name.to_string_lossy().into_owned(), number));
}

fn version(exported: &ExportedFunctions) -> [c_int; 3] {
    let mut numbers = [0; 3];
    let [major, minor, patch] = &mut numbers;
    // SAFETY: the three can be written; the text that is returned is not looked at.
    unsafe { (exported.version)(major, minor, patch) };
    numbers
}

/// The shim that was compiled against the header of a library's version: another version's handles
/// are laid out otherwise.
fn shim_for(
    [major, minor, _]: [c_int; 3],
    kind: &'static LibraryKind,
) -> Result<(ShimFunctions, &'static Library)> {
    let LibraryKind { title, shims, .. } = kind;
    if let Some(missing) = kind.missing() {
        return Err(missing);
    }
    static SHIMS: FileCache<Library> = FileCache::new();
    let mut others = Vec::new();
    for path in shims.run() {
        let from = SHIMS.get(&path, |path| library::load(path, title))?;
        let shim =
            ShimFunctions::load(from, kind.prefix).map_err(|error| outdated_shim(&error, kind))?;
        let (mut its_major, mut its_minor) = (0, 0);
        // SAFETY: both can be written.
        unsafe { (shim.header_version)(&raw mut its_major, &raw mut its_minor) };
        if (its_major, its_minor) == (major, minor) {
            return Ok((shim, from));
        }
        others.push(format!("{its_major}.{its_minor}"));
    }
    let (system, others) = (shims.system, others.join(", "));
    Err(Error::engine(format!(
        "this {title} is {major}.{minor}, and {system} was compiled for {others}"
    )))
}

impl LibraryKind {
    /// Returns the error if there is no shim at all.
    pub(crate) fn missing(&self) -> Option<Error> {
        let Self {
            title,
            shims,
            installed_by,
            ..
        } = self;
        let system = shims.system;
        shims.run().is_empty().then(|| {
            Error::engine(format!(
                "no shim for {title} ({system}); `{installed_by}` compiles it"
            ))
        })
    }
}

/// The error for a shim that lacks a function, as one compiled for an earlier version of this
/// program does.
fn outdated_shim(error: &Error, kind: &LibraryKind) -> Error {
    let installed_by = kind.installed_by;
    Error::engine(format!("{error}; `{installed_by}` recompiles it"))
}

/// Whether the environment's shared memory is full.
fn is_out_of_memory(code: c_int) -> bool {
    use std::io::{Error, ErrorKind};
    code > 0 && Error::from_raw_os_error(code).kind() == ErrorKind::OutOfMemory
}

/// Memory that a key or value is received in; it grows as needed and is kept.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    size: usize,
}

impl Buffer {
    const FIRST_BYTES: usize = 4096;

    /// Memory with `bytes` in it.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        if self.bytes.len() < bytes.len().max(1) {
            self.bytes.resize(bytes.len().max(Self::FIRST_BYTES), 0);
        }
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        self.size = bytes.len();
    }

    /// The buffer in Berkeley DB's layout; invalid once the buffer has moved or grown.
    #[inline]
    pub(crate) fn target(&mut self) -> RawBuffer {
        RawBuffer {
            data: self.bytes.as_mut_ptr(),
            capacity: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX),
            size: u32::try_from(self.size).unwrap_or(0),
        }
    }

    /// Notes the size that Berkeley DB reported, and makes room for so much.
    #[inline]
    pub(crate) fn received(&mut self, size: u32) {
        self.size = size as usize;
        if self.size > self.bytes.len() {
            self.bytes
                .resize(self.size.next_power_of_two().max(Self::FIRST_BYTES), 0);
        }
    }

    /// The bytes that were received.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

/// No handle.
pub(crate) const NONE: Handle = ptr::null_mut();
