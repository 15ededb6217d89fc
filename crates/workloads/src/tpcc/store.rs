//! The stores that a session's tables can be in.

use super::error::TpccError;
use super::kv::KeyValue;
use super::sql::{SqlTables, has_procedures};
use super::tables::Tables;
use crate::{Error, ErrorContext, Result};
use trueput_engine::{Dialect, Session, choices};

choices! {
    /// The stores that a plan can ask for.
    pub enum TableStore {
        /// SQL if the session speaks it, keys and values otherwise.
        Auto = "auto",
        /// Keys and values.
        KeyValue = "kv",
        /// SQL.
        Sql = "sql",
        /// SQL, with each transaction as a function of the server.
        Procedures = "procedures",
    }
}

impl TableStore {
    /// Whether an engine that speaks this dialect, or none, has the store.
    ///
    /// # Errors
    /// The engine has no such store.
    pub fn check(self, dialect: Option<Dialect>) -> Result<(), TpccError> {
        match (self, dialect) {
            (Self::Auto | Self::KeyValue, _) | (Self::Sql, Some(_)) => Ok(()),
            (Self::Procedures, Some(dialect)) if has_procedures(dialect) => Ok(()),
            (Self::Sql, None) => Err(TpccError::NoSql),
            (Self::Procedures, _) => Err(TpccError::NoProcedures),
        }
    }

    /// The name of the store that a session gets.
    pub fn resolved_name(self, session: &mut dyn Session) -> &'static str {
        match self {
            Self::KeyValue => "kv",
            Self::Sql => "sql",
            Self::Procedures => "procedures",
            Self::Auto if session.sql().is_some() => "sql",
            Self::Auto => "kv",
        }
    }
}

/// Opens the nine tables of a session's database. This is the only place where a store is made.
///
/// # Errors
/// The session does not support the store; errors of the engine, if the store prepares statements.
pub fn tables<'s>(session: &'s mut dyn Session, store: TableStore) -> Result<Box<dyn Tables + 's>> {
    let dialect = session.sql().map(|sql| sql.dialect());
    let checked = store.check(dialect);
    checked.map_err(|error| Error::Workload(error.to_string()))?;
    match store.resolved_name(session) {
        name @ ("sql" | "procedures") => {
            let tables = SqlTables::new(session);
            let tables = tables.context(|| "speaking SQL".to_owned())?;
            Ok(match name {
                "sql" => Box::new(tables),
                _ => Box::new(tables.with_procedures()),
            })
        }
        _ => Ok(Box::new(KeyValue::new(session))),
    }
}
