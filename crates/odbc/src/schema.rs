//! Our part of a user's data source: one schema, which this program has made and marked.
//!
//! Its mark and that of the database's folder are the same as long as the schema holds that
//! database; another folder's database begins with what is in the schema dropped.

use super::connection::OdbcConnection;
use super::dialect::{DialectProfile, MARKER, NameCheck};
use super::schema_lock::SchemaLock;
use super::source::DataSource;
use super::statement;
use std::path::Path;
use trueput_engine::sql::schema_mark::{COMMENT, new_mark};
use trueput_engine::{Dialect, Error, Result};

/// The file in a database's folder that has its mark.
const MARK_FILE: &str = "odbc-schema";

/// The state of the schema that bears this program's name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SchemaState {
    Nothing,
    /// Ours, with its mark.
    Ours(String),
    /// Somebody else's.
    Foreign,
}

/// Checks that the object with our schema's name is ours, or that there is none.
///
/// # Errors
/// [`Error::Unsupported`] if the schema is not ours, or if the user must create it.
pub(super) fn check(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    source: &DataSource,
) -> Result<()> {
    read_state(connection, profile, source).map(drop)
}

/// Takes the schema for the database in `directory`: as it is where it holds that database,
/// otherwise emptied or made; and the key-value table in it. The connection holds it from then on,
/// where the data source can be made to (see [`schema_lock`]).
///
/// # Errors
/// See [`check`]; [`Error::Unsupported`] if another run holds it; errors of the data source.
pub(super) fn take(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    source: &DataSource,
    directory: &Path,
) -> Result<()> {
    let schema_lock = SchemaLock {
        connection,
        profile,
        shown: source.shown(),
    };
    schema_lock.with_lock_held(|| {
        let file = directory.join(MARK_FILE);
        let own = std::fs::read_to_string(&file).ok();
        let is_own = |found: &SchemaState| match found {
            SchemaState::Ours(mark) => own.as_ref() == Some(mark),
            _ => false,
        };
        let seen = read_state(connection, profile, source)?;
        if is_own(&seen) {
            return schema_lock.share();
        }
        schema_lock.exclude(seen != SchemaState::Nothing)?;
        // It may have been made while others were waited for.
        let seen = read_state(connection, profile, source)?;
        let mark = new_mark();
        make(connection, profile, &seen, &mark)?;
        std::fs::write(&file, mark)
            .map_err(|error| Error::engine(format!("{}: {error}", file.display())))?;
        schema_lock.share()?;
        schema_lock.share_exclusive()
    })
}

/// Creates the schema, or empties the existing one, and marks it.
fn make(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    seen: &SchemaState,
    mark: &str,
) -> Result<()> {
    let marks = marking(profile, mark);
    match seen {
        SchemaState::Nothing => run_atomically(connection, profile, || {
            execute_all(connection, profile.schema.make)?;
            execute(connection, &marks)
        })?,
        _ => {
            empty(connection, profile)?;
            execute(connection, &marks)?;
        }
    }
    execute_all(connection, profile.setup)?;
    connection.execute(&profile.create())
}

/// Runs `work` as one transaction where a schema without its mark would belong to nobody: on
/// PostgreSQL. On other servers the mark is the first table of all.
fn run_atomically(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if profile.dialect != Dialect::Postgresql {
        return work();
    }
    connection.set_autocommit(false)?;
    let done = work();
    let ended = connection.end(done.is_ok());
    let again = connection.set_autocommit(true);
    done.and(ended).and(again)
}

fn execute(connection: &OdbcConnection, statements: &[String]) -> Result<()> {
    statements
        .iter()
        .try_for_each(|statement| connection.execute(statement))
}

fn execute_all(connection: &OdbcConnection, statements: &[&str]) -> Result<()> {
    statements
        .iter()
        .try_for_each(|statement| connection.execute(statement))
}

/// Finds the object with our schema's name; an error if it belongs to somebody else.
fn read_state(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    source: &DataSource,
) -> Result<SchemaState> {
    let shown = source.shown();
    execute_all(connection, profile.schema.enter)?;
    if let Some(check) = &profile.schema.check {
        let name = statement::texts(connection, check.query)?
            .into_iter()
            .next();
        let name = name.unwrap_or_default();
        if !NameCheck::is_for_trueput(&name) {
            let (name, hint) = (name.trim(), check.hint);
            return Err(Error::Unsupported(format!("{shown} is '{name}': {hint}")));
        }
    }
    let found = match profile.dialect {
        Dialect::Postgresql => by_comment(connection)?,
        _ => by_table(connection, profile)?,
    };
    match found {
        SchemaState::Foreign => Err(Error::Unsupported(format!(
            "{shown} has {} that this program did not make, and leaves alone: name another {}",
            match profile.dialect {
                Dialect::Postgresql => "a schema 'trueput'",
                Dialect::Mariadb => "tables in 'trueput'",
                _ => "tables",
            },
            match profile.dialect {
                Dialect::Sqlite => "file",
                Dialect::Mariadb => "server",
                _ => "database",
            },
        ))),
        found => Ok(found),
    }
}

fn by_comment(connection: &OdbcConnection) -> Result<SchemaState> {
    let query = "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
                 WHERE nspname = 'trueput'";
    let comment = statement::texts(connection, query)?.into_iter().next();
    Ok(match comment {
        None => SchemaState::Nothing,
        Some(comment) => match comment.strip_prefix(COMMENT) {
            Some(mark) => SchemaState::Ours(mark.to_owned()),
            None => SchemaState::Foreign,
        },
    })
}

fn by_table(connection: &OdbcConnection, profile: &DialectProfile) -> Result<SchemaState> {
    let tables = statement::texts(connection, profile.schema.tables)?;
    if tables.is_empty() {
        return Ok(SchemaState::Nothing);
    }
    let is_marker = |table: &&String| table.trim().eq_ignore_ascii_case(MARKER);
    let Some(marker) = tables.iter().find(is_marker) else {
        return Ok(SchemaState::Foreign);
    };
    let name = (profile.schema.quoted)(marker.trim());
    let marks = statement::texts(connection, &format!("SELECT made FROM {name}"))?;
    let mark = marks.first().map(|mark| mark.trim().to_owned());
    Ok(SchemaState::Ours(mark.unwrap_or_default()))
}

/// Drops the contents of the schema, the mark last.
fn empty(connection: &OdbcConnection, profile: &DialectProfile) -> Result<()> {
    let mut tables = statement::texts(connection, profile.schema.tables)?;
    tables.sort_by_key(|table| table.trim().eq_ignore_ascii_case(MARKER));
    for table in tables {
        let name = (profile.schema.quoted)(table.trim());
        connection.execute(&format!("DROP TABLE {name}"))?;
    }
    if profile.dialect == Dialect::Postgresql {
        let routines = "SELECT p.oid::regprocedure::text FROM pg_proc p \
                        JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'trueput'";
        // Names that are not on the search path come with their schema.
        connection.execute("SET search_path TO pg_catalog")?;
        for routine in statement::texts(connection, routines)? {
            connection.execute(&format!("DROP ROUTINE {routine} RESTRICT"))?;
        }
    }
    Ok(())
}

/// The statements that mark a schema, which is empty, as ours.
fn marking(profile: &DialectProfile, mark: &str) -> Vec<String> {
    if profile.dialect == Dialect::Postgresql {
        return vec![format!("COMMENT ON SCHEMA trueput IS '{COMMENT}{mark}'")];
    }
    let name = (profile.schema.quoted)(MARKER);
    let (of_type, end) = (profile.schema.mark_type, profile.schema.mark_end);
    vec![
        format!("CREATE TABLE {name} (made {of_type}){end}"),
        format!("INSERT INTO {name} (made) VALUES ('{mark}')"),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;

    #[test]
    fn a_schema_is_marked_as_each_dialect_can() {
        let marked = |dialect| marking(dialect::of(dialect), "abc");
        assert_eq!(
            marked(Dialect::Postgresql),
            ["COMMENT ON SCHEMA trueput IS 'made by trueput for abc'"]
        );
        assert_eq!(
            marked(Dialect::Informix),
            [
                "CREATE TABLE trueput_marker (made VARCHAR(40)) LOCK MODE ROW",
                "INSERT INTO trueput_marker (made) VALUES ('abc')"
            ]
        );
        assert_eq!(
            marked(Dialect::Iris)[0],
            "CREATE TABLE trueput_marker (made VARCHAR(40))"
        );
        assert_eq!(
            marked(Dialect::Mariadb)[1],
            "INSERT INTO trueput.`trueput_marker` (made) VALUES ('abc')"
        );
    }
}
