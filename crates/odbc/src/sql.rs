//! The SQL of a session.

use super::batch;
use super::session::OdbcSession;
use super::statement::OdbcStatement;
use trueput_engine::sql::{RowVisitor, Statement};
use trueput_engine::{Datum, Dialect, Mode, Result, Sql, common_errors};

impl OdbcSession {
    /// Whether a statement that changes rows may be sent.
    fn check_may_write(&self, statement: Statement) -> Result<()> {
        let prepared = self.prepared.get(statement.0);
        let prepared = prepared.ok_or_else(common_errors::no_statement)?;
        if self.open == Some(Mode::Read) && !prepared.is_reading {
            Err(common_errors::write_in_read())
        } else {
            Ok(())
        }
    }

    fn batch_of(&self, statements: &str) -> Result<()> {
        batch::statements(statements)
            .into_iter()
            .try_for_each(|statement| self.connection.execute(statement))
    }
}

impl Sql for OdbcSession {
    fn dialect(&self) -> Dialect {
        self.profile().dialect
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        match self.open {
            Some(Mode::Read) => Err(common_errors::write_in_read()),
            Some(Mode::Write) => self.in_transaction(|session| session.batch_of(statements)),
            None => {
                // Each is a transaction: some are refused in one (VACUUM, PRAGMA).
                self.connection.set_autocommit(true)?;
                let done = self.batch_of(statements);
                self.connection.set_autocommit(false)?;
                done
            }
        }
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement> {
        let profile = self.profile();
        let written = profile.written(statement);
        let prepared = self.in_transaction(|session| {
            OdbcStatement::of(&session.connection, &written, profile.binding_options)
        })?;
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        self.check_may_write(statement)?;
        self.in_transaction(|session| {
            session.prepared[statement.0].execute(&session.connection, parameters)
        })
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.check_may_write(statement)?;
        self.in_transaction(|session| {
            session.prepared[statement.0].query(&session.connection, parameters, visitor)
        })
    }
}
