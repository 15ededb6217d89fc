//! The schema that a database is: made, taken over from an earlier database, and held.

use super::connection::{TOO_LONG_WAIT, client_error};
use super::knobs::StorageEngine;
use super::server_access::ServerAccess;
use super::statement;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::path::Path;
use trueput_engine::sql::schema_mark::{EXAMINATION_TIMEOUT, LOCK_TIMEOUT, lock_name};
use trueput_engine::{Error, Result};

/// Longest key, bytes: the limit of an index at every page size, and in MyRocks.
pub(super) const MAX_KEY_BYTES: usize = 767;
/// Longest value, bytes: well within a tenth of the smallest redo log, which InnoDB asks for.
pub(super) const MAX_VALUE_BYTES: usize = 1 << 20;

/// The file in a database's folder that records that its schema was emptied for it.
const BEGUN: &str = "mariadb-begun";
/// The table that marks a schema as this program's. A process that has the database open keeps a
/// transaction open on the table, and so shares its metadata lock; a process that empties the
/// schema needs that lock exclusively.
const MARKER: &str = "trueput_marker";

/// Makes the schema ours and, for a folder that has not begun yet, empty; makes the table; and
/// holds a user's schema for as long as the connection lasts.
///
/// # Errors
/// [`Error::Unsupported`], if the schema is not this program's or another run uses it; errors of
/// the server.
pub(super) fn take(
    connection: &mut Conn,
    server_access: &ServerAccess,
    directory: &Path,
    storage: StorageEngine,
) -> Result<()> {
    let name = server_access.schema();
    // One process after the other looks at the schema.
    let (lock, seconds) = (lock_name(name), EXAMINATION_TIMEOUT.as_secs());
    let locked: Option<Option<i64>> = connection
        .query_first(format!("SELECT GET_LOCK({lock}, {seconds})"))
        .map_err(client_error)?;
    if locked.flatten() != Some(1) {
        return Err(in_use(name));
    }
    let ready = make_ready(connection, server_access, directory, storage);
    let unlocked = statement::batch(connection, &format!("SELECT RELEASE_LOCK({lock})"));
    ready.and(unlocked)
}

fn in_use(name: &str) -> Error {
    Error::Unsupported(format!(
        "another run uses the database '{name}': wait for its end, or name another, trueput_ and \
         more"
    ))
}

fn make_ready(
    connection: &mut Conn,
    server_access: &ServerAccess,
    directory: &Path,
    storage: StorageEngine,
) -> Result<()> {
    let name = server_access.schema();
    // In a cluster a statement that makes something ends transactions, even if it makes nothing.
    if !has_schema(connection, name)? {
        let made = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
        let statement = format!("CREATE DATABASE IF NOT EXISTS {} {made}", quoted(name));
        statement::batch(connection, &statement)?;
    }
    statement::batch(connection, &format!("USE {}", quoted(name)))?;
    let tables = tables(connection, name)?;
    let marker = format!("{}.{MARKER}", quoted(name));
    if !tables.iter().any(|table| table == MARKER) {
        // Of an engine without transactions: none stays open in the storage that is measured.
        let statement = format!("CREATE TABLE {marker} (made INT) ENGINE=Aria");
        statement::batch(connection, &statement)?;
    }
    let begun = directory.join(BEGUN);
    let is_begun = begun.exists();
    let has_record = is_begun && tables.iter().any(|table| table == "record");
    if !is_begun {
        if server_access.is_external() {
            exclude(connection, &marker, name)?;
        }
        let others = tables.into_iter().filter(|table| table != MARKER);
        let full = |table: String| format!("{}.{}", quoted(name), quoted(&table));
        drop_all(connection, others.map(full).collect())?;
        std::fs::write(&begun, name).map_err(Error::engine)?;
    }
    if !has_record {
        let (key, engine) = (MAX_KEY_BYTES, storage.name());
        statement::batch(
            connection,
            &format!(
                "CREATE TABLE IF NOT EXISTS record (k VARBINARY({key}) NOT NULL PRIMARY KEY, \
                 v LONGBLOB NOT NULL) ENGINE={engine}"
            ),
        )?;
    }
    if server_access.is_external() {
        statement::batch(connection, "START TRANSACTION")?;
        statement::batch(connection, &format!("SELECT made FROM {marker}"))?;
    }
    Ok(())
}

fn has_schema(connection: &mut Conn, name: &str) -> Result<bool> {
    let statement = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?";
    let found: Option<i64> = connection
        .exec_first(statement, (name,))
        .map_err(client_error)?;
    Ok(found.is_some())
}

/// The tables of our schema, or of a schema that will become ours.
fn tables(connection: &mut Conn, name: &str) -> Result<Vec<String>> {
    let found: Vec<(String, String)> = connection
        .query(
            "SELECT table_name, table_type FROM information_schema.tables \
             WHERE table_schema = DATABASE()",
        )
        .map_err(client_error)?;
    let is_ours = found.is_empty() || found.iter().any(|(table, _)| table == MARKER);
    if !is_ours {
        return Err(Error::Unsupported(format!(
            "the database '{name}' has tables and no {MARKER}: it was not made by this program, \
             which leaves it alone; name another, trueput_ and more"
        )));
    }
    if let Some((other, kind)) = found.iter().find(|(_, kind)| kind != "BASE TABLE") {
        return Err(Error::Unsupported(format!(
            "the database '{name}' holds '{other}' ({}), which this program does not make: drop \
             it, or name another, trueput_ and more",
            kind.to_lowercase()
        )));
    }
    Ok(found.into_iter().map(|(table, _)| table).collect())
}

/// Makes sure that nobody else has the database open: a change of the marker's table waits for
/// them.
fn exclude(connection: &mut Conn, marker: &str, name: &str) -> Result<()> {
    let seconds = LOCK_TIMEOUT.as_secs();
    let statement = format!("ALTER TABLE {marker} WAIT {seconds} ENGINE=Aria");
    match connection.query_drop(statement) {
        Err(mysql::Error::MySqlError(said)) if said.code == TOO_LONG_WAIT => Err(in_use(name)),
        altered => altered.map_err(client_error),
    }
}

/// Drops tables, one by one. One that another refers to goes after that; where none can go,
/// because something elsewhere depends on it, that is an error.
fn drop_all(connection: &mut Conn, mut tables: Vec<String>) -> Result<()> {
    while !tables.is_empty() {
        let before = tables.len();
        let mut invalid_url = None;
        tables.retain(|table| {
            let dropped = statement::batch(connection, &format!("DROP TABLE {table}"));
            let stays = dropped.is_err();
            invalid_url = dropped.err().or_else(|| invalid_url.take());
            stays
        });
        if let Some(invalid_url) = invalid_url.filter(|_| tables.len() == before) {
            return Err(invalid_url);
        }
    }
    Ok(())
}

/// A name as the server's SQL quotes it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_quote_stays_a_name() {
        assert_eq!(quoted("a`; DROP TABLE b"), "`a``; DROP TABLE b`");
    }
}
