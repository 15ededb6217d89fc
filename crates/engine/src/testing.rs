//! For tests of drivers and of checks: databases and sessions with one deliberate fault each, which
//! a check must detect; databases in one line; and claims that hold of every driver with SQL, and
//! of every driver that tells a deadlock from other conflicts.

#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
pub mod database;
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
pub mod deadlock;
mod session;
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
pub mod sql;

pub use session::FaultySession;

use crate::{Database, Error, Result, Session, SettingContradiction, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The one thing that a session does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// The put with this number, from 0, is acknowledged and lost.
    LosesPut(u64),
    /// One put in this many is acknowledged and lost.
    LosesPuts(u64),
    /// The delete with this number, from 0, is acknowledged and lost.
    LosesDelete(u64),
    /// One value in this many has a bit flipped when it is put.
    CorruptsPuts(u64),
    /// The value with this number, from 0, among those that lookups and scans show has a bit of its
    /// last byte flipped; what is stored is right.
    FlipsReadBit(u64),
    /// One lookup in this many, of an overwritten record, returns the previous value.
    ShowsFormerValue(u64),
    /// A look-up shows the value that was seen first under its key.
    ShowsFirstValue,
    /// A look-up shows the value that was seen first under any key.
    ShowsOtherValue,
    /// A look-up of several keys leaves out one value in this many.
    SkipsBatchValues(u64),
    /// A look-up of several keys shows the value of each at the position of its neighbor.
    SwapsBatchValues,
    /// A look-up of several keys shows each value twice.
    RepeatsBatchValues,
    /// One conditional put in this many, of a record that exists, overwrites it and answers that it
    /// stored the record.
    IgnoresCondition(u64),
    /// One conditional put in this many that stores its record answers that it did not.
    DeniesStoring(u64),
    /// The loader loses the record with this number, from 0.
    LosesLoadedRecord(u64),
    /// A scan leaves out its first record.
    SkipsFirstRecord,
    /// Scans leave out one record in this many.
    SkipsRecords(u64),
    /// One commit in this many is a conflict.
    ConflictsAtCommit(u64),
    /// One commit in this many loses the connection, in turn before it takes effect and after.
    DisconnectsAtCommit(u64),
    /// One call in this many is a conflict.
    ConflictsAtCall(u64),
    /// A call is a conflict after this many calls, then after one call more, and so on.
    ConflictsLaterEachTime(u64),
    /// One record in this many whose key begins with this byte is acknowledged and lost at its
    /// first put; later puts are under other conditions.
    LosesNewRecords(u8, u64),
    /// Lookups and scans see uncommitted writes of others.
    ReadsUncommitted,
    /// Write transactions overwrite each other without a conflict.
    LosesUpdates,
    /// A read transaction sees commits of others after its begin.
    ReadsLatest,
    /// An abort commits.
    AbortCommits,
    /// The put with this number, from 0, and each later one fail, as if the process had been
    /// killed.
    DiesAtPut(u64),
}

/// A call that reached an engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A look-up of a key.
    Get(Vec<u8>),
    /// A put of a key and a value.
    Put(Vec<u8>, Vec<u8>),
    /// A delete of a key.
    Delete(Vec<u8>),
    /// A record that a scan found, by its key.
    Record(Vec<u8>),
    /// The end of a scan: the key that it began at, if any, and the number of records shown.
    Scan(Vec<u8>, u64),
}

/// The calls of several sessions, in their order.
pub type CallLog = Arc<Mutex<Vec<Call>>>;

/// The shared state of the sessions of a faulty database: the fault and its progress.
#[derive(Debug)]
pub struct FaultState {
    fault: Fault,
    /// Occasions for the fault so far.
    occasions: AtomicU64,
    /// Calls until the next conflict, for [`Fault::ConflictsLaterEachTime`].
    spacing: AtomicU64,
    /// Puts requested.
    pub puts: AtomicU64,
    /// Lookups requested.
    pub gets: AtomicU64,
    /// Values that are returned instead of the stored ones, by key.
    values: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    /// Uncommitted writes, visible to all.
    uncommitted: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    log: Option<CallLog>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultState {
    /// Creates a fault that has not occurred yet.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        let spacing = match fault {
            Fault::ConflictsLaterEachTime(calls) => calls,
            _ => 0,
        };
        Self {
            fault,
            occasions: AtomicU64::new(0),
            spacing: AtomicU64::new(spacing),
            puts: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            values: Mutex::default(),
            uncommitted: Mutex::default(),
            log: None,
        }
    }

    /// Adds a log of each call.
    #[must_use]
    pub fn with_log(mut self, log: &CallLog) -> Self {
        self.log = Some(Arc::clone(log));
        self
    }

    fn note(&self, call: impl FnOnce() -> Call) {
        if let Some(log) = &self.log {
            locked(log).push(call());
        }
    }

    /// Counts an occasion; whether it is one of every this many.
    fn is_nth(&self, every: u64) -> bool {
        let occasion = self.occasions.fetch_add(1, Ordering::SeqCst) + 1;
        occasion.is_multiple_of(every)
    }

    /// Counts an occasion; whether it is the one with this number, from 0.
    fn is_at(&self, number: u64) -> bool {
        self.occasions.fetch_add(1, Ordering::SeqCst) == number
    }

    fn check_conflict(&self) -> Result<()> {
        let is_due = match self.fault {
            Fault::ConflictsAtCall(every) => self.is_nth(every),
            Fault::ConflictsLaterEachTime(_) => {
                let calls = self.occasions.fetch_add(1, Ordering::SeqCst) + 1;
                let is_due = calls >= self.spacing.load(Ordering::SeqCst);
                if is_due {
                    self.occasions.store(0, Ordering::SeqCst);
                    self.spacing.fetch_add(1, Ordering::SeqCst);
                }
                is_due
            }
            _ => false,
        };
        if is_due { Err(conflict()) } else { Ok(()) }
    }
}

fn conflict() -> Error {
    Error::Conflict("as planned".to_owned())
}

/// A database whose sessions have a fault.
pub struct FaultyDatabase {
    inner: Box<dyn Database>,
    state: FaultState,
}

impl FaultyDatabase {
    /// Wraps a correct database.
    #[must_use]
    pub fn new(inner: Box<dyn Database>, fault: Fault) -> Self {
        Self {
            inner,
            state: FaultState::new(fault),
        }
    }
}

impl Database for FaultyDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.inner.session()?;
        Ok(Box::new(FaultySession::new(inner, &self.state)))
    }

    fn counters(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.counters()
    }

    fn settings(&self) -> Result<BTreeMap<String, Value>> {
        self.inner.settings()
    }

    fn contradictions(&self) -> Result<Vec<SettingContradiction>> {
        self.inner.contradictions()
    }

    fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }

    fn compact(&mut self) -> Result<Option<&'static str>> {
        self.inner.compact()
    }

    fn tombstones_passed(&self) -> Option<u64> {
        self.inner.tombstones_passed()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.inner.close()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::reference::Reference;
    use crate::{Direction, Durability, Engine, KeyRange, Mode, OpenSpec, ParameterValues};
    use std::ops::ControlFlow;

    /// Returns the records that a session with this fault finds of five, each put twice, and the
    /// number of its calls that are conflicts.
    fn records_and_conflicts(fault: Fault) -> (Vec<(u8, u8)>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let database = Reference
            .open(&OpenSpec {
                directory: folder.path(),
                durability: Durability::None,
                knobs: &ParameterValues::default(),
                sessions: 1,
            })
            .unwrap();
        let state = FaultState::new(fault);
        let mut right = database.session().unwrap();
        right.begin(Mode::Write).unwrap();
        let mut session = FaultySession::new(right, &state);
        let (mut records, mut conflicts) = (Vec::new(), 0);
        for (key, value) in (0..10_u8).map(|number| (number % 5, number)) {
            conflicts += u64::from(session.put(&[key], &[value]).is_err());
        }
        for key in 0..5_u8 {
            let got = session.get(&[key], &mut |value| records.push((key, value[0])));
            conflicts += u64::from(got.is_err());
        }
        let mut last = Vec::new();
        let scanned = session.scan(KeyRange::ALL, Direction::Forward, &mut |key, value| {
            last.push((key[0], value[0]));
            ControlFlow::Continue(())
        });
        conflicts += u64::from(scanned.is_err());
        if last.len() < 5 && scanned.is_ok() {
            records = last;
        }
        conflicts += u64::from(session.commit().is_err());
        (records, conflicts)
    }

    #[test]
    fn each_fault_shows_and_a_session_without_one_is_right() {
        let right: Vec<(u8, u8)> = (0..5).map(|key| (key, key + 5)).collect();
        assert_eq!(records_and_conflicts(Fault::None), (right.clone(), 0));
        for fault in [
            Fault::LosesPut(7),
            Fault::LosesPuts(3),
            Fault::CorruptsPuts(9),
            Fault::FlipsReadBit(3),
            Fault::ShowsFormerValue(2),
            Fault::ShowsOtherValue,
            Fault::SkipsFirstRecord,
            Fault::SkipsRecords(2),
        ] {
            let (records, conflicts) = records_and_conflicts(fault);
            assert_ne!(records, right, "{fault:?}");
            assert_eq!(conflicts, 0, "{fault:?}");
        }
        assert_eq!(records_and_conflicts(Fault::ConflictsAtCommit(1)).1, 1);
        assert_eq!(records_and_conflicts(Fault::ConflictsAtCall(4)).1, 4);
        assert_eq!(records_and_conflicts(Fault::ConflictsLaterEachTime(2)).1, 4);
        assert_eq!(records_and_conflicts(Fault::DiesAtPut(8)).1, 2);
    }
}
