//! The SQL of a session.

use super::message::{self, RowColumns};
use super::session::{PostgresqlSession, PostgresqlStatement, ignore};
use super::value;
use super::wire::CommandResult;
use crate::row_columns::with_columns;
use std::ops::ControlFlow;
use trueput_engine::sql::{RowVisitor, Statement};
use trueput_engine::{Datum, Dialect, Result, Sql, common_errors};

impl Sql for PostgresqlSession {
    fn dialect(&self) -> Dialect {
        Dialect::Postgresql
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        let whole;
        let text = match self.pending() {
            "" => statements,
            begin => {
                whole = format!("{begin}; {statements}");
                &whole
            }
        };
        self.note_sent();
        self.connection.simple(text, &mut |_, _| ()).map(drop)
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement> {
        let number = self.statements.len();
        let name = format!("statement-{number}");
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        self.connection.parse(&name, statement)?;
        self.connection.describe(&name)?;
        self.connection.finish_described(&mut |tag, body| {
            match tag {
                b't' => parameters = message::parameter_types(body)?,
                _ => columns = message::column_types(body)?,
            }
            Ok(())
        })?;
        if self.arrays.len() < columns.len() {
            self.arrays.resize(columns.len(), Vec::new());
        }
        self.statements.push(PostgresqlStatement {
            name,
            parameters,
            columns,
        });
        Ok(Statement(number))
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        self.ask(statement, parameters)?;
        self.connection
            .finish(&mut ignore)
            .map(|CommandResult { rows }| rows)
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        self.ask(statement, parameters)?;
        let columns = &self.statements[statement.0].columns;
        let arrays = &mut self.arrays;
        let mut shown = 0;
        self.connection.finish(&mut |row| {
            shown += 1;
            show(row, columns, arrays, visitor)
        })?;
        Ok(shown)
    }
}

impl PostgresqlSession {
    /// Queues a statement's execution, and the transaction's beginning if it is pending.
    fn ask(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<()> {
        let asked = self.send_begin().and_then(|()| {
            let prepared = self.statements.get(statement.0);
            let prepared = prepared.ok_or_else(common_errors::no_statement)?;
            let types = &prepared.parameters;
            common_errors::check_parameters(types.len(), parameters)?;
            self.connection.execute(&prepared.name, types.len(), |out| {
                let mut all = parameters.iter().zip(types);
                all.try_for_each(|(datum, of_type)| value::encode(out, datum, *of_type))
            })
        });
        match asked {
            Ok(()) => self.note_sent(),
            Err(_) => self.connection.discard(),
        }
        asked
    }
}

/// Passes a row to the visitor without copying it.
fn show(
    row: &[u8],
    types: &[u32],
    arrays: &mut [Vec<i64>],
    visitor: &mut RowVisitor<'_>,
) -> Result<ControlFlow<()>> {
    with_columns(types.len(), |data| {
        let mut columns = RowColumns::of(row)?;
        for ((datum, of_type), numbers) in data.iter_mut().zip(types).zip(arrays) {
            *datum = value::decode(columns.next_column()?, *of_type, numbers)?;
        }
        Ok(visitor(data))
    })
}
