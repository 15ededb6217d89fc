//! The one GT.M of this process: call-ins, one at a time, on whichever thread has the turn.
//!
//! A process can start GT.M once and cannot leave a database before it ends, so databases that are
//! closed stay attached; GT.M runs them down when the process exits.

use super::install::GtmInstallation;
use super::sigalrm;
use crate::library::{self, FileCache, Library};
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use trueput_engine::{Error, Result, common_errors};

/// The longest string that GT.M has, bytes.
pub(super) const MAX_STRING_BYTES: usize = 1 << 20;

/// Every subscript begins with it: a subscript that could be read as a number would sort among the
/// numbers.
const PREFIX: u8 = b'k';

/// Makes the subscript of a key.
pub(super) fn subscript<'s>(buffer: &'s mut Vec<u8>, key: &[u8]) -> &'s [u8] {
    buffer.clear();
    buffer.push(PREFIX);
    buffer.extend_from_slice(key);
    buffer
}

/// `gtm_string_t`.
#[repr(C)]
struct GtmString {
    length: c_long,
    address: *mut c_char,
}

impl GtmString {
    /// A string to be read by GT.M.
    fn of(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len() as c_long,
            address: bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// Room for a string that GT.M writes.
    fn room(buffer: &mut [u8]) -> Self {
        Self {
            length: buffer.len() as c_long,
            address: buffer.as_mut_ptr().cast(),
        }
    }

    fn written(&self) -> usize {
        usize::try_from(self.length).unwrap_or_default()
    }
}

/// `ci_name_descriptor`: GT.M fills in the handle at the first call.
#[repr(C)]
struct RoutineName {
    name: GtmString,
    handle: *mut c_void,
}

impl RoutineName {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name: GtmString {
                length: name.to_bytes().len() as c_long,
                address: name.as_ptr().cast_mut(),
            },
            handle: ptr::null_mut(),
        }
    }
}

/// `gtm_cip`.
type CallFunction = unsafe extern "C" fn(*mut RoutineName, ...) -> c_int;

/// The functions of the library.
#[derive(Clone, Copy)]
struct GtmFunctions {
    start: unsafe extern "C" fn() -> c_int,
    call: CallFunction,
    status: unsafe extern "C" fn(*mut c_char, c_int),
}

impl GtmFunctions {
    fn of(path: &Path, title: &'static str) -> Result<&'static Self> {
        static LIBRARIES: FileCache<Library> = FileCache::new();
        static SYMBOLS: FileCache<GtmFunctions> = FileCache::new();
        SYMBOLS.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, title))?;
            // SAFETY: the types are those of gtmxc_types.h.
            unsafe {
                Ok(Self {
                    start: library.symbol("gtm_init")?,
                    call: library.symbol("gtm_cip")?,
                    status: library.symbol("gtm_zstatus")?,
                })
            }
        })
    }
}

/// Checks that the library at `path` exports the functions that the driver needs.
pub(super) fn check(path: &Path, title: &'static str) -> Result<()> {
    GtmFunctions::of(path, title).map(|_| ())
}

/// The number of a database in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DatabaseId(usize);

/// GT.M, which runs in this process.
pub(super) struct Process {
    library: PathBuf,
    symbols: GtmFunctions,
    state: Mutex<ProcessState>,
}

struct ProcessState {
    names: RoutineNames,
    /// The databases that were opened, as [`DatabaseId`] counts them.
    attached: Vec<AttachedDatabase>,
    /// The one that calls go to.
    current: Option<DatabaseId>,
    /// The buffer into which GT.M writes strings.
    buffer: Vec<u8>,
}

/// A database that the process is attached to until it ends.
struct AttachedDatabase {
    /// The global directory's path.
    path: PathBuf,
    /// The same, kept open: GT.M knows global directories by their inodes, which must not be used
    /// again when this one is deleted.
    directory: File,
    /// Says that the database is in use.
    _in_use: File,
}

struct RoutineNames {
    use_directory: RoutineName,
    reset: RoutineName,
    get: RoutineName,
    put: RoutineName,
    delete: RoutineName,
    page: RoutineName,
    chunk: RoutineName,
    value: RoutineName,
    commit: RoutineName,
    flush: RoutineName,
    statistics: RoutineName,
}

// SAFETY: the pointers are to constants, and to GT.M's own memory, which is used under the lock.
unsafe impl Send for RoutineNames {}

impl RoutineNames {
    const fn new() -> Self {
        Self {
            use_directory: RoutineName::new(c"use"),
            reset: RoutineName::new(c"reset"),
            get: RoutineName::new(c"get"),
            put: RoutineName::new(c"put"),
            delete: RoutineName::new(c"delete"),
            page: RoutineName::new(c"page"),
            chunk: RoutineName::new(c"chunk"),
            value: RoutineName::new(c"value"),
            commit: RoutineName::new(c"commit"),
            flush: RoutineName::new(c"flush"),
            statistics: RoutineName::new(c"statistics"),
        }
    }
}

impl Process {
    /// Starts GT.M where this process has not yet, with the routines in `folder`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if another build of GT.M runs in this process.
    pub(super) fn start(installation: &GtmInstallation, folder: &Path) -> Result<&'static Self> {
        static STARTED: OnceLock<Process> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());
        let _turn = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let library = installation.library();
        if let Some(process) = STARTED.get() {
            if process.library == library {
                return Ok(process);
            }
            return Err(Error::Unsupported(format!(
                "this process has loaded {}; {} needs a separate process",
                process.library.display(),
                library.display()
            )));
        }
        let symbols = *GtmFunctions::of(library, installation.title())?;
        for (name, value) in installation.environment(folder) {
            // SAFETY: GT.M reads its environment in `gtm_init` only, and this happens once in a
            // process, while it opens its first database and before any session; Rust's own readers
            // are kept out by a lock.
            unsafe { std::env::set_var(name, value) };
        }
        let process = Self {
            library: library.to_owned(),
            symbols,
            state: Mutex::new(ProcessState {
                names: RoutineNames::new(),
                attached: Vec::new(),
                current: None,
                buffer: vec![0; MAX_STRING_BYTES],
            }),
        };
        // SAFETY: once in this process, with the environment set.
        let status = unsafe { (symbols.start)() };
        if status != 0 {
            return Err(process.error(status));
        }
        sigalrm::guard_exit();
        Ok(STARTED.get_or_init(|| process))
    }

    /// Attaches to the database of a global directory, and keeps its lock.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this process was attached to a database at this path that has been
    /// deleted since.
    pub(super) fn attach(&self, path: PathBuf, in_use: File) -> Result<DatabaseId> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let inode = |file: &File| file.metadata().map(|data| (data.dev(), data.ino()));
        let directory = File::open(&path).map_err(Error::engine)?;
        let known = state
            .attached
            .iter()
            .position(|attached| attached.path == path);
        if let Some(known) = known {
            let former = inode(&state.attached[known].directory).map_err(Error::engine)?;
            if former != inode(&directory).map_err(Error::engine)? {
                return Err(Error::Unsupported(format!(
                    "this process has had another database at {}; it takes a new process",
                    path.display()
                )));
            }
        } else {
            state.attached.push(AttachedDatabase {
                path,
                directory,
                _in_use: in_use,
            });
        }
        let database = DatabaseId(known.unwrap_or(state.attached.len() - 1));
        drop(state);
        self.guard(database).map(|_| database)
    }

    /// This thread's turn in GT.M, with a database.
    #[inline]
    pub(super) fn guard(&self, database: DatabaseId) -> Result<ProcessGuard<'_>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sigalrm::enter();
        let mut guard = ProcessGuard {
            process: self,
            state,
        };
        if guard.state.current != Some(database) {
            guard.select_database(database)?;
        }
        Ok(guard)
    }

    /// Returns GT.M's error for a call that failed: `CODE,PLACE,%GTM-E-NAME, text`.
    #[cold]
    fn error(&self, status: c_int) -> Error {
        let mut text = [0_u8; 2048];
        // SAFETY: the buffer is as long as stated, and GT.M ends the text within.
        unsafe { (self.symbols.status)(text.as_mut_ptr().cast(), text.len() as c_int - 1) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        failure(status, &text.to_string_lossy())
    }
}

/// The contract's error for GT.M's.
fn failure(status: c_int, text: &str) -> Error {
    const FULL: [&str; 7] = [
        "-TRANS2BIG",
        "-GBLOFLOW",
        "-DBFILEXT",
        "-NOSPACE",
        "-JNLEXTEND",
        "-DSKNOSPC",
        "ENO28",
    ];
    let from = text.find('%').unwrap_or_default();
    let said: String = text[from..].chars().take(300).collect();
    if FULL.iter().any(|name| said.contains(name)) {
        return Error::Full(said);
    }
    common_errors::coded(status, said)
}

/// The right of one thread to call GT.M.
pub(super) struct ProcessGuard<'p> {
    process: &'p Process,
    state: MutexGuard<'p, ProcessState>,
}

impl Drop for ProcessGuard<'_> {
    fn drop(&mut self) {
        sigalrm::wrap();
        sigalrm::leave();
    }
}

/// Calls a routine by its name's descriptor and makes a failure the contract's error.
macro_rules! call {
    ($guard:ident, $name:ident $(, $argument:expr)*) => {{
        let call = $guard.process.symbols.call;
        // SAFETY: the arguments are those of the call-in table, the strings outlive the call, and
        // this thread has the turn.
        let status = unsafe { call(&raw mut $guard.state.names.$name $(, $argument)*) };
        if status == 0 { Ok(()) } else { Err($guard.fail(status)) }
    }};
}

impl ProcessGuard<'_> {
    fn select_database(&mut self, database: DatabaseId) -> Result<()> {
        self.state.current = None;
        let path = self.state.attached[database.0].path.as_os_str();
        let directory = GtmString::of(path.as_bytes());
        call!(self, use_directory, &raw const directory)?;
        self.state.current = Some(database);
        Ok(())
    }

    #[cold]
    fn fail(&mut self, status: c_int) -> Error {
        let error = self.process.error(status);
        // SAFETY: it takes no arguments, and this thread has the turn. Were it to fail as well, the
        // first error is the one to tell.
        unsafe { (self.process.symbols.call)(&raw mut self.state.names.reset) };
        error
    }

    /// The value of a key, as long as the turn.
    pub(super) fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>> {
        let mut found: c_long = 0;
        let key = GtmString::of(key);
        let mut value = GtmString::room(&mut self.state.buffer);
        call!(self, get, &raw mut found, &raw const key, &raw mut value)?;
        Ok((found != 0).then(|| &self.state.buffer[..value.written()]))
    }

    /// Writes a record.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key, value) = (GtmString::of(key), GtmString::of(value));
        call!(self, put, &raw const key, &raw const value)
    }

    /// Deletes a record.
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<()> {
        let key = GtmString::of(key);
        call!(self, delete, &raw const key)
    }

    /// At most `most` records from `from` on, as the routine writes them, and whether there may be
    /// more.
    pub(super) fn page(
        &mut self,
        from: &[u8],
        inclusive: bool,
        way: c_long,
        most: c_long,
    ) -> Result<(&[u8], bool)> {
        let mut more: c_long = 0;
        let from = GtmString::of(from);
        let mut out = GtmString::room(&mut self.state.buffer);
        let inclusive = c_long::from(inclusive);
        call!(
            self,
            page,
            &raw mut more,
            &raw const from,
            inclusive,
            way,
            most,
            &raw mut out
        )?;
        Ok((&self.state.buffer[..out.written()], more != 0))
    }

    /// Hands over a part of the transaction that [`ProcessGuard::commit`] ends.
    pub(super) fn chunk(&mut self, text: &[u8]) -> Result<()> {
        let text = GtmString::of(text);
        call!(self, chunk, &raw const text)
    }

    /// Hands over a value that the transaction refers to by its number, from 1.
    pub(super) fn value(&mut self, text: &[u8]) -> Result<()> {
        let text = GtmString::of(text);
        call!(self, value, &raw const text)
    }

    /// Commits a transaction if everything it had read is still unchanged, and returns whether it
    /// did; otherwise nothing is written.
    pub(super) fn commit(&mut self, durable: bool, text: &[u8]) -> Result<bool> {
        let mut failed: c_long = 0;
        let (durable, text) = (c_long::from(durable), GtmString::of(text));
        call!(self, commit, &raw mut failed, durable, &raw const text)?;
        Ok(failed == 0)
    }

    /// Brings journal and database to storage.
    pub(super) fn flush(&mut self) -> Result<()> {
        call!(self, flush)
    }

    /// The counters, as `NAME:NUMBER,…`.
    pub(super) fn statistics(&mut self) -> Result<String> {
        let mut out = GtmString::room(&mut self.state.buffer);
        call!(self, statistics, &raw mut out)?;
        let text = &self.state.buffer[..out.written()];
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}
