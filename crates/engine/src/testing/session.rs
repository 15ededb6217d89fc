//! A session with a fault.

use super::{Call, Fault, FaultState, conflict, locked};
use crate::{Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, Sql, ValueVisitor};
use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A session with a fault.
pub struct FaultySession<'s> {
    inner: Box<dyn Session + 's>,
    state: &'s FaultState,
    mode: Option<Mode>,
    /// What a transaction has written that is held back until it commits, or that others see.
    puts: HashMap<Vec<u8>, Vec<u8>>,
    deletes: Vec<Vec<u8>>,
}

impl<'s> FaultySession<'s> {
    /// A session around one that is right.
    #[must_use]
    pub fn new(inner: Box<dyn Session + 's>, state: &'s FaultState) -> Self {
        Self {
            inner,
            state,
            mode: None,
            puts: HashMap::new(),
            deletes: Vec::new(),
        }
    }

    /// Remembers the value that a put is about to replace.
    fn keep_former_value(&mut self, key: &[u8]) -> Result<()> {
        let values = &self.state.values;
        self.inner.get(key, &mut |value| {
            locked(values).insert(key.to_vec(), value.to_vec());
        })?;
        Ok(())
    }

    /// Whether the transaction reads each record as it is at that moment, and writes at its end.
    fn is_loose(&self) -> bool {
        match self.mode {
            Some(Mode::Write) => self.state.fault == Fault::LosesUpdates,
            Some(Mode::Read) => self.state.fault == Fault::ReadsLatest,
            None => false,
        }
    }

    /// Reads in a transaction of its own.
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
        let uncommitted = locked(&self.state.uncommitted).clone();
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

    /// Scans in a transaction of its own, with what is held back over what is there.
    fn scan_loosely(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let (puts, deletes) = (self.puts.clone(), self.deletes.clone());
        self.loosely(|inner| {
            inner.scan(range, direction, &mut |key, value| match deletes
                .iter()
                .any(|deleted| deleted == key)
            {
                true => ControlFlow::Continue(()),
                false => visitor(key, puts.get(key).map_or(value, Vec::as_slice)),
            })
        })
    }

    /// Ends a transaction that has held its writes back.
    fn commit_loosely(&mut self) -> Result<()> {
        // Others come in between.
        std::thread::sleep(Duration::from_millis(1));
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

    fn forget(&mut self) {
        let mut uncommitted = locked(&self.state.uncommitted);
        for key in self.puts.drain().map(|(key, _)| key) {
            uncommitted.remove(&key);
        }
        self.deletes.clear();
    }
}

impl Session for FaultySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.state.check_conflict()?;
        self.mode = Some(mode);
        match self.is_loose() {
            true => Ok(()),
            false => self.inner.begin(mode),
        }
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let state = self.state;
        state.check_conflict()?;
        state.note(|| Call::Get(key.to_vec()));
        state.gets.fetch_add(1, Ordering::SeqCst);
        if state.fault == Fault::ReadsUncommitted
            && let Some(value) = locked(&state.uncommitted).get(key)
        {
            visitor(value);
            return Ok(true);
        }
        if self.is_loose() {
            if let Some(value) = self.puts.get(key) {
                visitor(value);
                return Ok(true);
            }
            return self.loosely(|inner| inner.get(key, visitor));
        }
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
            Fault::LosesNewRecords(first, every)
                if key.first() == Some(&first)
                    && !self.inner.get(key, &mut |_| ())?
                    && state.is_nth(every) =>
            {
                return Ok(());
            }
            Fault::ReadsUncommitted => {
                locked(&state.uncommitted).insert(key.to_vec(), value.to_vec());
                self.puts.insert(key.to_vec(), value.to_vec());
            }
            _ if self.is_loose() => {
                self.puts.insert(key.to_vec(), value.to_vec());
                return Ok(());
            }
            _ => {}
        }
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.state.note(|| Call::Delete(key.to_vec()));
        match self.state.fault {
            Fault::LosesDelete(number) if self.state.is_at(number) => Ok(()),
            _ if self.is_loose() => {
                self.deletes.push(key.to_vec());
                Ok(())
            }
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
        if state.fault == Fault::ReadsUncommitted {
            return self.scan_uncommitted(range, direction, visitor);
        }
        if self.is_loose() {
            return self.scan_loosely(range, direction, visitor);
        }
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
            self.abort()?;
            return Err(conflict);
        }
        if self.is_loose() {
            return self.commit_loosely();
        }
        let committed = self.inner.commit();
        self.forget();
        self.mode = None;
        committed
    }

    fn abort(&mut self) -> Result<()> {
        let is_loose = self.is_loose();
        let mode = self.mode.take();
        self.forget();
        match (is_loose, mode) {
            (true, _) => Ok(()),
            (false, Some(Mode::Write)) if self.state.fault == Fault::AbortCommits => {
                self.inner.commit()
            }
            (false, _) => self.inner.abort(),
        }
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        // The faults are of keys and values.
        match self.state.fault {
            Fault::None => self.inner.sql(),
            _ => None,
        }
    }
}
