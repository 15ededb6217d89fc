//! An open database: WiredTiger's connection.

use super::config::{COLUMN_GROUP, OpenConfig, TABLE, parts};
use super::session::WiredTigerSession;
use super::shim::{Handle, NOT_FOUND, WiredTigerApi};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use trueput_engine::{CacheCount, CacheScope, CacheUse, Database, Error, Result, Session, Value};

/// An open database, ours to close.
pub(super) struct WiredTigerDatabase {
    api: &'static WiredTigerApi,
    handle: Handle,
    has_log: bool,
    has_statistics: bool,
}

// SAFETY: a connection of WiredTiger's may be used by any thread; sessions are each one thread's.
unsafe impl Send for WiredTigerDatabase {}
// SAFETY: as above.
unsafe impl Sync for WiredTigerDatabase {}

impl WiredTigerDatabase {
    pub(super) fn open(
        api: &'static WiredTigerApi,
        directory: &Path,
        plan: &OpenConfig,
    ) -> Result<Self> {
        let home = CString::new(directory.as_os_str().as_bytes())
            .map_err(|_| Error::engine("a path with a zero byte"))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the strings live, and the handle can be written.
        let code = unsafe {
            (api.shim.open)(
                api.open_function(),
                home.as_ptr(),
                plan.connection.as_ptr(),
                &raw mut handle,
            )
        };
        if code != 0 {
            return Err(api.error(code));
        }
        let opened = Self {
            api,
            handle,
            has_log: plan.has_log,
            has_statistics: plan.has_statistics,
        };
        opened.make_table(&plan.table)?;
        Ok(opened)
    }

    /// Creates the table if it does not exist. A kill between its entry in the metadata and that of
    /// its column group, which WiredTiger makes with it, leaves a table that cannot be used: then
    /// the second is created alone, as the first call would have done next.
    fn make_table(&self, config: &CStr) -> Result<()> {
        self.create(TABLE, config)?;
        if self.metadata(COLUMN_GROUP)?.is_empty() {
            self.create(COLUMN_GROUP, config)?;
        }
        Ok(())
    }

    fn create(&self, object: &CStr, config: &CStr) -> Result<()> {
        let create = self.api.shim.create;
        // SAFETY: the database is open and the strings live. What is there stays as it is.
        self.check(unsafe { create(self.handle, object.as_ptr(), config.as_ptr()) })
    }

    /// Checks the structure of the table, which no session uses yet.
    pub(super) fn verify(&self) -> Result<()> {
        // SAFETY: the database is open and the name lives.
        self.check(unsafe { (self.api.shim.verify)(self.handle, TABLE.as_ptr()) })
    }

    #[inline]
    fn check(&self, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            _ => Err(self.api.error_of(self.handle, code)),
        }
    }

    /// The connection's statistics, without the ones at 0 of unused parts.
    fn statistics(&self) -> Result<BTreeMap<String, Value>> {
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        if self.has_statistics {
            let context = (&raw mut found).cast();
            // SAFETY: the database is open; `keep_number` takes what `context` points to.
            self.check(unsafe { (self.api.shim.statistics)(self.handle, keep_number, context) })?;
        }
        Ok(found)
    }

    /// Returns the metadata of an object; an empty text if there is none.
    fn metadata(&self, object: &CStr) -> Result<String> {
        let mut found = String::new();
        let context = (&raw mut found).cast();
        // SAFETY: the database is open; `keep_text` takes what `context` points to.
        let code =
            unsafe { (self.api.shim.metadata)(self.handle, object.as_ptr(), keep_text, context) };
        match code {
            NOT_FOUND => Ok(String::new()),
            _ => self.check(code).map(|()| found),
        }
    }
}

unsafe extern "C" fn keep_number(context: *mut c_void, name: *const c_char, number: i64) {
    // SAFETY: `context` is what `WiredTigerDatabase::statistics` gave, and the name ends in a zero
    // byte.
    let (found, name) = unsafe {
        (
            &mut *context.cast::<BTreeMap<String, Value>>(),
            CStr::from_ptr(name),
        )
    };
    found.insert(name.to_string_lossy().into_owned(), Value::Integer(number));
}

unsafe extern "C" fn keep_text(context: *mut c_void, text: *const c_char) {
    // SAFETY: `context` is what `WiredTigerDatabase::metadata` gave, and the text ends in a zero
    // byte.
    let (found, text) = unsafe { (&mut *context.cast::<String>(), CStr::from_ptr(text)) };
    *found = text.to_string_lossy().into_owned();
}

/// The accesses to the cache so far, from the connection's statistics; `None` if those are off.
fn cache_use(statistics: &BTreeMap<String, Value>) -> Option<CacheUse> {
    let number = |name: &str| match statistics.get(name) {
        Some(Value::Integer(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let asks = number("cache: pages requested from the cache")?;
    let misses = number("cache: pages read into cache")?;
    Some(CacheUse {
        hits: asks.saturating_sub(misses),
        misses,
    })
}

/// Statistics that report a setting of the connection rather than an activity.
const SETTINGS: [&str; 3] = [
    "cache: maximum bytes configured",
    "log: maximum log file size",
    "log: total log buffer size",
];

/// Settings of the table that say nothing of how it works.
fn is_informative(name: &str, value: &str) -> bool {
    let dull = [
        "checkpoint",
        "checkpoint_lsn",
        "chunks",
        "old_chunks",
        "version",
        "id",
    ];
    !value.is_empty() && !dull.contains(&name)
}

impl Database for WiredTigerDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let mut handle = ptr::null_mut();
        // SAFETY: the database is open, the strings live and the handle can be written. Naming the
        // isolation here spares each transaction the reading of a configuration.
        self.check(unsafe {
            (self.api.shim.session_open)(
                self.handle,
                c"isolation=snapshot".as_ptr(),
                TABLE.as_ptr(),
                &raw mut handle,
            )
        })?;
        // SAFETY: the session is new, and closed before the database, which it borrows.
        Ok(Box::new(unsafe {
            WiredTigerSession::new(self.api, self.handle, handle)
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let mut counters = self.statistics()?;
        counters.retain(|name, number| {
            *number != Value::Integer(0) && !SETTINGS.contains(&name.as_str())
        });
        Ok(counters)
    }

    /// Uses the connection's statistics; `None` if they are off. Reading a page in order to change
    /// it counts like any other access.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        CacheCount::of_counters(CacheScope::Process, || Ok(cache_use(&self.statistics()?)))
    }

    /// The connection's settings that its statistics report, and the table's from its metadata.
    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let mut settings = self.statistics()?;
        settings.retain(|name, _| SETTINGS.contains(&name.as_str()));
        for (object, kind) in [(c"file:record.wt", "btree"), (c"lsm:record", "lsm")] {
            let metadata = self.metadata(object)?;
            if !metadata.is_empty() {
                settings.insert("table".to_owned(), kind.into());
            }
            let telling = parts(&metadata)
                .into_iter()
                .filter(|(name, value)| is_informative(name, value))
                .map(|(name, value)| (format!("table: {name}"), Value::parse(value)));
            settings.extend(telling);
        }
        Ok(settings)
    }

    fn checkpoint(&self) -> Result<()> {
        // SAFETY: the database is open.
        self.check(unsafe { (self.api.shim.checkpoint)(self.handle, c_int::from(self.has_log)) })
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        // What is not written yet is in no block that could be moved.
        self.checkpoint()?;
        // SAFETY: the database is open, and the name ends in a zero byte.
        self.check(unsafe { (self.api.shim.compact)(self.handle, TABLE.as_ptr()) })?;
        Ok(Some("WT_SESSION::compact"))
    }
}

impl Drop for WiredTigerDatabase {
    fn drop(&mut self) {
        // SAFETY: no session is left, and the handle is not used again. A drop cannot report.
        unsafe { (self.api.shim.close)(self.handle) };
    }
}
