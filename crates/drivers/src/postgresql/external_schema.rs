//! Our schema on a user's server, and the settings that the server must have for a durability
//! level.
//!
//! All that is done there is done in one schema, which this program has made and marked. Its mark
//! and that of the database's folder are the same as long as the schema holds that database.

use super::SCHEMA;
use super::address::ServerAddress;
use super::knobs::WalSettings;
use super::wire::PostgresqlConnection;
use crate::retry::Retry;
use std::path::Path;
use trueput_engine::sql::schema_mark::{
    ADVISORY_LOCK, COMMENT, LOCK_PAUSE, LOCK_TIMEOUT, new_mark,
};
use trueput_engine::{Durability, Error, Result};

/// The file in a database's folder that has its mark.
const MARKER: &str = "server-schema";
/// Sessions that were just closed may hold the lock over the schema.
const SCHEMA_LOCK_RETRY: Retry = Retry::new(LOCK_TIMEOUT, LOCK_PAUSE);

/// Returns the settings of a user's server for a level of durability.
///
/// # Errors
/// [`Error::Unsupported`] for a level that does not exist.
pub(super) fn durability_settings(durability: Durability) -> Result<WalSettings> {
    match durability {
        Durability::Sync | Durability::Buffered | Durability::Process => Ok(WalSettings {
            fsync: durability != Durability::Process,
            synchronous_commit: durability != Durability::Buffered,
            full_page_writes: true,
        }),
        Durability::Async | Durability::None => Err(Error::no_durability("postgresql", durability)),
    }
}

/// Checks that the server is set as a level needs it.
///
/// # Errors
/// [`Error::Unsupported`], if it is not.
pub(super) fn check_durability(
    connection: &mut PostgresqlConnection,
    address: &ServerAddress,
    durability: Durability,
) -> Result<()> {
    let wanted = durability_settings(durability)?;
    let fsync = connection.setting("fsync")? == "on";
    let pages = connection.setting("full_page_writes")? == "on";
    let levels = match (fsync, pages) {
        (true, true) => "sync and buffered",
        _ => "process",
    };
    let fits = if wanted.fsync {
        fsync && pages
    } else {
        !(fsync && pages)
    };
    let word = |on| if on { "on" } else { "off" };
    fits.then_some(()).ok_or_else(|| {
        Error::Unsupported(format!(
            "{address} has fsync={} and full_page_writes={}, so that its durability is {levels} \
             and not '{durability}'",
            word(fsync),
            word(pages)
        ))
    })
}

/// Checks that the schema with our name is ours or does not exist.
///
/// # Errors
/// [`Error::Unsupported`], if the schema is not ours.
pub(super) fn check(connection: &mut PostgresqlConnection, address: &ServerAddress) -> Result<()> {
    mark_of(connection, address).map(drop)
}

/// Takes the schema for the database in `directory`: as it is, where it holds that database;
/// otherwise emptied, or made. The connection holds it from then on.
///
/// # Errors
/// [`Error::Unsupported`], if the schema is not ours, or another run holds it.
pub(super) fn take(
    connection: &mut PostgresqlConnection,
    address: &ServerAddress,
    directory: &Path,
) -> Result<()> {
    let marker = directory.join(MARKER);
    let own = std::fs::read_to_string(&marker).ok();
    if own.is_some() && mark_of(connection, address)? == own {
        return lock_schema(connection, "pg_try_advisory_lock_shared", address);
    }
    lock_schema(connection, "pg_try_advisory_lock", address)?;
    let (name, mark) = (quoted(SCHEMA), new_mark());
    let comment = format!("COMMENT ON SCHEMA {name} IS '{COMMENT}{mark}'");
    match mark_of(connection, address)? {
        Some(_) => {
            empty(connection)?;
            run(connection, &comment)?;
        }
        // One message is one transaction: a schema without its mark would belong to nobody.
        None => run(connection, &format!("CREATE SCHEMA {name}; {comment}"))?,
    }
    std::fs::write(&marker, mark)
        .map_err(|error| Error::engine(format!("{}: {error}", marker.display())))?;
    lock_schema(connection, "pg_try_advisory_lock_shared", address)?;
    run(
        connection,
        &format!("SELECT pg_advisory_unlock({ADVISORY_LOCK})"),
    )
}

/// The mark of the database that the schema holds; `None` if there is no schema.
fn mark_of(
    connection: &mut PostgresqlConnection,
    address: &ServerAddress,
) -> Result<Option<String>> {
    let statement = format!(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') AS comment \
         FROM pg_namespace WHERE nspname = '{SCHEMA}'"
    );
    let mut comment = None;
    connection.simple(&statement, &mut |_, text| comment = Some(text.to_owned()))?;
    let Some(comment) = comment else {
        return Ok(None);
    };
    match comment.strip_prefix(COMMENT) {
        Some(mark) => Ok(Some(mark.to_owned())),
        None => Err(Error::Unsupported(format!(
            "{address} has a schema '{SCHEMA}' that is not trueput's: rename it, or name another \
             database"
        ))),
    }
}

/// Locks the schema, or reports that another run has it.
fn lock_schema(
    connection: &mut PostgresqlConnection,
    function: &str,
    address: &ServerAddress,
) -> Result<()> {
    let statement = format!("SELECT {function}({ADVISORY_LOCK}) AS held");
    let is_held = SCHEMA_LOCK_RETRY.until(|| {
        let mut is_held = false;
        connection.simple(&statement, &mut |_, text| is_held = text == "t")?;
        Ok(is_held)
    });
    if is_held? {
        Ok(())
    } else {
        Err(Error::Unsupported(format!(
            "another run works in the schema '{SCHEMA}' of {address}: wait for its end, or name \
             another database"
        )))
    }
}

/// Drops the contents of the schema, except objects on which others depend.
fn empty(connection: &mut PostgresqlConnection) -> Result<()> {
    let kinds = [
        ("VIEW", "relkind = 'v'"),
        ("TABLE", "relkind IN ('r', 'p')"),
        ("SEQUENCE", "relkind = 'S'"),
    ];
    for (kind, condition) in kinds {
        let statement = format!(
            "SELECT c.oid::regclass AS name FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = '{SCHEMA}' AND {condition}"
        );
        drop_all(connection, kind, &statement)?;
    }
    let functions = format!(
        "SELECT p.oid::regprocedure AS name FROM pg_proc p \
         JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '{SCHEMA}'"
    );
    drop_all(connection, "ROUTINE", &functions)
}

fn drop_all(connection: &mut PostgresqlConnection, kind: &str, statement: &str) -> Result<()> {
    let mut names = Vec::new();
    // Names that are not on the search path come with their schema.
    run(connection, "SET search_path TO pg_catalog")?;
    connection.simple(statement, &mut |_, name| names.push(name.to_owned()))?;
    if !names.is_empty() {
        run(
            connection,
            &format!("DROP {kind} {} RESTRICT", names.join(", ")),
        )?;
    }
    run(connection, "RESET search_path")
}

/// A name as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn run(connection: &mut PostgresqlConnection, statement: &str) -> Result<()> {
    connection.simple(statement, &mut |_, _| ()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_server_has_the_levels_of_a_private_one() {
        for level in [Durability::Sync, Durability::Buffered, Durability::Process] {
            assert!(durability_settings(level).is_ok());
        }
        assert!(durability_settings(Durability::None).is_err());
    }
}
