//! The index updates of each row, k = k + 1, as far as the threads of a process know of them. A row
//! that is deleted and inserted again gets a k of its own, and the updates before that are gone:
//! how many they are is known but for those under way at the time. One entry of 16 bytes per row.

use crate::keyed::write_tracker::RecordSample;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// One row's updates, in one cache line.
#[derive(Debug, Default)]
#[repr(align(16))]
struct RowUpdates {
    begun: AtomicU32,
    committed: AtomicU32,
    /// At least so many were before the last insert of the row.
    erased_least: AtomicU32,
    /// At most so many were.
    erased_most: AtomicU32,
}

/// The updates of all tracked rows.
#[derive(Debug)]
pub(super) struct UpdateTable {
    entries: Box<[RowUpdates]>,
    sample: RecordSample,
}

impl UpdateTable {
    /// Nothing was updated yet.
    pub(super) fn new(sample: RecordSample) -> Self {
        Self {
            entries: (0..sample.len()).map(|_| RowUpdates::default()).collect(),
            sample,
        }
    }

    #[inline]
    fn entry(&self, item: u64) -> Option<&RowUpdates> {
        self.entries.get(self.sample.place(item)?)
    }

    /// An update is about to begin.
    #[inline]
    pub(super) fn begin(&self, item: u64) {
        if let Some(entry) = self.entry(item) {
            entry.begun.fetch_add(1, SeqCst);
        }
    }

    /// An update was committed.
    #[inline]
    pub(super) fn commit(&self, item: u64) {
        if let Some(entry) = self.entry(item) {
            entry.committed.fetch_add(1, SeqCst);
        }
    }

    /// The updates begun, at most so many of which a read that ended before this call has seen;
    /// `None` for a row that is not tracked.
    #[inline]
    pub(super) fn begun(&self, item: u64) -> Option<u32> {
        Some(self.entry(item)?.begun.load(SeqCst))
    }

    /// The updates committed so far: all of them come before an insert of the row whose transaction
    /// has not begun yet.
    #[inline]
    pub(super) fn committed(&self, item: u64) -> u32 {
        let entry = self.entry(item);
        entry.map_or(0, |entry| entry.committed.load(SeqCst))
    }

    /// A row was deleted and inserted again, and that is committed; at least `least` updates came
    /// before. Those that have not begun yet come after it.
    ///
    /// Every insert of a row is before the last one or is the last one. So of both bounds the
    /// highest of all inserts holds for the last one.
    #[inline]
    pub(super) fn erase(&self, item: u64, least: u32) {
        if let Some(entry) = self.entry(item) {
            entry.erased_least.fetch_max(least, SeqCst);
            entry
                .erased_most
                .fetch_max(entry.begun.load(SeqCst), SeqCst);
        }
    }

    /// The fewest and the most updates that the inserts known so far have erased.
    pub(super) fn erased(&self, item: u64) -> Option<(u32, u32)> {
        let entry = self.entry(item)?;
        let bounds = [&entry.erased_least, &entry.erased_most];
        let [least, most] = bounds.map(|bound| bound.load(SeqCst));
        Some((least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::VerifyLevel;

    #[test]
    fn an_insert_erases_what_was_committed_before_it_and_maybe_what_was_under_way() {
        let table = UpdateTable::new(RecordSample::new(VerifyLevel::Full, 10));
        for _ in 0..3 {
            table.begin(4);
            table.commit(4);
        }
        let least = table.committed(4);
        table.begin(4);
        table.erase(4, least);
        table.commit(4);
        table.begin(4);
        assert_eq!(table.erased(4), Some((3, 4)));
        assert_eq!((table.begun(4), table.committed(4)), (Some(5), 4));
        assert_eq!(table.erased(5), Some((0, 0)));
        assert_eq!((table.erased(10), table.begun(10)), (None, None));
    }

    #[test]
    fn an_insert_that_ends_later_does_not_lower_the_bounds() {
        let table = UpdateTable::new(RecordSample::new(VerifyLevel::Full, 1));
        let early = table.committed(0);
        table.begin(0);
        table.commit(0);
        table.erase(0, table.committed(0));
        table.erase(0, early);
        assert_eq!(table.erased(0), Some((1, 1)));
    }
}
