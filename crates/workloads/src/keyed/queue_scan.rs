//! Scans of a queue, and the check of what they return. Only its worker changes a queue, so that
//! its records are known exactly without the engine.

use super::draws::ValueLengths;
use super::partition::Partition;
use super::read_check::{ReadCounts, ReadFault, ReadValidator};
use super::record::RecordMaker;
use super::write_tracker::WriteTracker;
use trueput_engine::Direction;

/// Where a scan of a queue begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStart {
    /// At a record's key.
    Record,
    /// At the first key that the queue may have: its oldest record's may be any.
    First,
    /// At the last key that the queue may have, from where it goes back.
    Last,
}

/// A scan of a queue, with the records that are there at the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueScan {
    /// The queue's part of the records.
    pub partition: Partition,
    pub start: ScanStart,
    /// The place of the first record that it must return, if there is any.
    pub place: u64,
    /// The records that are there from that one on, in the direction of the scan.
    pub left: u64,
}

impl QueueScan {
    /// The order in which it passes the records.
    pub(crate) fn direction(self) -> Direction {
        if self.start == ScanStart::Last {
            Direction::Backward
        } else {
            Direction::Forward
        }
    }

    /// The record that it must return at an index.
    fn item(self, index: u64) -> u64 {
        let place = match self.direction() {
            Direction::Forward => self.place + index,
            Direction::Backward => self.place.saturating_sub(index),
        };
        self.partition.item(place)
    }

    /// The index at which it must return a record; it has passed those before `next`.
    ///
    /// # Errors
    /// The fault, if it must not return it now.
    fn index(self, item: u64, next: u64) -> Result<u64, ReadFault> {
        let place = self.partition.place(item).ok_or(ReadFault::Disorder)?;
        let index = match self.direction() {
            Direction::Forward => place.checked_sub(self.place),
            Direction::Backward => self.place.checked_sub(place),
        };
        match index {
            Some(index) if index < next => Err(ReadFault::Disorder),
            Some(index) if index < self.left => Ok(index),
            // Before the key at which it begins.
            None if self.start == ScanStart::Record => Err(ReadFault::Disorder),
            // Taken out before, or not there yet.
            _ => Err(ReadFault::Unexpected),
        }
    }
}

/// Compares the records that a scan of a queue returns with those that are there.
pub(crate) struct QueueCheck<'w, L> {
    maker: &'w mut RecordMaker<L>,
    tracker: &'w WriteTracker<'w>,
    scan: QueueScan,
    /// The number of records that it must return.
    due: u64,
    /// The index of the next record.
    next: u64,
    pub(crate) reads: ReadCounts,
}

impl<'w, L: ValueLengths> QueueCheck<'w, L> {
    /// The check of a scan of `wanted` records, of which fewer may be there.
    pub(crate) fn new(
        maker: &'w mut RecordMaker<L>,
        tracker: &'w WriteTracker<'w>,
        scan: QueueScan,
        wanted: u64,
        reads: ReadCounts,
    ) -> Self {
        Self {
            maker,
            tracker,
            scan,
            due: wanted.min(scan.left),
            next: 0,
            reads,
        }
    }

    /// Checks the next record that the scan returned.
    pub(crate) fn check_record(&mut self, key: &[u8], value: &[u8]) {
        let Some(item) = self.maker.item(key) else {
            let expected = self.scan.item(self.next);
            self.reads.count(expected, Err(ReadFault::Disorder));
            return;
        };
        match self.scan.index(item, self.next) {
            Ok(index) => {
                self.check_missing(index);
                let state = self.maker.state(item, value);
                // A record that is there was not written since it was loaded or inserted.
                let verdict = self.tracker.validate(item, 0, state);
                self.reads.count(item, verdict);
                self.next = index + 1;
            }
            Err(fault) => self.reads.count(item, Err(fault)),
        }
    }

    /// Counts the records that a scan which ended early did not return.
    pub(crate) fn finish(&mut self) {
        self.check_missing(self.due);
    }

    /// Counts those of the wanted records that the scan has passed over, up to an index.
    fn check_missing(&mut self, end: u64) {
        for index in self.next..end.min(self.due) {
            let item = self.scan.item(index);
            self.reads.count(item, Err(ReadFault::Lost));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::partition::Partitions;

    fn scan(start: ScanStart, place: u64, left: u64) -> QueueScan {
        QueueScan {
            // The shares of 10 records end at 3, 6 and 10.
            partition: Partitions::new(10, 3).partition(1),
            start,
            place,
            left,
        }
    }

    #[test]
    fn the_records_due_are_those_of_the_partition_from_the_oldest_or_the_newest_on() {
        let (first, last) = (scan(ScanStart::First, 1, 4), scan(ScanStart::Last, 4, 4));
        // The first record of the share was taken out, and two were inserted.
        assert_eq!([0, 1, 2, 3].map(|index| first.item(index)), [4, 5, 11, 14]);
        assert_eq!([0, 1, 2, 3].map(|index| last.item(index)), [14, 11, 5, 4]);
        for (scan, index) in [(first, 2), (last, 1)] {
            assert_eq!(scan.index(11, 0), Ok(index));
            assert_eq!(scan.index(11, index), Ok(index));
            assert_eq!(scan.index(11, index + 1), Err(ReadFault::Disorder));
        }
    }

    #[test]
    fn a_record_that_is_not_there_or_is_of_another_partition_is_a_fault() {
        let (first, last) = (scan(ScanStart::First, 1, 4), scan(ScanStart::Last, 4, 4));
        for scan in [first, last] {
            assert_eq!(scan.index(3, 0), Err(ReadFault::Unexpected), "taken out");
            assert_eq!(scan.index(17, 0), Err(ReadFault::Unexpected), "to come");
            for other in [0, 9, 10, 12] {
                assert_eq!(scan.index(other, 0), Err(ReadFault::Disorder));
            }
        }
        let from_record = scan(ScanStart::Record, 1, 4);
        assert_eq!(from_record.index(3, 0), Err(ReadFault::Disorder));
        let empty = scan(ScanStart::Last, 1, 0);
        for item in [3, 4, 5] {
            assert_eq!(empty.index(item, 0), Err(ReadFault::Unexpected));
        }
    }
}
