//! TidesDB as a plug-in of trueput: one column family, by TidesDB's own binding for Rust.

#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tidesdb::{
    ColumnFamily, ColumnFamilyConfig, CompressionAlgorithm, Config, ErrorCode, IsolationLevel,
    Iterator, LogLevel, SyncMode, TidesDB, Transaction,
};
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(Store, "../description.json");

const FAMILY: &str = "records";

impl From<tidesdb::Error> for Failure {
    fn from(error: tidesdb::Error) -> Self {
        let code = error.code();
        let kind = match code {
            // TidesDB has already tried again many times when it reports contention.
            Some(ErrorCode::Conflict | ErrorCode::Locked) => FailureKind::Conflict,
            Some(ErrorCode::NoSpace) => FailureKind::Full,
            _ => FailureKind::Engine,
        };
        Self {
            kind,
            code: code.map_or(0, |code| code.code().into()),
            text: error.to_string(),
        }
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

fn config_of(open: &Open) -> Result<Config, Failure> {
    let mode = match open.durability {
        Durability::Sync => SyncMode::Full,
        Durability::Process => SyncMode::Interval,
        Durability::None => SyncMode::None,
        _ => {
            let text = "no such level of durability";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
    };
    let level = choice(
        open,
        "log_level",
        &[
            ("none", LogLevel::None),
            ("error", LogLevel::Error),
            ("warn", LogLevel::Warn),
            ("info", LogLevel::Info),
        ],
    )?;
    Ok(Config::new(&open.directory)
        .memtable_sync_mode(mode)
        .memtable_sync_interval_us(number(open, "memtable_sync_interval_us")?)
        .memtable_write_buffer_size(number(open, "memtable_write_buffer_size")?)
        .memtable_l0_queue_stall_threshold(number(open, "memtable_l0_queue_stall_threshold")?)
        .block_cache_size(number(open, "block_cache_size")?)
        .value_separation_threshold(number(open, "value_separation_threshold")?)
        .vlog_segment_size(number(open, "vlog_segment_size")?)
        .num_flush_threads(number(open, "num_flush_threads")?)
        .num_compaction_threads(number(open, "num_compaction_threads")?)
        .log_level(level))
}

fn family_config_of(open: &Open) -> Result<ColumnFamilyConfig, Failure> {
    let compression = choice(
        open,
        "compression",
        &[
            ("none", CompressionAlgorithm::None),
            ("lz4", CompressionAlgorithm::Lz4),
            ("lz4-fast", CompressionAlgorithm::Lz4Fast),
            ("zstd", CompressionAlgorithm::Zstd),
            ("snappy", CompressionAlgorithm::Snappy),
        ],
    )?;
    let is_filtered = open.boolean("enable_bloom_filter") == Some(true);
    Ok(ColumnFamilyConfig::new()
        .compression_algorithm(compression)
        .enable_bloom_filter(is_filtered)
        .btree_klog_block_size(number(open, "btree_klog_block_size")?)
        .l1_file_count_trigger(number(open, "l1_file_count_trigger")?))
}

/// An open database.
pub struct Store {
    db: TidesDB,
    config: Config,
    isolation: IsolationLevel,
    /// Whose turn it is to commit, where commits take turns. A commit may seal the write buffer
    /// and with it the log. TidesDB does not see that another commit is in the log, and not yet in
    /// the buffer. That one then comes into the next buffer, and its log is removed with the first.
    turn: Option<Mutex<()>>,
}

impl Store {
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.turn.as_ref()?;
        Some(turn.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Database for Store {
    type Session<'d> = StoreSession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let mut config = config_of(open)?;
        let is_serial = open.text("commits") == Some("serial");
        let turn = (is_serial && open.durability != Durability::None).then(Mutex::default);
        if turn.is_some() {
            // Its timer would seal the write buffer, too.
            config = config.memtable_idle_flush_seconds(0);
        }
        let isolation = choice(
            open,
            "isolation",
            &[
                ("serializable", IsolationLevel::Serializable),
                ("snapshot", IsolationLevel::Snapshot),
            ],
        )?;
        let db = TidesDB::open(config.clone()).map_err(|error| {
            if error.is_locked() {
                let text = "the database is open already";
                return Failure::new(FailureKind::Unsupported, text);
            }
            error.into()
        })?;
        if db.get_column_family(FAMILY).is_err() {
            db.create_column_family(FAMILY, family_config_of(open)?)?;
        }
        // TidesDB flushes its files, but not the folder that names them.
        std::fs::File::open(&open.directory)?.sync_all()?;
        Ok(Self {
            db,
            config,
            isolation,
            turn,
        })
    }

    fn session(&self) -> Result<StoreSession<'_>, Failure> {
        Ok(StoreSession {
            family: self.db.get_column_family(FAMILY)?,
            store: self,
            iterator: None,
            transaction: None,
            end: Bound::Unbounded,
            is_backward: false,
            is_begun: false,
            is_write: false,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        let _turn = self.turn();
        Ok(self.db.checkpoint()?)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let word = |value: &dyn std::fmt::Debug| Value::Text(format!("{value:?}"));
        let size = |value: usize| Value::Integer(value as i64);
        let count = |value: i32| Value::Integer(value.into());
        let config = &self.config;
        let mode = match config.memtable_sync_mode {
            SyncMode::Full => "TDB_SYNC_FULL",
            SyncMode::Interval => "TDB_SYNC_INTERVAL",
            SyncMode::None => "TDB_SYNC_NONE",
        };
        let interval = config.memtable_sync_interval_us as i64;
        let stall = config.memtable_l0_queue_stall_threshold;
        let mut settings = vec![
            (
                "tidesdb",
                Value::Text(tidesdb::TIDESDB_LINKED_VERSION.to_owned()),
            ),
            ("memtable_sync_mode", Value::Text(mode.to_owned())),
            ("memtable_sync_interval_us", Value::Integer(interval)),
            (
                "memtable_write_buffer_size",
                size(config.memtable_write_buffer_size),
            ),
            ("memtable_l0_queue_stall_threshold", count(stall)),
            ("block_cache_size", size(config.block_cache_size)),
            (
                "value_separation_threshold",
                size(config.value_separation_threshold),
            ),
            ("vlog_segment_size", size(config.vlog_segment_size)),
            ("num_flush_threads", count(config.num_flush_threads)),
            (
                "num_compaction_threads",
                count(config.num_compaction_threads),
            ),
            (
                "memtable_idle_flush_seconds",
                count(config.memtable_idle_flush_seconds),
            ),
            ("isolation", word(&self.isolation)),
            ("serial_commits", Value::Boolean(self.turn.is_some())),
        ];
        let family = self.db.get_column_family(FAMILY);
        if let Ok(stats) = family.and_then(|family| family.get_stats()) {
            let config = stats.config;
            settings.extend([
                ("encoding_pipeline", word(&config.encoding_pipeline)),
                (
                    "enable_bloom_filter",
                    Value::Boolean(config.enable_bloom_filter),
                ),
                ("btree_klog_block_size", size(config.btree_klog_block_size)),
                ("l1_file_count_trigger", count(config.l1_file_count_trigger)),
            ]);
        }
        settings
    }

    fn close(self) -> Result<(), Failure> {
        // TidesDB flushes what is left as it closes, too, but reports no error of that.
        self.checkpoint()
    }

    fn counters(&self) -> Vec<(&'static str, Value)> {
        let number = |value: u64| Value::Integer(value as i64);
        let mut counters = Vec::new();
        if let Ok(stats) = self.db.get_db_stats() {
            counters.extend([
                ("txn_commits", number(stats.txn_commits)),
                ("txn_conflicts", number(stats.txn_conflicts)),
                ("flush_count", number(stats.flush_count)),
                ("compaction_count", number(stats.compaction_count)),
                ("wal_bytes_written", number(stats.wal_bytes_written)),
                ("flush_bytes_written", number(stats.flush_bytes_written)),
                (
                    "compaction_bytes_written",
                    number(stats.compaction_bytes_written),
                ),
                ("vlog_bytes_written", number(stats.vlog_bytes_written)),
                ("writes_throttled", number(stats.writes_throttled)),
                ("writes_blocked", number(stats.writes_blocked)),
                ("write_stall_us", number(stats.write_stall_us)),
            ]);
        }
        if let Ok(stats) = self.db.get_cache_stats() {
            counters.push(("cache_hits", number(stats.hits)));
            counters.push(("cache_misses", number(stats.misses)));
        }
        counters
    }
}

/// One worker's session.
pub struct StoreSession<'d> {
    store: &'d Store,
    family: ColumnFamily<'d>,
    // Before the transaction, so that it is freed first.
    iterator: Option<Iterator<'static>>,
    transaction: Option<Transaction<'d>>,
    end: Bound<Vec<u8>>,
    is_backward: bool,
    /// The iterator is at a record that was returned.
    is_begun: bool,
    is_write: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

fn none_open() -> Failure {
    Failure::new(FailureKind::Engine, "no transaction is open")
}

impl StoreSession<'_> {
    fn open(&self) -> Result<&Transaction<'_>, Failure> {
        self.transaction.as_ref().ok_or_else(none_open)
    }

    /// An iterator that opens only the tables of the range, if the range has both ends.
    fn iterator_of(&self, range: &Range<'_>) -> Result<Iterator<'static>, Failure> {
        use Bound::{Excluded, Included};
        let transaction = self.open()?;
        let iterator = match (range.lower, range.upper) {
            (Included(low) | Excluded(low), Included(high) | Excluded(high)) => {
                transaction.new_range_iterator(&self.family, low, high)?
            }
            _ => transaction.new_iterator(&self.family)?,
        };
        // SAFETY: only the lifetime differs. The iterator points to its transaction, which stays
        // where it is on TidesDB's heap; `end_scan` frees the iterator before the transaction ends.
        Ok(unsafe { std::mem::transmute::<Iterator<'_>, Iterator<'static>>(iterator) })
    }

    /// Whether the key is before the scan's other end.
    fn is_inside(&self, key: &[u8]) -> bool {
        match &self.end {
            Bound::Unbounded => true,
            Bound::Included(end) if self.is_backward => end.as_slice() <= key,
            Bound::Excluded(end) if self.is_backward => end.as_slice() < key,
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
        }
    }
}

fn step(iterator: &mut Iterator<'_>, is_backward: bool) -> tidesdb::Result<()> {
    if is_backward {
        iterator.prev()
    } else {
        iterator.next()
    }
}

/// Moves to the first record of the scan.
fn seek(iterator: &mut Iterator<'_>, from: Bound<&[u8]>, back: bool) -> tidesdb::Result<()> {
    match from {
        Bound::Unbounded if back => iterator.seek_to_last()?,
        Bound::Unbounded => iterator.seek_to_first()?,
        Bound::Included(key) | Bound::Excluded(key) if back => iterator.seek_for_prev(key)?,
        Bound::Included(key) | Bound::Excluded(key) => iterator.seek(key)?,
    }
    if let Bound::Excluded(key) = from
        && iterator.is_valid()
        && iterator.key()? == key
    {
        step(iterator, back)?;
    }
    Ok(())
}

impl Session for StoreSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        // A snapshot is enough for a transaction that only reads: each writer takes effect at its
        // commit. Nothing records what it reads: `get` asks for that, and scans of a snapshot never
        // do (`engine_iter_tracks`).
        let isolation = match mode {
            Mode::Read => IsolationLevel::Snapshot,
            Mode::Write => self.store.isolation,
        };
        let begun = self.store.db.begin_transaction_with_isolation(isolation)?;
        self.transaction = Some(begun);
        self.is_write = mode == Mode::Write;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let mut transaction = self.transaction.take().ok_or_else(none_open)?;
        // Even a commit that writes nothing may seal the write buffer.
        if self.is_write {
            let _turn = self.store.turn();
            transaction.commit()?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        // To drop a transaction rolls it back.
        self.transaction = None;
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        if key.is_empty() {
            return Ok(None);
        }
        let transaction = self.open()?;
        let found = if self.is_write {
            transaction.get(&self.family, key)
        } else {
            transaction.get_notrack(&self.family, key)
        };
        match found {
            Ok(value) => self.value = value,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        if key.is_empty() {
            let text = "TidesDB has no empty keys";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
        Ok(self.open()?.put(&self.family, key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        if key.is_empty() {
            return Ok(());
        }
        Ok(self.open()?.delete(&self.family, key)?)
    }

    fn scan(&mut self, mut range: Range<'_>) -> Result<(), Failure> {
        // TidesDB refuses empty keys as bounds, too. No key is below one.
        self.iterator = None;
        if matches!(range.upper, Bound::Included([]) | Bound::Excluded([])) {
            return Ok(());
        }
        if matches!(range.lower, Bound::Included([]) | Bound::Excluded([])) {
            range.lower = Bound::Unbounded;
        }
        let mut iterator = self.iterator_of(&range)?;
        let (from, end) = if range.is_backward {
            (range.upper, range.lower)
        } else {
            (range.lower, range.upper)
        };
        seek(&mut iterator, from, range.is_backward)?;
        self.iterator = Some(iterator);
        self.end = end.map(<[u8]>::to_vec);
        self.is_backward = range.is_backward;
        self.is_begun = false;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(iterator) = &mut self.iterator else {
            return Ok(None);
        };
        if self.is_begun {
            step(iterator, self.is_backward)?;
        }
        self.is_begun = true;
        if !iterator.is_valid() {
            return Ok(None);
        }
        (self.key, self.value) = iterator.key_value()?;
        Ok(self
            .is_inside(&self.key)
            .then_some((&self.key, &self.value)))
    }

    fn end_scan(&mut self) {
        // The transaction notes the range that was scanned as the iterator is freed.
        self.iterator = None;
    }
}
