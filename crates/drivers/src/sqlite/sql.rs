//! SQL on a session's connection, which also has the table of keys and values.

use super::connection::Statement as Prepared;
use super::session::SqliteSession;
use crate::row_columns::with_columns;
use rusqlite::ffi;
use trueput_engine::sql::{RowVisitor, Statement};
use trueput_engine::{Datum, Dialect, Error, Mode, Result, Sql, common_errors};

impl SqliteSession<'_> {
    /// A statement with its parameters bound.
    ///
    /// # Safety
    /// The parameters stay where they are until the statement has been stepped for the last time
    /// before it is bound again.
    unsafe fn bound(&self, statement: Statement, parameters: &[Datum<'_>]) -> Result<&Prepared> {
        let prepared = self
            .prepared
            .get(statement.0)
            .ok_or_else(common_errors::no_statement)?;
        if self.open == Some(Mode::Read) && !prepared.is_read_only() {
            return Err(common_errors::write_in_read());
        }
        common_errors::check_parameters(prepared.parameters(), parameters)?;
        for (index, datum) in (1..).zip(parameters) {
            if matches!(datum, Datum::Integers(_)) {
                return Err(common_errors::no_arrays("sqlite"));
            }
            // SAFETY: the caller's promise.
            let code = unsafe { prepared.bind_datum(index, *datum) };
            self.connection.check(code)?;
        }
        Ok(prepared)
    }

    /// Shows the rows of a bound statement; returns their number.
    fn show(&self, prepared: &Prepared, visitor: &mut RowVisitor<'_>) -> Result<u64> {
        with_columns(prepared.columns(), |row| {
            let mut shown = 0;
            loop {
                match prepared.step() {
                    ffi::SQLITE_ROW => {}
                    ffi::SQLITE_DONE => return Ok(shown),
                    code => return Err(self.connection.error(code)),
                }
                for (column, datum) in (0..).zip(row.iter_mut()) {
                    // SAFETY: the statement is on a row until its next step, before which the row's
                    // data are looked at for the last time.
                    *datum = unsafe { prepared.datum(column) }?;
                }
                shown += 1;
                if visitor(row).is_break() {
                    return Ok(shown);
                }
            }
        })
    }
}

impl Sql for SqliteSession<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        if self.open == Some(Mode::Read) {
            return Err(common_errors::write_in_read());
        }
        self.connection.execute(statements)
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement> {
        let prepared = self.connection.prepare(statement)?;
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        // SAFETY: the parameters outlive this call; the statement is bound again before its next
        // step.
        let prepared = unsafe { self.bound(statement, parameters) }?;
        if prepared.columns() > 0 {
            return Err(Error::Unsupported("execute of a query".to_owned()));
        }
        self.connection.check(prepared.run())?;
        Ok(self.connection.changes())
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        // SAFETY: as in `execute`.
        let prepared = unsafe { self.bound(statement, parameters) }?;
        let shown = self.show(prepared, visitor);
        prepared.reset();
        shown
    }
}
