//! SQLite, by its C API: compiled in through `rusqlite`'s bundled library, or any other build that
//! a plan names.

mod build;
mod cache;
mod connection;
mod event_watcher;
mod session;
mod setup;
mod sql;

use crate::library::{self, LibrarySearch};
use build::{SqliteBuild, TITLE};
use cache::CacheTotals;
use connection::SqliteConnection;
use rusqlite::ffi;
use setup::ConnectionSetup;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_engine::event_watcher::EventProgress;
use trueput_engine::{
    Build, COMPILED_IN, CacheCount, CacheKnob, CacheScope, Capabilities, Database, Dialect,
    Durability, Engine, Error, EventWatcher, Info, InstallableBuild, Isolation, OpenSpec,
    Parameter, ParameterValues, Promise, Result, Session, Value, Window, choices, parameters,
};

/// The system's own SQLite, which can be named; the one that is compiled in is the default.
const INSTALLABLE: &[InstallableBuild] = &[InstallableBuild {
    title: "SQLite of the distribution",
    path: "/libsqlite3.so",
    install: "trueput engines install sqlite",
}];
const SEARCH: LibrarySearch = LibrarySearch::new(&[], "libsqlite3.so");

/// The SQLite driver: one table, keys and values as blobs.
#[derive(Default)]
pub struct Sqlite {
    /// The library that a plan names, and the build loaded from it.
    named: Option<(PathBuf, &'static SqliteBuild)>,
}

impl Sqlite {
    /// The SQLite that is compiled in.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    fn active_build(&self) -> &'static SqliteBuild {
        match self.named {
            Some((_, build)) => build,
            None => SqliteBuild::linked(),
        }
    }
}

/// The page size of SQLite's default and of the knob's, bytes.
const DEFAULT_PAGE_BYTES: u64 = 4096;

parameters! {
    /// SQLite's knobs.
    struct SqliteKnobs {
        /// Journal for crash recovery; auto means wal, or memory at level none.
        journal_mode: Choice<JournalMode> = Auto,
            cost "delete, truncate, persist: readers and writers keep each other out, and async \
                cannot be kept; memory, off: level none only, a killed process can leave a \
                corrupt database; off also cannot abort",
        /// Size of a page of a new database.
        page_size: Choice = "4096" of [
            "512",
            "1024",
            "2048",
            "4096",
            "8192",
            "16384",
            "32768",
            "65536",
        ], unit "bytes",
            cost "larger: more is written for a small change. Smaller: a deeper tree, and large \
                values spill to more pages",
        /// Page cache of each connection.
        cache_size: Bytes = 2000 KiB in 64 KiB..=1 TiB, cost "memory, once per session",
        /// Part of the database file that is read through a memory map; 0: none.
        mmap_size: Bytes = 0 B in 0 B..=0x7fff_0000 B,
            cost "an I/O error kills the process (SIGBUS) instead of failing the read",
        /// Pages in the write-ahead log at which a commit also checkpoints; 0: never.
        wal_autocheckpoint: Integer = 1000 in 0..=2_147_483_647, unit "pages",
            cost "more: a longer log, slower reads and, at async, a larger window. Fewer: more \
                flushes and the same page written more often",
        /// Time that a transaction waits for a lock before it reports a conflict.
        busy_timeout: Integer<i32> = 5000 in 0..=3_600_000, unit "ms",
            cost "shorter: more conflicts to retry; longer: waits where a retry would be faster",
        /// How a transaction waits for a lock: sqlite uses the library's handler (sleeps of 1 to
        /// 100 ms), short the driver's (50 us to 1 ms).
        busy_wait: Choice<BusyWait> = Sqlite, cost "short: CPU time for more frequent attempts",
        /// Keeps records in the key's own B-tree (WITHOUT ROWID), not in a table plus index.
        without_rowid: Boolean = true,
            cost "off: each get and put searches two trees; large values scan better",
    }
}

choices! {
    /// The knob `journal_mode`.
    enum JournalMode {
        Auto = "auto",
        Wal = "wal",
        Delete = "delete",
        Truncate = "truncate",
        Persist = "persist",
        Memory = "memory",
        Off = "off",
    }
}

choices! {
    /// The wait of a transaction for a lock.
    enum BusyWait {
        /// By the library's handler.
        Sqlite = "sqlite",
        /// By the driver's.
        Short = "short",
    }
}

impl Engine for Sqlite {
    fn info(&self) -> Info {
        Info {
            name: "sqlite",
            title: TITLE,
            summary: "SQL, B-tree with a write-ahead log or a rollback journal; one writer",
            license: "blessing",
            homepage: "https://sqlite.org/docs.html",
            install: COMPILED_IN,
        }
    }

    fn build(&self) -> Result<Build> {
        let build = self.active_build();
        Ok(Build {
            version: build.version.clone(),
            library: self.named.as_ref().map(|(path, _)| path.clone()),
            assertions: Some(build.has_assertions()),
        })
    }

    fn installable_builds(&self) -> &'static [InstallableBuild] {
        INSTALLABLE
    }

    fn library_files(&self) -> Vec<PathBuf> {
        SEARCH.run()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let path = library::full_path(library)?;
        let build = SqliteBuild::load(&path)?;
        let named = Some((path, build));
        Ok(Box::new(Self { named }))
    }

    /// With the limits of the build that is compiled in.
    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        library::full_path(library)?;
        Ok(Box::new(Self::new()))
    }

    fn capabilities(&self) -> Capabilities {
        // Key and value share a row, and a few bytes of it are its header.
        let half_row_bytes = (self.active_build().max_row_bytes / 2).saturating_sub(64);
        Capabilities {
            several_processes: true,
            concurrent_writers: false,
            conditional_put: true,
            ..Capabilities::transactional(half_row_bytes, half_row_bytes)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let knobs = SqliteKnobs::from(knobs);
        let (journal_mode, synchronous) = setup::journal(durability, knobs.journal_mode)?;
        let synchronous = synchronous.name();
        let mapped_to = format!("journal_mode={journal_mode}, synchronous={synchronous}");
        let source = match durability {
            Durability::Async => "https://sqlite.org/wal.html#performance_considerations",
            Durability::None => "https://sqlite.org/pragma.html#pragma_journal_mode",
            _ => "https://sqlite.org/pragma.html#pragma_synchronous",
        };
        let window = (durability == Durability::Async).then(|| {
            let pages = knobs.wal_autocheckpoint;
            let page_bytes: u64 = knobs.page_size.parse().unwrap_or(DEFAULT_PAGE_BYTES);
            Window {
                // Without checkpoints the whole log may be lost.
                bytes: (pages > 0).then(|| pages.saturating_mul(page_bytes)),
                ..Window::until(
                    "the next checkpoint, which flushes the log: due at wal_autocheckpoint pages \
                     (1000 by default), put off while another connection checkpoints",
                )
            }
        });
        Ok(Promise::new(durability, mapped_to, window, source))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // Write transactions begin with BEGIN IMMEDIATE: there is one at a time.
        Some(Isolation::Serializable)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["journal_mode"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        SqliteKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        Ok(CacheKnob {
            per_session: true,
            ..CacheKnob::bytes("cache_size", SqliteKnobs::from(knobs).cache_size)
        })
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let file = spec.directory.join(setup::FILE);
        let connection = SqliteConnection::open(&self.active_build().api, &file)?;
        match connection.query("PRAGMA integrity_check")? {
            Some(Value::Text(said)) if said == "ok" => Ok(()),
            said => {
                let said = said.map(|said| said.to_string().replace('\n', "; "));
                Err(Error::engine(said.unwrap_or_default()))
            }
        }
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("cache_size", "64KiB"), ("wal_autocheckpoint", "20")]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let build = self.active_build();
        let setup = ConnectionSetup::new(&build.api, spec)?;
        let control = Mutex::new(setup.connect()?);
        let counters = Mutex::new([0; COUNTERS.len()]);
        Ok(Box::new(SqliteDatabase {
            build,
            setup,
            control,
            counters,
            cache: CacheTotals::default(),
        }))
    }

    fn event_watcher(&self, spec: &OpenSpec<'_>) -> Option<Box<dyn EventWatcher>> {
        let (journal_mode, _) =
            setup::journal(spec.durability, SqliteKnobs::from(spec.knobs).journal_mode).ok()?;
        let reader = event_watcher::reader(&spec.directory.join(setup::FILE));
        (journal_mode == "wal")
            .then(|| Box::new(EventProgress::new(reader)) as Box<dyn EventWatcher>)
    }

    fn dialect(&self) -> Option<Dialect> {
        Some(Dialect::Sqlite)
    }
}

/// Counters of a connection, which are summed over the sessions that have ended.
const COUNTERS: [(&str, i32); 4] = [
    ("cache_hit", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_miss", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("cache_write", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_spill", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

/// Settings that are read back, each by the PRAGMA of its name.
const SETTINGS: [&str; 9] = [
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "mmap_size",
    "wal_autocheckpoint",
    "busy_timeout",
    "locking_mode",
    "auto_vacuum",
];

/// An open database: how to connect, and a connection that asks and checkpoints.
struct SqliteDatabase {
    build: &'static SqliteBuild,
    setup: ConnectionSetup,
    control: Mutex<SqliteConnection>,
    counters: Mutex<[u64; COUNTERS.len()]>,
    cache: CacheTotals,
}

impl SqliteDatabase {
    fn control(&self) -> MutexGuard<'_, SqliteConnection> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the counters of a connection that is about to be closed. One that cannot be read counts
    /// nothing.
    fn add_counters(&self, connection: &SqliteConnection) {
        let mut totals = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        for (total, (_, counter)) in totals.iter_mut().zip(COUNTERS) {
            *total += connection.status(counter).unwrap_or(0);
        }
    }
}

impl Database for SqliteDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(session::SqliteSession::new(
            self,
            self.setup.connect()?,
        )?))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let totals = *self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = BTreeMap::new();
        for ((name, _), total) in COUNTERS.into_iter().zip(totals) {
            counters.insert(name.to_owned(), Value::from(total));
        }
        let control = self.control();
        for name in ["page_count", "freelist_count"] {
            if let Some(count) = control.query(&format!("PRAGMA {name}"))? {
                counters.insert(name.to_owned(), count);
            }
        }
        Ok(counters)
    }

    /// Uses the counters of each connection's cache. Reads of mapped pages (the knob `mmap_size`)
    /// bypass them.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        self.cache.begin();
        let end = || Ok(self.cache.total());
        Ok(Some(CacheCount::new(CacheScope::Process, end)))
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let control = self.control();
        let mut settings = BTreeMap::new();
        for name in SETTINGS {
            if let Some(value) = control.query(&format!("PRAGMA {name}"))? {
                settings.insert(name.to_owned(), value);
            }
        }
        let schema = "SELECT sql FROM sqlite_schema WHERE name='record'";
        if let Some(sql) = control.query(schema)? {
            settings.insert("schema".to_owned(), sql);
        }
        let options = self.build.options.join(" ");
        settings.insert("compile_options".to_owned(), Value::from(options));
        Ok(settings)
    }

    fn checkpoint(&self) -> Result<()> {
        self.control().checkpoint()
    }

    /// In a write-ahead log the new pages reach the file, and shorten it, at the checkpoint.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        let control = self.control();
        control.execute("VACUUM")?;
        control.checkpoint()?;
        Ok(Some("VACUUM"))
    }
}
