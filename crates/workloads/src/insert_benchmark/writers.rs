//! The writers of a client: one inserts rows, one deletes the oldest rows after it, one creates
//! indexes.

use super::connection::Connection;
use super::findings::{DELETED, DELETED_FOUND, INSERTED};
use super::kinds::Kind;
use super::progress::TableProgress;
use super::purchase::{Index, Purchase, RowMaker};
use super::settings::Settings;
use super::tables::Mark;
use crate::keyed::rate_limiter::RateLimiter;
use crate::keyed::read_check::{ReadCounts, ReadFault};
use crate::{Error, Result, WorkerFindings};
use std::time::Duration;

/// Transactions by which an inserter may be ahead of its deleter: the length of iibench's queues.
const MAX_TRANSACTIONS_AHEAD: u64 = 8;

/// Deletes from one search for the oldest row to the next: iibench counts down from
/// `resync_get_min`, 1,000, with each further delete, and searches before the first one after 0.
const DELETES_OF_SEARCH: u64 = 1_001;

/// The pause of a writer that waits for the other one, short against a transaction.
const PAUSE: Duration = Duration::from_micros(50);

/// iibench keeps a rate second by second.
const PERIODS_PER_S: u64 = 1;

/// Inserts rows behind the last one.
pub(super) struct Inserter<'t> {
    connection: Connection<'t>,
    progress: &'t TableProgress,
    maker: RowMaker,
    /// The rows of a transaction.
    rows: Vec<Purchase>,
    max_rows: u64,
    has_indexes: bool,
    has_deleter: bool,
    /// The id of the next row.
    next: u64,
    /// Rows that are still to be inserted.
    left: u64,
}

impl<'t> Inserter<'t> {
    /// Nothing inserted yet.
    pub(super) fn new(
        connection: Connection<'t>,
        progress: &'t TableProgress,
        maker: RowMaker,
        settings: &Settings,
    ) -> Self {
        let max_rows = settings.step.transaction_rows();
        Self {
            connection,
            progress,
            maker,
            rows: Vec::with_capacity(max_rows as usize),
            max_rows: max_rows.into(),
            has_indexes: settings.step.finds_indexes(),
            has_deleter: settings.step.deletes(),
            next: progress.begun_with().end,
            left: settings.rows_to_insert.unwrap_or(u64::MAX),
        }
    }

    /// Inserts without pause, or so many rows a second.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts.
    pub(super) fn run(mut self, rows_per_s: Option<u32>) -> Result<WorkerFindings> {
        match rows_per_s {
            None => while self.insert_next()? {},
            Some(rows_per_s) => self.insert_at_rate(rows_per_s.into())?,
        }
        let inserted = self.progress.rows_inserted();
        Ok([(INSERTED.to_owned(), inserted)].into())
    }

    /// Begins the transactions of a second together, as iibench does. A second whose transactions
    /// take longer is followed by the next one at once, and what it lacks is not made up for.
    fn insert_at_rate(&mut self, rows_per_s: u64) -> Result<()> {
        let transactions_per_s = rows_per_s.div_ceil(self.max_rows);
        let mut limiter = RateLimiter::new(transactions_per_s, PERIODS_PER_S);
        while limiter.admit(&mut *self.connection.meter) && self.insert_next()? {}
        Ok(())
    }

    /// Does one transaction; `false` if there is none left, or the time is up.
    fn insert_next(&mut self) -> Result<bool> {
        let may_go_on = self.left > 0 && self.await_deleter() && self.connection.meter.next_unit();
        if !may_go_on {
            return Ok(false);
        }
        let count = self.left.min(self.max_rows);
        let (first, end, maker) = (self.next, self.next + count, self.maker);
        self.rows.clear();
        self.rows.extend((first..end).map(|id| maker.make(id)));
        let (rows, has_indexes) = (&self.rows, self.has_indexes);
        self.connection.meter.start();
        self.progress.begin_insert(end);
        self.connection.retry("inserting into", |tables, table| {
            tables.insert(table, rows, has_indexes)
        })?;
        self.progress.commit_insert(end);
        self.connection.finish_unit(Kind::Insert);
        self.connection.meter.advance(count);
        self.next = end;
        self.left -= count;
        Ok(true)
    }

    /// Waits until the deleter is not too far behind; `false` if it has ended, or the user stopped
    /// the run.
    fn await_deleter(&self) -> bool {
        if !self.has_deleter {
            return true;
        }
        let max_ahead = MAX_TRANSACTIONS_AHEAD * self.max_rows;
        while self.progress.rows_ahead() >= max_ahead {
            if self.progress.deleter_has_ended() || self.connection.meter.is_stopped() {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}

/// Deletes the oldest rows, as many as the inserter has inserted, until that has ended.
pub(super) struct Deleter<'t> {
    connection: Connection<'t>,
    progress: &'t TableProgress,
    max_rows: u64,
    verifies: bool,
    reads: ReadCounts,
    /// Rows that it was to delete.
    rows: u64,
    /// Rows that it found.
    found: u64,
}

impl<'t> Deleter<'t> {
    /// Nothing deleted yet. `verifies`: it checks the oldest row that it finds.
    pub(super) fn new(
        connection: Connection<'t>,
        progress: &'t TableProgress,
        settings: &Settings,
        verifies: bool,
    ) -> Self {
        Self {
            connection,
            progress,
            max_rows: settings.step.transaction_rows().into(),
            verifies,
            reads: ReadCounts::default(),
            rows: 0,
            found: 0,
        }
    }

    /// Deletes until no more rows are inserted.
    ///
    /// # Errors
    /// Errors of the engine, except conflicts.
    pub(super) fn run(mut self) -> Result<WorkerFindings> {
        let mut deletes = 0_u64;
        while let Some(rows) = self.await_rows() {
            if deletes.is_multiple_of(DELETES_OF_SEARCH) {
                self.find_oldest()?;
            }
            self.delete(rows)?;
            deletes += 1;
        }
        let mut findings: WorkerFindings = [
            (DELETED.to_owned(), self.rows),
            (DELETED_FOUND.to_owned(), self.found),
        ]
        .into();
        self.reads.write(&mut findings);
        Ok(findings)
    }

    /// Waits for rows that a delete is to make up for, and returns their number; `None` if there
    /// are no more, or the user stopped the run.
    fn await_rows(&self) -> Option<u64> {
        loop {
            // Before the rows are counted: the last ones come before the end.
            let has_ended = self.progress.inserter_has_ended();
            let rows = self.progress.rows_ahead().min(self.max_rows);
            if rows > 0 {
                return Some(rows);
            }
            if has_ended || self.connection.meter.is_stopped() {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Looks for the oldest row, as iibench does to learn where its deletes go on. Here that is
    /// known, and so the row is checked.
    fn find_oldest(&mut self) -> Result<()> {
        self.connection.meter.start();
        let oldest = self
            .connection
            .retry("searching", |tables, table| tables.first_id(table))?;
        self.connection.finish(Kind::GetMin);
        if self.verifies {
            let expected = self.progress.first_kept();
            let verdict = match oldest {
                Some(id) if id == expected => Ok(()),
                Some(id) if id < expected => Err(ReadFault::Unexpected),
                _ => Err(ReadFault::Lost),
            };
            self.reads.count(oldest.unwrap_or(expected), verdict);
        }
        Ok(())
    }

    fn delete(&mut self, rows: u64) -> Result<()> {
        let first = self.progress.first_kept();
        let end = first + rows;
        self.connection.meter.start();
        self.progress.begin_delete(end);
        self.found += self.connection.retry("deleting from", |tables, table| {
            tables.delete(table, first, rows as u32)
        })?;
        self.progress.commit_delete(end);
        self.connection.finish(Kind::Delete);
        self.rows += rows;
        Ok(())
    }
}

/// Creates the secondary indexes of the connection's table, one after the other.
///
/// # Errors
/// Errors of the engine, except conflicts.
pub(super) fn create_indexes(connection: &mut Connection<'_>) -> Result<()> {
    for index in Index::ALL {
        if !connection.meter.next_unit() {
            return Err(Error::Stopped);
        }
        connection.meter.start();
        let mut next = Some(0);
        while let Some(from) = next {
            next = connection.retry("indexing", |tables, table| {
                tables.extend_index(table, index, from)
            })?;
            if connection.meter.is_stopped() {
                return Err(Error::Stopped);
            }
        }
        connection.finish_unit(Kind::Index);
        connection.meter.advance(1);
    }
    connection.retry("marking", |tables, table| {
        tables.set_mark(Mark::Indexed, table, true)
    })
}
