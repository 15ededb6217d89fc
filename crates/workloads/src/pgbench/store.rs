//! Opens the tables of a session in their store.

use super::bank::Bank;
use super::kv::KeyValueBank;
use super::sql::SqlBank;
use crate::sql::store::TableStore;
use crate::{ErrorContext, Result};
use trueput_engine::Session;

/// Opens the tables of a session's database. This is the only place where a bank is made.
///
/// # Errors
/// The session does not support the store.
pub(super) fn bank<'s>(
    session: &'s mut dyn Session,
    store: TableStore,
) -> Result<Box<dyn Bank + 's>> {
    if store.resolve(session) == TableStore::Sql {
        let bank = SqlBank::new(session);
        return Ok(Box::new(bank.context(|| "speaking SQL".to_owned())?));
    }
    Ok(Box::new(KeyValueBank::new(session)))
}
