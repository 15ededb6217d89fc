//! redb: a copy-on-write B+tree in one file, written in Rust.
//!
//! One process has the file open; within it, write transactions take turns and read transactions
//! never wait. The table stays open for as long as its transaction.

mod session;

use crate::named_values::named_values;
use ::redb::{
    Builder, Database as RedbDatabase, Durability as RedbDurability, ReadableDatabase,
    ReadableTableMetadata, TableDefinition, TableError, WriteTransaction,
};
use session::RedbSession;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_engine::{
    Build, COMPILED_IN, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info,
    Isolation, OpenSpec, Parameter, ParameterValues, Promise, Result, Session, Value, Window,
    common_errors, parameters,
};

/// The redb driver.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redb;

type Bytes = &'static [u8];

const RECORDS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("records");
const FILE_NAME: &str = "data.redb";

/// redb's limit on a key and on a value: `MAX_VALUE_LENGTH` in its `page_store/base.rs`.
const MAX_BYTES: usize = 3 << 30;

parameters! {
    /// redb's knobs.
    struct RedbKnobs {
        /// Memory for cached and unwritten pages.
        cache_size: Bytes = 1 GiB in 1 MiB..=1 TiB,
            cost "host memory; smaller: more reads and writes of pages",
        /// Flush the pages before and after the byte that makes them current.
        two_phase_commit: Boolean = false, cost "a second flush per durable commit",
        /// Save the allocator's state in each durable commit, so that opening after a crash need
        /// not walk the file. Implies two_phase_commit.
        quick_repair: Boolean = false, cost "a second flush and more writing per durable commit",
        /// At durability 'buffered', make every n-th commit durable; no effect at 'sync'.
        commits_per_sync: Integer = 1000 in 2..=1_000_000, unit "commits",
            cost "a larger number loses more commits in a crash and lets the file grow further, \
                since pages of the last durable commit are not reused before the next",
    }
}

impl Engine for Redb {
    fn info(&self) -> Info {
        Info {
            name: "redb",
            title: "redb",
            summary: "B+tree, copy on write, one file, in Rust",
            license: "MIT OR Apache-2.0",
            homepage: "https://docs.rs/redb",
            install: COMPILED_IN,
        }
    }

    /// The version that Cargo locked: redb does not report its version at run time.
    fn build(&self) -> Result<Build> {
        Ok(Build {
            version: env!("TRUEPUT_REDB_VERSION").to_owned(),
            library: None,
            assertions: None,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: false,
            concurrent_writers: false,
            ..Capabilities::transactional(MAX_BYTES, MAX_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let (mapped_to, window, source) = match durability {
            Durability::Sync => (
                "durability=Immediate".to_owned(),
                None,
                "https://docs.rs/redb/latest/redb/enum.Durability.html#variant.Immediate",
            ),
            Durability::Buffered => {
                let every = RedbKnobs::from(knobs).commits_per_sync;
                let window = Window {
                    commits: Some(every - 1),
                    ..Window::until(
                        "the next Immediate commit: every commits_per_sync-th, a checkpoint, or \
                         closing the database",
                    )
                };
                (
                    format!("durability=None, Immediate once in {every} commits"),
                    Some(window),
                    "docs/design.md in the crate, 'Non-durable commits'; \
                     https://docs.rs/redb/latest/redb/enum.Durability.html#variant.None",
                )
            }
            Durability::Async | Durability::Process | Durability::None => {
                return Err(Error::no_durability("redb", durability));
            }
        };
        Ok(Promise::new(durability, mapped_to, window, source))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // One write transaction at a time, and readers keep the tree of their beginning.
        Some(Isolation::Serializable)
    }

    fn knobs(&self) -> &'static [Parameter] {
        RedbKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let size_bytes = RedbKnobs::from(knobs).cache_size;
        Ok(CacheKnob::bytes("cache_size", size_bytes))
    }

    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let path = spec.directory.join(FILE_NAME);
        let opened = Builder::new().open(&path);
        let mut engine = opened.map_err(|error| open_error(&path, error))?;
        if engine.check_integrity().map_err(convert)? {
            Ok(())
        } else {
            Err(Error::engine(
                "redb: check_integrity found damage and repaired it",
            ))
        }
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("cache_size", "1MiB"), ("commits_per_sync", "20")]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let knobs = RedbKnobs::from(spec.knobs);
        let commits_per_sync = match spec.durability {
            Durability::Sync => 1,
            Durability::Buffered => knobs.commits_per_sync,
            other => return Err(Error::no_durability("redb", other)),
        };
        let path = spec.directory.join(FILE_NAME);
        let cache_size = usize::try_from(knobs.cache_size)
            .map_err(|_| Error::Unsupported("redb.cache_size exceeds memory".to_owned()))?;
        let engine = Builder::new()
            .set_cache_size(cache_size)
            .create(&path)
            .map_err(|error| open_error(&path, error))?;
        make_table(&engine)?;
        sync_folder(spec.directory)?;
        Ok(Box::new(RedbHandle {
            engine,
            path,
            two_phase_commit: knobs.two_phase_commit,
            quick_repair: knobs.quick_repair,
            commits_per_sync,
            commits_since_sync: AtomicU64::new(0),
        }))
    }
}

/// Creates the table if it does not exist, so that read transactions find it.
fn make_table(engine: &RedbDatabase) -> Result<()> {
    match engine.begin_read().map_err(convert)?.open_table(RECORDS) {
        Ok(_) => Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {
            let transaction = engine.begin_write().map_err(convert)?;
            transaction.open_table(RECORDS).map(drop).map_err(convert)?;
            transaction.commit().map_err(convert)
        }
        Err(error) => Err(convert(error)),
    }
}

/// Makes the file's name durable: redb flushes the file, but not the folder that names it.
fn sync_folder(directory: &Path) -> Result<()> {
    let synced = File::open(directory).and_then(|folder| folder.sync_all());
    synced.map_err(|error| io_error(&error))
}

fn open_error(path: &Path, error: ::redb::DatabaseError) -> Error {
    match error {
        ::redb::DatabaseError::DatabaseAlreadyOpen => Error::engine(format!(
            "redb: {} is open already; redb allows one opening at a time",
            path.display()
        )),
        other => convert(other),
    }
}

fn io_error(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Error::Full(error.to_string())
        }
        _ => common_errors::coded(error.raw_os_error().unwrap_or(0), format!("redb: {error}")),
    }
}

fn convert(error: impl Into<::redb::Error>) -> Error {
    match error.into() {
        ::redb::Error::Io(error) => io_error(&error),
        error @ ::redb::Error::ValueTooLarge(_) => Error::Unsupported(format!("redb: {error}")),
        other => Error::engine(format!("redb: {other}")),
    }
}

struct RedbHandle {
    engine: RedbDatabase,
    path: PathBuf,
    two_phase_commit: bool,
    quick_repair: bool,
    /// 1 at `sync`.
    commits_per_sync: u64,
    /// Written only by the one open write transaction.
    commits_since_sync: AtomicU64,
}

impl RedbHandle {
    fn begin_write(&self) -> Result<WriteTransaction> {
        let mut transaction = self.engine.begin_write().map_err(convert)?;
        transaction.set_two_phase_commit(self.two_phase_commit);
        transaction.set_quick_repair(self.quick_repair);
        Ok(transaction)
    }

    fn commit(&self, mut transaction: WriteTransaction) -> Result<()> {
        let since_sync = self.commits_since_sync.load(Ordering::Relaxed) + 1;
        let is_durable = since_sync >= self.commits_per_sync;
        let durability = if is_durable {
            RedbDurability::Immediate
        } else {
            RedbDurability::None
        };
        transaction.set_durability(durability).map_err(convert)?;
        // Counted before the commit: the next writer may load it as soon as the commit returns.
        let counted = if is_durable { 0 } else { since_sync };
        self.commits_since_sync.store(counted, Ordering::Relaxed);
        transaction.commit().map_err(convert)
    }

    /// The fixed part of the file's header, as `docs/design.md` in the crate lays it out.
    fn header(&self) -> Result<[u8; 16]> {
        let mut header = [0; 16];
        File::open(&self.path)
            .and_then(|mut file| file.read_exact(&mut header))
            .map_err(|error| io_error(&error))?;
        Ok(header)
    }
}

impl Database for RedbHandle {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RedbSession::new(self)))
    }

    /// The number of records. redb's other statistics walk the whole tree, which would disturb the
    /// measurement, and its cache counters are compiled in only with a feature that slows it.
    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        let transaction = self.engine.begin_read().map_err(convert)?;
        let records = transaction
            .open_table(RECORDS)
            .map_err(convert)?
            .len()
            .map_err(convert)?;
        Ok(named_values([("len", records)]))
    }

    /// The settings in the file's header. redb has no call that reports a setting: the size of its
    /// cache and the durability of its commits cannot be read back.
    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        let header = self.header()?;
        let page_size = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        let flags = header[9];
        Ok(named_values([
            ("page_size", Value::from(i64::from(page_size))),
            ("last_commit_two_phase", (flags & 4 != 0).into()),
        ]))
    }

    fn checkpoint(&self) -> Result<()> {
        let mut transaction = self.begin_write()?;
        transaction
            .set_durability(RedbDurability::Immediate)
            .map_err(convert)?;
        self.commits_since_sync.store(0, Ordering::Relaxed);
        transaction.commit().map_err(convert)
    }

    /// Moves pages to the front of the file and shortens it, until nothing more can be moved.
    fn compact(&mut self) -> Result<Option<&'static str>> {
        self.checkpoint()?;
        self.engine.compact().map_err(convert)?;
        Ok(Some("compact()"))
    }
}
