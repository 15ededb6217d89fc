//! An open environment of libmdbx: one per folder and process, which libmdbx sees to itself.

use super::api::{Api, Dbi, Env, EnvInfo, MdbxBuild, Stat, Txn, value};
use crate::mapped_session::{MappedSession, MappedTable};
use crate::named_values;
use crate::retry::Retry;
use std::ffi::{CString, c_int};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;
use trueput_engine::{Error, Result};

/// An opening that met another process's closing is tried again.
const OPENING: Retry = Retry::new(Duration::from_secs(2), Duration::from_millis(10));

/// The size that lets libmdbx choose.
const CHOOSE: isize = -1;

/// The options with which a database is opened.
pub(super) struct OpenOptions {
    pub(super) flags: u32,
    pub(super) max_readers: u64,
    pub(super) writethrough_threshold: u64,
    pub(super) size_upper: u64,
    /// 0 lets libmdbx choose.
    pub(super) growth_step: u64,
    pub(super) page_bytes: u64,
    /// 0 is off.
    pub(super) sync_bytes: u64,
    /// In 65,536ths of a second; 0 is off.
    pub(super) sync_period: u64,
}

/// An open environment and its main table.
pub(super) struct MdbxEnvironment {
    build: &'static MdbxBuild,
    handle: *mut Env,
    /// The main, unnamed table.
    pub(super) dbi: Dbi,
    /// Reader slots of killed processes that were freed at opening.
    pub(super) stale_readers: u32,
}

// SAFETY: an environment's handle may be used by any thread at any time; only opening and closing
// need one thread, and those happen in `open` and `drop`.
unsafe impl Send for MdbxEnvironment {}
// SAFETY: as above.
unsafe impl Sync for MdbxEnvironment {}

impl MdbxEnvironment {
    /// Opens the database in `folder`, making it if it is not there.
    pub(super) fn open(
        build: &'static MdbxBuild,
        folder: &Path,
        setup: &OpenOptions,
    ) -> Result<Self> {
        let api = &build.api;
        let path = CString::new(folder.as_os_str().as_bytes()).map_err(Error::engine)?;
        // Dropped, and so closed, where something fails from here on.
        let mut environment = Self {
            build,
            handle: open_handle(api, &path, setup)?,
            dbi: 0,
            stale_readers: 0,
        };
        // These two are shared by the processes, and can be set only once the database is open.
        environment.set(value::MDBX_OPT_SYNC_BYTES, setup.sync_bytes)?;
        environment.set(value::MDBX_OPT_SYNC_PERIOD, setup.sync_period)?;
        let mut stale: c_int = 0;
        // SAFETY: the handle is open; `stale` can be written.
        let code = unsafe { (api.reader_check)(environment.handle, &raw mut stale) };
        // Another process may be looking through the readers already.
        if code != value::MDBX_RESULT_TRUE {
            api.check(code)?;
        }
        environment.stale_readers = u32::try_from(stale).unwrap_or(0);
        environment.dbi = environment.reading(|transaction| {
            let mut dbi = 0;
            // SAFETY: the transaction is open; a name of null means the main table.
            api.check(unsafe { (api.dbi_open)(transaction, ptr::null(), 0, &raw mut dbi) })?;
            Ok(dbi)
        })?;
        // Without this, lost power could take the name of a file that was just made.
        File::open(folder)
            .and_then(|entry| entry.sync_all())
            .map_err(Error::engine)?;
        Ok(environment)
    }

    /// The functions of the build that opened it.
    #[inline]
    pub(super) fn api(&self) -> &'static Api {
        &self.build.api
    }

    /// The options that the build was compiled with.
    pub(super) fn build_options(&self) -> &'static str {
        &self.build.options
    }

    /// A session for the calling thread.
    pub(super) fn new_session(&self) -> Result<MappedSession<'_, Api>> {
        let table = MappedTable {
            api: self.api(),
            environment: self.handle,
            table: self.dbi,
        };
        // SAFETY: the environment and its table are open as long as this lives. libmdbx refuses a
        // second write transaction of a thread by itself.
        unsafe { MappedSession::new(&table, None) }
    }

    fn set(&self, option: u32, to: u64) -> Result<()> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.api().env_set_option)(self.handle, option, to) };
        self.api().check(code)
    }

    /// An option's value, in libmdbx's unit.
    pub(super) fn option(&self, option: u32) -> Result<u64> {
        let mut is = 0;
        // SAFETY: the handle is open and `is` can be written.
        let code = unsafe { (self.api().env_get_option)(self.handle, option, &raw mut is) };
        self.api().check(code)?;
        Ok(is)
    }

    /// Calls `look` with its own read transaction.
    fn reading<T>(&self, look: impl FnOnce(*mut Txn) -> Result<T>) -> Result<T> {
        let api = self.api();
        let mut transaction = ptr::null_mut();
        let (none, context) = (ptr::null_mut(), ptr::null_mut());
        let read_only = value::MDBX_TXN_RDONLY;
        // SAFETY: the handle is open; the transaction is used here only, and ended.
        unsafe {
            api.check((api.txn_begin_ex)(
                self.handle,
                none,
                read_only,
                &raw mut transaction,
                context,
            ))?;
            let seen = look(transaction);
            let ended = api.check((api.txn_commit_ex)(transaction, ptr::null_mut()));
            let seen = seen?;
            ended.map(|()| seen)
        }
    }

    /// Statistics of the main table.
    pub(super) fn stat(&self) -> Result<Stat> {
        self.reading(|transaction| {
            let api = self.api();
            let mut stat = MaybeUninit::<Stat>::uninit();
            let (into, bytes) = (stat.as_mut_ptr(), size_of::<Stat>());
            // SAFETY: the transaction is open; libmdbx fills the struct, whose size it gets,
            // before it returns success.
            unsafe {
                api.check((api.dbi_stat)(transaction, self.dbi, into, bytes))?;
                Ok(stat.assume_init())
            }
        })
    }

    /// Returns libmdbx's information about the environment.
    pub(super) fn information(&self) -> Result<EnvInfo> {
        let api = self.api();
        let mut information = MaybeUninit::<EnvInfo>::uninit();
        let (into, bytes) = (information.as_mut_ptr(), size_of::<EnvInfo>());
        // SAFETY: the handle is open; libmdbx fills the struct, whose size it gets, before it
        // returns success.
        unsafe {
            api.check((api.env_info_ex)(self.handle, ptr::null(), into, bytes))?;
            Ok(information.assume_init())
        }
    }

    /// The flags that are in force.
    pub(super) fn flags(&self) -> Result<u32> {
        let mut flags = 0;
        // SAFETY: the handle is open and `flags` can be written.
        let code = unsafe { (self.api().env_get_flags)(self.handle, &raw mut flags) };
        self.api().check(code)?;
        Ok(flags)
    }

    /// Longest key, bytes; 0 if libmdbx cannot say.
    pub(super) fn max_key_bytes(&self) -> u64 {
        // SAFETY: the handle is open; 0 are the flags of the main table.
        let bytes = unsafe { (self.api().env_get_maxkeysize_ex)(self.handle, 0) };
        u64::try_from(bytes).unwrap_or(0)
    }

    /// Flushes everything committed so far, regardless of the flags.
    pub(super) fn flush(&self) -> Result<()> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.api().env_sync_ex)(self.handle, true, false) };
        match code {
            // There was nothing to flush.
            value::MDBX_RESULT_TRUE => Ok(()),
            code => self.api().check(code),
        }
    }
}

impl Drop for MdbxEnvironment {
    fn drop(&mut self) {
        // SAFETY: sessions borrow this, so none is left, and with them went every transaction.
        unsafe { (self.api().env_close_ex)(self.handle, false) };
    }
}

fn open_handle(api: &Api, path: &CString, setup: &OpenOptions) -> Result<*mut Env> {
    let attempt = || {
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` can be written; afterwards it is a handle that is not open yet, which is
        // closed when opening it fails, as libmdbx demands. `path` ends in a zero byte.
        let code = unsafe {
            let code = (api.env_create)(&raw mut handle);
            if code != value::MDBX_SUCCESS {
                return Err(code);
            }
            let mut code = prepare(api, handle, setup);
            if code == value::MDBX_SUCCESS {
                code = (api.env_open)(handle, path.as_ptr(), setup.flags, 0o644);
            }
            if code != value::MDBX_SUCCESS {
                (api.env_close_ex)(handle, true);
            }
            code
        };
        match code {
            value::MDBX_SUCCESS => Ok(handle),
            code => Err(code),
        }
    };
    let opened = OPENING.run(|code| *code == value::MDBX_BUSY, attempt);
    opened.map_err(|code| match code {
        value::MDBX_BUSY => Error::Unsupported(
            "libmdbx opens a database once per process, and this one is open in this process, or \
             in another one alone"
                .to_owned(),
        ),
        code => api.error(code),
    })
}

/// Sets the options that must precede the opening of a database.
///
/// # Safety
/// `handle` was created and is not open.
unsafe fn prepare(api: &Api, handle: *mut Env, setup: &OpenOptions) -> c_int {
    let bytes = |size: u64| isize::try_from(size).unwrap_or(isize::MAX);
    let growth_step = match setup.growth_step {
        0 => CHOOSE,
        step => bytes(step),
    };
    let options = [
        (value::MDBX_OPT_MAX_READERS, setup.max_readers),
        (
            value::MDBX_OPT_WRITETHROUGH_THRESHOLD,
            setup.writethrough_threshold,
        ),
    ];
    for (option, to) in options {
        // SAFETY: the caller's promise.
        let code = unsafe { (api.env_set_option)(handle, option, to) };
        if code != value::MDBX_SUCCESS {
            return code;
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        (api.env_set_geometry)(
            handle,
            CHOOSE,
            CHOOSE,
            bytes(setup.size_upper),
            growth_step,
            CHOOSE,
            bytes(setup.page_bytes),
        )
    }
}

/// Flags by libmdbx's own names, joined by `+`.
pub(super) fn flag_names(flags: u32) -> String {
    // The first holds the bit of the second.
    let unsynced = match flags & value::MDBX_UTTERLY_NOSYNC {
        value::MDBX_UTTERLY_NOSYNC => "MDBX_UTTERLY_NOSYNC",
        _ => "MDBX_SAFE_NOSYNC",
    };
    let names = [
        (unsynced, value::MDBX_SAFE_NOSYNC),
        ("MDBX_NOMETASYNC", value::MDBX_NOMETASYNC),
        ("MDBX_WRITEMAP", value::MDBX_WRITEMAP),
        ("MDBX_LIFORECLAIM", value::MDBX_LIFORECLAIM),
        ("MDBX_NORDAHEAD", value::MDBX_NORDAHEAD),
        ("MDBX_NOMEMINIT", value::MDBX_NOMEMINIT),
        ("MDBX_RDONLY", value::MDBX_RDONLY),
        ("MDBX_NOSTICKYTHREADS", value::MDBX_NOSTICKYTHREADS),
    ];
    named_values::flag_names(&names, flags)
}
