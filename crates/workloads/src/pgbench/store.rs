//! The stores that a session's tables can be in.

use super::bank::Bank;
use super::kv::KeyValueBank;
use super::sql::SqlBank;
use crate::{ErrorContext, Result};
use trueput_engine::{Session, choices};

choices! {
    /// The stores that a plan can ask for.
    pub(super) enum BankStore {
        /// SQL if the session speaks it, keys and values otherwise.
        Auto = "auto",
        /// Keys and values.
        KeyValue = "kv",
        /// SQL.
        Sql = "sql",
    }
}

impl BankStore {
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
    pub(super) fn open<'s>(self, session: &'s mut dyn Session) -> Result<Box<dyn Bank + 's>> {
        if self.resolve(session) == Self::Sql {
            let bank = SqlBank::new(session);
            let bank = bank.context(|| "speaking SQL".to_owned())?;
            return Ok(Box::new(bank));
        }
        Ok(Box::new(KeyValueBank::new(session)))
    }
}
