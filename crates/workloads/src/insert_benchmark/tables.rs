//! How the workers reach the tables: one trait, implemented over keys and values and over SQL.
//!
//! Tables are made for one session and used by one thread. A table is named by its number, from 1.
//! Every operation but [`PurchaseTables::extend_index`] is a transaction of its own, attempted
//! once: after a [`trueput_engine::Error::Conflict`] it has changed nothing, and is called again.

use super::purchase::{Data, Index, IndexTuple, Purchase};
use std::ops::Range;
use trueput_engine::Result;

/// Rows of a query, at most.
pub(super) const QUERY_ROWS: usize = 10;

/// Looks at one row after the other.
pub(super) type Visitor<'v, T> = &'v mut dyn FnMut(T);

/// An entry of a secondary index that a range query found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Its columns.
    pub(super) tuple: IndexTuple,
    /// The id of its row; `None` if the query does not ask for it.
    pub(super) id: Option<u64>,
}

/// A row that a point query found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PointRow {
    /// Its id.
    pub(super) id: u64,
    /// `productid`.
    pub(super) product: u32,
    /// `data`.
    pub(super) data: Data,
}

/// A fact about the earlier steps that the database keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A table has its secondary indexes.
    Indexed = 1,
    /// Since rows were last written without pause, statistics were made and what was committed was
    /// brought to storage. It is one mark for all tables.
    Settled = 2,
}

/// The tables through one session.
pub(super) trait PurchaseTables {
    /// Makes the tables from 1 to this number, without rows and secondary indexes.
    fn create(&mut self, tables: u32) -> Result<()>;

    /// Inserts rows. `has_indexes`: the table has its secondary indexes.
    fn insert(&mut self, table: u32, rows: &[Purchase], has_indexes: bool) -> Result<()>;

    /// Deletes the rows with the ids from `first` on, this many, from a table with secondary
    /// indexes; returns how many were there.
    fn delete(&mut self, table: u32, first: u64, rows: u32) -> Result<u64>;

    /// Creates a secondary index, or a part of it: of rows from an id on. Returns the id from which
    /// it is to go on; `None` if the index is complete.
    fn extend_index(&mut self, table: u32, index: Index, from: u64) -> Result<Option<u64>>;

    /// The least id; `None` if there is no row.
    fn first_id(&mut self, table: u32) -> Result<Option<u64>>;

    /// The greatest id; `None` if there is no row.
    fn last_id(&mut self, table: u32) -> Result<Option<u64>>;

    /// Finds the first entries of an index for a range query from `value`, at most [`QUERY_ROWS`].
    fn range_query(
        &mut self,
        table: u32,
        index: Index,
        value: u32,
        found: &mut Vec<IndexEntry>,
    ) -> Result<()>;

    /// Finds the rows with these ids, in any order.
    fn point_query(
        &mut self,
        table: u32,
        ids: &[u64; QUERY_ROWS],
        found: &mut Vec<PointRow>,
    ) -> Result<()>;

    /// Counts the rows of a table.
    fn count(&mut self, table: u32) -> Result<u64>;

    /// Shows the rows with these ids, ascending.
    fn each_row(
        &mut self,
        table: u32,
        ids: Range<u64>,
        visitor: Visitor<'_, Purchase>,
    ) -> Result<()>;

    /// Shows the entries of an index whose first column is in `values`, in the order of the index,
    /// each with the id of its row.
    fn each_entry(
        &mut self,
        table: u32,
        index: Index,
        values: Range<u32>,
        visitor: Visitor<'_, (IndexTuple, u64)>,
    ) -> Result<()>;

    /// Has the session read indexes where [`PurchaseTables::each_entry`] is to read them.
    fn force_index_plans(&mut self) -> Result<()>;

    /// Makes the statistics of the tables from 1 to this number.
    fn analyze(&mut self, tables: u32) -> Result<()>;

    /// Whether the database has a mark.
    fn has_mark(&mut self, mark: Mark, table: u32) -> Result<bool>;

    /// Gives the database a mark that it does not have, or takes it away.
    fn set_mark(&mut self, mark: Mark, table: u32, is_set: bool) -> Result<()>;
}
