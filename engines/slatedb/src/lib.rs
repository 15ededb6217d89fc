//! SlateDB as a plug-in of trueput: its object store is a folder.

#[path = "../../template/rust/src/trueput_engine.rs"]
#[allow(clippy::type_complexity, reason = "the glue's")]
mod trueput_engine;

use slatedb::bytes::Bytes;
use slatedb::config::{
    CompactorOptions, CompressionCodec, FlushOptions, FlushType, GarbageCollectorOptions,
    ScanOptions, Settings,
};
use slatedb::db_cache::SplitCache;
use slatedb::db_cache::foyer::{FoyerCache, FoyerCacheOptions};
use slatedb::object_store::local::LocalFileSystem;
use slatedb::{Db, DbIterator, DbTransaction, ErrorKind, IsolationLevel, IterationOrder, KeyValue};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(Store, "../description.json");

/// SlateDB's own size of the cache of indexes and filters.
const META_CACHE: u64 = slatedb::db_cache::DEFAULT_META_CACHE_CAPACITY;

impl From<slatedb::Error> for Failure {
    fn from(error: slatedb::Error) -> Self {
        let text = error.to_string();
        let kind = match error.kind() {
            ErrorKind::Transaction => FailureKind::Conflict,
            // ENOSPC. SlateDB's errors lead to it only by the text of their sources.
            _ if text.contains("(os error 28)") => FailureKind::Full,
            _ => FailureKind::Engine,
        };
        Self::new(kind, text)
    }
}

/// The chosen one of the values of a knob.
fn choice<T: Copy>(open: &Open, knob: &str, choices: &[(&str, T)]) -> Result<T, Failure> {
    let chosen = open.text(knob);
    let found = choices.iter().find(|(word, _)| chosen == Some(*word));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let text = format!("{knob} has no known value");
        Failure::new(FailureKind::Unsupported, text)
    })
}

fn number<T: TryFrom<i64>>(open: &Open, knob: &str) -> Result<T, Failure> {
    let value = open.integer(knob).and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| Failure::new(FailureKind::Unsupported, format!("{knob} is out of range")))
}

fn time(open: &Open, knob: &str) -> Result<Duration, Failure> {
    Ok(Duration::from_millis(number(open, knob)?))
}

fn settings_of(open: &Open) -> Result<Settings, Failure> {
    let codec = choice(
        open,
        "compression_codec",
        &[
            ("none", None),
            ("lz4", Some(CompressionCodec::Lz4)),
            ("snappy", Some(CompressionCodec::Snappy)),
            ("zstd", Some(CompressionCodec::Zstd)),
        ],
    )?;
    let compactor = CompactorOptions {
        poll_interval: time(open, "compactor_poll_interval_ms")?,
        ..CompactorOptions::default()
    };
    let mut collector = GarbageCollectorOptions {
        // SlateDB's documentation asks for this with a local file system.
        boundary_files_enabled: false,
        ..GarbageCollectorOptions::default()
    };
    let (interval, min_age) = (time(open, "gc_interval_ms")?, time(open, "gc_min_age_ms")?);
    let directories = [
        &mut collector.manifest_options,
        &mut collector.wal_options,
        &mut collector.compacted_options,
        &mut collector.compactions_options,
    ];
    for directory in directories.into_iter().flatten() {
        (directory.interval, directory.min_age) = (Some(interval), min_age);
    }
    Ok(Settings {
        flush_interval: Some(time(open, "flush_interval_ms")?),
        l0_sst_size_bytes: number(open, "l0_sst_size_bytes")?,
        max_unflushed_bytes: number(open, "max_unflushed_bytes")?,
        compactor_options: Some(compactor),
        garbage_collector_options: Some(collector),
        compression_codec: codec,
        object_store_max_retries: Some(number(open, "object_store_max_retries")?),
        ..Settings::default()
    })
}

fn cache(capacity: u64) -> Arc<FoyerCache> {
    Arc::new(FoyerCache::new_with_opts(FoyerCacheOptions {
        max_capacity: capacity,
        ..FoyerCacheOptions::default()
    }))
}

/// An open database.
pub struct Store {
    runtime: Runtime,
    db: Db,
    settings: Settings,
    isolation: IsolationLevel,
    is_fsync: bool,
    /// A commit waits until its log is in the object store.
    is_awaited: bool,
}

impl Database for Store {
    type Session<'d> = StoreSession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let (is_fsync, is_awaited) = match open.durability {
            Durability::Sync => (true, true),
            Durability::Buffered => (true, false),
            Durability::Process => (false, true),
            Durability::None => (false, false),
            Durability::Async => {
                let text = "no such level of durability";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
        };
        let isolation = choice(
            open,
            "isolation",
            &[
                ("snapshot", IsolationLevel::Snapshot),
                ("serializable", IsolationLevel::SerializableSnapshot),
            ],
        )?;
        let settings = settings_of(open)?;
        let engine = |text: String| Failure::new(FailureKind::Engine, text);
        let folder = LocalFileSystem::new_with_prefix(&open.directory)
            .map_err(|error| engine(error.to_string()))?
            .with_fsync(is_fsync);
        let caches = SplitCache::new()
            .with_block_cache(Some(cache(number(open, "block_cache")?)))
            .with_meta_cache(Some(cache(META_CACHE)))
            .build();
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let builder = Db::builder("slatedb", Arc::new(folder))
            .with_settings(settings.clone())
            .with_db_cache(Arc::new(caches), 0);
        let db = runtime.block_on(builder.build())?;
        std::fs::File::open(&open.directory)?.sync_all()?;
        Ok(Self {
            runtime,
            db,
            settings,
            isolation,
            is_fsync,
            is_awaited,
        })
    }

    fn session(&self) -> Result<StoreSession<'_>, Failure> {
        Ok(StoreSession {
            store: self,
            transaction: None,
            is_write: false,
            value: Bytes::new(),
            iterator: None,
            record: None,
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        let flush_type = FlushType::MemTable;
        let flush = self.db.flush_with_options(FlushOptions { flush_type });
        Ok(self.runtime.block_on(flush)?)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let word = |value: &dyn std::fmt::Debug| Value::Text(format!("{value:?}"));
        let size = |value: usize| Value::Integer(value as i64);
        let settings = &self.settings;
        vec![
            ("fsync", Value::Boolean(self.is_fsync)),
            ("await_durable", Value::Boolean(self.is_awaited)),
            ("isolation", word(&self.isolation)),
            ("flush_interval", word(&settings.flush_interval)),
            ("l0_sst_size_bytes", size(settings.l0_sst_size_bytes)),
            ("max_unflushed_bytes", size(settings.max_unflushed_bytes)),
            ("l0_max_ssts", size(settings.l0_max_ssts)),
            ("compression_codec", word(&settings.compression_codec)),
            (
                "object_store_max_retries",
                word(&settings.object_store_max_retries),
            ),
        ]
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.runtime.block_on(self.db.close())?)
    }
}

/// One worker's session.
pub struct StoreSession<'d> {
    store: &'d Store,
    transaction: Option<DbTransaction>,
    is_write: bool,
    value: Bytes,
    iterator: Option<DbIterator>,
    record: Option<KeyValue>,
}

fn none_open() -> Failure {
    Failure::new(FailureKind::Engine, "no transaction is open")
}

impl StoreSession<'_> {
    fn open(&self) -> Result<&DbTransaction, Failure> {
        self.transaction.as_ref().ok_or_else(none_open)
    }
}

/// Whether no key can be in a range. SlateDB refuses such ranges.
fn is_empty(range: &Range<'_>) -> bool {
    use Bound::{Excluded, Included};
    match (range.lower, range.upper) {
        (_, Excluded([])) => true,
        (Included(low), Included(high)) => low > high,
        (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low >= high,
        _ => false,
    }
}

impl Session for StoreSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        self.is_write = mode == Mode::Write;
        // A snapshot is enough for a transaction that only reads: each writer takes effect at its
        // commit. Nothing records what it reads.
        let isolation = if self.is_write {
            self.store.isolation
        } else {
            IsolationLevel::Snapshot
        };
        self.transaction = Some(self.store.db.begin(isolation)?);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let transaction = self.transaction.take().ok_or_else(none_open)?;
        if !self.is_write {
            return Ok(());
        }
        let is_awaited = self.store.is_awaited;
        Ok(self.store.runtime.block_on(async {
            let written = transaction.commit().await?;
            if let Some(written) = written.filter(|_| is_awaited) {
                written.await_durable().await?;
            }
            Ok::<(), slatedb::Error>(())
        })?)
    }

    fn abort(&mut self) -> Result<(), Failure> {
        // To drop a transaction rolls it back.
        self.transaction = None;
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let found = self.store.runtime.block_on(self.open()?.get(key))?;
        let Some(value) = found else {
            return Ok(None);
        };
        self.value = value;
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        if key.is_empty() {
            let text = "SlateDB has no empty keys";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
        Ok(self.open()?.put(key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        if key.is_empty() {
            return Ok(());
        }
        Ok(self.open()?.delete(key)?)
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        self.iterator = None;
        if is_empty(&range) {
            return Ok(());
        }
        let order = if range.is_backward {
            IterationOrder::Descending
        } else {
            IterationOrder::Ascending
        };
        let options = ScanOptions::default().with_order(order);
        let keys = (range.lower, range.upper);
        let scan = self.open()?.scan_with_options(keys, &options);
        self.iterator = Some(self.store.runtime.block_on(scan)?);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(iterator) = &mut self.iterator else {
            return Ok(None);
        };
        self.record = self.store.runtime.block_on(iterator.next())?;
        let record = self.record.as_ref();
        Ok(record.map(|record| (record.key.as_ref(), record.value.as_ref())))
    }

    fn end_scan(&mut self) {
        self.iterator = None;
    }
}
