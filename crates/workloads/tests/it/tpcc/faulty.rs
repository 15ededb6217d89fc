//! Databases that are wrong in one way each, around one that is right.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trueput_engine::{
    Database, Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, Sql, Value,
    ValueVisitor,
};

/// The first byte of the keys of ORDER-LINE and NEW-ORDER.
pub const ORDER_LINE: u8 = 11;
pub const NEW_ORDER: u8 = 8;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// One put in this many whose key begins with this byte is acknowledged and lost.
    DropsOneIn(u8, u64),
    /// Look-ups see what others have put and not committed.
    ReadsUncommitted,
    /// Write transactions overwrite each other without a conflict.
    LosesUpdates,
    /// A read transaction sees what others commit after it began.
    ReadsLatest,
    /// An abort commits.
    AbortCommits,
    /// One commit in this many is a conflict.
    ConflictsOneIn(u64),
}

pub struct Faulty {
    inner: Box<dyn Database>,
    fault: Fault,
    puts: AtomicU64,
    commits: AtomicU64,
    uncommitted: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Faulty {
    pub fn new(inner: Box<dyn Database>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            puts: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            uncommitted: Mutex::default(),
        }
    }
}

impl Database for Faulty {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(FaultySession {
            inner: self.inner.session()?,
            database: self,
            mode: None,
            puts: HashMap::new(),
            deletes: Vec::new(),
        }))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.settings()
    }

    fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }
}

struct FaultySession<'d> {
    inner: Box<dyn Session + 'd>,
    database: &'d Faulty,
    mode: Option<Mode>,
    /// What a transaction has written that is held back until it commits.
    puts: HashMap<Vec<u8>, Vec<u8>>,
    deletes: Vec<Vec<u8>>,
}

impl FaultySession<'_> {
    fn is(&self, fault: Fault) -> bool {
        self.database.fault == fault
    }

    /// Whether the transaction reads each record as it is at that moment, and writes at its end.
    fn is_loose(&self) -> bool {
        match self.mode {
            Some(Mode::Write) => self.is(Fault::LosesUpdates),
            Some(Mode::Read) => self.is(Fault::ReadsLatest),
            None => false,
        }
    }

    fn loosely<T>(&mut self, read: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        self.inner.begin(Mode::Read)?;
        let value = read(&mut *self.inner);
        self.inner.abort()?;
        value
    }

    /// What is committed, with what others have put and not committed over it.
    fn scan_uncommitted(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut records = BTreeMap::new();
        self.inner
            .scan(range, Direction::Forward, &mut |key, value| {
                records.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            })?;
        let uncommitted = self.database.uncommitted.lock().unwrap().clone();
        let within = |key: &[u8]| range.admits_from_below(key) && range.admits_from_above(key);
        records.extend(uncommitted.into_iter().filter(|(key, _)| within(key)));
        let mut records: Vec<_> = records.into_iter().collect();
        if direction == Direction::Backward {
            records.reverse();
        }
        let mut shown = 0;
        for (key, value) in &records {
            shown += 1;
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(shown)
    }

    fn forget(&mut self) {
        let mut uncommitted = self.database.uncommitted.lock().unwrap();
        for key in self.puts.drain().map(|(key, _)| key) {
            uncommitted.remove(&key);
        }
        self.deletes.clear();
    }
}

impl Session for FaultySession<'_> {
    fn sql(&mut self) -> Option<&mut dyn Sql> {
        // The faults are of keys and values.
        match self.database.fault {
            Fault::None => self.inner.sql(),
            _ => None,
        }
    }

    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.mode = Some(mode);
        if self.is_loose() {
            Ok(())
        } else {
            self.inner.begin(mode)
        }
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        if self.is(Fault::ReadsUncommitted)
            && let Some(value) = self.database.uncommitted.lock().unwrap().get(key)
        {
            visitor(value);
            return Ok(true);
        }
        if !self.is_loose() {
            return self.inner.get(key, visitor);
        }
        if let Some(value) = self.puts.get(key) {
            visitor(value);
            return Ok(true);
        }
        self.loosely(|inner| inner.get(key, visitor))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // Only rows that are new are dropped: a row that is written anew has other conditions.
        if let Fault::DropsOneIn(first, every) = self.database.fault
            && key.first() == Some(&first)
            && !self.inner.get(key, &mut |_| ())?
            && (self.database.puts.fetch_add(1, Relaxed) + 1).is_multiple_of(every)
        {
            return Ok(());
        }
        if self.is(Fault::ReadsUncommitted) {
            let mut uncommitted = self.database.uncommitted.lock().unwrap();
            uncommitted.insert(key.to_vec(), value.to_vec());
        }
        if self.is_loose() || self.is(Fault::ReadsUncommitted) {
            self.puts.insert(key.to_vec(), value.to_vec());
        }
        if self.is_loose() {
            Ok(())
        } else {
            self.inner.put(key, value)
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        if self.is_loose() {
            self.deletes.push(key.to_vec());
            return Ok(());
        }
        self.inner.delete(key)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        if self.is(Fault::ReadsUncommitted) {
            return self.scan_uncommitted(range, direction, visitor);
        }
        if !self.is_loose() {
            return self.inner.scan(range, direction, visitor);
        }
        let (puts, deletes) = (self.puts.clone(), self.deletes.clone());
        self.loosely(|inner| {
            inner.scan(range, direction, &mut |key, value| match () {
                () if deletes.iter().any(|deleted| deleted == key) => ControlFlow::Continue(()),
                () => visitor(key, puts.get(key).map_or(value, Vec::as_slice)),
            })
        })
    }

    fn commit(&mut self) -> Result<()> {
        if let Fault::ConflictsOneIn(every) = self.database.fault
            && (self.database.commits.fetch_add(1, Relaxed) + 1).is_multiple_of(every)
        {
            self.inner.abort()?;
            self.mode = None;
            return Err(Error::Conflict("as planned".to_owned()));
        }
        if !self.is_loose() {
            let committed = self.inner.commit();
            self.forget();
            self.mode = None;
            return committed;
        }
        // Others come in between.
        std::thread::sleep(std::time::Duration::from_millis(1));
        if self.mode.take() == Some(Mode::Read) {
            return Ok(());
        }
        self.inner.begin(Mode::Write)?;
        for (key, value) in self.puts.drain() {
            self.inner.put(&key, &value)?;
        }
        for key in self.deletes.drain(..) {
            self.inner.delete(&key)?;
        }
        self.inner.commit()
    }

    fn abort(&mut self) -> Result<()> {
        let is_loose = self.is_loose();
        let mode = self.mode.take();
        self.forget();
        match (is_loose, mode) {
            (true, _) => Ok(()),
            (false, Some(Mode::Write)) if self.is(Fault::AbortCommits) => self.inner.commit(),
            (false, _) => self.inner.abort(),
        }
    }
}
