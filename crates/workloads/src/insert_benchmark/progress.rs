//! The progress of the writers of a table, which the workers of its client share.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// The ids of a table: those of the rows that were inserted and not deleted. A bound is the first
/// id to which its name does not apply.
#[derive(Debug)]
pub(super) struct TableProgress {
    /// The ids when the step began.
    begun_with: Range<u64>,
    insert_begun: AtomicU64,
    inserted: AtomicU64,
    delete_begun: AtomicU64,
    deleted: AtomicU64,
    inserter_has_ended: AtomicBool,
    deleter_has_ended: AtomicBool,
}

/// What was committed before a query began.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommittedBounds {
    inserted: u64,
    deleted: u64,
}

/// What is known of the ids that a query could find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveIds {
    /// Those of the rows that were there at some moment while the query ran, or may have been.
    pub(super) possible: Range<u64>,
    /// Those of the rows that were there all the time.
    pub(super) certain: Range<u64>,
}

/// Says that a writer has ended, whatever the reason, when it is dropped.
pub(super) struct EndFlag<'p>(&'p AtomicBool);

impl Drop for EndFlag<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

impl TableProgress {
    /// The progress of a table with these ids, before its writers begin.
    pub(super) fn new(ids: Range<u64>) -> Self {
        Self {
            insert_begun: AtomicU64::new(ids.end),
            inserted: AtomicU64::new(ids.end),
            delete_begun: AtomicU64::new(ids.start),
            deleted: AtomicU64::new(ids.start),
            inserter_has_ended: AtomicBool::new(false),
            deleter_has_ended: AtomicBool::new(false),
            begun_with: ids,
        }
    }

    /// The ids when the step began.
    pub(super) fn begun_with(&self) -> Range<u64> {
        self.begun_with.clone()
    }

    /// An insert of the rows before `end` begins.
    pub(super) fn begin_insert(&self, end: u64) {
        self.insert_begun.store(end, SeqCst);
    }

    /// An insert of the rows before `end` is committed.
    pub(super) fn commit_insert(&self, end: u64) {
        self.inserted.store(end, SeqCst);
    }

    /// A delete of the rows before `end` begins.
    pub(super) fn begin_delete(&self, end: u64) {
        self.delete_begun.store(end, SeqCst);
    }

    /// A delete of the rows before `end` is committed.
    pub(super) fn commit_delete(&self, end: u64) {
        self.deleted.store(end, SeqCst);
    }

    /// The number of rows that the step has inserted.
    pub(super) fn rows_inserted(&self) -> u64 {
        self.inserted.load(SeqCst) - self.begun_with.end
    }

    /// The number of rows that the step has inserted and not made up for by deletes.
    pub(super) fn rows_ahead(&self) -> u64 {
        let deleted = self.deleted.load(SeqCst) - self.begun_with.start;
        self.rows_inserted().saturating_sub(deleted)
    }

    /// The first id of a row of which no delete has begun.
    pub(super) fn first_kept(&self) -> u64 {
        self.delete_begun.load(SeqCst)
    }

    /// The flag of the inserter's end.
    pub(super) fn inserter_flag(&self) -> EndFlag<'_> {
        EndFlag(&self.inserter_has_ended)
    }

    /// The flag of the deleter's end.
    pub(super) fn deleter_flag(&self) -> EndFlag<'_> {
        EndFlag(&self.deleter_has_ended)
    }

    /// Whether no more rows are inserted.
    pub(super) fn inserter_has_ended(&self) -> bool {
        self.inserter_has_ended.load(SeqCst)
    }

    /// Whether no more rows are deleted.
    pub(super) fn deleter_has_ended(&self) -> bool {
        self.deleter_has_ended.load(SeqCst)
    }

    /// What is committed now, before a query begins.
    pub(super) fn before_query(&self) -> CommittedBounds {
        CommittedBounds {
            inserted: self.inserted.load(SeqCst),
            deleted: self.deleted.load(SeqCst),
        }
    }

    /// What a query could find that began at `before` and has ended.
    pub(super) fn after_query(&self, before: CommittedBounds) -> LiveIds {
        LiveIds {
            possible: before.deleted..self.insert_begun.load(SeqCst),
            certain: self.delete_begun.load(SeqCst)..before.inserted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_may_find_what_was_begun_and_must_find_what_stayed_committed() {
        let progress = TableProgress::new(1..101);
        let before = progress.before_query();
        let still = progress.after_query(before);
        assert_eq!((still.possible, still.certain), (1..101, 1..101));
        progress.begin_insert(111);
        progress.commit_insert(111);
        progress.begin_delete(11);
        let meanwhile = progress.after_query(before);
        assert_eq!((meanwhile.possible, meanwhile.certain), (1..111, 11..101));
        progress.commit_delete(11);
        let later = progress.after_query(progress.before_query());
        assert_eq!((later.possible, later.certain), (11..111, 11..111));
    }

    #[test]
    fn deletes_make_up_for_inserts() {
        let progress = TableProgress::new(51..101);
        progress.commit_insert(121);
        assert_eq!((progress.rows_inserted(), progress.rows_ahead()), (20, 20));
        progress.commit_delete(61);
        assert_eq!((progress.rows_inserted(), progress.rows_ahead()), (20, 10));
    }

    #[test]
    fn a_writer_that_is_gone_has_ended() {
        let progress = TableProgress::new(1..2);
        let flag = progress.inserter_flag();
        assert!(!progress.inserter_has_ended());
        drop(flag);
        assert!(progress.inserter_has_ended() && !progress.deleter_has_ended());
    }
}
