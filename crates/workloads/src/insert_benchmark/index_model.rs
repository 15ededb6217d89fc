//! The entries of an index that the rows of a table have, in the order of the index: what a range
//! query must find follows from them. It holds every row that the step may insert, too. It takes
//! four bytes for each row; a sample covers a tenth of the values of the first column.

use super::progress::LiveIds;
use super::purchase::{Index, IndexTuple, RowMaker};
use super::tables::{IndexEntry, QUERY_ROWS};
use crate::keyed::read_check::ReadFault;
use std::ops::Range;
use trueput_record::VerifyLevel;

/// A fault, and the id of the row that it is about; 0 if there is none.
pub(super) type FaultOfRow = (ReadFault, u64);

/// The parts of the values of which a sample covers one.
const SAMPLE_PARTS: u32 = 10;

/// The entries of an index.
pub(super) struct IndexModel {
    index: Index,
    maker: RowMaker,
    first_id: u64,
    /// The values of the first column that are covered.
    values: Range<u32>,
    /// Rows, as their distance from the first id, in the order of the index.
    rows: Vec<u32>,
    /// Where the rows of each covered value begin; one more for the end.
    starts: Vec<u32>,
}

impl IndexModel {
    /// The entries of the rows with these ids, of which a sample has a tenth of the values.
    ///
    /// # Errors
    /// There are too many rows for a distance of 32 bits.
    pub(super) fn new(
        index: Index,
        maker: RowMaker,
        ids: &Range<u64>,
        level: VerifyLevel,
        seed: u64,
    ) -> Result<Self, String> {
        let count = ids.end - ids.start;
        let count = u32::try_from(count)
            .map_err(|_| format!("{count} rows are too many to check queries: use verify=off"))?;
        let mut model = Self {
            index,
            maker,
            first_id: ids.start,
            values: covered(index, level, seed),
            rows: Vec::new(),
            starts: Vec::new(),
        };
        model.group_rows(count);
        let first_id = model.first_id;
        let tuple = |row: &u32| index.tuple(&maker.columns(first_id + u64::from(*row)));
        for ends in model.starts.windows(2) {
            let &[start, end] = ends else { continue };
            let group = &mut model.rows[start as usize..end as usize];
            group.sort_unstable_by_key(|row| (tuple(row), *row));
        }
        Ok(model)
    }

    /// Brings the rows together by their values: counts them, and puts each into its place.
    fn group_rows(&mut self, count: u32) {
        let values = self.values.clone();
        let mut ends = vec![0_u32; values.len() + 1];
        for row in 0..count {
            let value = self.tuple(row).first;
            if values.contains(&value) {
                ends[(value - values.start) as usize + 1] += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        self.starts.clone_from(&ends);
        self.rows = vec![0; ends.last().copied().unwrap_or_default() as usize];
        for row in 0..count {
            let value = self.tuple(row).first;
            if values.contains(&value) {
                let next = &mut ends[(value - values.start) as usize];
                self.rows[*next as usize] = row;
                *next += 1;
            }
        }
    }

    #[inline]
    fn id(&self, row: u32) -> u64 {
        self.first_id + u64::from(row)
    }

    #[inline]
    fn tuple(&self, row: u32) -> IndexTuple {
        self.index.tuple(&self.maker.columns(self.id(row)))
    }

    /// Where the entries begin that a query from `value` must find; `None` if they are not covered.
    fn start(&self, value: u32) -> Option<usize> {
        let least = self.index.least_value(value);
        let place = least.checked_sub(self.values.start)?;
        let is_behind_all = least == self.index.values() && self.values.end == least;
        let is_covered = self.values.contains(&least) || is_behind_all;
        is_covered.then(|| self.starts[place as usize] as usize)
    }

    /// Checks the entries that a query from `value` found. Returns whether they were compared with
    /// the rows that there were, and not only by themselves.
    ///
    /// # Errors
    /// The first fault.
    pub(super) fn check(
        &self,
        value: u32,
        found: &[IndexEntry],
        live: &LiveIds,
    ) -> Result<bool, FaultOfRow> {
        self.check_by_themselves(value, found)?;
        let Some(start) = self.start(value) else {
            return Ok(false);
        };
        let mut left = found;
        let mut rows = self.rows[start..].iter().copied().peekable();
        while let Some(row) = rows.next() {
            let is_full = found.len() == QUERY_ROWS;
            if left.is_empty() && is_full {
                return Ok(true);
            }
            // Rows with equal entries are not told apart if the query does not ask for their ids.
            let tuple = self.tuple(row);
            let mut group = EntryGroup::default();
            group.add(self.id(row), live);
            while let Some(row) = rows.next_if(|row| self.tuple(*row) == tuple) {
                group.add(self.id(row), live);
            }
            let shown = left.iter().take_while(|entry| entry.tuple == tuple).count();
            left = &left[shown..];
            let is_cut = left.is_empty() && is_full;
            group.check(shown as u64, is_cut)?;
        }
        let covers_rest = self.values.end == self.index.values();
        match left.first() {
            Some(entry) if covers_rest => Err((ReadFault::Unexpected, entry.id.unwrap_or(0))),
            _ => Ok(true),
        }
    }

    /// Checks that entries are in order, from the value on, no more than were asked for, and that
    /// each is its row's if its id is known.
    fn check_by_themselves(&self, value: u32, found: &[IndexEntry]) -> Result<(), FaultOfRow> {
        let least = self.index.least_value(value);
        let id = |entry: &IndexEntry| entry.id.unwrap_or(0);
        if let Some(entry) = found.get(QUERY_ROWS) {
            return Err((ReadFault::Unexpected, id(entry)));
        }
        if let Some(entry) = found.iter().find(|entry| entry.tuple.first < least) {
            return Err((ReadFault::Disorder, id(entry)));
        }
        let mut pairs = found.iter().zip(found.iter().skip(1));
        if let Some((_, entry)) = pairs.find(|(one, other)| one.tuple > other.tuple) {
            return Err((ReadFault::Disorder, id(entry)));
        }
        let is_foreign = |entry: &&IndexEntry| {
            let columns = entry.id.map(|id| self.maker.columns(id));
            columns.is_some_and(|columns| self.index.tuple(&columns) != entry.tuple)
        };
        match found.iter().find(is_foreign) {
            Some(entry) => Err((ReadFault::Foreign, id(entry))),
            None => Ok(()),
        }
    }
}

/// The rows that have one and the same entry.
#[derive(Default)]
struct EntryGroup {
    /// Those that may have been there.
    possible: u64,
    /// Those that were there all the time.
    certain: u64,
    first_certain: u64,
    last: u64,
}

impl EntryGroup {
    fn add(&mut self, id: u64, live: &LiveIds) {
        self.last = id;
        self.possible += u64::from(live.possible.contains(&id));
        if live.certain.contains(&id) {
            self.certain += 1;
            if self.certain == 1 {
                self.first_certain = id;
            }
        }
    }

    /// Checks how many of them a query has shown; `is_cut`: it had no room for more.
    fn check(&self, shown: u64, is_cut: bool) -> Result<(), FaultOfRow> {
        if shown > self.possible {
            Err((ReadFault::Unexpected, self.last))
        } else if shown < self.certain && !is_cut {
            Err((ReadFault::Lost, self.first_certain))
        } else {
            Ok(())
        }
    }
}

/// The values of the first column that a level covers.
fn covered(index: Index, level: VerifyLevel, seed: u64) -> Range<u32> {
    let all = index.values();
    match level {
        VerifyLevel::Full => 0..all,
        VerifyLevel::Sample | VerifyLevel::Off => {
            let part = (seed % u64::from(SAMPLE_PARTS)) as u32;
            let width = all / SAMPLE_PARTS;
            part * width..(part + 1) * width
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insert_benchmark::purchase::DataLengths;

    const IDS: Range<u64> = 1..3_001;

    fn maker() -> RowMaker {
        RowMaker::new(5, 1, DataLengths { min: 10, max: 10 })
    }

    fn model(index: Index, level: VerifyLevel) -> IndexModel {
        IndexModel::new(index, maker(), &IDS, level, 3).unwrap()
    }

    /// The entries that rows have in an index, in its order.
    struct SortedEntries {
        index: Index,
        entries: Vec<(IndexTuple, u64)>,
    }

    impl SortedEntries {
        fn new(index: Index, ids: Range<u64>) -> Self {
            let maker = maker();
            let entry = |id| (index.tuple(&maker.columns(id)), id);
            let mut entries: Vec<_> = ids.map(entry).collect();
            entries.sort_unstable();
            Self { index, entries }
        }

        /// Those that a query from a value finds.
        fn find(&self, value: u32, has_ids: bool) -> Vec<IndexEntry> {
            let least = self.index.least_value(value);
            let is_below = |(tuple, _): &(IndexTuple, u64)| tuple.first < least;
            let start = self.entries.partition_point(is_below);
            let found = self.entries[start..].iter().take(QUERY_ROWS);
            let entry = |&(tuple, id): &(IndexTuple, u64)| IndexEntry {
                tuple,
                id: has_ids.then_some(id),
            };
            found.map(entry).collect()
        }
    }

    fn live(possible: Range<u64>, certain: Range<u64>) -> LiveIds {
        LiveIds { possible, certain }
    }

    #[test]
    fn what_the_rows_give_is_right_at_every_value_to_the_last() {
        for index in Index::ALL {
            let model = model(index, VerifyLevel::Full);
            let (ids, live) = (101..2_001, live(101..2_001, 101..2_001));
            let entries = SortedEntries::new(index, ids);
            for value in 0..index.values() {
                for has_ids in [false, true] {
                    let found = entries.find(value, has_ids);
                    let checked = model.check(value, &found, &live);
                    assert_eq!(checked, Ok(true), "{} {value}", index.name());
                }
            }
            let last = entries.find(index.values() - 1, true);
            assert!(last.len() < QUERY_ROWS);
        }
    }

    #[test]
    fn rows_that_come_or_go_meanwhile_may_be_found_or_not() {
        let index = Index::Pdc;
        let model = model(index, VerifyLevel::Full);
        let live = live(101..2_101, 201..2_001);
        for ids in [101..2_101, 201..2_001, 151..2_051] {
            let entries = SortedEntries::new(index, ids.clone());
            for value in 0..index.values() {
                let found = entries.find(value, false);
                assert_eq!(model.check(value, &found, &live), Ok(true), "{ids:?}");
            }
        }
        // The rows that are gone for certain, and those whose insert has not begun.
        for ids in [1..2_001, 201..3_001] {
            let entries = SortedEntries::new(index, ids.clone());
            let mut checked = (0..index.values()).map(|value| {
                let found = entries.find(value, false);
                model.check(value, &found, &live)
            });
            assert!(checked.any(|checked| checked.is_err()), "{ids:?}");
        }
    }

    #[test]
    fn a_row_that_is_left_out_is_missed_wherever_it_is() {
        let index = Index::Market;
        let model = model(index, VerifyLevel::Full);
        let live = live(1..2_001, 1..2_001);
        let all = SortedEntries::new(index, 1..2_001).find(100, true);
        for left_out in 0..QUERY_ROWS {
            let mut found = all.clone();
            let gone = found.remove(left_out);
            let fault = model.check(100, &found, &live);
            assert_eq!(fault, Err((ReadFault::Lost, gone.id.unwrap())));
        }
        assert!(model.check(100, &[], &live).is_err());
    }

    #[test]
    fn entries_of_no_row_twice_shown_or_out_of_order_are_found() {
        let index = Index::Register;
        let model = model(index, VerifyLevel::Full);
        let live = live(1..2_001, 1..2_001);
        let entries = SortedEntries::new(index, 1..2_001);
        let all = entries.find(10, true);
        let fault = |change: &dyn Fn(&mut Vec<IndexEntry>)| {
            let mut found = all.clone();
            change(&mut found);
            model.check(10, &found, &live).unwrap_err().0
        };
        assert_eq!(fault(&|found| found.swap(2, 7)), ReadFault::Disorder);
        let foreign = fault(&|found| found[3].id = Some(1_999_999));
        assert_eq!(foreign, ReadFault::Foreign);
        let doubled = fault(&|found| {
            let entry = found[4];
            found.insert(4, entry);
            found.pop();
        });
        assert_eq!(doubled, ReadFault::Unexpected);
        let surplus = fault(&|found| found.push(found[9]));
        assert_eq!(surplus, ReadFault::Unexpected);
        let below = fault(&|found| {
            let first = entries.find(0, true)[0];
            found.insert(0, first);
            found.pop();
        });
        assert_eq!(below, ReadFault::Disorder);
    }

    #[test]
    fn a_sample_compares_a_tenth_of_the_values() {
        for index in Index::ALL {
            let model = model(index, VerifyLevel::Sample);
            let live = live(1..2_001, 1..2_001);
            let entries = SortedEntries::new(index, 1..2_001);
            let compared = (0..index.values()).filter(|value| {
                let found = entries.find(*value, false);
                model.check(*value, &found, &live) == Ok(true)
            });
            let compared = compared.count() as u32;
            assert_eq!(compared, index.values() / 10, "{}", index.name());
        }
    }
}
