//! How the transactions reach the tables: one trait, implemented over keys and values and over SQL.
//! Its operations are the statements of sysbench's scripts.
//!
//! A store is made for one session and used by one thread. A statement outside a transaction is a
//! transaction of its own.
//!
//! Every operation can fail, and its error is the engine's: a [`trueput_engine::Error::Conflict`]
//! has the transaction aborted and tried again with the same input.

use super::rows::{Row, RowKey};
use super::text::CText;
use crate::keyed::transaction::TransactionScope;
use std::ops::RangeInclusive;
use trueput_engine::Result;

/// Ids from one to another, both included.
pub(super) type IdRange = RangeInclusive<u32>;

/// Values of k from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KRange {
    /// The lowest.
    pub(super) low: u32,
    /// The highest.
    pub(super) high: u32,
}

/// Sorts ranges, and makes one of those that overlap: a row is in several ranges but once.
pub(super) fn merge_ranges(ranges: &mut Vec<KRange>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let overlaps = next.low <= last.high;
        if overlaps {
            last.high = last.high.max(next.high);
        }
        overlaps
    });
}

/// The order of the texts that a query for a range of ids returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RangeQuery {
    /// `SELECT c`: any order.
    Simple,
    /// `SELECT c … ORDER BY c`.
    Order,
    /// `SELECT DISTINCT c … ORDER BY c`.
    Distinct,
}

/// The statements of the scripts.
pub(super) trait Statements {
    /// `SELECT c … WHERE id = ?`; whether the row is there.
    fn select_c(&mut self, row: RowKey, out: &mut CText) -> Result<bool>;

    /// The c of the rows of a range; `out` is cleared first.
    fn select_range(
        &mut self,
        query: RangeQuery,
        table: u32,
        ids: IdRange,
        out: &mut Vec<CText>,
    ) -> Result<()>;

    /// `SELECT SUM(k)` of the rows of a range; 0 if there are none.
    fn sum_k(&mut self, table: u32, ids: IdRange) -> Result<u64>;

    /// `UPDATE … SET k = k + 1 WHERE id = ?`; whether the row is there.
    fn add_to_k(&mut self, row: RowKey) -> Result<bool>;

    /// `UPDATE … SET c = ? WHERE id = ?`; whether the row is there.
    fn set_c(&mut self, row: RowKey, c: &CText) -> Result<bool>;

    /// `DELETE … WHERE id = ?`; whether the row was there.
    fn delete(&mut self, row: RowKey) -> Result<bool>;

    /// `INSERT … (id, k, c, pad)`; the row is not there.
    fn insert(&mut self, table: u32, row: &Row) -> Result<()>;

    /// `SELECT id, k, c, pad … WHERE k IN (…)`: each row once; `out` is cleared first.
    fn select_by_k(&mut self, table: u32, ks: &[u32], out: &mut Vec<Row>) -> Result<()>;

    /// `SELECT COUNT(k) … WHERE k BETWEEN … OR …`.
    fn count_k(&mut self, table: u32, ranges: &[KRange]) -> Result<u64>;

    /// Inserts rows of id and k alone, both from `first` on.
    fn insert_pairs(&mut self, table: u32, first: u32, rows: u32) -> Result<()>;
}

/// The load of the tables.
pub(super) trait TableLoad {
    /// Makes the tables from 1 to `tables`, empty, in a database that is new. Those of pairs have
    /// the columns id and k alone. No transaction is open.
    fn create(&mut self, tables: u32, of_pairs: bool) -> Result<()>;

    /// Puts new rows, at most some thousand. Returns the bytes that the store made of them.
    fn load(&mut self, table: u32, rows: &[Row]) -> Result<u64>;

    /// Called once after every row is loaded, while no transaction is open: makes the indexes on k
    /// and the statistics for the planner.
    fn finish_load(&mut self, tables: u32) -> Result<()>;
}

/// A row as it is found in a store, whatever its columns hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredRow<'r> {
    /// The primary key; -1 for a key that no row has.
    pub(super) id: i64,
    /// k; -1 where the record is too short for it.
    pub(super) k: i64,
    /// c, with blanks at its end or without.
    pub(super) c: &'r [u8],
    /// pad, likewise.
    pub(super) pad: &'r [u8],
}

/// The contents of the tables, for verification; a transaction is open.
pub(super) trait TableContents {
    /// Every row of a table by id.
    fn each_row(&mut self, table: u32, visitor: &mut dyn FnMut(StoredRow<'_>)) -> Result<()>;

    /// Every row of a table of pairs by id: id and k.
    fn each_pair(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()>;

    /// Every entry of a table's index on k in the index's order: k and id. In SQL it is a query
    /// that the dialect's planner answers from the index, as far as it can be made to.
    fn each_index_entry(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()>;
}

/// The tables of a session's database.
pub(super) trait Tables: Statements + TableLoad + TableContents + TransactionScope {}

impl<T: Statements + TableLoad + TableContents + TransactionScope> Tables for T {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_become_one() {
        let range = |low, high| KRange { low, high };
        let mut ranges = vec![
            range(20, 25),
            range(1, 6),
            range(4, 9),
            range(9, 14),
            range(15, 20),
            range(2, 3),
        ];
        merge_ranges(&mut ranges);
        assert_eq!(ranges, [range(1, 14), range(15, 25)]);
    }
}
