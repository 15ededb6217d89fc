//! The tables made, filled and finished (clause 4.3), and rows inserted.

use super::{SqlTables, StatementKind, functions, schema};
use crate::tpcc::rows::{Table, TableRow};
use crate::tpcc::tables::{Rows, TableLoad};
use trueput_engine::{Datum, Result};

/// Bytes that a parameter makes of a value.
fn bytes(datum: &Datum<'_>) -> u64 {
    match datum {
        Datum::Null => 0,
        Datum::Integer(_) | Datum::Decimal { .. } | Datum::Timestamp(_) => 8,
        Datum::Text(text) => text.len() as u64,
        Datum::Bytes(bytes) => bytes.len() as u64,
        Datum::Integers(numbers) => numbers.len() as u64 * 8,
    }
}

impl TableLoad for SqlTables<'_> {
    fn create(&mut self) -> Result<()> {
        for table in Table::ALL {
            let create = schema::create(table, self.syntax);
            self.sql()?.batch(&create)?;
        }
        if self.has_procedures {
            let dialect = self.sql()?.dialect();
            if let Some(functions) = functions::functions(dialect) {
                self.sql()?.batch(functions)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, rows: Rows<'_>) -> Result<u64> {
        match rows {
            Rows::Warehouses(rows) => self.insert(rows),
            Rows::Districts(rows) => self.insert(rows),
            Rows::Customers(rows) => self.insert(rows),
            Rows::Histories(rows) => self.insert(rows),
            Rows::NewOrders(rows) => self.insert(rows),
            Rows::Orders(rows) => self.insert(rows),
            Rows::OrderLines(rows) => self.insert(rows),
            Rows::Items(rows) => self.insert(rows),
            Rows::Stocks(rows) => self.insert(rows),
        }
    }

    fn finish_load(&mut self) -> Result<()> {
        for index in schema::INDEXES {
            self.sql()?.batch(index)?;
        }
        let names = Table::ALL.map(Table::name);
        for statement in (self.syntax.analyze)(&names) {
            self.sql()?.batch(&statement)?;
        }
        Ok(())
    }
}

impl SqlTables<'_> {
    /// Inserts rows, several with each statement; the bytes of their values.
    pub(super) fn insert<R: TableRow>(&mut self, rows: &[R]) -> Result<u64> {
        let columns = R::COLUMNS.len();
        let (which, mut sent) = (StatementKind::Insert.of_table(R::TABLE), 0);
        let mut parameters = self.parameters.take();
        for some in rows.chunks(self.syntax.rows_at_once(columns)) {
            let count = some.len();
            let insert = |_: &_| schema::insert(R::TABLE, count);
            let statement = self.statement(which, count, insert)?;
            parameters.clear();
            for row in some {
                row.push_values(&mut parameters);
            }
            sent += parameters.iter().map(bytes).sum::<u64>();
            self.change(R::TABLE.name(), count, statement, &parameters)?;
        }
        self.parameters.put_back(parameters);
        Ok(sent)
    }
}
