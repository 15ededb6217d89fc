//! Which store a session's tables lie in.

use super::kv::KeyValue;
use super::sql::SqlTables;
use super::tables::Tables;
use crate::{Doing, Error};
use trueput_engine::Session;

/// The stores that a plan can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// SQL where the session speaks it, keys and values otherwise.
    Auto,
    /// Keys and values.
    KeyValue,
    /// SQL.
    Sql,
}

impl Store {
    /// The store of that name in a plan.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "kv" => Some(Self::KeyValue),
            "sql" => Some(Self::Sql),
            _ => None,
        }
    }

    /// The name of the store that a session gets.
    pub fn chosen(self, session: &mut dyn Session) -> &'static str {
        match self {
            Self::KeyValue => "kv",
            Self::Sql => "sql",
            Self::Auto if session.sql().is_some() => "sql",
            Self::Auto => "kv",
        }
    }
}

/// The nine tables of a session's database. The one place where a store is made.
///
/// # Errors
/// That the session does not speak what the store needs; the engine's, where the store prepares
/// statements.
pub fn tables<'s>(
    session: &'s mut dyn Session,
    store: Store,
) -> Result<Box<dyn Tables + 's>, Error> {
    match store.chosen(session) {
        "sql" if session.sql().is_none() => {
            let why = "this engine speaks no SQL: give store kv";
            Err(Error::Workload(why.to_owned()))
        }
        "sql" => {
            let tables = SqlTables::new(session);
            Ok(Box::new(tables.doing(|| "speaking SQL".to_owned())?))
        }
        _ => Ok(Box::new(KeyValue::new(session))),
    }
}
