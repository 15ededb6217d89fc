//! The stores that a session's tables can be in.

use super::kv::KeyValueTables;
use super::sql::SqlTables;
use super::tables::PurchaseTables;
use crate::{ErrorContext, Result};
use trueput_engine::{Session, choices};

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
    /// The store that a session gets.
    pub(super) fn resolve(self, session: &mut dyn Session) -> Self {
        match self {
            Self::Auto if session.sql().is_some() => Self::Sql,
            Self::Auto => Self::KeyValue,
            given => given,
        }
    }

    /// Opens the tables of a session's database. This is the only place where a store is made.
    ///
    /// # Errors
    /// The session does not support the store.
    pub(super) fn open<'s>(
        self,
        session: &'s mut dyn Session,
    ) -> Result<Box<dyn PurchaseTables + 's>> {
        if self.resolve(session) == Self::Sql {
            let tables = SqlTables::new(session);
            let tables = tables.context(|| "speaking SQL".to_owned())?;
            return Ok(Box::new(tables));
        }
        Ok(Box::new(KeyValueTables::new(session)))
    }
}
