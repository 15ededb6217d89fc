//! Tables read into the server's cache, as transactions will find them there.

use super::{SqlTables, StatementKind, schema};
use crate::sql::columns::number;
use crate::tpcc::rows::Table;
use std::ops::ControlFlow;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Result};

/// The query for a table's rows in the order of their keys.
fn by_key(table: Table) -> String {
    let (rows, key) = (schema::all(table), schema::key_columns(table));
    if key.is_empty() {
        rows
    } else {
        format!("{rows} ORDER BY {}", schema::names(key))
    }
}

/// The query for the columns of a table's secondary index, in its order; `None` if it has none.
fn by_index(table: Table) -> Option<String> {
    let columns = schema::indexed(table)?;
    let (name, of) = (table.name(), schema::of_warehouse(table));
    Some(format!(
        "SELECT {columns} FROM {name}{of} ORDER BY {columns}"
    ))
}

impl SqlTables<'_> {
    /// Reads a table and its secondary index by their keys, within a transaction.
    ///
    /// PostgreSQL reads a table that is larger than a quarter of `shared_buffers` in sequence
    /// through a ring of 256 KiB, which is all that stays (src/backend/storage/buffer/README,
    /// "Buffer Ring Replacement Strategy"). What is found by an index goes the usual way.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn prime_by_key(&mut self, table: Table, warehouse: u32) -> Result<()> {
        if let Some(first) = self.syntax.prefer_indexes {
            let first = self.fixed_statement(StatementKind::PreferIndexes, first)?;
            let visit = &mut |_: &[Datum<'_>]| ControlFlow::Continue(());
            self.sql()?.query(first, &[], visit)?;
        }
        let statement =
            self.statement(StatementKind::Prime.of_table(table), 0, |_| by_key(table))?;
        self.read_all(statement, table, warehouse)?;
        let Some(query) = by_index(table) else {
            return Ok(());
        };
        let statement = self.statement(StatementKind::PrimeIndex.of_table(table), 0, |_| query)?;
        self.read_all(statement, table, warehouse).map(drop)
    }

    /// Has a query's rows of a warehouse sent, and counts them.
    pub(super) fn read_all(
        &mut self,
        statement: Statement,
        table: Table,
        warehouse: u32,
    ) -> Result<u64> {
        let column = schema::warehouse_column(table);
        let parameters: Vec<_> = column.map(|_| number(warehouse)).into_iter().collect();
        let visit = &mut |_: &[Datum<'_>]| ControlFlow::Continue(());
        self.sql()?.query(statement, &parameters, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_by_their_keys_and_indexes_by_themselves() {
        assert_eq!(
            by_key(Table::Stock),
            "SELECT * FROM stock WHERE s_w_id = ? ORDER BY s_w_id, s_i_id"
        );
        assert_eq!(by_key(Table::Item), "SELECT * FROM item ORDER BY i_id");
        assert_eq!(by_key(Table::History), "SELECT * FROM history");
        assert_eq!(by_index(Table::Stock), None);
        let orders = by_index(Table::Order).unwrap_or_default();
        assert!(orders.ends_with("WHERE o_w_id = ? ORDER BY o_w_id, o_d_id, o_c_id, o_id"));
    }
}
