//! Passes over the tables and their indexes: each row is what its id makes it, and each index has
//! the entries of the rows that there are, and no other.

use super::purchase::{Index, IndexTuple, Purchase, RowMaker};
use super::settings::Settings;
use super::store;
use super::tables::PurchaseTables;
use crate::keyed::transaction::retry_unmetered;
use crate::threads::{RemainingPieces, share_pieces};
use crate::{JobDatabase, Result};
use std::ops::Range;
use trueput_record::VerifyLevel;
use trueput_record::measurement::Check;
use trueput_record::random::mix;

/// The parts of a table, and of an index, each of which is read in a transaction.
const PARTS: u32 = 100;

/// The most rows of a part of a table.
const MAX_PART_ROWS: u64 = 10_000;

/// Of so many parts a sample has one.
const SAMPLE_STRIDE: u64 = 10;

/// The findings in the rows, or in an index.
#[derive(Debug, Default)]
pub(super) struct PartFindings {
    /// Rows or entries that were compared.
    compared: u64,
    /// Those that are not as they should be.
    wrong: u64,
    /// The first of them.
    first: Option<String>,
}

impl PartFindings {
    fn note(&mut self, count: u64, describe: impl FnOnce() -> String) {
        if count > 0 {
            self.wrong += count;
            self.first.get_or_insert_with(describe);
        }
    }

    fn merge(&mut self, other: Self) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.first = self.first.take().or(other.first);
    }

    /// The check that nothing is wrong.
    pub(super) fn check(&self, name: &str, subject: &str) -> Check {
        match &self.first {
            None => {
                let detail = format!("{} {subject} compared", self.compared);
                Check::new(name, true, detail)
            }
            Some(first) => Check::new(name, false, format!("{} wrong; {first}", self.wrong)),
        }
    }
}

/// The findings in all tables.
#[derive(Debug, Default)]
pub(super) struct TableFindings {
    /// Rows that were met.
    pub(super) rows_met: u64,
    /// The rows.
    pub(super) rows: PartFindings,
    /// The indexes, in the order of [`Index::ALL`].
    pub(super) indexes: [PartFindings; Index::ALL.len()],
}

impl TableFindings {
    fn merge(&mut self, other: Self) {
        self.rows_met += other.rows_met;
        self.rows.merge(other.rows);
        for (all, found) in self.indexes.iter_mut().zip(other.indexes) {
            all.merge(found);
        }
    }
}

/// Entries as a multiset: their number, and the sum of hashes of their ids, which two multisets
/// hardly share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EntryDigest {
    entries: u64,
    hash: u64,
}

impl EntryDigest {
    fn add(&mut self, id: u64) {
        self.entries += 1;
        self.hash = self.hash.wrapping_add(mix(id));
    }
}

/// A part of a table or of an index.
enum Part {
    /// Rows. The first part of a table has those below its own, too, and the last one those above.
    Rows {
        own: Range<u64>,
        is_first: bool,
        is_last: bool,
    },
    /// The entries of an index with these values in the first column, and what they must be.
    Entries {
        index: Index,
        values: Range<u32>,
        expected: EntryDigest,
    },
}

/// A table and the ids that its rows must have.
struct ExpectedTable {
    table: u32,
    ids: Range<u64>,
    maker: RowMaker,
}

/// Checks tables, whose rows must have these ids, by several threads.
///
/// # Errors
/// Errors of the engine.
pub(super) fn check_tables(
    settings: &Settings,
    target: &JobDatabase<'_>,
    ids: &[Range<u64>],
    level: VerifyLevel,
) -> Result<TableFindings> {
    let numbered = (1..).zip(ids);
    let tables: Vec<_> = numbered
        .map(|(table, ids)| ExpectedTable {
            table,
            ids: ids.clone(),
            maker: settings.maker(target.seed, table),
        })
        .collect();
    let mut parts = Vec::new();
    for table in &tables {
        let mut of_table = row_parts(&table.ids);
        if settings.step.leaves_indexes() {
            of_table.extend(entry_parts(table));
        }
        parts.extend(of_table.into_iter().map(|part| (table, part)));
    }
    if level == VerifyLevel::Sample {
        let mut place = target.seed % SAMPLE_STRIDE;
        parts.retain(|_| {
            place += 1;
            place.is_multiple_of(SAMPLE_STRIDE)
        });
    }
    let check = |pieces: RemainingPieces<'_>| check_parts(settings, target, &parts, pieces);
    share_pieces(
        target.threads.max(1),
        parts.len(),
        check,
        TableFindings::merge,
    )
}

/// Counts the rows of all tables.
///
/// # Errors
/// Errors of the engine.
pub(super) fn count_rows(settings: &Settings, target: &JobDatabase<'_>) -> Result<u64> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let doing = || "counting the rows".to_owned();
    (1..=settings.tables).try_fold(0, |sum, table| {
        let rows = retry_unmetered(doing, || tables.count(table))?;
        Ok(sum + rows)
    })
}

fn row_parts(ids: &Range<u64>) -> Vec<Part> {
    let rows = ids.end.saturating_sub(ids.start);
    let width = rows.div_ceil(PARTS.into()).clamp(1, MAX_PART_ROWS);
    // A table without rows has one part, which must be empty.
    let count = rows.div_ceil(width).max(1);
    let part = |place: u64| {
        let start = ids.start + place * width;
        Part::Rows {
            own: start..(start + width).min(ids.end),
            is_first: place == 0,
            is_last: place + 1 == count,
        }
    };
    (0..count).map(part).collect()
}

/// The parts of the three indexes of a table.
fn entry_parts(table: &ExpectedTable) -> Vec<Part> {
    let mut digests = [[EntryDigest::default(); PARTS as usize]; Index::ALL.len()];
    for id in table.ids.clone() {
        let columns = table.maker.columns(id);
        for (index, digests) in Index::ALL.into_iter().zip(&mut digests) {
            let place = index.tuple(&columns).first / part_width(index);
            if let Some(digest) = digests.get_mut(place as usize) {
                digest.add(id);
            }
        }
    }
    let mut parts = Vec::new();
    for (index, digests) in Index::ALL.into_iter().zip(digests) {
        let width = part_width(index);
        parts.extend((0..).zip(digests).map(|(place, expected)| Part::Entries {
            index,
            values: place * width..(place + 1) * width,
            expected,
        }));
    }
    parts
}

/// The values of the first column in a part of an index: all indexes have a multiple of the parts.
fn part_width(index: Index) -> u32 {
    index.values().div_ceil(PARTS)
}

fn check_parts(
    settings: &Settings,
    target: &JobDatabase<'_>,
    parts: &[(&ExpectedTable, Part)],
    pieces: RemainingPieces<'_>,
) -> Result<TableFindings> {
    let mut session = target.open_session()?;
    let mut tables = store::tables(&mut *session, settings.store)?;
    let doing = || "preparing to read indexes".to_owned();
    retry_unmetered(doing, || tables.force_index_plans())?;
    let mut all = TableFindings::default();
    for piece in pieces {
        let Some((table, part)) = parts.get(piece) else {
            continue;
        };
        all.merge(table.check(&mut *tables, part)?);
        (target.progress)((piece + 1) as f64 / parts.len() as f64);
    }
    Ok(all)
}

impl ExpectedTable {
    fn check(&self, tables: &mut dyn PurchaseTables, part: &Part) -> Result<TableFindings> {
        let doing = || format!("checking pi{}", self.table);
        retry_unmetered(doing, || {
            let mut found = TableFindings::default();
            match part {
                Part::Rows {
                    own,
                    is_first,
                    is_last,
                } => {
                    let first = if *is_first { 0 } else { own.start };
                    let end = if *is_last { u64::MAX } else { own.end };
                    let mut check = RowCheck::new(self, own.clone());
                    let mut visit = |row: Purchase| check.check_row(&row);
                    tables.each_row(self.table, first..end, &mut visit)?;
                    check.finish(&mut found);
                }
                Part::Entries {
                    index,
                    values,
                    expected,
                } => {
                    let mut check = EntryCheck::new(self, *index);
                    let mut visit = |(tuple, id): (IndexTuple, u64)| check.check_entry(tuple, id);
                    tables.each_entry(self.table, *index, values.clone(), &mut visit)?;
                    let place = Index::ALL.iter().position(|one| one == index);
                    let place = place.unwrap_or_default();
                    found.indexes[place] = check.finish(values, *expected);
                }
            }
            Ok::<_, trueput_engine::Error>(found)
        })
    }
}

/// Compares rows with those that there must be.
struct RowCheck<'t> {
    table: &'t ExpectedTable,
    own: Range<u64>,
    /// The id of the next row if none is missing.
    next: u64,
    met: u64,
    found: PartFindings,
}

impl<'t> RowCheck<'t> {
    fn new(table: &'t ExpectedTable, own: Range<u64>) -> Self {
        Self {
            table,
            next: own.start,
            own,
            met: 0,
            found: PartFindings::default(),
        }
    }

    fn check_row(&mut self, row: &Purchase) {
        let (id, table) = (row.columns.id, self.table.table);
        self.met += 1;
        if !self.own.contains(&id) {
            let describe = || format!("row {id} of pi{table} should not be there");
            self.found.note(1, describe);
            return;
        }
        if id < self.next {
            let describe = || format!("row {id} of pi{table} comes twice or out of order");
            self.found.note(1, describe);
            return;
        }
        self.check_missing(id);
        self.next = id + 1;
        self.found.compared += 1;
        if *row != self.table.maker.make(id) {
            let describe = || format!("row {id} of pi{table} is not the one that was inserted");
            self.found.note(1, describe);
        }
    }

    /// Notes the rows from the next one up to another, which are not there.
    fn check_missing(&mut self, to: u64) {
        let (first, table) = (self.next, self.table.table);
        let describe = || format!("row {first} of pi{table} is not there");
        self.found.note(to.saturating_sub(first), describe);
    }

    fn finish(mut self, found: &mut TableFindings) {
        self.check_missing(self.own.end);
        found.rows_met = self.met;
        found.rows = self.found;
    }
}

/// Compares the entries of a part of an index with those that there must be.
struct EntryCheck<'t> {
    table: &'t ExpectedTable,
    index: Index,
    last: Option<IndexTuple>,
    digest: EntryDigest,
    found: PartFindings,
}

impl<'t> EntryCheck<'t> {
    fn new(table: &'t ExpectedTable, index: Index) -> Self {
        Self {
            table,
            index,
            last: None,
            digest: EntryDigest::default(),
            found: PartFindings::default(),
        }
    }

    fn check_entry(&mut self, tuple: IndexTuple, id: u64) {
        let table = self.table.table;
        self.digest.add(id);
        self.found.compared += 1;
        if self.last.is_some_and(|last| last > tuple) {
            let describe = || format!("the entry of row {id} of pi{table} is out of order");
            self.found.note(1, describe);
        }
        self.last = Some(tuple);
        if !self.table.ids.contains(&id) {
            let describe = || format!("row {id} of pi{table} has an entry and is not there");
            self.found.note(1, describe);
        } else if tuple != self.index.tuple(&self.table.maker.columns(id)) {
            let describe = || format!("row {id} of pi{table} has an entry of other columns");
            self.found.note(1, describe);
        }
    }

    fn finish(mut self, values: &Range<u32>, expected: EntryDigest) -> PartFindings {
        let (Range { start, end }, table) = (values.clone(), self.table.table);
        let missing = expected.entries.saturating_sub(self.digest.entries);
        let place = || format!("of pi{table} with values from {start} to below {end}");
        self.found.note(missing, || {
            let (count, place) = (self.digest.entries, place());
            format!("{count} entries {place} and not {}", expected.entries)
        });
        // As many as there must be, or more, and none of them wrong: some are there twice.
        if self.found.wrong == 0 && self.digest != expected {
            self.found
                .note(1, || format!("entries {} are there twice", place()));
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::purchase::DataLengths;

    fn table() -> ExpectedTable {
        let lengths = DataLengths { min: 10, max: 10 };
        ExpectedTable {
            table: 1,
            ids: 51..351,
            maker: RowMaker::new(1, 1, lengths),
        }
    }

    #[test]
    fn parts_cover_all_ids_and_all_values() {
        for ids in [1..1, 1..2, 1..100, 7..1_008, 1..5_000_001] {
            let parts = row_parts(&ids);
            let mut next = ids.start;
            for (place, part) in parts.iter().enumerate() {
                let Part::Rows {
                    own,
                    is_first,
                    is_last,
                } = part
                else {
                    panic!("a part of rows");
                };
                assert_eq!((own.start, *is_first), (next, place == 0));
                assert_eq!(*is_last, place + 1 == parts.len());
                next = own.end;
            }
            assert_eq!(next, ids.end);
        }
        let mut entries = [0; Index::ALL.len()];
        let mut ends = [0; Index::ALL.len()];
        for part in entry_parts(&table()) {
            let Part::Entries {
                index,
                values,
                expected,
            } = part
            else {
                panic!("a part of entries");
            };
            let place = index as usize;
            assert_eq!(values.start, ends[place]);
            ends[place] = values.end;
            entries[place] += expected.entries;
        }
        assert_eq!(ends, Index::ALL.map(Index::values));
        assert_eq!(entries, [300; Index::ALL.len()]);
    }

    /// The findings in rows from 51 to below 351 where these ids are there.
    fn rows(ids: impl Iterator<Item = u64>) -> PartFindings {
        let table = table();
        let mut check = RowCheck::new(&table, table.ids.clone());
        ids.for_each(|id| check.check_row(&table.maker.make(id)));
        let mut found = TableFindings::default();
        check.finish(&mut found);
        found.rows
    }

    #[test]
    fn rows_that_are_missing_or_should_not_be_there_are_counted() {
        let right = rows(51..351);
        assert_eq!((right.wrong, right.compared), (0, 300));
        let text = |found: &PartFindings| found.first.clone().unwrap_or_default();
        let lost = rows((51..351).filter(|id| !(100..102).contains(id)));
        assert_eq!(lost.wrong, 2);
        assert_eq!(text(&lost), "row 100 of pi1 is not there");
        let short = rows(51..350);
        assert_eq!(text(&short), "row 350 of pi1 is not there");
        for ids in [50..351, 51..352] {
            let surplus = rows(ids);
            assert_eq!(surplus.wrong, 1);
            assert!(text(&surplus).contains("should not be there"));
        }
        let twice = rows((51..60).chain(59..351));
        assert!(text(&twice).contains("comes twice"));
    }

    /// The findings in an index where the entries are changed.
    fn entries(change: impl FnOnce(&mut Vec<(IndexTuple, u64)>)) -> PartFindings {
        let (table, index) = (table(), Index::Register);
        let entry = |id| (index.tuple(&table.maker.columns(id)), id);
        let mut all: Vec<_> = table.ids.clone().map(entry).collect();
        all.sort_unstable();
        let mut expected = EntryDigest::default();
        table.ids.clone().for_each(|id| expected.add(id));
        change(&mut all);
        let mut check = EntryCheck::new(&table, index);
        all.iter()
            .for_each(|(tuple, id)| check.check_entry(*tuple, *id));
        check.finish(&(0..1_000), expected)
    }

    #[test]
    fn entries_that_are_missing_stale_wrong_or_doubled_are_found() {
        let right = entries(|_| ());
        assert_eq!((right.wrong, right.compared), (0, 300));
        let text = |found: &PartFindings| found.first.clone().unwrap_or_default();
        let lost = entries(|all| {
            all.remove(7);
        });
        assert!(text(&lost).starts_with("299 entries of pi1 with values"));
        let stale = entries(|all| all.push((all[299].0, 400)));
        assert!(text(&stale).contains("row 400 of pi1 has an entry and is not there"));
        let wrong = entries(|all| all[3].0.third += 1);
        assert!(text(&wrong).contains("an entry of other columns"));
        let swapped = entries(|all| all.swap(10, 200));
        assert!(text(&swapped).contains("out of order"));
        let doubled = entries(|all| {
            let entry = all[5];
            all[6] = entry;
        });
        assert!(text(&doubled).contains("are there twice"), "{doubled:?}");
    }
}
