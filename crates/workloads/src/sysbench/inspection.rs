//! A pass over the tables and their indexes after a trial.

use super::expected::ExpectedRows;
use super::rows::RowKey;
use super::tables::{StoredRow, Tables};
use super::text::{CText, PadText, WriteName, fit};
use crate::keyed::final_check::FailureCount;
use crate::keyed::read_check::ReadFault;
use crate::keyed::transaction::in_transaction;
use trueput_engine::{Mode, Result};

/// Stands for the k of a row that is not there, or whose index entry was met.
const NO_ROW: u32 = u32::MAX;
/// Stands for a k that no row can have.
const NO_K: u32 = u32::MAX - 1;

/// The sum of k of the rows whose k is known, and what it must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SumOfK {
    pub(super) found: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

/// The findings of a pass.
pub(super) struct Inspection<'i> {
    expected: &'i ExpectedRows,
    /// Whether acknowledged writes may be missing, and are counted.
    may_miss: bool,
    /// Whether rows were deleted and inserted again, so that only the k of tracked ones is known.
    has_replacements: bool,
    pub(super) rows_found: u64,
    /// Rows that were compared in full.
    pub(super) looked_at: u64,
    pub(super) entries_found: u64,
    /// Writes that a crash has taken.
    pub(super) missing: u64,
    pub(super) sum: SumOfK,
    pub(super) rows: FailureCount,
    pub(super) contents: FailureCount,
    pub(super) versions: FailureCount,
    pub(super) ks: FailureCount,
    pub(super) index: FailureCount,
    table: TableState,
}

/// What is known of the table that the pass is at.
#[derive(Default)]
struct TableState {
    number: u32,
    /// The lowest id that may come next.
    next: u32,
    /// Rows of it that workers inserted for good.
    inserted: u64,
    /// k of each row by its id.
    ks: Vec<u32>,
    last_entry: Option<(i64, i64)>,
}

impl<'i> Inspection<'i> {
    /// Looks at every table.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn run(
        tables: &mut dyn Tables,
        expected: &'i ExpectedRows,
        (may_miss, has_replacements): (bool, bool),
        progress: &dyn Fn(f64),
    ) -> Result<Self> {
        let mut inspection = Self {
            expected,
            may_miss,
            has_replacements,
            rows_found: 0,
            looked_at: 0,
            entries_found: 0,
            missing: 0,
            sum: SumOfK::default(),
            rows: FailureCount::default(),
            contents: FailureCount::default(),
            versions: FailureCount::default(),
            ks: FailureCount::default(),
            index: FailureCount::default(),
            table: TableState::default(),
        };
        let last = *expected.tables().end();
        for table in expected.tables() {
            in_transaction(tables, Mode::Read, |tables| {
                inspection.inspect(tables, table)
            })?;
            progress(f64::from(table) / f64::from(last));
        }
        Ok(inspection)
    }

    fn inspect(&mut self, tables: &mut dyn Tables, table: u32) -> Result<()> {
        self.table = TableState {
            number: table,
            next: 1,
            ..TableState::default()
        };
        tables.each_row(table, &mut |row| self.check_row(&row))?;
        self.finish_rows();
        tables.each_index_entry(table, &mut |k, id| self.check_entry(k, id))?;
        self.finish_index();
        Ok(())
    }

    /// Looks at the next row of a table.
    fn check_row(&mut self, stored: &StoredRow<'_>) {
        self.rows_found += 1;
        let id = u32::try_from(stored.id).unwrap_or_default();
        let row = RowKey::new(self.table.number, id);
        if id < self.table.next {
            let next = self.table.next;
            self.rows
                .note(|| format!("{row} where {next} or a higher one should be"));
            return;
        }
        self.check_missing(id);
        self.table.next = id.saturating_add(1);
        if !self.expected.may_be_there(row) {
            if self.may_miss && self.expected.is_deleted(row) {
                self.missing += 1;
            } else {
                self.rows
                    .note(|| format!("{row} is there and should not be"));
            }
        } else if id > self.expected.table_size() {
            self.table.inserted += 1;
        }
        self.keep_k(row, stored.k);
        if self.expected.is_tracked(row) {
            self.looked_at += 1;
            self.check_content(row, stored);
        }
    }

    /// Keeps the k of a row for its index entry, and adds it to the sum where that is of all rows.
    fn keep_k(&mut self, row: RowKey, k: i64) {
        if u64::from(row.id) > self.expected.max_id(row.table) {
            return;
        }
        let place = row.id as usize;
        if self.table.ks.len() <= place {
            self.table.ks.resize(place + 1, NO_ROW);
        }
        let kept = u32::try_from(k).unwrap_or(NO_K).min(NO_K);
        self.table.ks[place] = kept;
        if !self.has_replacements {
            let first = self.expected.first_write(row);
            let drawn = u64::from(self.expected.maker.k(row, first));
            self.sum.found += u64::try_from(k).unwrap_or_default();
            self.sum.least += drawn;
            self.sum.most += drawn;
        }
    }

    /// Checks that the rows before this one and after the last one are rightly missing.
    fn check_missing(&mut self, before: u32) {
        let end = before.min(self.expected.table_size().saturating_add(1));
        for id in self.table.next..end {
            let row = RowKey::new(self.table.number, id);
            if !self.expected.is_deleted(row) {
                self.rows.note(|| format!("{row} is lost"));
            }
        }
    }

    fn check_content(&mut self, row: RowKey, stored: &StoredRow<'_>) {
        let (c, pad): (CText, PadText) = (fit(stored.c), fit(stored.pad));
        let maker = &self.expected.maker;
        let Some(c) = maker.write_of(row, &c) else {
            self.contents
                .note(|| format!("c of {row} is not as anything was written"));
            return;
        };
        let Some(pad) = maker.write_of(row, &pad) else {
            self.contents
                .note(|| format!("pad of {row} is not as anything was written"));
            return;
        };
        self.check_version("c", row, self.expected.check_c(row, c));
        self.check_version("pad", row, self.expected.check_pad(row, pad));
        self.check_k(row, pad, stored.k);
    }

    fn check_version(
        &mut self,
        column: &str,
        row: RowKey,
        verdict: std::result::Result<(), ReadFault>,
    ) {
        match verdict {
            Ok(()) => {}
            Err(ReadFault::Stale) if self.may_miss => self.missing += 1,
            Err(fault) => self
                .versions
                .note(|| format!("{column} of {row} is {}", fault.name())),
        }
    }

    fn check_k(&mut self, row: RowKey, pad: WriteName, k: i64) {
        let bounds = self.expected.k(row, pad, self.may_miss);
        let (least, most) = (*bounds.start(), *bounds.end());
        let found = u64::try_from(k).unwrap_or_default();
        if !bounds.contains(&found) {
            self.ks.note(|| {
                if least == most {
                    format!("k of {row} is {k}, not {least}")
                } else {
                    format!("k of {row} is {k}, not from {least} to {most}")
                }
            });
        } else if self.may_miss && pad == self.expected.first_write(row) {
            self.missing += most - found;
        }
        if self.has_replacements {
            self.sum.found += found;
            self.sum.least += least;
            self.sum.most += most;
        }
    }

    /// Called after the last row of a table.
    fn finish_rows(&mut self) {
        self.check_missing(u32::MAX);
        let table = self.table.number;
        let lacking = self.expected.inserted(table);
        let lacking = lacking.saturating_sub(self.table.inserted);
        if lacking > 0 && self.may_miss {
            self.missing += lacking;
        } else if lacking > 0 {
            self.rows
                .note(|| format!("{lacking} of those inserted into sbtest{table} are not there"));
        }
        if !self.has_replacements {
            let updates = self.expected.table_updates(table);
            self.sum.most += updates;
            self.sum.least += if self.may_miss { 0 } else { updates };
        }
    }

    /// Looks at the next entry of the index on k.
    fn check_entry(&mut self, k: i64, id: i64) {
        self.entries_found += 1;
        let table = self.table.number;
        if self.table.last_entry.is_some_and(|last| last >= (k, id)) {
            self.index
                .note(|| format!("entry (k {k}, id {id}) of sbtest{table} is out of order"));
        }
        self.table.last_entry = Some((k, id));
        let place = usize::try_from(id).ok();
        let kept = place.and_then(|place| self.table.ks.get_mut(place));
        match kept {
            Some(kept) if *kept != NO_ROW && i64::from(*kept) == k => *kept = NO_ROW,
            Some(kept) if *kept != NO_ROW => {
                let of_row = *kept;
                self.index
                    .note(|| format!("row {id} of sbtest{table} has k {of_row}, its entry {k}"));
            }
            _ => self
                .index
                .note(|| format!("an entry of k {k} names row {id} of sbtest{table} in vain")),
        }
    }

    /// Called after the last entry of a table's index.
    fn finish_index(&mut self) {
        let table = self.table.number;
        for (id, k) in self.table.ks.iter().enumerate() {
            if *k != NO_ROW {
                self.index
                    .note(|| format!("row {id} of sbtest{table} has no entry for its k {k}"));
            }
        }
    }
}

/// A pass over the tables of pairs, in which each row must have its id as its k.
#[derive(Default)]
pub(super) struct PairInspection {
    /// The rows of each table, from the first on.
    pub(super) rows: Vec<u64>,
    pub(super) contents: FailureCount,
}

impl PairInspection {
    /// Looks at so many tables.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn run(tables: &mut dyn Tables, count: u32) -> Result<Self> {
        let mut inspection = Self::default();
        for table in 1..=count {
            in_transaction(tables, Mode::Read, |tables| {
                inspection.inspect(tables, table)
            })?;
        }
        Ok(inspection)
    }

    fn inspect(&mut self, tables: &mut dyn Tables, table: u32) -> Result<()> {
        let (mut next, mut rows) = (1, 0);
        tables.each_pair(table, &mut |id, k| {
            if (id, k) != (next, next) {
                self.contents
                    .note(|| format!("sbtest{table} has id {id} and k {k}, not {next} in both"));
            }
            next = id.saturating_add(1);
            rows += 1;
        })?;
        self.rows.push(rows);
        Ok(())
    }
}
