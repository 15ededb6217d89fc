//! Statements: prepared ones, executed by the binary protocol, and several in one text.

use super::connection::client_error;
use super::value::{ColumnFormat, decode_row};
use super::wire::MariaDbConnection;
use crate::row_columns::with_columns;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::ops::ControlFlow;
use trueput_engine::sql::RowVisitor;
use trueput_engine::{Datum, Result, common_errors};

/// A prepared statement, and the formats of its columns.
pub(super) struct MariaDbStatement {
    id: u32,
    /// The number of its parameters.
    parameters: usize,
    formats: Vec<ColumnFormat>,
}

impl MariaDbStatement {
    /// Has a statement prepared.
    pub(super) fn new(connection: &mut MariaDbConnection, text: &str) -> Result<Self> {
        let statement = connection.prepare(text)?;
        Ok(Self {
            id: statement.id(),
            parameters: statement.num_params().into(),
            formats: statement.columns().iter().map(ColumnFormat::of).collect(),
        })
    }

    /// Whether it returns rows.
    pub(super) fn is_query(&self) -> bool {
        !self.formats.is_empty()
    }

    /// Executes it; returns the number of rows changed.
    pub(super) fn execute(
        &mut self,
        connection: &mut MariaDbConnection,
        parameters: &[Datum<'_>],
    ) -> Result<u64> {
        common_errors::check_parameters(self.parameters, parameters)?;
        connection.execute(self.id, parameters, &mut self.formats, &mut |_, _| {})
    }

    /// Executes it, and shows its rows.
    pub(super) fn query(
        &mut self,
        connection: &mut MariaDbConnection,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        common_errors::check_parameters(self.parameters, parameters)?;
        let mut shown = 0;
        // The rows behind one that ends the query are received, and nobody looks at them.
        let mut flow = Ok(ControlFlow::Continue(()));
        connection.execute(
            self.id,
            parameters,
            &mut self.formats,
            &mut |row, formats| {
                if matches!(flow, Ok(ControlFlow::Continue(()))) {
                    flow = show(row, formats, visitor);
                    shown += u64::from(flow.is_ok());
                }
            },
        )?;
        flow.map(|_| shown)
    }
}

/// Shows a row where it was received.
fn show(
    row: &[u8],
    formats: &[ColumnFormat],
    visitor: &mut RowVisitor<'_>,
) -> Result<ControlFlow<()>> {
    with_columns(formats.len(), |columns| {
        decode_row(row, formats, columns)?;
        Ok(visitor(columns))
    })
}

/// Executes statements without parameters on a connection that is no session's, and reads every
/// response: that of a later one may be an error.
pub(super) fn batch(connection: &mut Conn, statements: &str) -> Result<()> {
    let mut responses = connection.query_iter(statements).map_err(client_error)?;
    while let Some(rows) = responses.iter() {
        for row in rows {
            row.map_err(client_error)?;
        }
    }
    Ok(())
}
