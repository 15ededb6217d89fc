//! SQL that several workloads share: the dialects, columns as parameters and in rows, the
//! statements that a session has prepared, their execution, and the choice between SQL and keys and
//! values.

pub(crate) mod columns;
pub(crate) mod dialect;
pub(crate) mod parameters;
pub(crate) mod prepared;
pub(crate) mod store;

use columns::ColumnReader;
use std::ops::ControlFlow;
use trueput_engine::sql::Statement;
use trueput_engine::{Datum, Error, Result, Session, Sql};

/// The SQL of a session.
///
/// # Errors
/// [`Error::Unsupported`] if the session does not speak SQL.
pub(crate) fn session_sql(session: &mut dyn Session) -> Result<&mut dyn Sql> {
    let sql = session.sql();
    sql.ok_or_else(|| Error::Unsupported("this engine does not support SQL".to_owned()))
}

/// Executes a statement; any number of changed rows other than `expected` is an error about
/// `subject`.
///
/// # Errors
/// Errors of the engine, and another number of rows.
pub(crate) fn change_rows(
    sql: &mut dyn Sql,
    subject: &str,
    expected: usize,
    statement: Statement,
    parameters: &[Datum<'_>],
) -> Result<()> {
    let changed = sql.execute(statement, parameters)?;
    if changed == expected as u64 {
        return Ok(());
    }
    Err(Error::engine(format!(
        "{subject}: {changed} rows changed, not {expected}"
    )))
}

/// Reads every row of a query.
///
/// # Errors
/// Errors of the engine; the first error of `read`, which ends the query.
pub(crate) fn read_rows(
    sql: &mut dyn Sql,
    statement: Statement,
    parameters: &[Datum<'_>],
    mut read: impl FnMut(&mut ColumnReader<'_>) -> Result<()>,
) -> Result<()> {
    let mut outcome = Ok(());
    sql.query(statement, parameters, &mut |row| {
        outcome = read(&mut ColumnReader(row));
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    outcome
}
