//! SQL on a session's connection: statements prepared once, executed by the binary protocol.

use super::session::MariaDbSession;
use super::statement::MariaDbStatement;
use super::wire::MariaDbConnection;
use trueput_engine::sql::{RowVisitor, Statement};
use trueput_engine::{Datum, Dialect, Error, Mode, Result, Sql, common_errors};

impl MariaDbSession {
    /// A statement that was prepared, and the connection to execute it on.
    fn prepared(
        &mut self,
        statement: Statement,
    ) -> Result<(&mut MariaDbStatement, &mut MariaDbConnection)> {
        let prepared = self.prepared.get_mut(statement.0);
        Ok((
            prepared.ok_or_else(common_errors::no_statement)?,
            &mut self.connection,
        ))
    }
}

impl Sql for MariaDbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Mariadb
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        if self.open == Some(Mode::Read) {
            return Err(common_errors::write_in_read());
        }
        self.connection.batch(statements)
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement> {
        let prepared = MariaDbStatement::new(&mut self.connection, statement)?;
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        let (prepared, connection) = self.prepared(statement)?;
        if prepared.is_query() {
            return Err(Error::Unsupported("execute of a query".to_owned()));
        }
        prepared.execute(connection, parameters)
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let (prepared, connection) = self.prepared(statement)?;
        prepared.query(connection, parameters, visitor)
    }
}
