//! The stores that a session's tables can be in.

use super::error::SysbenchError;
use super::kv::KeyValue;
use super::sql::SqlTables;
use super::tables::Tables;
use crate::{Error, ErrorContext, Result};
use trueput_engine::{Dialect, Session, choices};

choices! {
    /// The stores that a plan can ask for.
    pub(super) enum TableStore {
        /// SQL if the session speaks it, keys and values otherwise.
        Auto = "auto",
        /// Keys and values.
        KeyValue = "kv",
        /// SQL.
        Sql = "sql",
    }
}

impl TableStore {
    /// Whether an engine that speaks this dialect, or none, has the store.
    ///
    /// # Errors
    /// The engine has no such store.
    pub(super) fn check(self, dialect: Option<Dialect>) -> Result<(), SysbenchError> {
        match (self, dialect) {
            (Self::Sql, None) => Err(SysbenchError::NoSql),
            _ => Ok(()),
        }
    }

    /// The name of the store that a session gets.
    pub(super) fn resolved_name(self, session: &mut dyn Session) -> &'static str {
        match self {
            Self::KeyValue => "kv",
            Self::Sql => "sql",
            Self::Auto if session.sql().is_some() => "sql",
            Self::Auto => "kv",
        }
    }
}

/// Opens the tables of a session's database. This is the only place where a store is made.
///
/// # Errors
/// The session does not support the store.
pub(super) fn tables<'s>(
    session: &'s mut dyn Session,
    store: TableStore,
) -> Result<Box<dyn Tables + 's>> {
    let dialect = session.sql().map(|sql| sql.dialect());
    let checked = store.check(dialect);
    checked.map_err(|error| Error::Workload(error.to_string()))?;
    match store.resolved_name(session) {
        "sql" => {
            let tables = SqlTables::new(session);
            Ok(Box::new(tables.context(|| "speaking SQL".to_owned())?))
        }
        _ => Ok(Box::new(KeyValue::new(session))),
    }
}
