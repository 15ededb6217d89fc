//! An open database of RocksDB, of any of its three kinds.

use super::batched_lookups::BatchedLookups;
use super::knobs::{self, RocksDbKnobs, Transactions};
use super::perf_context::{CountingSession, TOMBSTONES_PASSED};
use super::session::{TransactionFactory, TransactionSession};
use super::sst_loader::SstLoader;
use super::symbols::{FlushFunctions, RocksDbLibrary};
use super::{LIMITS, settings};
use crate::lsm::{
    self, BatchSession, BulkLoader, Handle, LsmDatabase, MultiGet, ReadFunctions, check, take_text,
};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_engine::{
    CacheCount, CacheScope, CacheUse, Database, Durability, Error, OpenSpec, Result, Session, Value,
};

/// An open database. Options are freed after it is closed.
pub(super) struct RocksDbDatabase {
    symbols: &'static RocksDbLibrary,
    store: LsmDatabase,
    kind: FlushFunctions,
    mode: TransactionMode,
    /// `None` if the library has none; it then copies what it looks up for several keys.
    batched_lookups: Option<BatchedLookups>,
    options: DatabaseOptions,
    directory: PathBuf,
    /// The tombstones that iterators passed over, as far as sessions have told.
    tombstones_passed: AtomicU64,
}

/// The kind of its transactions.
enum TransactionMode {
    Batch,
    /// `rocksdb_transactiondb_t` and the options of its transactions.
    Pessimistic(TransactionFactory),
    /// `rocksdb_optimistictransactiondb_t` and the options of its transactions.
    Optimistic(TransactionFactory),
}

// SAFETY: RocksDB allows a database and its options to be used by several threads without locks;
// the handles are not changed until all is dropped.
unsafe impl Send for RocksDbDatabase {}
// SAFETY: as above.
unsafe impl Sync for RocksDbDatabase {}

/// Options, ours to free.
struct DatabaseOptions {
    symbols: &'static RocksDbLibrary,
    handle: Handle,
}

impl DatabaseOptions {
    fn new(symbols: &'static RocksDbLibrary, spec: &OpenSpec<'_>) -> Result<Self> {
        let knobs = &RocksDbKnobs::from(spec.knobs);
        let log = knobs::log_option(knobs, spec.directory)?;
        let text = knobs::options(knobs)?;
        let text = CString::new(log + &text).map_err(Error::engine)?;
        let create = symbols.api.options_create;
        let new = || {
            // SAFETY: they need nothing.
            let handle = unsafe { create() };
            Self { symbols, handle }
        };
        let (base, options) = (new(), new());
        // SAFETY: both live; the text outlives the call.
        check(symbols.api.free, |error| unsafe {
            let read = symbols.own.get_options_from_string;
            read(base.handle, text.as_ptr(), options.handle, error);
        })?;
        if knobs.statistics {
            // SAFETY: the options live.
            unsafe { (symbols.own.options_enable_statistics)(options.handle) };
        }
        Ok(options)
    }
}

impl Drop for DatabaseOptions {
    fn drop(&mut self) {
        // SAFETY: no open database uses them.
        unsafe { (self.symbols.api.options_destroy)(self.handle) };
    }
}

/// Refuses databases of a second build in this process: two builds of RocksDB share C++ state that
/// exists once per process, and its layout may differ.
fn refuse_second_build(library: &Path) -> Result<()> {
    static FIRST: OnceLock<PathBuf> = OnceLock::new();
    let first = FIRST.get_or_init(|| library.to_owned());
    if first == library {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "this process has opened databases with {}; {} needs a separate process",
        first.display(),
        library.display()
    )))
}

impl RocksDbDatabase {
    pub(super) fn open(
        library: &Path,
        symbols: &'static RocksDbLibrary,
        spec: &OpenSpec<'_>,
    ) -> Result<Self> {
        let transactions = RocksDbKnobs::from(spec.knobs).transactions;
        Self::open_as(library, symbols, spec, transactions)
    }

    /// Opens the database with transactions of this kind, regardless of the knob.
    pub(super) fn open_as(
        library: &Path,
        symbols: &'static RocksDbLibrary,
        spec: &OpenSpec<'_>,
        transactions: Transactions,
    ) -> Result<Self> {
        refuse_second_build(library)?;
        let options = DatabaseOptions::new(symbols, spec)?;
        let path = CString::new(spec.directory.as_os_str().as_bytes())
            .map_err(|_| Error::engine("a path with a zero byte"))?;
        let (database, mode) = match transactions {
            Transactions::Batch => open_plain(symbols, &options, &path)?,
            Transactions::Optimistic => open_optimistic(symbols, &options, &path)?,
            Transactions::Pessimistic => open_pessimistic(symbols, &options, &path)?,
        };
        let has_locks = matches!(mode, TransactionMode::Pessimistic(_));
        let (reads, kind): (ReadFunctions, FlushFunctions) = if has_locks {
            (symbols.locking_reads, symbols.locking)
        } else {
            (symbols.plain_reads, symbols.plain)
        };
        let batched_lookups = BatchedLookups::of(symbols, database, has_locks);
        let copying = || MultiGet::Copied(symbols.copying_multi_get(has_locks));
        let multi_get = batched_lookups
            .as_ref()
            .map_or_else(copying, BatchedLookups::multi_get);
        // An older library does not give the plain database within one with locks.
        let plain = batched_lookups.as_ref().map(BatchedLookups::database);
        let plain = plain.or_else(|| (!has_locks).then_some(database));
        let loader =
            plain.and_then(|plain| SstLoader::of(symbols, plain, options.handle, spec.directory));
        let store = LsmDatabase {
            api: symbols.api,
            reads,
            get: symbols.get(&kind),
            multi_get: Some(multi_get),
            loader: loader.map(|loader| Box::new(loader) as Box<dyn BulkLoader>),
            database,
            write_options: write_options(symbols, spec.durability),
            set_read_options: Some(symbols.own.readoptions_set_total_order_seek),
            limits: LIMITS,
            write_lock: Default::default(),
        };
        let directory = spec.directory.to_owned();
        Ok(Self {
            symbols,
            store,
            kind,
            mode,
            batched_lookups,
            options,
            directory,
            tombstones_passed: AtomicU64::new(0),
        })
    }
}

fn write_options(symbols: &RocksDbLibrary, durability: Durability) -> Handle {
    let without_log = durability == Durability::Buffered;
    // SAFETY: the options are new.
    unsafe {
        let options = (symbols.api.writeoptions_create)();
        (symbols.api.writeoptions_set_sync)(options, u8::from(durability == Durability::Sync));
        (symbols.own.writeoptions_disable_WAL)(options, i32::from(without_log));
        options
    }
}

fn open_plain(
    symbols: &RocksDbLibrary,
    options: &DatabaseOptions,
    path: &CString,
) -> Result<(Handle, TransactionMode)> {
    // SAFETY: options and path outlive the call.
    let database = check(symbols.api.free, |error| unsafe {
        (symbols.own.open)(options.handle, path.as_ptr(), error)
    })?;
    Ok((database, TransactionMode::Batch))
}

fn open_pessimistic(
    symbols: &RocksDbLibrary,
    options: &DatabaseOptions,
    path: &CString,
) -> Result<(Handle, TransactionMode)> {
    let functions = &symbols.databases;
    // SAFETY: options and path outlive the call; RocksDB copies the options of locks.
    let database = check(symbols.api.free, |error| unsafe {
        let locks = (functions.transactiondb_options_create)();
        let database = (functions.transactiondb_open)(options.handle, locks, path.as_ptr(), error);
        (functions.transactiondb_options_destroy)(locks);
        database
    })?;
    // SAFETY: the options are new.
    let options = unsafe {
        let options = (functions.transaction_options_create)();
        (functions.transaction_options_set_deadlock_detect)(options, 1);
        options
    };
    let begin = functions.transaction_begin;
    Ok((
        database,
        TransactionMode::Pessimistic(TransactionFactory {
            begin,
            database,
            options,
        }),
    ))
}

fn open_optimistic(
    symbols: &RocksDbLibrary,
    options: &DatabaseOptions,
    path: &CString,
) -> Result<(Handle, TransactionMode)> {
    let functions = &symbols.databases;
    // SAFETY: options and path outlive the call.
    let database = check(symbols.api.free, |error| unsafe {
        (functions.optimistictransactiondb_open)(options.handle, path.as_ptr(), error)
    })?;
    // SAFETY: the database is open; its base is closed before it.
    let (base, options) = unsafe {
        let base = (functions.optimistictransactiondb_get_base_db)(database);
        (base, (functions.optimistictransaction_options_create)())
    };
    let begin = functions.optimistictransaction_begin;
    Ok((
        base,
        TransactionMode::Optimistic(TransactionFactory {
            begin,
            database,
            options,
        }),
    ))
}

impl Drop for RocksDbDatabase {
    fn drop(&mut self) {
        let functions = &self.symbols.databases;
        let database = self.store.database;
        self.batched_lookups = None;
        // SAFETY: no session is left, so nothing uses the database or its options.
        unsafe {
            match &self.mode {
                TransactionMode::Batch => (self.symbols.own.close)(database),
                TransactionMode::Pessimistic(factory) => {
                    (functions.transactiondb_close)(database);
                    (functions.transaction_options_destroy)(factory.options);
                }
                TransactionMode::Optimistic(factory) => {
                    (functions.optimistictransactiondb_close_base_db)(database);
                    (functions.optimistictransactiondb_close)(factory.database);
                    (functions.optimistictransaction_options_destroy)(factory.options);
                }
            }
            (self.symbols.api.writeoptions_destroy)(self.store.write_options);
        }
    }
}

impl RocksDbDatabase {
    /// Compares the checksums of all blocks of all tables. A library whose C API has no call for it
    /// compares those that a read of every record meets.
    ///
    /// # Errors
    /// [`Error::Engine`] with the damage.
    pub(super) fn verify_checksums(&self) -> Result<()> {
        match (self.symbols.verify_checksum, &self.mode) {
            // SAFETY: the database is open, and plain.
            (Some(verify), TransactionMode::Batch) => self
                .store
                .call(|error| unsafe { verify(self.store.database, error) }),
            _ => lsm::read_all(self),
        }
    }

    /// Has the tombstones counted that a session's iterators pass over, if the library can.
    fn counting<'db>(&'db self, session: impl Session + 'db) -> Box<dyn Session + 'db> {
        let total = &self.tombstones_passed;
        match self.symbols.perf_context {
            Some(functions) => Box::new(CountingSession::new(session, functions, total)),
            None => Box::new(session),
        }
    }

    /// Has every level merged into the last one that has records, over all keys.
    fn compact_all(&self, database: Handle) {
        let (none, no_bytes) = (std::ptr::null(), 0);
        // SAFETY: the database is open, and is a plain one or the base of another. A null key is
        // the beginning or the end.
        unsafe { (self.symbols.own.compact_range)(database, none, no_bytes, none, no_bytes) };
    }

    /// The number of errors of background work, which a compaction does not return.
    fn background_errors(&self) -> Option<String> {
        self.store.property("rocksdb.background-errors")
    }

    /// The counters of RocksDB's statistics; empty if those are off.
    fn statistics(&self) -> BTreeMap<String, Value> {
        // SAFETY: the options live; the text is ours to free, null where statistics are off.
        let statistics = unsafe {
            let text = (self.symbols.own.options_statistics_get_string)(self.options.handle);
            (!text.is_null()).then(|| take_text(text, self.symbols.api.free))
        };
        settings::statistics(&statistics.unwrap_or_default())
    }
}

impl Database for RocksDbDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(match &self.mode {
            TransactionMode::Batch => self.counting(BatchSession::new(&self.store)),
            TransactionMode::Pessimistic(factory) | TransactionMode::Optimistic(factory) => {
                self.counting(TransactionSession::new(self.symbols, &self.store, factory))
            }
        })
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let mut counters = settings::properties(|name| self.store.property(name));
        counters.extend(self.statistics());
        if self.symbols.perf_context.is_some() {
            let passed = self.tombstones_passed.load(Ordering::Relaxed);
            counters.insert(TOMBSTONES_PASSED.to_owned(), passed.into());
        }
        Ok(counters)
    }

    /// Uses the statistics, if the knob has them on. Otherwise RocksDB counts hits and misses only
    /// in a context of each thread, which another thread cannot read.
    fn count_cache(&self) -> Result<Option<CacheCount<'_>>> {
        CacheCount::of_counters(CacheScope::Process, || {
            let statistics = self.statistics();
            let number = |name: &str| match statistics.get(name) {
                Some(Value::Integer(number)) => u64::try_from(*number).ok(),
                _ => None,
            };
            let hits = number("rocksdb.block.cache.hit");
            let counted = hits.zip(number("rocksdb.block.cache.miss"));
            Ok(counted.map(|(hits, misses)| CacheUse { hits, misses }))
        })
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let mut settings = settings::from_options_file(&self.directory)?;
        let own = &self.symbols.own;
        // SAFETY: the options live.
        let (sync, without_log) = unsafe {
            let options = self.store.write_options;
            (
                (own.writeoptions_get_sync)(options),
                (own.writeoptions_get_disable_WAL)(options),
            )
        };
        settings.insert("WriteOptions.sync".to_owned(), Value::from(sync != 0));
        settings.insert(
            "WriteOptions.disableWAL".to_owned(),
            Value::from(without_log != 0),
        );
        Ok(settings)
    }

    fn checkpoint(&self) -> Result<()> {
        let (database, own) = (self.store.database, &self.symbols.own);
        let FlushFunctions {
            flush, flush_wal, ..
        } = self.kind;
        self.store.call(|error| {
            // SAFETY: the database is open and of the kind that the functions are for.
            unsafe { flush_wal(database, 1, error) }
        })?;
        // SAFETY: as above; the options are new, ours, and wait by default.
        self.store.call(|error| unsafe {
            let options = (own.flushoptions_create)();
            flush(database, options, error);
            (own.flushoptions_destroy)(options);
        })
    }

    /// A database with locks is compacted through its base; a library that does not give that has
    /// no compaction of it.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        let errors = self.background_errors();
        let database = self.store.database;
        match (&self.mode, self.symbols.base) {
            (TransactionMode::Batch | TransactionMode::Optimistic(_), _) => {
                self.compact_all(database);
            }
            (TransactionMode::Pessimistic(_), Some(functions)) => {
                // SAFETY: the database is open and one with locks; closing its base frees only the
                // handle.
                unsafe {
                    let base = (functions.get_base_db)(database);
                    self.compact_all(base);
                    (functions.close_base_db)(base);
                }
            }
            (TransactionMode::Pessimistic(_), None) => return Ok(None),
        }
        if self.background_errors() == errors {
            Ok(Some("rocksdb_compact_range"))
        } else {
            Err(Error::engine("a compaction failed; see LOG"))
        }
    }

    fn tombstones_passed(&self) -> Option<u64> {
        let are_counted = self.symbols.perf_context.is_some();
        are_counted.then(|| self.tombstones_passed.load(Ordering::Relaxed))
    }
}
