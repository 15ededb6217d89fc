//! Sessions that are wrong in one way each, for tests of what must notice it.

use crate::{Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, Sql, ValueVisitor};
use std::collections::HashMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The one thing that a session does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is wrong.
    None,
    /// The put with this number, from 0, is acknowledged and lost.
    LosesPut(u64),
    /// One put in this many is acknowledged and lost.
    LosesPuts(u64),
    /// The delete with this number, from 0, is acknowledged and lost.
    LosesDelete(u64),
    /// One value in this many has a bit turned as it is put.
    CorruptsPuts(u64),
    /// One look-up in so many, of a record that was overwritten, shows the value before.
    ShowsFormerValue(u64),
    /// A look-up shows the value that was seen first under its key.
    ShowsFirstValue,
    /// A look-up shows the value that was seen first under any key.
    ShowsOtherValue,
    /// A scan leaves out its first record.
    SkipsFirstRecord,
    /// Scans leave out one record in this many.
    SkipsRecords(u64),
    /// One commit in this many is a conflict.
    ConflictsAtCommit(u64),
    /// One call in this many is a conflict.
    ConflictsAtCall(u64),
    /// A call is a conflict after this many calls, then after one call more, and so on.
    ConflictsLaterEachTime(u64),
    /// The put with this number, from 0, and each after it fails, as if the process had been
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

/// What the sessions of a faulty database share: the fault, and how far it has come.
#[derive(Debug)]
pub struct FaultState {
    fault: Fault,
    /// Occasions for the fault so far.
    occasions: AtomicU64,
    /// Calls until the next conflict, for [`Fault::ConflictsLaterEachTime`].
    spacing: AtomicU64,
    /// Puts that were asked for.
    pub puts: AtomicU64,
    /// Look-ups that were asked for.
    pub gets: AtomicU64,
    /// Values that are shown instead of what is there, by key.
    values: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    log: Option<CallLog>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultState {
    /// A fault that has not occurred yet.
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
            log: None,
        }
    }

    /// The same, with each call written down.
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
        match is_due {
            true => Err(conflict()),
            false => Ok(()),
        }
    }
}

fn conflict() -> Error {
    Error::Conflict("as planned".to_owned())
}

/// A session with a fault.
pub struct FaultySession<'s> {
    inner: Box<dyn Session + 's>,
    state: &'s FaultState,
}

impl<'s> FaultySession<'s> {
    /// A session around one that is right.
    #[must_use]
    pub fn new(inner: Box<dyn Session + 's>, state: &'s FaultState) -> Self {
        Self { inner, state }
    }

    /// Remembers the value that a put is about to replace.
    fn keep_former_value(&mut self, key: &[u8]) -> Result<()> {
        let values = &self.state.values;
        self.inner.get(key, &mut |value| {
            locked(values).insert(key.to_vec(), value.to_vec());
        })?;
        Ok(())
    }
}

impl Session for FaultySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.state.check_conflict()?;
        self.inner.begin(mode)
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let state = self.state;
        state.check_conflict()?;
        state.note(|| Call::Get(key.to_vec()));
        state.gets.fetch_add(1, Ordering::SeqCst);
        let place: &[u8] = match state.fault {
            Fault::ShowsFormerValue(every) => {
                let values = locked(&state.values);
                if let Some(value) = values.get(key)
                    && state.is_nth(every)
                {
                    visitor(value);
                    return Ok(true);
                }
                return self.inner.get(key, visitor);
            }
            Fault::ShowsFirstValue => key,
            Fault::ShowsOtherValue => &[],
            _ => return self.inner.get(key, visitor),
        };
        self.inner.get(key, &mut |value| {
            let mut values = locked(&state.values);
            visitor(values.entry(place.to_vec()).or_insert(value.to_vec()));
        })
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let state = self.state;
        state.check_conflict()?;
        state.note(|| Call::Put(key.to_vec(), value.to_vec()));
        let number = state.puts.fetch_add(1, Ordering::SeqCst);
        match state.fault {
            Fault::LosesPut(lost) if number == lost => return Ok(()),
            Fault::LosesPuts(every) if state.is_nth(every) => return Ok(()),
            Fault::DiesAtPut(last) if number >= last => return Err(Error::engine("killed")),
            Fault::CorruptsPuts(every) if state.is_nth(every) => {
                let mut corrupted = value.to_vec();
                corrupted
                    .iter_mut()
                    .rev()
                    .take(1)
                    .for_each(|byte| *byte ^= 1);
                return self.inner.put(key, &corrupted);
            }
            Fault::ShowsFormerValue(_) => self.keep_former_value(key)?,
            _ => {}
        }
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.state.note(|| Call::Delete(key.to_vec()));
        match self.state.fault {
            Fault::LosesDelete(number) if self.state.is_at(number) => Ok(()),
            _ => self.inner.delete(key),
        }
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let state = self.state;
        state.check_conflict()?;
        let mut is_first = true;
        let shown = self.inner.scan(range, direction, &mut |key, value| {
            state.note(|| Call::Record(key.to_vec()));
            let is_skipped = match state.fault {
                Fault::SkipsFirstRecord => is_first,
                Fault::SkipsRecords(every) => state.is_nth(every),
                _ => false,
            };
            is_first = false;
            match is_skipped {
                true => ControlFlow::Continue(()),
                false => visitor(key, value),
            }
        })?;
        let start = match range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => &[],
        };
        state.note(|| Call::Scan(start.to_vec(), shown));
        Ok(shown)
    }

    fn commit(&mut self) -> Result<()> {
        let outcome = match self.state.fault {
            Fault::ConflictsAtCommit(every) if self.state.is_nth(every) => Err(conflict()),
            _ => self.state.check_conflict(),
        };
        if let Err(conflict) = outcome {
            self.inner.abort()?;
            return Err(conflict);
        }
        self.inner.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.inner.abort()
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        // The faults are of keys and values.
        match self.state.fault {
            Fault::None => self.inner.sql(),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::reference::Reference;
    use crate::{Durability, Engine, OpenSpec, ParameterValues};

    /// What a session with this fault finds of five records, each put twice, and how many of its
    /// calls are conflicts.
    fn found(fault: Fault) -> (Vec<(u8, u8)>, u64) {
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
        let mut session = FaultySession::new(database.session().unwrap(), &state);
        let (mut records, mut conflicts) = (Vec::new(), 0);
        session.inner.begin(Mode::Write).unwrap();
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
        assert_eq!(found(Fault::None), (right.clone(), 0));
        for fault in [
            Fault::LosesPut(7),
            Fault::LosesPuts(3),
            Fault::CorruptsPuts(9),
            Fault::ShowsFormerValue(2),
            Fault::ShowsOtherValue,
            Fault::SkipsFirstRecord,
            Fault::SkipsRecords(2),
        ] {
            let (records, conflicts) = found(fault);
            assert_ne!(records, right, "{fault:?}");
            assert_eq!(conflicts, 0, "{fault:?}");
        }
        assert_eq!(found(Fault::ConflictsAtCommit(1)).1, 1);
        assert_eq!(found(Fault::ConflictsAtCall(4)).1, 4);
        assert_eq!(found(Fault::ConflictsLaterEachTime(2)).1, 4);
        assert_eq!(found(Fault::DiesAtPut(8)).1, 2);
    }
}
