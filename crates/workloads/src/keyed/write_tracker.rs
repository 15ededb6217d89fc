//! Tracks the writes of each record, begun and ended, and so the values that a read may return. One
//! entry of 16 bytes per tracked record is in memory that the threads of a process share.

use super::read_check::{ReadFault, ReadValidator, RecordState};
use super::versions::{MAX_NUMBER, TrialVersions};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use trueput_record::{VerifyLevel, WorkerKind};

/// The knowledge that a worker process has of others' writes. Its number is in the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKnowledge {
    /// All of it: every writer is a thread of this process, or there is none.
    All = 1,
    /// One process writes, and it is another: versions may only rise.
    Rising = 2,
    /// Nothing: several processes write.
    Nothing = 3,
}

impl WriteKnowledge {
    /// The write knowledge of a worker, given the workers `mutators` that write.
    pub(crate) fn of(kind: WorkerKind, worker: u32, mutators: &std::ops::Range<u32>) -> Self {
        match (kind, mutators.len()) {
            (WorkerKind::Threads, _) | (_, 0) => Self::All,
            (WorkerKind::Processes, 1) if mutators.contains(&worker) => Self::All,
            (WorkerKind::Processes, 1) => Self::Rising,
            (WorkerKind::Processes, _) => Self::Nothing,
        }
    }
}

/// One record's writes, in one cache line.
#[derive(Debug, Default)]
#[repr(align(16))]
struct RecordWrites {
    /// Writes begun.
    issued: AtomicU32,
    /// Writes committed.
    completed: AtomicU32,
    /// A write of at least this number was committed, and all before it too.
    floor: AtomicU32,
    /// The number of the last delete begun; 0: none.
    deleted: AtomicU32,
}

/// The sample of records whose writes are tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordSample {
    /// One in this many records is in the sample.
    stride: u64,
    records: u64,
}

impl RecordSample {
    /// All of `records` at level `full`, a tenth at `sample`, and only the first where nothing is
    /// verified.
    pub(crate) fn new(level: VerifyLevel, records: u64) -> Self {
        let stride = match level {
            VerifyLevel::Full => 1,
            VerifyLevel::Sample => 10,
            VerifyLevel::Off => u64::MAX,
        };
        Self { stride, records }
    }

    /// The number of records in the sample.
    pub(crate) fn len(self) -> usize {
        usize::try_from(self.records.div_ceil(self.stride)).unwrap_or(usize::MAX)
    }

    /// The index of a record in the sample; `None` if it is not in it.
    #[inline]
    pub(crate) fn place(self, item: u64) -> Option<usize> {
        let within = item < self.records && (self.stride == 1 || item.is_multiple_of(self.stride));
        within.then_some((item / self.stride) as usize)
    }
}

/// The entries of all tracked records.
#[derive(Debug)]
pub(crate) struct WriteTable {
    entries: Box<[RecordWrites]>,
    sample: RecordSample,
    /// A bit for each record, set while it is not there; empty where nothing is deleted.
    absent: Box<[AtomicU64]>,
}

impl WriteTable {
    /// Nothing was written yet.
    pub(crate) fn new(sample: RecordSample) -> Self {
        Self {
            entries: (0..sample.len()).map(|_| RecordWrites::default()).collect(),
            sample,
            absent: Box::default(),
        }
    }

    /// Follows which records are there, if some are deleted, so that it is known which deletes
    /// found theirs. Engines do not say it.
    pub(crate) fn following_deletes(mut self, deletes: bool) -> Self {
        if deletes {
            let words = self.sample.records.div_ceil(64);
            self.absent = (0..words).map(|_| AtomicU64::new(0)).collect();
        }
        self
    }

    /// The same, where some records are not there at first: each begins with a delete that has
    /// ended.
    pub(crate) fn with_absent(sample: RecordSample, is_absent: impl Fn(u64) -> bool) -> Self {
        let table = Self::new(sample).following_deletes(true);
        for item in (0..sample.records).filter(|item| is_absent(*item)) {
            table.set_presence(item, false);
            if let Some(entry) = table.entry(item) {
                let all = [
                    &entry.issued,
                    &entry.completed,
                    &entry.floor,
                    &entry.deleted,
                ];
                all.into_iter().for_each(|number| number.store(1, SeqCst));
            }
        }
        table
    }

    #[inline]
    fn entry(&self, item: u64) -> Option<&RecordWrites> {
        self.entries.get(self.sample.place(item)?)
    }

    /// Notes whether a record is there now, and returns whether it was before. Of records that are
    /// not followed, all are there.
    #[inline]
    fn set_presence(&self, item: u64, is_there: bool) -> bool {
        let is_followed = item < self.sample.records;
        let word = self.absent.get((item / 64) as usize);
        let Some(word) = word.filter(|_| is_followed) else {
            return true;
        };
        let bit = 1 << (item % 64);
        // Most writes find their record, and then only look.
        let is_absent = word.load(SeqCst) & bit != 0;
        if is_there && is_absent {
            word.fetch_and(!bit, SeqCst);
        } else if !is_there && !is_absent {
            return word.fetch_or(bit, SeqCst) & bit == 0;
        }
        !is_absent
    }
}

/// A write under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingWrite {
    item: u64,
    /// Its number among the writes of its record.
    number: u32,
    /// Whether all writes of the record before it had ended when it began.
    is_sequential: bool,
    deletes: bool,
}

/// Most records that one worker remembers as written by two at once.
const MAX_UNSETTLED: usize = 4_096;

/// The writes that a trial makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialWrites {
    /// Their versions.
    pub versions: TrialVersions,
    /// Records that were loaded. Those beyond are inserted once and never changed.
    pub records: u64,
    /// Whether any worker updates or deletes.
    pub mutates: bool,
    /// Whether any worker deletes.
    pub deletes: bool,
}

/// Tracks the writes that one worker knows of, and notes the unsettled ones.
pub(crate) struct WriteTracker<'t> {
    table: Option<&'t WriteTable>,
    knowledge: WriteKnowledge,
    trial: TrialWrites,
    /// Numbers of writes that no table follows.
    untracked: u32,
    /// Records whose last write met another under way, so that either may be the final one.
    unsettled: Vec<u64>,
    overflowed: bool,
}

impl<'t> WriteTracker<'t> {
    /// Nothing noted yet.
    pub(crate) fn new(
        table: Option<&'t WriteTable>,
        knowledge: WriteKnowledge,
        trial: TrialWrites,
    ) -> Self {
        Self {
            table,
            knowledge,
            trial,
            untracked: 0,
            unsettled: Vec::with_capacity(if table.is_some() { MAX_UNSETTLED } else { 0 }),
            overflowed: false,
        }
    }

    /// The worker's knowledge of others' writes.
    pub(crate) fn knowledge(&self) -> WriteKnowledge {
        self.knowledge
    }

    /// The number of loaded records.
    #[inline]
    pub(crate) fn records(&self) -> u64 {
        self.trial.records
    }

    #[inline]
    fn entry(&self, item: u64) -> Option<&'t RecordWrites> {
        self.table?.entry(item)
    }

    fn check_absence(
        &self,
        item: u64,
        entry: Option<&RecordWrites>,
        floor: u32,
    ) -> Result<(), ReadFault> {
        let legal = match (self.knowledge, entry) {
            (WriteKnowledge::All, Some(entry)) => entry.deleted.load(SeqCst) >= floor.max(1),
            _ => item < self.trial.records,
        };
        if self.trial.deletes && legal {
            Ok(())
        } else {
            Err(ReadFault::Lost)
        }
    }

    /// Begins a write, a delete or not, before its transaction does.
    #[inline]
    pub(crate) fn begin_write(&mut self, item: u64, deletes: bool) -> PendingWrite {
        let Some(entry) = self.entry(item) else {
            self.untracked = self.untracked.wrapping_add(1);
            return PendingWrite {
                item,
                number: self.untracked % MAX_NUMBER + 1,
                is_sequential: true,
                deletes,
            };
        };
        let completed = entry.completed.load(SeqCst);
        let before = entry.issued.fetch_add(1, SeqCst);
        if deletes {
            entry.deleted.fetch_max(before + 1, SeqCst);
        }
        PendingWrite {
            item,
            number: before + 1,
            is_sequential: completed == before,
            deletes,
        }
    }

    /// The version that a write bears.
    #[inline]
    pub(crate) fn version(&self, write: PendingWrite) -> u32 {
        self.trial.versions.version(write.number)
    }

    /// A write was committed. Returns `false` for a delete whose record was not there.
    #[inline]
    pub(crate) fn complete_write(&mut self, write: PendingWrite) -> bool {
        let table = self.table;
        let was_there = table.is_none_or(|table| table.set_presence(write.item, !write.deletes));
        let found = was_there || !write.deletes;
        let Some(entry) = self.entry(write.item) else {
            return found;
        };
        if write.is_sequential {
            entry.floor.fetch_max(write.number, SeqCst);
        }
        entry.completed.fetch_add(1, SeqCst);
        if !write.is_sequential {
            self.add_unsettled(write.item);
        }
        found
    }

    #[cold]
    fn add_unsettled(&mut self, item: u64) {
        if self.unsettled.len() == self.unsettled.capacity() {
            self.forget_settled();
        }
        if self.unsettled.len() < self.unsettled.capacity() {
            self.unsettled.push(item);
        } else {
            self.overflowed = true;
        }
    }

    fn forget_settled(&mut self) {
        self.unsettled.sort_unstable();
        self.unsettled.dedup();
        let table = self.table;
        self.unsettled.retain(|item| {
            table
                .and_then(|table| table.entry(*item))
                .is_some_and(|entry| entry.floor.load(SeqCst) != entry.issued.load(SeqCst))
        });
    }

    /// The records whose final version is one of several, each with the least that it may be;
    /// `None` if there were too many to remember.
    pub(crate) fn into_unsettled(mut self) -> Option<Vec<(u64, u32)>> {
        self.forget_settled();
        let floor = |item: u64| self.entry(item).map_or(0, |entry| entry.floor.load(SeqCst));
        let unsettled = self.unsettled.iter().map(|item| (*item, floor(*item)));
        (!self.overflowed).then(|| unsettled.collect())
    }
}

impl ReadValidator for WriteTracker<'_> {
    #[inline]
    fn floor(&self, item: u64) -> u32 {
        match self.knowledge {
            WriteKnowledge::Nothing => 0,
            _ => self.entry(item).map_or(0, |entry| entry.floor.load(SeqCst)),
        }
    }

    #[inline]
    fn validate(&self, item: u64, floor: u32, state: RecordState) -> Result<(), ReadFault> {
        let entry = self.entry(item);
        let number = match state {
            RecordState::Foreign => return Err(ReadFault::Foreign),
            RecordState::Absent => return self.check_absence(item, entry, floor),
            RecordState::Version(version) => {
                let number = self.trial.versions.number(version);
                number.ok_or(ReadFault::Unwritten)?
            }
        };
        let most = match (self.knowledge, entry) {
            _ if !self.trial.mutates || item >= self.trial.records => 0,
            (WriteKnowledge::All, Some(entry)) => entry.issued.load(SeqCst).min(MAX_NUMBER),
            _ => MAX_NUMBER,
        };
        if number < floor.min(MAX_NUMBER) {
            return Err(ReadFault::Stale);
        }
        if number > most {
            return Err(ReadFault::Unwritten);
        }
        if let (WriteKnowledge::Rising, Some(entry)) = (self.knowledge, entry) {
            entry.floor.fetch_max(number, SeqCst);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> WriteTable {
        WriteTable::new(RecordSample::new(VerifyLevel::Full, 10))
    }

    fn trial(generation: u32) -> TrialWrites {
        TrialWrites {
            versions: TrialVersions::new(generation),
            records: 10,
            mutates: true,
            deletes: true,
        }
    }

    fn tracker(table: &WriteTable, generation: u32) -> WriteTracker<'_> {
        WriteTracker::new(Some(table), WriteKnowledge::All, trial(generation))
    }

    fn seen(generation: u32, number: u32) -> RecordState {
        RecordState::Version(TrialVersions::new(generation).version(number))
    }

    #[test]
    fn what_was_committed_before_a_read_began_is_the_least_that_it_may_see() {
        let table = table();
        let mut tracker = tracker(&table, 0);
        assert_eq!(tracker.validate(3, tracker.floor(3), seen(0, 0)), Ok(()));
        let write = tracker.begin_write(3, false);
        let early = tracker.floor(3);
        assert_eq!(tracker.validate(3, early, seen(0, 1)), Ok(()));
        tracker.complete_write(write);
        assert_eq!(tracker.validate(3, early, seen(0, 0)), Ok(()));
        let late = tracker.floor(3);
        assert_eq!(tracker.validate(3, late, seen(0, 0)), Err(ReadFault::Stale));
        assert_eq!(
            tracker.validate(3, late, seen(0, 2)),
            Err(ReadFault::Unwritten)
        );
        assert_eq!(
            tracker.validate(3, late, RecordState::Absent),
            Err(ReadFault::Lost)
        );
    }

    #[test]
    fn of_two_writes_at_once_either_may_be_the_last_until_a_third_follows_both() {
        let table = table();
        let (mut one, mut other) = (tracker(&table, 0), tracker(&table, 0));
        let (first, second) = (one.begin_write(5, false), other.begin_write(5, false));
        other.complete_write(second);
        one.complete_write(first);
        for number in 1..=2 {
            assert_eq!(one.validate(5, one.floor(5), seen(0, number)), Ok(()));
        }
        assert_eq!(other.unsettled, [5]);
        let third = one.begin_write(5, false);
        one.complete_write(third);
        assert_eq!(
            one.validate(5, one.floor(5), seen(0, 2)),
            Err(ReadFault::Stale)
        );
        assert_eq!(other.into_unsettled(), Some(vec![]));
    }

    #[test]
    fn a_record_may_be_absent_from_a_delete_on_and_until_a_write_after_it() {
        let table = table();
        let mut tracker = tracker(&table, 0);
        let delete = tracker.begin_write(1, true);
        assert_eq!(tracker.validate(1, 0, RecordState::Absent), Ok(()));
        tracker.complete_write(delete);
        let floor = tracker.floor(1);
        assert_eq!(
            tracker.validate(1, floor, seen(0, 0)),
            Err(ReadFault::Stale)
        );
        assert_eq!(tracker.validate(1, floor, RecordState::Absent), Ok(()));
        let update = tracker.begin_write(1, false);
        tracker.complete_write(update);
        let floor = tracker.floor(1);
        assert_eq!(
            tracker.validate(1, floor, RecordState::Absent),
            Err(ReadFault::Lost)
        );
    }

    #[test]
    fn versions_of_former_trials_are_legal_until_a_record_is_written() {
        let table = table();
        let mut tracker = tracker(&table, 2);
        assert_eq!(tracker.validate(4, 0, seen(1, 9)), Ok(()));
        assert_eq!(
            tracker.validate(4, 0, seen(3, 0)),
            Err(ReadFault::Unwritten)
        );
        assert_eq!(
            tracker.validate(4, 0, seen(2, 0)),
            Err(ReadFault::Unwritten)
        );
        let write = tracker.begin_write(4, false);
        tracker.complete_write(write);
        assert_eq!(
            tracker.validate(4, tracker.floor(4), seen(1, 9)),
            Err(ReadFault::Stale)
        );
    }

    #[test]
    fn a_reader_in_another_process_than_the_one_writer_sees_versions_only_rise() {
        let table = table();
        let tracker = WriteTracker::new(Some(&table), WriteKnowledge::Rising, trial(0));
        assert_eq!(tracker.validate(7, tracker.floor(7), seen(0, 3)), Ok(()));
        assert_eq!(
            tracker.validate(7, tracker.floor(7), seen(0, 2)),
            Err(ReadFault::Stale)
        );
    }
}
