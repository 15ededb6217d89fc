//! The statements of a session, and how they run.

use crate::trueput_engine::{Failure, FailureKind, Range};
use std::io::ErrorKind;
use std::num::NonZero;
use std::ops::Bound;
use std::sync::Arc;
use turso_core::{
    CompletionError, Connection, LimboError, Statement, StepResult, Value, ValueBlob,
};

/// WITHOUT ROWID would save the index; Turso has neither UPDATE nor DELETE for such tables.
pub const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS record(key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL)";

impl From<LimboError> for Failure {
    fn from(error: LimboError) -> Self {
        let kind = match &error {
            LimboError::Busy
            | LimboError::BusySnapshot
            | LimboError::TableLocked
            | LimboError::Conflict(_)
            | LimboError::WriteWriteConflict => FailureKind::Conflict,
            LimboError::DatabaseFull
            | LimboError::CompletionError(CompletionError::IOError(ErrorKind::StorageFull, _)) => {
                FailureKind::Full
            }
            LimboError::TooBig | LimboError::InvalidArgument(_) => FailureKind::Unsupported,
            _ => FailureKind::Engine,
        };
        Failure::new(kind, error.to_string())
    }
}

/// The prepared statements of a session.
pub struct Sql {
    pub get: Statement,
    pub put: Statement,
    pub remove: Statement,
    pub begin_read: Statement,
    pub begin_write: Statement,
    pub commit: Statement,
    pub rollback: Statement,
}

impl Sql {
    pub fn prepare(connection: &Arc<Connection>) -> Result<Self, LimboError> {
        let put = "INSERT INTO record(key, value) VALUES (?1, ?2) \
                   ON CONFLICT(key) DO UPDATE SET value = excluded.value";
        Ok(Self {
            get: connection.prepare("SELECT value FROM record WHERE key = ?1")?,
            put: connection.prepare(put)?,
            remove: connection.prepare("DELETE FROM record WHERE key = ?1")?,
            begin_read: connection.prepare("BEGIN")?,
            // A deferred one fails where another writer commits after its first read.
            begin_write: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
        })
    }
}

/// Directions times three kinds of each end.
pub const SCANS: usize = 2 * 3 * 3;

/// The kind of a bound, as a number.
fn kind(bound: Bound<&[u8]>) -> usize {
    match bound {
        Bound::Unbounded => 0,
        Bound::Included(_) => 1,
        Bound::Excluded(_) => 2,
    }
}

/// The index of the statement for scans of this kind.
pub fn scan_index(range: &Range<'_>) -> usize {
    (usize::from(range.is_backward) * 3 + kind(range.lower)) * 3 + kind(range.upper)
}

/// The statement for scans of this kind; the lower end, if there is one, is the first parameter.
pub fn scan_sql(range: &Range<'_>) -> String {
    let lower = ["", "key >= ?", "key > ?"][kind(range.lower)];
    let upper = ["", "key <= ?", "key < ?"][kind(range.upper)];
    let ends = match (lower, upper) {
        ("", "") => String::new(),
        ("", end) | (end, "") => format!("WHERE {end}"),
        (lower, upper) => format!("WHERE {lower} AND {upper}"),
    };
    let order = if range.is_backward { "DESC" } else { "ASC" };
    format!("SELECT key, value FROM record {ends} ORDER BY key {order}")
}

/// Binds the parameters of a statement that begins again.
pub fn start(statement: &mut Statement, parameters: &[&[u8]]) -> Result<(), LimboError> {
    statement.reset()?;
    for (index, parameter) in (1..).zip(parameters) {
        let index = NonZero::new(index).expect("it begins with 1");
        statement.bind_at(index, Value::from_blob(ValueBlob::from(*parameter)))?;
    }
    Ok(())
}

/// Goes to the next row; returns whether there is one.
pub fn step(statement: &mut Statement) -> Result<bool, LimboError> {
    loop {
        match statement.step()? {
            StepResult::Row => return Ok(true),
            StepResult::Done => return Ok(false),
            StepResult::IO | StepResult::Yield => statement._io().step()?,
            // Turso's own loop attempts again at once, which takes a processor while it waits.
            StepResult::Sleep { duration } => std::thread::sleep(duration),
            StepResult::Busy => return Err(LimboError::Busy),
            StepResult::Interrupt => return Err(LimboError::Interrupt),
        }
    }
}

/// Runs a statement that returns no row.
pub fn run(statement: &mut Statement, parameters: &[&[u8]]) -> Result<(), LimboError> {
    start(statement, parameters)?;
    while step(statement)? {}
    Ok(())
}

/// A column of the row that a statement is on.
pub fn blob(statement: &Statement, column: usize) -> &[u8] {
    let row = statement.row().expect("the statement is on a row");
    row.get_value(column)
        .to_blob()
        .expect("the column has blobs")
}
