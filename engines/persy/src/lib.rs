//! persy as a plug-in of trueput: a file with one index, from keys to values.

#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use persy::{ByteVec, Config, IndexIter, OpenOptions, PE, Persy, PersyError, Snapshot};
use persy::{Transaction, TransactionConfig, TxIndexIter, ValueIter, ValueMode};
use std::fs::File;
use std::mem::transmute;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(PersyFile, "../description.json");

const INDEX: &str = "records";

/// A failure of persy, in the terms of trueput.
fn failed<T: Into<PersyError>>(error: PE<T>) -> Failure {
    let error = error.persy_error();
    let kind = match error {
        PersyError::Io { from } => return from.into(),
        PersyError::VersionNotLatest | PersyError::ReachedLimitOfRetry => FailureKind::Conflict,
        PersyError::TransactionTimeout => FailureKind::Deadlock,
        PersyError::AlreadyInUse(_) | PersyError::KeyOrValueTooBig => FailureKind::Unsupported,
        _ => FailureKind::Engine,
    };
    Failure::new(kind, error.to_string())
}

/// An open database.
pub struct PersyFile {
    persy: Persy,
    config: Config,
    /// Held by the one write transaction.
    turn: Mutex<()>,
    /// Shared by calls that read, held alone by a commit. A read while it changes records panics if
    /// its page is gone (`read_snap_fn` in src/persy.rs of 1.8.1). A snapshot that is made between
    /// `prepare` and `commit` sees some of its records before it and some after it.
    records: RwLock<()>,
}

impl PersyFile {
    fn reading(&self) -> RwLockReadGuard<'_, ()> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the journal, which is flushed here or, later, by a thread; changes the records.
    fn commit(&self, writer: Transaction) -> Result<(), Failure> {
        let _alone = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let prepared = writer.prepare().map_err(failed)?;
        prepared.commit().map_err(failed)
    }
}

/// Creates the index of a new file.
fn create_index(persy: &Persy) -> Result<(), Box<dyn std::error::Error>> {
    let mut transaction = persy.begin()?;
    transaction.create_index::<ByteVec, ByteVec>(INDEX, ValueMode::Replace)?;
    transaction.commit()?;
    Ok(())
}

impl Database for PersyFile {
    type Session<'d> = PersySession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        if open.durability != Durability::None {
            let text = "no such level of durability";
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
        let knob = |name| open.integer(name).unwrap_or(0) as u64;
        let mut config = Config::new();
        config.change_cache_size(knob("cache_size"));
        let timeout = Duration::from_secs(knob("transaction_lock_timeout_s"));
        config.change_transaction_lock_timeout(timeout);
        let mut options = OpenOptions::new();
        options
            .create(true)
            .prepare_with(create_index)
            .config(config.clone());
        let persy = options
            .open(open.directory.join("records.persy"))
            .map_err(failed)?;
        // persy does not flush the folder that has its file.
        File::open(&open.directory)?.sync_all()?;
        Ok(Self {
            persy,
            config,
            turn: Mutex::new(()),
            records: RwLock::new(()),
        })
    }

    fn session(&self) -> Result<PersySession<'_>, Failure> {
        Ok(PersySession {
            database: self,
            turn: None,
            running: Box::default(),
            is_backward: false,
            end: Bound::Unbounded,
            value: None,
            record: None,
        })
    }

    /// A transaction that is not flushed in the background flushes the file.
    fn checkpoint(&self) -> Result<(), Failure> {
        self.commit(self.persy.begin().map_err(failed)?)
    }

    /// persy does not report its settings: these are what it was given.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        let timeout = self.config.transaction_lock_timeout().as_secs_f64();
        let strategy = format!("{:?}", self.config.tx_strategy());
        vec![
            ("background_sync", Value::Boolean(true)),
            (
                "cache_size",
                Value::Integer(self.config.cache_size() as i64),
            ),
            ("transaction_lock_timeout", Value::Real(timeout)),
            ("tx_strategy", Value::Text(strategy)),
        ]
    }
}

/// A scan of either kind.
#[allow(
    clippy::large_enum_variant,
    reason = "a box would be allocated by each scan"
)]
enum Scan {
    Read(IndexIter<ByteVec, ByteVec>),
    Write(TxIndexIter<'static, ByteVec, ByteVec>),
}

impl Scan {
    fn next(&mut self, is_backward: bool) -> Option<(ByteVec, ValueIter<ByteVec>)> {
        match (self, is_backward) {
            (Self::Read(scan), false) => scan.next(),
            (Self::Read(scan), true) => scan.next_back(),
            (Self::Write(scan), false) => scan.next(),
            (Self::Write(scan), true) => scan.next_back(),
        }
    }
}

/// What a session has open. A scan borrows from the transaction, and is dropped before it. The box
/// that has them does not move them.
#[derive(Default)]
struct Running {
    scan: Option<Scan>,
    reader: Option<Snapshot>,
    writer: Option<Transaction>,
}

/// One worker's session.
pub struct PersySession<'d> {
    database: &'d PersyFile,
    turn: Option<MutexGuard<'d, ()>>,
    running: Box<Running>,
    is_backward: bool,
    /// Where the scan ends.
    end: Bound<ByteVec>,
    /// What the last `get` returned.
    value: Option<ByteVec>,
    /// What the last `next` returned.
    record: Option<(ByteVec, ByteVec)>,
}

fn no_writer() -> Failure {
    Failure::new(FailureKind::Engine, "no write transaction is open")
}

impl PersySession<'_> {
    fn writer(&mut self) -> Result<&mut Transaction, Failure> {
        self.running.writer.as_mut().ok_or_else(no_writer)
    }

    /// Ends the scan and a reader, and returns a writer.
    fn end_running(&mut self) -> Option<Transaction> {
        self.running.scan = None;
        self.running.reader = None;
        self.running.writer.take()
    }

    /// Whether a key is before the scan's end. A range of persy that excludes its end has the key
    /// of that end if there is none before it (src/index/raw_iter.rs of 1.8.1).
    fn is_inside(&self, key: &ByteVec) -> bool {
        match &self.end {
            Bound::Excluded(end) if self.is_backward => key > end,
            Bound::Excluded(end) => key < end,
            _ => true,
        }
    }
}

impl Session for PersySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        let persy = &self.database.persy;
        if mode == Mode::Read {
            let _shared = self.database.reading();
            self.running.reader = Some(persy.snapshot().map_err(failed)?);
            return Ok(());
        }
        // Two transactions that change one key are not checked against each other.
        let turn = self.database.turn.lock();
        let turn = turn.unwrap_or_else(PoisonError::into_inner);
        // A thread flushes what commits have written.
        let config = TransactionConfig::new().set_background_sync(true);
        self.running.writer = Some(persy.begin_with(config).map_err(failed)?);
        self.turn = Some(turn);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        // The turn ends as this function does, be it by a panic.
        let _turn = self.turn.take();
        let ended = self.end_running();
        ended.map_or(Ok(()), |writer| self.database.commit(writer))
    }

    fn abort(&mut self) -> Result<(), Failure> {
        let _turn = self.turn.take();
        let ended = self.end_running();
        ended.map_or(Ok(()), |writer| writer.rollback().map_err(failed))
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let key = ByteVec::from(key);
        let _shared = self.database.reading();
        self.value = match &self.running.reader {
            Some(reader) => reader.one(INDEX, &key).map_err(failed)?,
            None => self.writer()?.one(INDEX, &key).map_err(failed)?,
        };
        Ok(self.value.as_deref())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (key, value) = (ByteVec::from(key), ByteVec::from(value));
        self.writer()?.put(INDEX, key, value).map_err(failed)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        let all_values = None::<ByteVec>;
        let writer = self.writer()?;
        writer
            .remove(INDEX, ByteVec::from(key), all_values)
            .map_err(failed)
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        let bound = |end: Bound<&[u8]>| end.map(ByteVec::from);
        let bounds = (bound(range.lower), bound(range.upper));
        self.is_backward = range.is_backward;
        self.end = if range.is_backward {
            bounds.0.clone()
        } else {
            bounds.1.clone()
        };
        let _shared = self.database.reading();
        let running = &mut *self.running;
        let scan = match (&running.reader, &mut running.writer) {
            (Some(reader), _) => Scan::Read(reader.range(INDEX, bounds).map_err(failed)?),
            (None, Some(writer)) => {
                let scan: TxIndexIter<'_, ByteVec, ByteVec> =
                    writer.range(INDEX, bounds).map_err(failed)?;
                // SAFETY: the scan ends before its transaction, and no call comes before its end.
                Scan::Write(unsafe {
                    transmute::<TxIndexIter<'_, _, _>, TxIndexIter<'_, _, _>>(scan)
                })
            }
            (None, None) => return Err(no_writer()),
        };
        running.scan = Some(scan);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let _shared = self.database.reading();
        let scan = self.running.scan.as_mut();
        let next = scan.and_then(|scan| scan.next(self.is_backward));
        let next = next.filter(|(key, _)| self.is_inside(key));
        // `ValueMode::Replace`: a key has one value.
        self.record = next.and_then(|(key, mut values)| Some((key, values.next()?)));
        let record = self.record.as_ref();
        Ok(record.map(|(key, value)| (&**key, &**value)))
    }

    fn end_scan(&mut self) {
        self.running.scan = None;
    }
}
