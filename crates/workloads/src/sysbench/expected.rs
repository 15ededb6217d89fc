//! The valid final content of the tables. Each worker's transactions are a function of the seed, so
//! they are drawn again here, as many as the worker reports.

use super::events::{Event, EventStream, Step};
use super::report::WorkerReport;
use super::rows::{LoadedRows, RowKey, RowMaker};
use super::settings::Settings;
use super::text::WriteName;
use super::writes::inserted_name;
use crate::keyed::inserts::InsertNumbers;
use crate::keyed::read_check::ReadFault;
use crate::keyed::versions::MAX_NUMBER;
use crate::keyed::write_tracker::RecordSample;
use crate::{JobDatabase, Result};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use trueput_record::VerifyLevel;

/// `sample` looks at one row in this many where none is written again.
const SAMPLE: u32 = 10;

/// The writes of one column of the tracked rows.
#[derive(Debug, Default)]
struct ColumnWrites {
    /// For each row, how many.
    totals: Vec<u32>,
    /// The same by writer, where each numbered its own; empty where they were numbered together.
    own: Vec<Vec<u32>>,
    /// Rows whose last write met another under way, with the least number that it may bear.
    unsettled: BTreeMap<u64, u32>,
    /// Whether there were too many to list, so that any row may be one.
    overflowed: bool,
}

impl ColumnWrites {
    fn new(rows: usize, own_of: usize) -> Self {
        Self {
            totals: vec![0; rows],
            own: vec![vec![0; rows]; own_of],
            ..Self::default()
        }
    }

    fn add(&mut self, place: usize, worker: u32) {
        self.totals[place] = self.totals[place].saturating_add(1);
        if let Some(own) = self.own.get_mut(worker as usize) {
            own[place] = own[place].saturating_add(1);
        }
    }

    fn add_unsettled(&mut self, unsettled: Option<&[(u64, u32)]>) {
        self.overflowed |= unsettled.is_none();
        for &(item, floor) in unsettled.unwrap_or_default() {
            let least = self.unsettled.entry(item).or_default();
            *least = (*least).max(floor);
        }
    }

    /// Checks that a row's final text was put by its last write.
    fn check(&self, item: u64, place: usize, write: WriteName) -> Result<(), ReadFault> {
        let total = self.totals[place].min(MAX_NUMBER);
        if write == WriteName::LOADED {
            return if total == 0 {
                Ok(())
            } else {
                Err(ReadFault::Stale)
            };
        }
        if total == 0 || write.writer == 0 || write.number == 0 {
            return Err(ReadFault::Unwritten);
        }
        let (least, most) = if self.own.is_empty() {
            let least = match self.unsettled.get(&item) {
                Some(floor) => (*floor).clamp(1, total),
                None if self.overflowed => 1,
                None => total,
            };
            (least, total)
        } else {
            // The last write of all is the last one of some writer.
            let own = self.own.get(write.writer as usize - 1);
            let last = own.ok_or(ReadFault::Unwritten)?[place].min(MAX_NUMBER);
            (last, last)
        };
        match write.number {
            number if number < least => Err(ReadFault::Stale),
            number if number > most => Err(ReadFault::Unwritten),
            _ => Ok(()),
        }
    }
}

/// The valid final content of the tables.
pub(super) struct ExpectedRows {
    pub(super) maker: RowMaker,
    rows: LoadedRows,
    sample: RecordSample,
    looks_at_all: bool,
    workers: u32,
    contents: ColumnWrites,
    inserts: ColumnWrites,
    /// Index updates of each tracked row.
    updates: Vec<u32>,
    /// Index updates of each table, whether its rows are tracked or not.
    table_updates: Vec<u64>,
    /// For each row that was deleted and inserted again, how many index updates were before the
    /// last insert, at least and at most; `None` if that is not known.
    erased: Option<BTreeMap<u64, (u32, u32)>>,
    /// A bit for each row that was deleted for good; empty if none was.
    deleted: Vec<u64>,
    /// Rows of each table that were deleted for good.
    table_deletes: Vec<u64>,
    /// The rows that each worker inserted for good, by table.
    inserted: Vec<Vec<u64>>,
}

impl ExpectedRows {
    /// Draws all transactions again.
    pub(super) fn replay(
        settings: &Settings,
        target: &JobDatabase<'_>,
        level: VerifyLevel,
        reports: &[WorkerReport],
    ) -> Self {
        let rows = settings.rows;
        let writes = settings.statements.writes();
        let tracked = if writes { rows.count() } else { 0 };
        let sample = RecordSample::new(level, tracked);
        let knows_all = reports.iter().all(|report| report.knows_all);
        let own_of = if knows_all {
            0
        } else {
            target.workers as usize
        };
        let tables = rows.tables as usize;
        let mut expected = Self {
            maker: settings.maker(target.seed),
            rows,
            sample,
            looks_at_all: level == VerifyLevel::Full,
            workers: target.workers,
            contents: ColumnWrites::new(sample.len(), own_of),
            inserts: ColumnWrites::new(sample.len(), own_of),
            updates: vec![0; sample.len()],
            table_updates: vec![0; tables],
            erased: knows_all.then(BTreeMap::new),
            deleted: Vec::new(),
            table_deletes: vec![0; tables],
            inserted: vec![vec![0; target.workers as usize]; tables],
        };
        for report in reports {
            expected.add_worker(settings, target, report);
        }
        expected
    }

    fn add_worker(&mut self, settings: &Settings, target: &JobDatabase<'_>, report: &WorkerReport) {
        let place = (report.worker, target.workers);
        let mut stream = EventStream::new(settings, target.seed, target.generation, place);
        let mut event = Event::default();
        // What only reads need not be drawn again.
        let drawn = if settings.writes() { report.done } else { 0 };
        for _ in 0..drawn {
            stream.next(&mut event);
            for step in &event.steps {
                self.add_step(*step, report.worker);
            }
        }
        self.contents.add_unsettled(report.contents.as_deref());
        self.inserts.add_unsettled(report.inserts.as_deref());
        let Some(erased) = &mut self.erased else {
            return;
        };
        for &(item, least, most) in &report.erased {
            let bounds = erased.entry(item).or_default();
            *bounds = (bounds.0.max(least), bounds.1.max(most));
        }
    }

    fn add_step(&mut self, step: Step, worker: u32) {
        match step {
            Step::IndexUpdate(row) => {
                self.table_updates[row.table as usize - 1] += 1;
                if let Some(place) = self.place(row) {
                    self.updates[place] = self.updates[place].saturating_add(1);
                }
            }
            Step::NonIndexUpdate(row) => {
                if let Some(place) = self.place(row) {
                    self.contents.add(place, worker);
                }
            }
            Step::DeleteInsert(row) => {
                if let Some(place) = self.place(row) {
                    self.contents.add(place, worker);
                    self.inserts.add(place, worker);
                }
            }
            Step::Insert(row) => {
                let workers = &mut self.inserted[row.table as usize - 1];
                if let Some(count) = workers.get_mut(worker as usize) {
                    *count += 1;
                }
            }
            Step::Delete(row) => self.add_delete(row),
            _ => {}
        }
    }

    fn add_delete(&mut self, row: RowKey) {
        let item = self.rows.item(row);
        if self.deleted.is_empty() {
            self.deleted = vec![0; self.rows.count().div_ceil(64) as usize];
        }
        let bit = 1_u64 << (item % 64);
        let word = &mut self.deleted[(item / 64) as usize];
        if *word & bit == 0 {
            *word |= bit;
            self.table_deletes[row.table as usize - 1] += 1;
        }
    }

    fn place(&self, row: RowKey) -> Option<usize> {
        self.sample.place(self.rows.item(row))
    }

    /// The tables, by their numbers.
    pub(super) fn tables(&self) -> RangeInclusive<u32> {
        1..=self.rows.tables
    }

    /// The rows that were loaded into each table.
    pub(super) fn table_size(&self) -> u32 {
        self.rows.table_size
    }

    /// The number of rows of a table.
    pub(super) fn count(&self, table: u32) -> u64 {
        let deleted = self.table_deletes[table as usize - 1];
        u64::from(self.rows.table_size) + self.inserted(table) - deleted
    }

    /// The rows that were inserted for good into a table.
    pub(super) fn inserted(&self, table: u32) -> u64 {
        self.inserted[table as usize - 1].iter().sum()
    }

    /// The highest id that a row of a table may have.
    pub(super) fn max_id(&self, table: u32) -> u64 {
        let most = self.inserted[table as usize - 1].iter().max();
        let most = most.copied().unwrap_or_default();
        u64::from(self.rows.table_size) + most * u64::from(self.workers)
    }

    /// The number of rows whose last write may be one of several.
    pub(super) fn unsettled(&self) -> usize {
        self.contents.unsettled.len()
    }

    /// Whether there were too many such rows to know them.
    pub(super) fn is_inexact(&self) -> bool {
        self.contents.overflowed || self.inserts.overflowed
    }

    /// The index updates of a table.
    pub(super) fn table_updates(&self, table: u32) -> u64 {
        self.table_updates[table as usize - 1]
    }

    /// Whether the content of a row is looked at.
    pub(super) fn is_tracked(&self, row: RowKey) -> bool {
        let is_written = self.sample.len() > 0 && row.id <= self.rows.table_size;
        self.looks_at_all
            || if is_written {
                self.place(row).is_some()
            } else {
                row.id.is_multiple_of(SAMPLE)
            }
    }

    /// Whether a row may be there.
    pub(super) fn may_be_there(&self, row: RowKey) -> bool {
        match self.inserter(row) {
            Some((worker, nth)) => {
                let of_table = &self.inserted[row.table as usize - 1];
                of_table.get(worker).is_some_and(|count| nth < *count)
            }
            None => row.id > 0 && !self.is_deleted(row),
        }
    }

    /// Whether a row that was loaded was deleted for good.
    pub(super) fn is_deleted(&self, row: RowKey) -> bool {
        let item = self.rows.item(row);
        let word = self.deleted.get((item / 64) as usize);
        word.is_some_and(|word| word >> (item % 64) & 1 == 1)
    }

    /// The worker that would insert a row for good, and which of its rows it would be; `None` for
    /// one that was loaded.
    fn inserter(&self, row: RowKey) -> Option<(usize, u64)> {
        let number = u64::from(row.id.checked_sub(1)?);
        InsertNumbers::origin(number, self.rows.table_size.into(), self.workers)
    }

    /// Checks the write that put the final c of a row.
    ///
    /// # Errors
    /// It is not the last one.
    pub(super) fn check_c(&self, row: RowKey, write: WriteName) -> Result<(), ReadFault> {
        self.check_write(&self.contents, row, write)
    }

    /// The same of pad.
    ///
    /// # Errors
    /// It is not the last one.
    pub(super) fn check_pad(&self, row: RowKey, write: WriteName) -> Result<(), ReadFault> {
        self.check_write(&self.inserts, row, write)
    }

    fn check_write(
        &self,
        column: &ColumnWrites,
        row: RowKey,
        write: WriteName,
    ) -> Result<(), ReadFault> {
        match self.place(row) {
            Some(place) => column.check(self.rows.item(row), place, write),
            None if write == self.first_write(row) => Ok(()),
            None => Err(ReadFault::Unwritten),
        }
    }

    /// The write that first put a row: the load, or the insert of a worker.
    pub(super) fn first_write(&self, row: RowKey) -> WriteName {
        let inserter = self.inserter(row);
        inserter.map_or(WriteName::LOADED, |(worker, _)| {
            inserted_name(worker as u32 + 1)
        })
    }

    /// The final k of a tracked row whose pad was put by this write, at least and at most.
    /// `may_miss`: of the transactions of a row some may be missing.
    pub(super) fn k(&self, row: RowKey, pad: WriteName, may_miss: bool) -> RangeInclusive<u64> {
        let drawn = u64::from(self.maker.k(row, pad));
        let updates = self.place(row).map_or(0, |place| self.updates[place]);
        let all = u64::from(updates);
        if may_miss {
            return drawn..=drawn + all;
        }
        if pad == WriteName::LOADED {
            return drawn + all..=drawn + all;
        }
        let erased = self.erased.as_ref();
        let erased = erased.and_then(|erased| erased.get(&self.rows.item(row)));
        let (least, most) = erased.copied().unwrap_or((0, updates));
        let after = |erased: u32| u64::from(updates.saturating_sub(erased));
        drawn + after(most)..=drawn + after(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(own_of: usize) -> ColumnWrites {
        let mut column = ColumnWrites::new(4, own_of);
        for worker in [0, 1, 1] {
            column.add(2, worker);
        }
        column
    }

    fn name(writer: u32, number: u32) -> WriteName {
        WriteName { writer, number }
    }

    #[test]
    fn writes_that_were_numbered_together_end_with_the_last_number() {
        let mut writes = column(0);
        let check = |writes: &ColumnWrites, number| writes.check(2, 2, name(1, number));
        assert_eq!(check(&writes, 3), Ok(()));
        assert_eq!(check(&writes, 2), Err(ReadFault::Stale));
        assert_eq!(check(&writes, 4), Err(ReadFault::Unwritten));
        let loaded = WriteName::LOADED;
        assert_eq!(writes.check(2, 2, loaded), Err(ReadFault::Stale));
        assert_eq!(writes.check(1, 1, loaded), Ok(()));
        assert_eq!(writes.check(1, 1, name(1, 1)), Err(ReadFault::Unwritten));
        writes.add_unsettled(Some(&[(2, 2), (2, 1)]));
        assert_eq!(check(&writes, 2), Ok(()));
        assert_eq!(check(&writes, 1), Err(ReadFault::Stale));
        writes.add_unsettled(None);
        assert_eq!(check(&writes, 2), Ok(()));
    }

    #[test]
    fn writes_that_each_numbered_apart_end_with_the_last_of_one() {
        let writes = column(2);
        let check = |writer, number| writes.check(2, 2, name(writer, number));
        assert_eq!(check(1, 1), Ok(()));
        assert_eq!(check(2, 2), Ok(()));
        assert_eq!(check(2, 1), Err(ReadFault::Stale));
        assert_eq!(check(1, 2), Err(ReadFault::Unwritten));
        assert_eq!(check(3, 1), Err(ReadFault::Unwritten));
    }
}
