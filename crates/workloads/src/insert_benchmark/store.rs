//! Opens the tables of a session in their store.

use super::kv::KeyValueTables;
use super::sql::SqlTables;
use super::tables::PurchaseTables;
use crate::sql::store::TableStore;
use crate::{ErrorContext, Result};
use trueput_engine::Session;

/// Opens the tables of a session's database. This is the only place where they are made.
///
/// # Errors
/// The session does not support the store.
pub(super) fn tables<'s>(
    session: &'s mut dyn Session,
    store: TableStore,
) -> Result<Box<dyn PurchaseTables + 's>> {
    if store.resolve(session) == TableStore::Sql {
        let tables = SqlTables::new(session);
        return Ok(Box::new(tables.context(|| "speaking SQL".to_owned())?));
    }
    Ok(Box::new(KeyValueTables::new(session)))
}
