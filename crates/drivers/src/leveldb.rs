//! LevelDB, and its relatives `HyperLevelDB` and Basho's `LevelDB`, which have the same C API.
//!
//! LevelDB has write batches and snapshots but no transactions: those that read before they write
//! take turns here, in the one process that may have the database open.

mod knobs;

use crate::library::{self, FileCache, LibraryOrigin, LibrarySearch, symbols};
use crate::lsm::{
    self, BatchSession, Handle, LsmDatabase, LsmFunctions, ReadFunctions, ValueAccess, check,
};
use knobs::{LevelDbCompression, LevelDbKnobs};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use trueput_engine::common_errors::LengthLimits;
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info, InstallableBuild,
    Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Session, Value,
};

const TITLE: &str = "LevelDB";
const INSTALL: &str = "trueput engines install leveldb";
const SEARCH: LibrarySearch = LibrarySearch::new(
    &["leveldb", "hyperleveldb", "basho-leveldb"],
    "libleveldb.so",
);
const INSTALLABLE: &[InstallableBuild] = &[
    InstallableBuild {
        title: TITLE,
        path: "/libleveldb.so",
        install: INSTALL,
    },
    InstallableBuild {
        title: "HyperLevelDB",
        path: "/hyperleveldb-",
        install: "trueput engines install hyperleveldb",
    },
    InstallableBuild {
        title: "Basho's LevelDB",
        path: "/basho-leveldb-",
        install: "trueput engines install basho-leveldb",
    },
];
const SOURCE: &str = "https://github.com/google/leveldb/blob/1.23/doc/index.md, Synchronous Writes";

/// The log's record lengths are 32 bits wide, and a batch is one record.
const LIMITS: LengthLimits = LengthLimits::new(64 << 20, 1 << 30);

library::driver! {
    /// The LevelDB driver.
    LevelDb of LevelDbLibrary: LibraryOrigin::found(TITLE, SEARCH, INSTALL)
}

impl LevelDbLibrary {
    fn of(path: &Path) -> Result<&'static Self> {
        static LOADED: FileCache<LevelDbLibrary> = FileCache::new();
        LOADED.get(path, |path| {
            let library = LIBRARIES.get(path, |path| library::load(path, TITLE))?;
            Ok(Self {
                own: LevelDbFunctions::load(library, "leveldb_")?,
                api: LsmFunctions::load(library, "leveldb_")?,
                reads: ReadFunctions::load(library, "leveldb_")?,
                // SAFETY: the type is that of `leveldb/c.h`.
                compact_range: unsafe { library.symbol("leveldb_compact_range") }.ok(),
                relative: Relative::of(library),
            })
        })
    }
}

static LIBRARIES: FileCache<library::Library> = FileCache::new();

struct LevelDbLibrary {
    own: LevelDbFunctions,
    api: LsmFunctions,
    reads: ReadFunctions,
    /// `None` if a relative does not export it.
    compact_range: Option<CompactRange>,
    relative: Option<Relative>,
}

/// `leveldb_compact_range`: the database, and both ends with their lengths.
type CompactRange = unsafe extern "C" fn(Handle, *const c_char, usize, *const c_char, usize);

/// A relative of LevelDB that does not keep the promise of `sync=true`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relative {
    /// `HyperLevelDB` with the log of version 1.0.2. Later sources have another one.
    HyperLevelDb,
    /// Basho's `LevelDB`.
    Basho,
}

impl Relative {
    /// The relative that a library is, by symbols that only it has.
    fn of(library: &library::Library) -> Option<Self> {
        const TICKETS: &str =
            "_ZN7leveldb6DBImpl18SequenceWriteBeginEPNS0_6WriterEPNS_10WriteBatchE";
        const PLAIN_LOG: &str = "_ZN7leveldb3log6WriterC1EPNS_12WritableFileE";
        if library.has(TICKETS) && library.has(PLAIN_LOG) {
            Some(Self::HyperLevelDb)
        } else if library.has("leveldb_options_set_total_leveldb_mem") {
            Some(Self::Basho)
        } else {
            None
        }
    }

    /// Why `sync=true` does not keep the promise of `sync`: small programs outside trueput are in
    /// docs/findings.
    fn refutation(self) -> &'static str {
        match self {
            Self::HyperLevelDb => {
                "HyperLevelDB 1.0.2 acknowledges a synchronous write while the flush that it needs \
                 still runs in another thread"
            }
            Self::Basho => {
                "Basho's LevelDB renames a table and removes its log, and flushes no directory"
            }
        }
    }
}

symbols! {
    /// The functions that RocksDB declares differently.
    LevelDbFunctions {
        open: fn(Handle, *const c_char, *mut *mut c_char) -> Handle,
        close: fn(Handle),
        major_version: fn() -> c_int,
        minor_version: fn() -> c_int,
        options_set_paranoid_checks: fn(Handle, u8),
        readoptions_set_verify_checksums: fn(Handle, u8),
        options_set_write_buffer_size: fn(Handle, usize),
        options_set_block_size: fn(Handle, usize),
        options_set_max_open_files: fn(Handle, c_int),
        options_set_compression: fn(Handle, c_int),
        options_set_cache: fn(Handle, Handle),
        options_set_filter_policy: fn(Handle, Handle),
        cache_create_lru: fn(usize) -> Handle,
        cache_destroy: fn(Handle),
        filterpolicy_create_bloom: fn(c_int) -> Handle,
        filterpolicy_destroy: fn(Handle),
    }
}

impl Engine for LevelDb {
    fn info(&self) -> Info {
        Info {
            name: "leveldb",
            title: TITLE,
            summary: "log-structured merge tree; one process; drives its relatives too",
            license: "BSD-3-Clause",
            homepage: "https://github.com/google/leveldb/blob/main/doc/index.md",
            install: INSTALL,
        }
    }

    fn build(&self) -> Result<Build> {
        let (path, symbols) = self.library()?;
        // SAFETY: the functions only return constants.
        let (major, minor) =
            unsafe { ((symbols.own.major_version)(), (symbols.own.minor_version)()) };
        Ok(library::build_of(path, format!("{major}.{minor}")))
    }

    fn installable_builds(&self) -> &'static [InstallableBuild] {
        INSTALLABLE
    }

    library::library_selection!();

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            concurrent_writers: false,
            ..Capabilities::transactional(LIMITS.key_bytes, LIMITS.value_bytes)
        }
    }

    fn promise_with(&self, durability: Durability, _knobs: &ParameterValues) -> Result<Promise> {
        // Without sync a log can reach storage before the one that it follows: lost power leaves no
        // prefix (docs/AUDIT.md).
        let mapped_to = match durability {
            Durability::Sync => {
                self.check_sync()?;
                "sync=true"
            }
            Durability::Process => "sync=false",
            Durability::Async | Durability::Buffered | Durability::None => {
                return Err(Error::no_durability("leveldb", durability));
            }
        };
        Ok(Promise::new(durability, mapped_to, None, SOURCE))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // A write transaction that reads has the database for itself until it ends.
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        LevelDbKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = LevelDbKnobs::from(knobs).block_cache;
        Ok(CacheKnob::bytes("block_cache", size_bytes))
    }

    fn workaround(&self, _knobs: &ParameterValues) -> Option<String> {
        Some(lsm::READERS_LOCK.to_owned())
    }

    fn check_transactions(&self, _knobs: &ParameterValues) -> Result<()> {
        Err(Error::Unsupported(
            "leveldb has write batches and snapshots but no transactions: what reads before it \
             writes takes turns in its driver, whose lock would be measured"
                .to_owned(),
        ))
    }

    /// Reads every record with `paranoid_checks` and `verify_checksums`: LevelDB has no other
    /// check.
    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let (_, symbols) = self.library()?;
        lsm::read_all(&LevelDbDatabase::open(
            symbols,
            spec,
            1,
            ChecksumUse::Always,
        )?)
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("block_cache", "256KiB"), ("write_buffer_size", "64KiB")]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        self.promise_with(spec.durability, spec.knobs)?;
        let sync = u8::from(spec.durability == Durability::Sync);
        let (_, symbols) = self.library()?;
        let database = LevelDbDatabase::open(symbols, spec, sync, ChecksumUse::Default)?;
        Ok(Box::new(database))
    }
}

impl LevelDb {
    /// # Errors
    /// One line if the library is a relative that an audit refuted at `sync`. A library that cannot
    /// be loaded is told where it is opened.
    fn check_sync(&self) -> Result<()> {
        let relative = self
            .library()
            .ok()
            .and_then(|(_, symbols)| symbols.relative);
        relative.map_or(Ok(()), |relative| {
            Err(Error::Unsupported(format!(
                "{}: {} (docs/AUDIT.md)",
                Error::no_durability("leveldb", Durability::Sync),
                relative.refutation()
            )))
        })
    }
}

/// When the checksums of logs and blocks are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChecksumUse {
    /// As LevelDB has it without options.
    Default,
    /// In recovery, compactions and each read, and any difference is an error.
    Always,
}

struct LevelDbDatabase {
    symbols: &'static LevelDbLibrary,
    store: LsmDatabase,
    /// Freed after the database is closed.
    _settings: DatabaseOptions,
    directory: PathBuf,
}

impl LevelDbDatabase {
    fn open(
        symbols: &'static LevelDbLibrary,
        spec: &OpenSpec<'_>,
        sync: u8,
        checksums: ChecksumUse,
    ) -> Result<Self> {
        let settings = DatabaseOptions::new(symbols, &spec.knobs.into())?;
        let always = checksums == ChecksumUse::Always;
        // SAFETY: the options live, and no database uses them yet.
        unsafe { (symbols.own.options_set_paranoid_checks)(settings.options, u8::from(always)) };
        let directory = CString::new(spec.directory.as_os_str().as_bytes())
            .map_err(|_| Error::engine("a path with a zero byte"))?;
        // SAFETY: the options and the path live; the database is ours to close.
        let database = check(symbols.api.free, |error| unsafe {
            (symbols.own.open)(settings.options, directory.as_ptr(), error)
        })?;
        // SAFETY: the options are new.
        let write_options = unsafe {
            let options = (symbols.api.writeoptions_create)();
            (symbols.api.writeoptions_set_sync)(options, sync);
            options
        };
        let store = LsmDatabase {
            api: symbols.api,
            reads: symbols.reads,
            get: ValueAccess::Copied,
            multi_get: None,
            loader: None,
            database,
            write_options,
            set_read_options: always.then_some(symbols.own.readoptions_set_verify_checksums),
            limits: LIMITS,
            write_lock: Default::default(),
        };
        let directory = spec.directory.to_owned();
        Ok(Self {
            symbols,
            store,
            _settings: settings,
            directory,
        })
    }
}

impl Drop for LevelDbDatabase {
    fn drop(&mut self) {
        // SAFETY: no session is left, so nothing uses the database or its options; cache and filter
        // outlive the database, as fields are dropped after this.
        unsafe {
            (self.symbols.own.close)(self.store.database);
            (self.symbols.api.writeoptions_destroy)(self.store.write_options);
        }
    }
}

/// The options of a database, and the objects that they point to.
struct DatabaseOptions {
    symbols: &'static LevelDbLibrary,
    options: Handle,
    cache: Handle,
    /// Null without a filter.
    filter: Handle,
}

// SAFETY: the options are not changed once they are made; see `LsmDatabase`.
unsafe impl Send for DatabaseOptions {}
// SAFETY: as above.
unsafe impl Sync for DatabaseOptions {}

impl DatabaseOptions {
    fn new(symbols: &'static LevelDbLibrary, knobs: &LevelDbKnobs) -> Result<Self> {
        let size = |name, bytes: u64| {
            usize::try_from(bytes)
                .map_err(|_| Error::Unsupported(format!("leveldb.{name} exceeds memory")))
        };
        let compression = c_int::from(knobs.compression == LevelDbCompression::Snappy);
        let write_buffer = size("write_buffer_size", knobs.write_buffer_size)?;
        let block = size("block_size", knobs.block_size)?;
        let cache_bytes = size("block_cache", knobs.block_cache)?;
        let own = &symbols.own;
        // SAFETY: all is new and lives until it is dropped with the struct.
        unsafe {
            let options = (symbols.api.options_create)();
            (symbols.api.options_set_create_if_missing)(options, 1);
            (own.options_set_write_buffer_size)(options, write_buffer);
            (own.options_set_block_size)(options, block);
            (own.options_set_max_open_files)(options, knobs.max_open_files);
            (own.options_set_compression)(options, compression);
            let cache = (own.cache_create_lru)(cache_bytes);
            (own.options_set_cache)(options, cache);
            let mut filter = std::ptr::null_mut();
            if knobs.bloom_bits > 0 {
                filter = (own.filterpolicy_create_bloom)(knobs.bloom_bits);
                (own.options_set_filter_policy)(options, filter);
            }
            Ok(Self {
                symbols,
                options,
                cache,
                filter,
            })
        }
    }
}

impl Drop for DatabaseOptions {
    fn drop(&mut self) {
        // SAFETY: the database, if it ever opened, is closed.
        unsafe {
            (self.symbols.api.options_destroy)(self.options);
            (self.symbols.own.cache_destroy)(self.cache);
            if !self.filter.is_null() {
                (self.symbols.own.filterpolicy_destroy)(self.filter);
            }
        }
    }
}

impl Database for LevelDbDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(BatchSession::new(&self.store)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let mut counters = BTreeMap::new();
        if let Some(text) = self.store.property("leveldb.approximate-memory-usage") {
            counters.insert("approximate-memory-usage".to_owned(), Value::parse(&text));
        }
        for level in 0..7 {
            let name = format!("num-files-at-level{level}");
            if let Some(text) = self.store.property(&format!("leveldb.{name}")) {
                counters.insert(name, Value::parse(&text));
            }
        }
        let stats = self.store.property("leveldb.stats").unwrap_or_default();
        counters.extend(compactions(&stats));
        Ok(counters)
    }

    /// LevelDB keeps its options to itself; Basho's writes them to its log.
    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let log = std::fs::read(self.directory.join("LOG")).unwrap_or_default();
        Ok(logged_options(&String::from_utf8_lossy(&log)))
    }

    /// LevelDB flushes its log with a write that asks for it; this one is empty.
    fn checkpoint(&self) -> Result<()> {
        let api = &self.store.api;
        // SAFETY: options and batch are new and ours; the database is open.
        unsafe {
            let options = (api.writeoptions_create)();
            (api.writeoptions_set_sync)(options, 1);
            let batch = (api.writebatch_create)();
            let written = self
                .store
                .call(|error| (api.write)(self.store.database, options, batch, error));
            (api.writebatch_destroy)(batch);
            (api.writeoptions_destroy)(options);
            written
        }
    }

    /// The compaction returns no error: the next write does.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        let Some(compact_range) = self.symbols.compact_range else {
            return Ok(None);
        };
        let (none, no_bytes) = (std::ptr::null(), 0);
        // SAFETY: the database is open; a null key is the beginning or the end.
        unsafe { compact_range(self.store.database, none, no_bytes, none, no_bytes) };
        self.checkpoint()?;
        Ok(Some("leveldb_compact_range"))
    }
}

/// The table that `leveldb.stats` is: level, files, size, seconds, read and written.
fn compactions(stats: &str) -> BTreeMap<String, Value> {
    const COLUMNS: [&str; 5] = ["files", "size_mb", "time_s", "read_mb", "write_mb"];
    let mut counters = BTreeMap::new();
    for line in stats.lines() {
        let numbers: Option<Vec<f64>> = line
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let Some([level, figures @ ..]) = numbers.as_deref() else {
            continue;
        };
        if figures.len() == COLUMNS.len() {
            for (column, figure) in COLUMNS.iter().zip(figures) {
                counters.insert(format!("level{level}.{column}"), Value::Float(*figure));
            }
        }
    }
    counters
}

/// The options in a log: `… Options.NAME: VALUE`. The last of a name counts.
fn logged_options(log: &str) -> BTreeMap<String, Value> {
    let line = |line: &str| {
        let (name, value) = line.split_once("Options.")?.1.split_once(':')?;
        Some((name.trim().to_owned(), Value::parse(value.trim())))
    };
    log.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_compactions_is_read() {
        let stats = "                               Compactions\n\
                     Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n\
                     --------------------------------------------------\n  \
                       0        2        4         1        0         5\n";
        let counters = compactions(stats);
        assert_eq!(counters.len(), 5);
        assert_eq!(counters["level0.write_mb"], Value::Float(5.0));
        assert!(compactions("nothing of the kind").is_empty());
    }

    #[test]
    fn options_in_the_log_are_read() {
        let log = "2026/01/01-00:00:00.0 7f00     Options.write_buffer_size: 4194304\nelse\n";
        assert_eq!(
            logged_options(log)["write_buffer_size"],
            Value::Integer(4_194_304)
        );
    }
}
