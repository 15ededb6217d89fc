//! How the scripts reach the four tables: one trait, implemented over keys and values and over SQL.
//!
//! A bank is made for one session and used by one thread. Every operation can fail, and its error
//! is the engine's: a [`trueput_engine::Error::Conflict`] has the transaction aborted and tried
//! again with the same input. A row that is not there is no error: the operation says so, the
//! script goes on as pgbench's does, and the trial's verification fails.

use super::scale::BalanceTable;
use crate::keyed::transaction::TransactionScope;
use trueput_engine::Result;

/// Looks at one row after the other.
pub(super) type Visitor<'v, T> = &'v mut dyn FnMut(T);

/// A row that is loaded, with a balance of 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoadedRow {
    /// Its number.
    pub(super) id: u32,
    /// The branch to which it belongs; its own number if it is a branch.
    pub(super) branch: u32,
}

/// The outcome of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateOutcome {
    /// There is no such row.
    Missing,
    /// It was updated.
    Updated {
        /// The new balance, if the store knows it without a further request.
        balance: Option<i32>,
    },
}

/// A row of a table with balances, as it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BalanceRow {
    /// Its number.
    pub(super) id: u32,
    /// The branch to which it belongs; its own number if it is a branch.
    pub(super) branch: u32,
    /// The balance.
    pub(super) balance: i32,
    /// Whether its filler is what was loaded.
    pub(super) is_blank: bool,
}

/// A row of history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryRow {
    /// The teller.
    pub(super) teller: u32,
    /// The branch.
    pub(super) branch: u32,
    /// The account.
    pub(super) account: u32,
    /// The amount that was added.
    pub(super) delta: i32,
}

/// Where a row of history comes from. The table has no key; a key-value store makes one of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryOrigin {
    /// The worker that inserts the row.
    pub(super) worker: u32,
    /// The number of the row among those of the worker.
    pub(super) number: u64,
    /// The date, microseconds since 1970-01-01 00:00 UTC. In SQL the server dates the row.
    pub(super) at_us: i64,
}

/// The numbers of the rows to be looked at, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdRange {
    /// The least; `None`: from the first row on, whatever its number.
    pub(super) first: Option<u32>,
    /// The largest; `None`: to the last row, whatever its number.
    pub(super) last: Option<u32>,
}

/// The four tables through one session.
pub(super) trait Bank: TransactionScope {
    /// Makes the four tables, outside of a transaction.
    fn create(&mut self) -> Result<()>;

    /// Inserts rows in a transaction; returns the bytes of their keys and values.
    fn load(&mut self, table: BalanceTable, rows: &[LoadedRow]) -> Result<u64>;

    /// Does what the load leaves for the end, outside of a transaction: keys, statistics.
    fn finish_load(&mut self) -> Result<()>;

    /// Adds to the balance of a row.
    fn add(&mut self, table: BalanceTable, id: u32, delta: i32) -> Result<UpdateOutcome>;

    /// Reads the balance of an account within a transaction; `None` if there is no such row.
    fn balance(&mut self, account: u32) -> Result<Option<i32>>;

    /// Reads the balance of an account in a transaction of its own, while none is open; `None` if
    /// there is no such row.
    fn point_balance(&mut self, account: u32) -> Result<Option<i32>>;

    /// Inserts a row of history.
    fn insert_history(&mut self, row: &HistoryRow, origin: HistoryOrigin) -> Result<()>;

    /// Shows the rows of a table with these numbers, ascending.
    fn each_balance(
        &mut self,
        table: BalanceTable,
        ids: IdRange,
        visitor: Visitor<'_, BalanceRow>,
    ) -> Result<()>;

    /// Shows every row of history, in any order.
    fn each_history(&mut self, visitor: Visitor<'_, HistoryRow>) -> Result<()>;
}
