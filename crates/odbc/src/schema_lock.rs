//! Keeps two runs from using one schema, over ODBC or by the server's own driver: the
//! locks are those of the drivers `postgresql` and `mariadb`.
//!
//! On PostgreSQL who has the schema open shares an advisory lock, and who empties it holds it
//! alone. On MariaDB a transaction that has read the table with the mark shares that table's
//! metadata lock, and an alteration of the table needs that lock alone; who looks at the schema
//! waits for a turn. SQLite, Informix and IRIS have no lock that outlives a transaction and ends
//! with a connection.

use super::connection::OdbcConnection;
use super::dialect::{DialectProfile, MARKER};
use super::statement;
use std::time::Instant;
use trueput_engine::sql::schema_mark::{
    ADVISORY_LOCK, EXAMINATION_TIMEOUT, LOCK_PAUSE, LOCK_TIMEOUT, lock_name,
};
use trueput_engine::{Dialect, Error, Result};

/// The database of ours on a MariaDB.
const SCHEMA: &str = "trueput";

/// A schema that a connection is about to hold.
pub(super) struct SchemaLock<'c> {
    pub(super) connection: &'c OdbcConnection,
    pub(super) profile: &'c DialectProfile,
    /// The data source, for messages.
    pub(super) shown: &'c str,
}

impl SchemaLock<'_> {
    /// Runs `work` while no other process examines the schema, on servers that need that.
    ///
    /// # Errors
    /// The error of `work`; that another process holds the lock too long.
    pub(super) fn with_lock_held(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.profile.dialect != Dialect::Mariadb {
            return work();
        }
        let seconds = LOCK_TIMEOUT.as_secs();
        let waits = format!("SET SESSION lock_wait_timeout={seconds}");
        self.connection.execute(&waits)?;
        let (turn, seconds) = (lock_name(SCHEMA), EXAMINATION_TIMEOUT.as_secs());
        if !self.query_returns(&format!("SELECT GET_LOCK({turn}, {seconds})"), "1")? {
            return Err(self.in_use());
        }
        let done = work();
        let ended = self.query_returns(&format!("SELECT RELEASE_LOCK({turn})"), "1");
        done.and(ended.map(drop))
    }

    /// Holds the schema together with others that have the same database open.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if another run is emptying it; errors of the data source.
    pub(super) fn share(&self) -> Result<()> {
        match self.profile.dialect {
            Dialect::Postgresql => self.lock("pg_try_advisory_lock_shared"),
            Dialect::Mariadb => {
                self.connection.execute("START TRANSACTION")?;
                let read = format!("SELECT made FROM {}", self.marker());
                statement::texts(self.connection, &read).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Takes the lock exclusively, once sessions just closed have released it. `is_there` says
    /// whether the schema has any contents.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if another run holds it; errors of the data source.
    pub(super) fn exclude(&self, is_there: bool) -> Result<()> {
        match self.profile.dialect {
            Dialect::Postgresql => self.lock("pg_try_advisory_lock"),
            Dialect::Mariadb if is_there => {
                let end = self.profile.schema.mark_end;
                let alter = format!("ALTER TABLE {}{end}", self.marker());
                match self.connection.execute(&alter) {
                    Err(Error::Conflict(_)) => Err(self.in_use()),
                    altered => altered,
                }
            }
            _ => Ok(()),
        }
    }

    /// Downgrades the exclusive lock to a shared one.
    ///
    /// # Errors
    /// Errors of the data source.
    pub(super) fn share_exclusive(&self) -> Result<()> {
        if self.profile.dialect != Dialect::Postgresql {
            return Ok(());
        }
        let unlock = format!("SELECT pg_advisory_unlock({ADVISORY_LOCK})");
        statement::texts(self.connection, &unlock).map(drop)
    }

    fn lock(&self, function: &str) -> Result<()> {
        let query =
            format!("SELECT CASE WHEN {function}({ADVISORY_LOCK}) THEN 'held' ELSE 'not' END");
        let end = Instant::now() + LOCK_TIMEOUT;
        while !self.query_returns(&query, "held")? {
            if Instant::now() >= end {
                return Err(self.in_use());
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        Ok(())
    }

    fn query_returns(&self, query: &str, wanted: &str) -> Result<bool> {
        let diagnostic = statement::texts(self.connection, query)?;
        Ok(diagnostic
            .first()
            .is_some_and(|diagnostic| diagnostic.trim() == wanted))
    }

    fn marker(&self) -> String {
        (self.profile.schema.quoted)(MARKER)
    }

    fn in_use(&self) -> Error {
        let object = match self.profile.dialect {
            Dialect::Postgresql => "schema",
            _ => "database",
        };
        Error::Unsupported(format!(
            "another run works in the {object} '{SCHEMA}' of {}: wait for its end, or name \
             another server",
            self.shown
        ))
    }
}
