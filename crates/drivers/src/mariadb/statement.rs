//! Statements: prepared ones, executed by the binary protocol, and several in one text.

use super::connection::{ValueType, client_error, datum, wire};
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value as Wire};
use trueput_engine::sql::RowVisitor;
use trueput_engine::{Datum, Result, common_errors};

/// A prepared statement, and the types of its columns.
pub(super) struct MariaDbStatement {
    statement: mysql::Statement,
    columns: Vec<ValueType>,
}

impl MariaDbStatement {
    pub(super) fn new(connection: &mut Conn, text: &str) -> Result<Self> {
        let statement = connection.prep(text).map_err(client_error)?;
        let columns = statement.columns().iter().map(ValueType::of).collect();
        Ok(Self { statement, columns })
    }

    /// Whether it returns rows.
    pub(super) fn is_query(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The parameters for the wire.
    fn parameters(&self, given: &[Datum<'_>]) -> Result<Params> {
        common_errors::check_parameters(usize::from(self.statement.num_params()), given)?;
        let wires: Result<Vec<Wire>> = given.iter().map(|datum| wire(*datum)).collect();
        Ok(match wires? {
            none if none.is_empty() => Params::Empty,
            some => Params::Positional(some),
        })
    }

    /// Executes it; returns the number of rows changed.
    pub(super) fn execute(&self, connection: &mut Conn, given: &[Datum<'_>]) -> Result<u64> {
        let parameters = self.parameters(given)?;
        let result = connection
            .exec_iter(&self.statement, parameters)
            .map_err(client_error)?;
        Ok(result.affected_rows())
    }

    /// Executes it, and shows its rows.
    pub(super) fn query(
        &self,
        connection: &mut Conn,
        given: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let parameters = self.parameters(given)?;
        let rows = connection
            .exec_iter(&self.statement, parameters)
            .map_err(client_error)?;
        let mut shown = 0;
        for row in rows {
            let row = row.map_err(client_error)?;
            let mut data = Vec::with_capacity(self.columns.len());
            for (index, value_type) in self.columns.iter().enumerate() {
                let value = row.as_ref(index).unwrap_or(&Wire::NULL);
                data.push(datum(value, *value_type)?);
            }
            shown += 1;
            if visitor(&data).is_break() {
                break;
            }
        }
        Ok(shown)
    }
}

/// Executes statements without parameters, and reads every answer: that of a later one may be an
/// error.
pub(super) fn batch(connection: &mut Conn, statements: &str) -> Result<()> {
    let mut answers = connection.query_iter(statements).map_err(client_error)?;
    while let Some(rows) = answers.iter() {
        for row in rows {
            row.map_err(client_error)?;
        }
    }
    Ok(())
}
