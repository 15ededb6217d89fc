//! The check of the records' table and its indexes, by PostgreSQL's module `amcheck`.

use super::database::PostgresqlDatabase;
use super::wire::PostgresqlConnection;
use trueput_engine::{Error, Result};

/// Whether the server can load the module.
const IS_AVAILABLE: &str = "SELECT name FROM pg_available_extensions WHERE name = 'amcheck'";
/// Raises an error at the first damage of an index, or at the first record that it lacks.
const CHECK_INDEXES: &str = "SELECT bt_index_parent_check(indexrelid, true) FROM pg_index \
                             WHERE indrelid = 'record'::regclass";
/// One row for each damage of the table, since PostgreSQL 14.
const CHECK_TABLE: &str = "SELECT msg FROM verify_heapam('record')";
const HAS_TABLE_CHECK: &str = "SELECT proname FROM pg_proc WHERE proname = 'verify_heapam'";

/// Checks an open database.
///
/// # Errors
/// [`Error::Engine`] with the damage.
pub(super) fn check(database: &PostgresqlDatabase) -> Result<()> {
    database.with_own(|connection| {
        if first_text(connection, IS_AVAILABLE)?.is_none() {
            return Ok(());
        }
        first_text(connection, "CREATE EXTENSION IF NOT EXISTS amcheck")?;
        first_text(connection, CHECK_INDEXES)?;
        if first_text(connection, HAS_TABLE_CHECK)?.is_none() {
            return Ok(());
        }
        match first_text(connection, CHECK_TABLE)? {
            None => Ok(()),
            Some(damage) => Err(Error::engine(damage)),
        }
    })
}

/// The first field that a statement returns.
fn first_text(connection: &mut PostgresqlConnection, statement: &str) -> Result<Option<String>> {
    let mut first = None;
    connection.simple(statement, &mut |_, text| {
        first.get_or_insert_with(|| text.to_owned());
    })?;
    Ok(first)
}
