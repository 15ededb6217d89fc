//! Versions that count a record's updates, and the check of the versions that a read may find.
//!
//! A version is a tag for the trial and a count of the record's updates in that trial. So the
//! counts of all records add up to the trial's updates, unless one was lost; and trials that share
//! a load need not know of each other.

use super::read_check::{ReadFault, ReadValidator, RecordState};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const COUNT_BITS: u32 = 26;
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The number of trials that can run on one load before its records must be loaded again.
pub(crate) const GENERATIONS: u32 = (1 << (u32::BITS - COUNT_BITS)) - 1;

/// The versions of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrialVersions {
    tag: u32,
}

impl TrialVersions {
    /// Of the trial that comes after `generation` others on the same load.
    pub(crate) fn new(generation: u32) -> Self {
        Self {
            tag: generation % GENERATIONS + 1,
        }
    }

    /// The number of this trial's updates that a version stands for.
    pub(crate) fn updates(self, version: u32) -> u32 {
        if version >> COUNT_BITS == self.tag {
            version & MAX_COUNT
        } else {
            0
        }
    }

    /// The version after this one; `None` after too many.
    pub(crate) fn next(self, version: u32) -> Option<u32> {
        let updates = self.updates(version) + 1;
        (updates <= MAX_COUNT).then_some((self.tag << COUNT_BITS) | updates)
    }
}

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
            _ => MAX_COUNT,
        }
    }
}

/// Checks reads by the updates of each record that are known here.
#[derive(Debug)]
pub(crate) struct UpdateValidator {
    /// The versions of the trial.
    pub(crate) trial: TrialVersions,
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
            RecordState::Version(version) => match self.trial.updates(version) {
                updates if updates < floor => Err(ReadFault::Stale),
                updates if updates > self.updates.max_updates(item) => Err(ReadFault::Unwritten),
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::load::FIRST_VERSION;

    #[test]
    fn each_trial_on_a_load_counts_from_one() {
        let (first, second) = (TrialVersions::new(0), TrialVersions::new(1));
        let once = first.next(FIRST_VERSION).unwrap();
        let twice = first.next(once).unwrap();
        assert_eq!((first.updates(once), first.updates(twice)), (1, 2));
        assert_eq!(second.updates(twice), 0);
        assert_eq!(second.updates(second.next(twice).unwrap()), 1);
        let tags: std::collections::HashSet<_> = (0..GENERATIONS)
            .map(|g| TrialVersions::new(g).tag)
            .collect();
        assert_eq!(tags.len(), GENERATIONS as usize);
        assert!(!tags.contains(&0));
    }

    #[test]
    fn a_record_is_not_updated_beyond_what_its_version_can_tell() {
        let trial = TrialVersions::new(GENERATIONS - 1);
        let last = (trial.tag << COUNT_BITS) | MAX_COUNT;
        assert_eq!(trial.updates(last), MAX_COUNT);
        assert_eq!(trial.next(last), None);
    }

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
        assert_eq!(UpdateCounts::new(2, false).max_updates(0), MAX_COUNT);
        assert_eq!(updates_by_record.max_updates(2), MAX_COUNT);
    }
}
