//! sled as a plug-in of trueput: the default tree of a database.
//!
//! A transaction of sled is a closure, which cannot be spread over calls. So a write transaction
//! collects its changes, and its commit applies them: one alone with `insert` or `remove`, several
//! as one `Batch`. Write transactions take turns.

#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use sled::{Batch, Db, IVec};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};

export_engine!(Sled, "../description.json");

/// A failure of sled, in the terms of trueput.
fn failed(error: sled::Error) -> Failure {
    match error {
        sled::Error::Io(error) => error.into(),
        sled::Error::Unsupported(text) => Failure::new(FailureKind::Unsupported, text),
        other => Failure::new(FailureKind::Engine, other.to_string()),
    }
}

/// An open database.
pub struct Sled {
    db: Db,
    folder: PathBuf,
    is_flushing: bool,
    /// Held by the one write transaction.
    turn: Mutex<()>,
}

/// The configuration that the knobs make.
fn configured(open: &Open) -> sled::Config {
    let knob = |name| open.integer(name).unwrap_or(0);
    let mut config = sled::Config::new().path(&open.directory);
    config = config.cache_capacity(knob("cache_capacity") as u64);
    config = config.segment_size(knob("segment_size") as usize);
    let flush_every_ms = knob("flush_every_ms") as u64;
    config = config.flush_every_ms((flush_every_ms > 0).then_some(flush_every_ms));
    if open.boolean("high_throughput") == Some(true) {
        config = config.mode(sled::Mode::HighThroughput);
    }
    config
}

/// A process that is killed while it opens a database can leave a snapshot of the page table that
/// was not renamed yet. sled would take it for the newest one, and refuse it as corrupt.
fn remove_unfinished_snapshots(folder: &Path) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "generating")
        {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

impl Database for Sled {
    type Session<'d> = SledSession<'d>;

    fn open(open: &Open) -> Result<Self, Failure> {
        let is_flushing = match open.durability {
            Durability::Process => true,
            Durability::None => false,
            _ => {
                let text = "no such level of durability";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
        };
        remove_unfinished_snapshots(&open.directory)?;
        let db = configured(open).open().map_err(failed)?;
        db.flush().map_err(failed)?;
        // sled does not flush the folder that has its files.
        File::open(&open.directory)?.sync_all()?;
        Ok(Self {
            db,
            folder: open.directory.clone(),
            is_flushing,
            turn: Mutex::new(()),
        })
    }

    fn session(&self) -> Result<SledSession<'_>, Failure> {
        Ok(SledSession {
            database: self,
            turn: None,
            changes: BTreeMap::new(),
            value: IVec::default(),
            scan: Scan::default(),
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.db.flush().map_err(failed)?;
        Ok(())
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let config = &self.db.context;
        let flush = if self.is_flushing {
            "each commit"
        } else {
            "none"
        };
        let flush_every_ms = config.flush_every_ms.unwrap_or(0);
        vec![
            ("flush", Value::Text(flush.to_owned())),
            (
                "cache_capacity",
                Value::Integer(config.cache_capacity as i64),
            ),
            ("flush_every_ms", Value::Integer(flush_every_ms as i64)),
            ("mode", Value::Text(format!("{:?}", config.mode))),
            ("segment_size", Value::Integer(config.segment_size as i64)),
        ]
    }

    fn counters(&self) -> Vec<(&'static str, Value)> {
        let size = self.db.size_on_disk().unwrap_or(0);
        vec![("size_on_disk", Value::Integer(size as i64))]
    }

    fn close(self) -> Result<(), Failure> {
        self.db.flush().map_err(failed)?;
        let file = File::open(self.folder.join("db"))?;
        drop(self.db);
        wait_until_unlocked(&file)
    }
}

/// A thread of sled may have the file for a moment longer than the database, and with it the lock
/// that the next open needs.
fn wait_until_unlocked(file: &File) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(10);
    while file.try_lock().is_err() {
        if Instant::now() > end {
            let text = "sled keeps the closed database locked";
            return Err(Failure::new(FailureKind::Engine, text));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

type Changes = BTreeMap<IVec, Option<IVec>>;

/// Applies changes, together. A batch takes a lock of the process alone, so it waits for each call
/// that reads, changes or flushes any database of sled; one change shares that lock with them.
fn apply(db: &Db, mut changes: Changes) -> sled::Result<()> {
    if changes.len() > 1 {
        let mut batch = Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        return db.apply_batch(batch);
    }
    match changes.pop_first() {
        Some((key, Some(value))) => db.insert(key, value)?,
        Some((key, None)) => db.remove(key)?,
        None => None,
    };
    Ok(())
}

/// One worker's session.
pub struct SledSession<'d> {
    database: &'d Sled,
    turn: Option<MutexGuard<'d, ()>>,
    /// The write transaction's own: a value for each key that it put, none for those it removed.
    changes: Changes,
    /// What the last `get` returned.
    value: IVec,
    scan: Scan,
}

impl Session for SledSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        self.turn = (mode == Mode::Write).then(|| {
            let turn = self.database.turn.lock();
            turn.unwrap_or_else(PoisonError::into_inner)
        });
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let turn = self.turn.take();
        if self.changes.is_empty() {
            return Ok(());
        }
        apply(&self.database.db, std::mem::take(&mut self.changes)).map_err(failed)?;
        // A flush covers all changes before it. Meanwhile the next transaction may run, and commit
        // one change; a batch waits for the flush, which shares sled's lock.
        drop(turn);
        if self.database.is_flushing {
            self.database.db.flush().map_err(failed)?;
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.changes.clear();
        self.turn = None;
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let found = match self.changes.get(key) {
            Some(own) => own.clone(),
            None => self.database.db.get(key).map_err(failed)?,
        };
        let Some(value) = found else {
            return Ok(None);
        };
        self.value = value;
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.changes.insert(key.into(), Some(value.into()));
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.changes.insert(key.into(), None);
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        self.scan.begin(&self.database.db, &self.changes, &range);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let record = self.scan.next()?;
        Ok(record.map(|(key, value)| (key.as_ref(), value.as_ref())))
    }

    fn end_scan(&mut self) {
        self.scan.stored = None;
    }
}

type Record = (IVec, IVec);

/// A scan: the tree's records, and those that the transaction changed.
#[derive(Default)]
struct Scan {
    is_backward: bool,
    stored: Option<sled::Iter>,
    next_stored: Option<Record>,
    /// In the opposite order: the last comes first.
    changed: Vec<(IVec, Option<IVec>)>,
    /// What the last `next` returned.
    record: Record,
}

impl Scan {
    fn begin(&mut self, db: &Db, changes: &Changes, range: &Range<'_>) {
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (range.lower, range.upper);
        self.is_backward = range.is_backward;
        self.stored = Some(db.range::<&[u8], _>(bounds));
        self.next_stored = None;
        self.changed.clear();
        if changes.is_empty() {
            return;
        }
        let own = changes.range::<[u8], _>(bounds);
        let own = own.map(|(key, value)| (key.clone(), value.clone()));
        if range.is_backward {
            self.changed.extend(own);
        } else {
            self.changed.extend(own.rev());
        }
    }

    /// Reads the tree's next record, unless there is one already.
    fn read_stored(&mut self) -> Result<(), Failure> {
        let Some(stored) = &mut self.stored else {
            return Ok(());
        };
        if self.next_stored.is_some() {
            return Ok(());
        }
        let next = if self.is_backward {
            stored.next_back()
        } else {
            stored.next()
        };
        self.next_stored = next.transpose().map_err(failed)?;
        if self.next_stored.is_none() {
            self.stored = None;
        }
        Ok(())
    }

    /// `Less` if the tree's record comes before that of the transaction.
    fn order(&self) -> Ordering {
        match (&self.next_stored, self.changed.last()) {
            (_, None) => Ordering::Less,
            (None, _) => Ordering::Greater,
            (Some((stored, _)), Some((own, _))) if self.is_backward => own.cmp(stored),
            (Some((stored, _)), Some((own, _))) => stored.cmp(own),
        }
    }

    fn next(&mut self) -> Result<Option<&Record>, Failure> {
        loop {
            self.read_stored()?;
            let order = self.order();
            // A change hides the tree's record of the same key.
            let stored = if order.is_le() {
                self.next_stored.take()
            } else {
                None
            };
            let own = if order.is_ge() {
                self.changed.pop()
            } else {
                None
            };
            let next = match own {
                Some((_, None)) => continue,
                Some((key, Some(value))) => Some((key, value)),
                None => stored,
            };
            let Some(record) = next else {
                return Ok(None);
            };
            self.record = record;
            return Ok(Some(&self.record));
        }
    }
}
