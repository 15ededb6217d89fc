//! Counts a record's updates, for workloads whose every update reads its record and bears the
//! number after the one that it read. So the numbers of all records add up to the trial's updates,
//! unless one was lost.

use super::read_check::{ReadFault, ReadValidator, RecordState};
use super::versions::{MAX_NUMBER, TrialVersions};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// The updates of each record that the threads of a process know of.
#[derive(Debug, Default)]
pub(crate) struct UpdateCounts {
    records: Box<[RecordUpdates]>,
    /// Whether every update of the trial is entered here: not where workers are processes.
    complete: bool,
}

#[derive(Debug, Default)]
struct RecordUpdates {
    begun: AtomicU32,
    /// The most updates in any committed version.
    committed: AtomicU32,
}

impl UpdateCounts {
    /// Tracks the records below `records`; others may have any version.
    pub(crate) fn new(records: u64, complete: bool) -> Self {
        Self {
            records: (0..records).map(|_| RecordUpdates::default()).collect(),
            complete,
        }
    }

    fn entry(&self, item: u64) -> Option<&RecordUpdates> {
        self.records.get(usize::try_from(item).ok()?)
    }

    /// An update is about to begin.
    pub(crate) fn begin(&self, item: u64) {
        if let Some(entry) = self.entry(item) {
            entry.begun.fetch_add(1, SeqCst);
        }
    }

    /// Records that a version with this many updates is committed.
    pub(crate) fn commit(&self, item: u64, updates: u32) {
        if let Some(entry) = self.entry(item) {
            entry.committed.fetch_max(updates, SeqCst);
        }
    }

    /// The fewest updates that a read which begins now must find.
    pub(crate) fn min_updates(&self, item: u64) -> u32 {
        self.entry(item)
            .map_or(0, |entry| entry.committed.load(SeqCst))
    }

    /// The most updates that a read which ends now may find.
    pub(crate) fn max_updates(&self, item: u64) -> u32 {
        match self.entry(item) {
            Some(entry) if self.complete => entry.begun.load(SeqCst),
            _ => MAX_NUMBER,
        }
    }
}

/// Checks reads by the updates of each record that are known here.
#[derive(Debug)]
pub(crate) struct UpdateValidator {
    /// The versions of the trial.
    pub(crate) versions: TrialVersions,
    /// The updates that were begun and committed.
    pub(crate) updates: UpdateCounts,
}

impl ReadValidator for UpdateValidator {
    #[inline]
    fn floor(&self, item: u64) -> u32 {
        self.updates.min_updates(item)
    }

    #[inline]
    fn validate(&self, item: u64, floor: u32, state: RecordState) -> Result<(), ReadFault> {
        match state {
            RecordState::Absent => Err(ReadFault::Lost),
            RecordState::Foreign => Err(ReadFault::Foreign),
            RecordState::Version(version) => match self.versions.number(version) {
                Some(updates) if updates < floor => Err(ReadFault::Stale),
                Some(updates) if updates <= self.updates.max_updates(item) => Ok(()),
                _ => Err(ReadFault::Unwritten),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_finds_what_was_committed_before_it_and_nothing_that_was_not_begun() {
        let updates_by_record = UpdateCounts::new(2, true);
        updates_by_record.begin(1);
        assert_eq!(
            (
                updates_by_record.min_updates(1),
                updates_by_record.max_updates(1)
            ),
            (0, 1)
        );
        updates_by_record.commit(1, 1);
        assert_eq!(
            (
                updates_by_record.min_updates(1),
                updates_by_record.max_updates(1)
            ),
            (1, 1)
        );
        assert_eq!(
            (
                updates_by_record.min_updates(0),
                updates_by_record.max_updates(0)
            ),
            (0, 0)
        );
        // Other processes may have updated it as well.
        assert_eq!(UpdateCounts::new(2, false).max_updates(0), MAX_NUMBER);
        assert_eq!(updates_by_record.max_updates(2), MAX_NUMBER);
    }
}
