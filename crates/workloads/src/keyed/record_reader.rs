//! Reads of records in the measured loop, alone and in scans, with their checks.

use super::draws::ValueLengths;
use super::expected_state::{ReplayableJob, tracker_of};
use super::queue_scan::{QueueCheck, QueueScan, ScanStart};
use super::read_check::{ReadCounts, ReadFault, ReadValidator, RecordState};
use super::record::{RecordKeys, RecordMaker};
use super::scan::{ScanCheck, scan_first, scan_some};
use super::write_tracker::{WriteTable, WriteTracker};
use crate::JobTask;
use crate::generate::key::KeyBuffer;
use std::hint::black_box;
use std::ops::Bound;
use trueput_engine::{KeyRange, Result, Session, ValueVisitor};

/// The way to get a record.
pub(crate) type RecordGetter = fn(&mut dyn Session, &[u8], &mut ValueVisitor<'_>) -> Result<bool>;

/// Gets a record within a transaction.
pub(crate) const GET: RecordGetter = |session, key, visitor| session.get(key, visitor);

/// Gets a record by a look-up of its own.
pub(crate) const POINT_READ: RecordGetter =
    |session, key, visitor| session.point_read(key, visitor);

/// One worker's reads. Nothing here allocates after the start.
pub(crate) struct RecordReader<'w, L> {
    /// Apart from those of the maker, which is busy with values while a key is in use.
    keys: RecordKeys,
    key: KeyBuffer,
    pub(crate) maker: RecordMaker<L>,
    pub(crate) tracker: WriteTracker<'w>,
    pub(crate) reads: ReadCounts,
    /// Whether the operations since [`RecordReader::restart`] looked for a record that was not
    /// there.
    pub(crate) lacks_record: bool,
    /// Whether reads are checked.
    verifies: bool,
    /// Whether a read finds out the version of its record.
    identifies: bool,
    /// The ends of the keys of the worker's partition; `None` where there are no partitions.
    bounds: Option<[Box<[u8]>; 2]>,
    /// The least numbers that the operations of the transaction may read, one for each record that
    /// an operation covers, in the order of the operations.
    floors: Vec<u32>,
}

impl<'w, L: ValueLengths> RecordReader<'w, L> {
    /// Nothing was read yet. No transaction covers more than `max_records`.
    pub(crate) fn new(
        job: &impl ReplayableJob<Lengths = L>,
        maker: RecordMaker<L>,
        table: Option<&'w WriteTable>,
        task: &JobTask<'_>,
        max_records: usize,
    ) -> Self {
        let verifies = task.verifies_reads();
        let maker = maker.in_partitions(job.partitions(task.workers));
        let maker = if verifies {
            maker.comparing_reads(task.verify)
        } else {
            maker
        };
        Self {
            bounds: maker.keys().bounds(task.worker),
            keys: maker.keys().clone(),
            key: KeyBuffer::default(),
            maker,
            tracker: tracker_of(job, table, task),
            reads: ReadCounts::default(),
            lacks_record: false,
            verifies,
            identifies: verifies || job.counts_writes(),
            floors: Vec::with_capacity(if verifies { max_records } else { 0 }),
        }
    }

    /// Notes what a transaction must find at least, before it begins: `covered` has the first
    /// record of each operation and their number.
    pub(crate) fn note_floors(&mut self, covered: impl Iterator<Item = (u64, u32)>) {
        if !self.verifies {
            return;
        }
        self.floors.clear();
        for (item, records) in covered {
            let items = (item..).take(records as usize);
            let floors = items.map(|item| self.tracker.floor(item));
            self.floors.extend(floors);
        }
    }

    /// Begins an attempt of a transaction; `reads` are those before it. What an attempt that
    /// conflicts has read is not judged.
    #[inline]
    pub(crate) fn restart(&mut self, reads: ReadCounts) {
        self.reads = reads;
        self.lacks_record = false;
    }

    /// Reads a record and checks it, or that it is not there if it does not exist. Its floor is the
    /// one at `floor`.
    pub(crate) fn read(
        &mut self,
        session: &mut dyn Session,
        get: RecordGetter,
        (item, exists): (u64, bool),
        floor: usize,
    ) -> Result<RecordState> {
        let key = self.keys.write(item, &mut self.key);
        let (maker, identifies) = (&mut self.maker, self.identifies);
        let mut state = RecordState::Absent;
        let is_there = get(session, key, &mut |value| {
            if identifies {
                state = maker.state(item, value);
            } else {
                black_box(value.first().copied());
            }
        })?;
        self.lacks_record |= !is_there;
        if self.verifies {
            let verdict = match (exists, state) {
                (true, _) => self.tracker.validate(item, self.floors[floor], state),
                (false, RecordState::Absent) => Ok(()),
                (false, _) => Err(ReadFault::Unexpected),
            };
            self.reads.count(item, verdict);
        }
        Ok(state)
    }

    /// Reads so many records from one on and checks them. Their floors begin at `floor`.
    pub(crate) fn scan(
        &mut self,
        session: &mut dyn Session,
        item: u64,
        records: u32,
        floor: usize,
    ) -> Result<()> {
        let (wanted, verifies) = (u64::from(records), self.verifies);
        let floors = if verifies {
            &self.floors[floor..floor + records as usize]
        } else {
            &[]
        };
        let key = self.keys.write(item, &mut self.key);
        let from = (item, floors);
        let mut check = ScanCheck::new(&mut self.maker, &self.tracker, from, self.reads);
        let shown = scan_first(session, KeyRange::from(key), wanted, |key, value| {
            if verifies {
                check.check_record(key, value);
            } else {
                black_box((key.first().copied(), value.first().copied()));
            }
        })?;
        self.lacks_record |= shown == 0;
        if verifies && shown < wanted {
            // The scan ended early: the remaining records must not exist.
            check.check_missing(item.checked_add(wanted));
        }
        self.reads = check.reads;
        Ok(())
    }

    /// Does a scan of the worker's queue, of so many records at most, and checks it. `item` is the
    /// record of [`ScanStart::Record`].
    pub(crate) fn scan_queue(
        &mut self,
        session: &mut dyn Session,
        (item, records): (u64, u32),
        scan: QueueScan,
    ) -> Result<()> {
        let (wanted, verifies) = (u64::from(records), self.verifies);
        let mut range = match &self.bounds {
            Some([lower, upper]) => KeyRange::between(lower, upper),
            None => KeyRange::ALL,
        };
        if scan.start == ScanStart::Record {
            range.lower = Bound::Included(self.keys.write(item, &mut self.key));
        }
        let mut check = QueueCheck::new(&mut self.maker, &self.tracker, scan, wanted, self.reads);
        let shown = scan_some(session, range, scan.direction(), wanted, |key, value| {
            if verifies {
                check.check_record(key, value);
            } else {
                black_box((key.first().copied(), value.first().copied()));
            }
        })?;
        self.lacks_record |= shown == 0;
        if verifies && shown < wanted {
            check.finish();
        }
        self.reads = check.reads;
        Ok(())
    }
}
