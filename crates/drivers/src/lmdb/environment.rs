//! An open LMDB environment: one per folder and process.

use super::build::{Api, LmdbBuild};
use super::error::is_opening_race;
use crate::mapped_session::{MappedSession, MappedTable};
use crate::named_values;
use crate::process_locks::{OpenFolders, WriterThread};
use crate::retry::Retry;
use lmdb_master_sys as ffi;
use std::ffi::CString;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::Duration;
use trueput_engine::{Error, Result};

/// Opening is retried if another process is opening or closing the environment: LMDB's
/// documentation says that the two can collide.
const OPENING: Retry = Retry::new(Duration::from_secs(2), Duration::from_millis(10));

/// LMDB forbids opening one database twice in a process: closing either would drop the locks of
/// both.
static OPEN_FOLDERS: OpenFolders = OpenFolders::new("lmdb");

/// An open environment and its main database.
pub(super) struct LmdbEnvironment {
    build: &'static LmdbBuild,
    handle: *mut ffi::MDB_env,
    folder: PathBuf,
    /// The main, unnamed database.
    pub(super) dbi: ffi::MDB_dbi,
    /// Reader slots of killed processes that were freed at opening.
    pub(super) stale_readers: u32,
    /// LMDB would have a thread wait for its own write transaction.
    writer: WriterThread,
}

// SAFETY: LMDB's environment handle may be used by any thread at any time; only opening and closing
// need one thread, and those happen in `open` and `drop`.
unsafe impl Send for LmdbEnvironment {}
// SAFETY: as above.
unsafe impl Sync for LmdbEnvironment {}

impl LmdbEnvironment {
    /// Opens the database in `folder`, making it if it is not there.
    pub(super) fn open(
        build: &'static LmdbBuild,
        folder: &Path,
        flags: u32,
        map_bytes: usize,
        readers: u32,
    ) -> Result<Self> {
        let api = &build.api;
        let folder = folder.canonicalize().map_err(Error::engine)?;
        let path = CString::new(folder.as_os_str().as_bytes()).map_err(Error::engine)?;
        let mut folders = OPEN_FOLDERS.lock_to_open(&folder)?;
        let handle = open_handle(api, &path, flags, map_bytes, readers)?;
        let prepared = prepare(api, handle).and_then(|prepared| {
            // LMDB flushes its file but not the folder's entry of a file that it has just made.
            File::open(&folder)
                .and_then(|entry| entry.sync_all())
                .map_err(Error::engine)?;
            Ok(prepared)
        });
        if prepared.is_err() {
            // SAFETY: the handle was opened above and nothing else knows it.
            unsafe { (api.mdb_env_close)(handle) };
        }
        let (dbi, stale_readers) = prepared?;
        folders.insert(folder.clone());
        Ok(Self {
            build,
            handle,
            folder,
            dbi,
            stale_readers,
            writer: WriterThread::default(),
        })
    }

    /// The functions of the build that opened it.
    #[inline]
    pub(super) fn api(&self) -> &'static Api {
        &self.build.api
    }

    /// A session for the calling thread.
    pub(super) fn new_session(&self) -> Result<MappedSession<'_, Api>> {
        let table = MappedTable {
            api: self.api(),
            environment: self.handle,
            table: self.dbi,
        };
        // SAFETY: the environment and its table are open as long as this lives.
        unsafe { MappedSession::new(&table, Some(&self.writer)) }
    }

    /// Statistics of the main database.
    pub(super) fn stat(&self) -> Result<ffi::MDB_stat> {
        let mut stat = MaybeUninit::uninit();
        // SAFETY: the handle is open; LMDB fills the struct before it returns success.
        unsafe {
            self.api()
                .check((self.api().mdb_env_stat)(self.handle, stat.as_mut_ptr()))?;
            Ok(stat.assume_init())
        }
    }

    /// Returns LMDB's information about the environment.
    pub(super) fn information(&self) -> Result<ffi::MDB_envinfo> {
        let mut information = MaybeUninit::uninit();
        // SAFETY: the handle is open; LMDB fills the struct before it returns success.
        unsafe {
            self.api().check((self.api().mdb_env_info)(
                self.handle,
                information.as_mut_ptr(),
            ))?;
            Ok(information.assume_init())
        }
    }

    /// The flags that are in force.
    pub(super) fn flags(&self) -> Result<u32> {
        let mut flags = 0;
        // SAFETY: the handle is open and `flags` can be written.
        let code = unsafe { (self.api().mdb_env_get_flags)(self.handle, &raw mut flags) };
        self.api().check(code)?;
        Ok(flags)
    }

    /// Longest key, bytes.
    pub(super) fn max_key_bytes(&self) -> usize {
        self.build.max_key_bytes
    }

    /// Flushes everything committed so far, regardless of the flags.
    pub(super) fn flush(&self) -> Result<()> {
        // SAFETY: the handle is open.
        self.api()
            .check(unsafe { (self.api().mdb_env_sync)(self.handle, 1) })
    }
}

impl Drop for LmdbEnvironment {
    fn drop(&mut self) {
        let mut folders = OPEN_FOLDERS.lock();
        // SAFETY: sessions borrow this, so none is left, and with them went every transaction.
        unsafe { (self.api().mdb_env_close)(self.handle) };
        folders.remove(&self.folder);
    }
}

fn open_handle(
    api: &Api,
    path: &CString,
    flags: u32,
    map_bytes: usize,
    readers: u32,
) -> Result<*mut ffi::MDB_env> {
    let attempt = || {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` can be written; afterwards it is a handle that is not open yet, which is
        // closed when opening it fails, as LMDB demands. `path` ends in a zero byte.
        let code = unsafe {
            let code = (api.mdb_env_create)(&raw mut handle);
            if code != ffi::MDB_SUCCESS {
                return Err(code);
            }
            let mut code = (api.mdb_env_set_mapsize)(handle, map_bytes);
            if code == ffi::MDB_SUCCESS {
                code = (api.mdb_env_set_maxreaders)(handle, readers);
            }
            if code == ffi::MDB_SUCCESS {
                code = (api.mdb_env_open)(handle, path.as_ptr(), flags, 0o644);
            }
            if code != ffi::MDB_SUCCESS {
                (api.mdb_env_close)(handle);
            }
            code
        };
        match code {
            ffi::MDB_SUCCESS => Ok(handle),
            code => Err(code),
        }
    };
    let opened = OPENING.run(|code| is_opening_race(*code), attempt);
    opened.map_err(|code| api.error(code))
}

/// Frees the reader slots of killed processes, which would hold back the reuse of pages, and opens
/// the main database.
fn prepare(api: &Api, handle: *mut ffi::MDB_env) -> Result<(ffi::MDB_dbi, u32)> {
    let mut stale = 0;
    let mut transaction = ptr::null_mut();
    let mut dbi = 0;
    // SAFETY: the handle is open and used by this thread only; the transaction is ended on every
    // way out, and a name of null means the main database.
    unsafe {
        api.check((api.mdb_reader_check)(handle, &raw mut stale))?;
        let read_only = ffi::MDB_RDONLY;
        api.check((api.mdb_txn_begin)(
            handle,
            ptr::null_mut(),
            read_only,
            &raw mut transaction,
        ))?;
        let opened = (api.mdb_dbi_open)(transaction, ptr::null(), 0, &raw mut dbi);
        if opened != ffi::MDB_SUCCESS {
            (api.mdb_txn_abort)(transaction);
            return Err(api.error(opened));
        }
        api.check((api.mdb_txn_commit)(transaction))?;
    }
    Ok((dbi, u32::try_from(stale).unwrap_or(0)))
}

/// Flags by LMDB's own names, joined by `+`.
pub(super) fn flag_names(flags: u32) -> String {
    let names = [
        ("MDB_NOSYNC", ffi::MDB_NOSYNC),
        ("MDB_NOMETASYNC", ffi::MDB_NOMETASYNC),
        ("MDB_WRITEMAP", ffi::MDB_WRITEMAP),
        ("MDB_MAPASYNC", ffi::MDB_MAPASYNC),
        ("MDB_NOTLS", ffi::MDB_NOTLS),
        ("MDB_NOLOCK", ffi::MDB_NOLOCK),
        ("MDB_NORDAHEAD", ffi::MDB_NORDAHEAD),
        ("MDB_NOMEMINIT", ffi::MDB_NOMEMINIT),
        ("MDB_RDONLY", ffi::MDB_RDONLY),
    ];
    named_values::flag_names(&names, flags)
}
