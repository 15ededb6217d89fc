//! A session that injects a fault.

use super::{Call, Fault, FaultState, conflict, locked};
use crate::common_errors::{require_closed, write_in_read};
use crate::{
    BatchVisitor, Direction, Error, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor, Result,
    Session, Sql, ValueVisitor, get_each, put_unless_found,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Wraps a correct session and injects one fault into its key-value calls.
pub struct FaultySession<'s> {
    inner: Box<dyn Session + 's>,
    state: &'s FaultState,
    mode: Option<Mode>,
    /// The transaction's write to each key; `None`: it deleted the record. A deferring transaction
    /// applies it at commit; under [`Fault::ReadsUncommitted`] others see it.
    writes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl<'s> FaultySession<'s> {
    /// Wraps a correct session.
    #[must_use]
    pub fn new(inner: Box<dyn Session + 's>, state: &'s FaultState) -> Self {
        Self {
            inner,
            state,
            mode: None,
            writes: BTreeMap::new(),
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

    /// Returns whether the transaction reads each record in its current state, and writes at its
    /// end.
    fn is_deferring(&self) -> bool {
        match self.mode {
            Some(Mode::Write) => self.state.fault == Fault::LosesUpdates,
            Some(Mode::Read) => self.state.fault == Fault::ReadsLatest,
            None => false,
        }
    }

    /// Reads the currently committed state, in a transaction of its own.
    fn read_committed<T>(&mut self, read: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        if self.mode == Some(Mode::Read) {
            // Others commit between two reads, on a machine without load, too.
            std::thread::sleep(Duration::from_micros(100));
        }
        self.inner.begin(Mode::Read)?;
        let value = read(&mut *self.inner);
        self.inner.abort()?;
        value
    }

    /// Scans the committed records, overlaid with uncommitted writes of others.
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
        let in_range = uncommitted
            .into_iter()
            .filter(|(key, _)| within(range, key));
        records.extend(in_range);
        Ok(show(&ordered(records, direction), visitor))
    }

    /// Scans the currently committed records with the transaction's own writes applied.
    fn scan_deferring(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut records = BTreeMap::new();
        self.read_committed(|inner| {
            inner.scan(range, Direction::Forward, &mut |key, value| {
                records.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            })
        })?;
        for (key, value) in &self.writes {
            match value {
                Some(value) if within(range, key) => records.insert(key.clone(), value.clone()),
                _ => records.remove(key),
            };
        }
        Ok(show(&ordered(records, direction), visitor))
    }

    /// Applies the writes of a deferring transaction.
    fn commit_deferred(&mut self) -> Result<()> {
        // Gives the sessions that wait for this moment time to commit first.
        std::thread::sleep(Duration::from_millis(1));
        if self.mode.take() == Some(Mode::Read) {
            return Ok(());
        }
        self.inner.begin(Mode::Write)?;
        let mut writes = std::mem::take(&mut self.writes).into_iter();
        let written = writes.try_for_each(|(key, value)| match value {
            Some(value) => self.inner.put(&key, &value),
            None => self.inner.delete(&key),
        });
        if let Err(error) = written {
            self.inner.abort()?;
            return Err(error);
        }
        self.inner.commit()
    }

    fn forget(&mut self) {
        let mut uncommitted = locked(&self.state.uncommitted);
        for key in std::mem::take(&mut self.writes).into_keys() {
            uncommitted.remove(&key);
        }
    }

    /// Keeps a write for the commit of a deferring transaction.
    fn defer(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        if self.mode == Some(Mode::Read) {
            return Err(write_in_read());
        }
        self.writes.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        Ok(())
    }
}

/// The value with a bit of its last byte flipped.
fn flipped(value: &[u8]) -> Vec<u8> {
    let mut flipped = value.to_vec();
    if let Some(last) = flipped.last_mut() {
        *last ^= 1;
    }
    flipped
}

fn within(range: KeyRange<'_>, key: &[u8]) -> bool {
    range.admits_from_below(key) && range.admits_from_above(key)
}

fn ordered(records: BTreeMap<Vec<u8>, Vec<u8>>, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = records.into_iter();
    match direction {
        Direction::Forward => records.collect(),
        Direction::Backward => records.rev().collect(),
    }
}

/// Shows the records until the visitor has enough; returns how many it saw.
fn show(records: &[(Vec<u8>, Vec<u8>)], visitor: &mut RecordVisitor<'_>) -> u64 {
    let mut shown = 0;
    for (key, value) in records {
        shown += 1;
        if visitor(key, value).is_break() {
            break;
        }
    }
    shown
}

/// Leaves out one of the records that a loader takes.
struct LossySource<'s> {
    inner: &'s mut dyn RecordSource,
    /// Records before the one that is lost; `None` once it is.
    before: Option<u64>,
}

impl RecordSource for LossySource<'_> {
    fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        if self.before == Some(0) {
            self.inner.next_record();
        }
        self.before = self.before.and_then(|before| before.checked_sub(1));
        self.inner.next_record()
    }
}

impl Session for FaultySession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.state.check_conflict()?;
        require_closed(self.mode)?;
        self.mode = Some(mode);
        if self.is_deferring() {
            return Ok(());
        }
        self.inner.begin(mode).inspect_err(|_| self.mode = None)
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
        if self.is_deferring() {
            if let Some(value) = self.writes.get(key) {
                value.iter().for_each(|value| visitor(value));
                return Ok(value.is_some());
            }
            return self.read_committed(|inner| inner.get(key, visitor));
        }
        // The key under which a value is remembered: the same for all keys if it should replace
        // another's.
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
            Fault::FlipsReadBit(number) => {
                return self.inner.get(key, &mut |value| {
                    if state.is_at(number) {
                        visitor(&flipped(value));
                    } else {
                        visitor(value);
                    }
                });
            }
            _ => return self.inner.get(key, visitor),
        };
        self.inner.get(key, &mut |value| {
            let mut values = locked(&state.values);
            visitor(values.entry(place.to_vec()).or_insert(value.to_vec()));
        })
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        let state = self.state;
        match state.fault {
            Fault::SkipsBatchValues(every) => {
                let mut found = 0;
                get_each(self, keys, &mut |position, value| {
                    if !state.is_nth(every) {
                        found += 1;
                        visitor(position, value);
                    }
                })?;
                Ok(found)
            }
            Fault::SwapsBatchValues => get_each(self, keys, &mut |position, value| {
                visitor(position ^ 1, value);
            }),
            Fault::RepeatsBatchValues => get_each(self, keys, &mut |position, value| {
                visitor(position, value);
                visitor(position, value);
            }),
            _ => get_each(self, keys, visitor),
        }
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
                return self.inner.put(key, &flipped(value));
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
                self.writes.insert(key.to_vec(), Some(value.to_vec()));
            }
            _ if self.is_deferring() => return self.defer(key, Some(value)),
            _ => {}
        }
        self.inner.put(key, value)
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let state = self.state;
        let stored = put_unless_found(self, key, value)?;
        match state.fault {
            Fault::IgnoresCondition(every) if !stored && state.is_nth(every) => {
                self.put(key, value)?;
                Ok(true)
            }
            Fault::DeniesStoring(every) if stored && state.is_nth(every) => Ok(false),
            _ => Ok(stored),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.state.note(|| Call::Delete(key.to_vec()));
        match self.state.fault {
            Fault::LosesDelete(number) if self.state.is_at(number) => Ok(()),
            _ if self.is_deferring() => self.defer(key, None),
            Fault::ReadsUncommitted => {
                locked(&self.state.uncommitted).remove(key);
                self.inner.delete(key)
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
        if self.is_deferring() {
            return self.scan_deferring(range, direction, visitor);
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
            match state.fault {
                _ if is_skipped => ControlFlow::Continue(()),
                Fault::FlipsReadBit(number) if state.is_at(number) => visitor(key, &flipped(value)),
                _ => visitor(key, value),
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
        if let Fault::DisconnectsAtCommit(every) = self.state.fault {
            let number = self.state.occasions.fetch_add(1, Ordering::SeqCst) + 1;
            if number.is_multiple_of(every) {
                self.mode = None;
                if number.is_multiple_of(2 * every) {
                    self.inner.commit()?;
                } else {
                    self.inner.abort()?;
                }
                return Err(Error::Disconnected("the connection was lost".to_owned()));
            }
        }
        if self.is_deferring() {
            return self.commit_deferred();
        }
        if self.state.fault == Fault::ReadsUncommitted && !self.writes.is_empty() {
            // Gives the other sessions time to see the writes.
            std::thread::sleep(Duration::from_millis(1));
        }
        let committed = self.inner.commit();
        self.forget();
        self.mode = None;
        committed
    }

    fn abort(&mut self) -> Result<()> {
        let is_deferring = self.is_deferring();
        let mode = self.mode.take();
        self.forget();
        match (is_deferring, mode) {
            (true, _) => Ok(()),
            (false, Some(Mode::Write)) if self.state.fault == Fault::AbortCommits => {
                self.inner.commit()
            }
            (false, _) => self.inner.abort(),
        }
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        match self.state.fault {
            Fault::None => self.inner.bulk_load(records),
            Fault::LosesLoadedRecord(number) => self.inner.bulk_load(&mut LossySource {
                inner: records,
                before: Some(number),
            }),
            // The loader would bypass the other faults.
            _ => Ok(false),
        }
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        // Faults are injected into key-value calls only: SQL would bypass them.
        match self.state.fault {
            Fault::None => self.inner.sql(),
            _ => None,
        }
    }
}
