//! fjall: a log-structured merge tree with a journal, written in Rust.
//!
//! Only one process can have the folder open. Write transactions take turns (`single-writer`), or
//! overlap and may conflict at commit (`optimistic`), depending on a knob.

mod commit_turn;
mod session;

use crate::named_values::named_values;
use ::fjall::config::{BlockSizePolicy, CompressionPolicy};
use ::fjall::{
    CompressionType, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, OptimisticTxDatabase,
    OptimisticTxKeyspace, PersistMode, SingleWriterTxDatabase, SingleWriterTxKeyspace,
};
use commit_turn::CommitTurn;
use session::FjallSession;
use std::collections::BTreeMap;
use std::path::Path;
use trueput_engine::{
    Build, COMPILED_IN, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info,
    Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Session, Value, choices,
    common_errors, parameters,
};

/// The fjall driver.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fjall;

const KEYSPACE: &str = "records";
/// The limits of fjall's journal and tables: lengths are kept in 16 and 32 bits.
const MAX_KEY_BYTES: usize = u16::MAX as usize;
const MAX_VALUE_BYTES: usize = u32::MAX as usize;

parameters! {
    /// fjall's knobs.
    struct FjallKnobs {
        /// Whether write transactions run one at a time, or overlap and are checked for conflicts
        /// at commit.
        concurrency: Choice<Concurrency> = SingleWriter,
            cost "optimistic: memory for the reads of write transactions, and retries of \
                conflicting commits",
        /// How a commit at durability 'sync' flushes the journal: fsync (SyncAll) or fdatasync
        /// (SyncData).
        persist_mode: Choice<CommitFlush> = SyncAll,
            cost "sync_data: the journal's timestamps; nothing where fdatasync keeps what reading \
                the file needs, as on Linux",
        /// Memory for blocks of tables; fjall advises a fifth to a quarter of memory.
        cache_size: Bytes = 32 MiB in 1 MiB..=1 TiB, cost "host memory; smaller: more reads",
        /// Size at which the write buffer is sealed and written out as a table. Fixed when the
        /// database is created.
        max_memtable_size: Bytes = 64 MiB in 64 KiB..=4 GiB,
            cost "larger: memory, a longer journal to replay; smaller: more compaction",
        /// Size of all journals together above which memtables are written out early.
        max_journaling_size: Bytes = 512 MiB in 64 MiB..=1 TiB,
            cost "larger: disk and time to replay after a crash",
        /// Threads that write out memtables and compact; 0: fjall's default, one per core, at most
        /// 4.
        worker_threads: Integer<usize> = 0 in 0..=256, unit "threads",
            cost "more: CPU time of the sessions; fewer: writers wait for compaction",
        /// Compression of data blocks; by-level is fjall's default: none in the upper two levels,
        /// lz4 below. Fixed when the database is created.
        compression: Choice<FjallCompression> = ByLevel, cost "lz4: CPU time; none: disk and cache",
        /// Size of a data block before compression. Fixed when the database is created.
        data_block_size: Bytes = 4 KiB in 1 KiB..=1 MiB,
            cost "larger: reads more than needed; smaller: larger index in memory",
        /// Build no filter for the last level. Fixed when the database is created.
        expect_point_read_hits: Boolean = false, cost "on: slower look-ups of absent keys",
        /// Keep values of this size or more apart from the tree, in blob files; 0 keeps every value
        /// in the tree. Fixed when the database is created.
        separation_threshold: Bytes = 0 B in 0 B..=1 GiB,
            cost "on: a second read per value, and space until blobs are collected",
    }
}

choices! {
    /// The way in which write transactions run.
    enum Concurrency {
        SingleWriter = "single-writer",
        Optimistic = "optimistic",
    }
}

choices! {
    /// The flush of the journal by a commit at durability `sync`.
    enum CommitFlush {
        SyncAll = "sync_all",
        SyncData = "sync_data",
    }
}

choices! {
    /// Compression of data blocks.
    enum FjallCompression {
        ByLevel = "by-level",
        None = "none",
        Lz4 = "lz4",
    }
}

const PERSIST_SOURCE: &str = "https://docs.rs/fjall/latest/fjall/enum.PersistMode.html";

/// Opens a database of the given type with the settings that concern all of it. A macro, since the
/// trait that its two types share is private to fjall.
macro_rules! open_configured {
    ($database:ident, $spec:expr, $knobs:expr) => {{
        let builder = $database::builder($spec.directory)
            .cache_size($knobs.cache_size)
            .max_journaling_size($knobs.max_journaling_size);
        let builder = match $knobs.worker_threads {
            0 => builder,
            threads => builder.worker_threads(threads),
        };
        builder
            .open()
            .map_err(|error| open_error($spec.directory, error))
    }};
}

impl Engine for Fjall {
    fn info(&self) -> Info {
        Info {
            name: "fjall",
            title: "fjall",
            summary: "log-structured merge tree, journal, in Rust",
            license: "MIT OR Apache-2.0",
            homepage: "https://docs.rs/fjall",
            install: COMPILED_IN,
        }
    }

    /// The version that Cargo locked: fjall does not report its version at run time.
    fn build(&self) -> Result<Build> {
        Ok(Build {
            version: env!("TRUEPUT_FJALL_VERSION").to_owned(),
            library: None,
            assertions: None,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            // With its default knobs; `concurrency=optimistic` lets them overlap.
            concurrent_writers: false,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let flush = FjallKnobs::from(knobs).persist_mode;
        let mapped_to = match durability {
            Durability::Sync if flush == CommitFlush::SyncData => {
                "durability=SyncData at each commit"
            }
            Durability::Sync => "durability=SyncAll at each commit",
            // A journal that lost an inner page to lost power does not open (docs/AUDIT.md).
            Durability::Process => "durability=Buffer at each commit",
            Durability::Async | Durability::Buffered | Durability::None => {
                return Err(Error::no_durability("fjall", durability));
            }
        };
        Ok(Promise::new(durability, mapped_to, None, PERSIST_SOURCE))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // One write transaction at a time, or reads and ranges validated at commit.
        Some(Isolation::Serializable)
    }

    fn isolation_knobs(&self) -> &'static [&'static str] {
        &["concurrency"]
    }

    fn knobs(&self) -> &'static [Parameter] {
        FjallKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = FjallKnobs::from(knobs).cache_size;
        Ok(CacheKnob::bytes("cache_size", size_bytes))
    }

    fn workaround(&self, _knobs: &ParameterValues) -> Option<String> {
        Some(
            "a read transaction that begins while a commit is applied and a memtable or compaction \
             is written out waits for that commit, because its snapshot would have part of it \
             (fjall 3.1.13)"
                .to_owned(),
        )
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("cache_size", "1MiB"),
            ("max_memtable_size", "128KiB"),
            ("max_journaling_size", "64MiB"),
        ]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let knobs = FjallKnobs::from(spec.knobs);
        let commit_mode = match spec.durability {
            Durability::Sync => match knobs.persist_mode {
                CommitFlush::SyncAll => PersistMode::SyncAll,
                CommitFlush::SyncData => PersistMode::SyncData,
            },
            Durability::Process => PersistMode::Buffer,
            other => return Err(Error::no_durability("fjall", other)),
        };
        let options = || keyspace_options(&knobs);
        let handle = match knobs.concurrency {
            Concurrency::Optimistic => {
                let database = open_configured!(OptimisticTxDatabase, spec, knobs)?;
                let records = database.keyspace(KEYSPACE, options).map_err(convert)?;
                FjallHandle::Optimistic(database, records)
            }
            Concurrency::SingleWriter => {
                let database = open_configured!(SingleWriterTxDatabase, spec, knobs)?;
                let records = database.keyspace(KEYSPACE, options).map_err(convert)?;
                FjallHandle::SingleWriter(database, records)
            }
        };
        Ok(Box::new(FjallDatabase {
            handle,
            commit_mode,
            commit_turn: CommitTurn::new(),
        }))
    }
}

/// The settings of the one keyspace; fjall keeps the settings of its creation.
fn keyspace_options(knobs: &FjallKnobs) -> KeyspaceCreateOptions {
    let block_size = u32::try_from(knobs.data_block_size).unwrap_or(u32::MAX);
    let options = KeyspaceCreateOptions::default()
        .max_memtable_size(knobs.max_memtable_size)
        .data_block_size_policy(BlockSizePolicy::all(block_size))
        .expect_point_read_hits(knobs.expect_point_read_hits);
    let compression = match knobs.compression {
        FjallCompression::None => Some(CompressionType::None),
        FjallCompression::Lz4 => Some(CompressionType::Lz4),
        FjallCompression::ByLevel => None,
    };
    let options = match compression {
        Some(kind) => options.data_block_compression_policy(CompressionPolicy::all(kind)),
        None => options,
    };
    match u32::try_from(knobs.separation_threshold) {
        Ok(bytes) if bytes > 0 => options.with_kv_separation(Some(
            KvSeparationOptions::default()
                .separation_threshold(bytes)
                .compression(compression.unwrap_or(CompressionType::Lz4)),
        )),
        _ => options,
    }
}

fn open_error(directory: &Path, error: ::fjall::Error) -> Error {
    match error {
        ::fjall::Error::Locked => Error::engine(format!(
            "fjall: {} is open already; fjall allows one opening at a time",
            directory.display()
        )),
        other => convert(other),
    }
}

fn convert(error: ::fjall::Error) -> Error {
    let (::fjall::Error::Io(io) | ::fjall::Error::Storage(::fjall::LsmError::Io(io))) = &error
    else {
        return Error::engine(error);
    };
    match io.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Error::Full(io.to_string())
        }
        _ => common_errors::coded(io.raw_os_error().unwrap_or(0), format!("fjall: {io}")),
    }
}

/// A list with one entry per level of the tree.
fn list(levels: &[impl ToString]) -> Value {
    let words: Vec<_> = levels.iter().map(ToString::to_string).collect();
    Value::Text(words.join(","))
}

enum FjallHandle {
    SingleWriter(SingleWriterTxDatabase, SingleWriterTxKeyspace),
    Optimistic(OptimisticTxDatabase, OptimisticTxKeyspace),
}

struct FjallDatabase {
    handle: FjallHandle,
    /// The persistence that each commit requests from the journal.
    commit_mode: PersistMode,
    commit_turn: CommitTurn,
}

impl FjallDatabase {
    fn engine(&self) -> &::fjall::Database {
        match &self.handle {
            FjallHandle::SingleWriter(engine, _) => engine.inner(),
            FjallHandle::Optimistic(engine, _) => engine.inner(),
        }
    }

    fn records(&self) -> &Keyspace {
        match &self.handle {
            FjallHandle::SingleWriter(_, records) => records.inner(),
            FjallHandle::Optimistic(_, records) => records.inner(),
        }
    }
}

impl Database for FjallDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(FjallSession::new(self)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let (engine, records) = (self.engine(), self.records());
        let compacting_us = u64::try_from(engine.time_compacting().as_micros());
        Ok(named_values([
            ("write_buffer_size", engine.write_buffer_size()),
            ("outstanding_flushes", engine.outstanding_flushes() as u64),
            ("time_compacting_us", compacting_us.unwrap_or(u64::MAX)),
            ("active_compactions", engine.active_compactions() as u64),
            (
                "compactions_completed",
                engine.compactions_completed() as u64,
            ),
            ("journal_count", engine.journal_count() as u64),
            (
                "journal_disk_space",
                engine.journal_disk_space().map_err(convert)?,
            ),
            ("cache_size", engine.cache_size()),
            ("disk_space", records.disk_space()),
            ("approximate_len", records.approximate_len() as u64),
            (
                "sealed_memtable_count",
                records.sealed_memtable_count() as u64,
            ),
            ("l0_table_count", records.l0_table_count() as u64),
            ("table_count", records.table_count() as u64),
            ("blob_file_count", records.blob_file_count() as u64),
            ("fragmented_blob_bytes", records.fragmented_blob_bytes()),
        ]))
    }

    /// The settings that fjall reports: the cache's capacity, and the settings that the keyspace
    /// was made with, as read from its own metadata when the database is opened again. The sizes of
    /// memtable and journals, the worker threads and the mode of commits cannot be read back.
    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let options = &self.records().config;
        let is_separated = self.records().is_kv_separated();
        let mut settings = named_values([
            (
                "cache_capacity",
                Value::from(self.engine().cache_capacity()),
            ),
            (
                "data_block_size_policy",
                list(&options.data_block_size_policy),
            ),
            (
                "data_block_compression_policy",
                list(&options.data_block_compression_policy),
            ),
            (
                "expect_point_read_hits",
                options.expect_point_read_hits.into(),
            ),
            ("is_kv_separated", is_separated.into()),
        ]);
        if let Some(blobs) = &options.kv_separation_opts {
            let threshold = i64::from(blobs.separation_threshold);
            settings.insert("separation_threshold".to_owned(), Value::from(threshold));
        }
        Ok(settings)
    }

    fn checkpoint(&self) -> Result<()> {
        self.engine().persist(PersistMode::SyncAll).map_err(convert)
    }

    /// By functions that fjall exports without documentation: the write buffer is flushed first,
    /// since a compaction merges tables only.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        let records = self.records();
        records.rotate_memtable_and_wait().map_err(convert)?;
        records.major_compact().map_err(convert)?;
        Ok(Some("major_compact()"))
    }
}
