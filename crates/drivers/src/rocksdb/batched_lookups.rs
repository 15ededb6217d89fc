//! Look-ups of several keys that pin their values. The C API has them for a column family of a
//! plain database, and newer libraries name the default one.

use super::symbols::{BaseFunctions, BatchedFunctions, RocksDbLibrary};
use crate::lsm::{Handle, MultiGet};

/// The handles that such look-ups take, ours to free before the database is closed.
pub(super) struct BatchedLookups {
    functions: BatchedFunctions,
    /// The plain database.
    database: Handle,
    column_family: Handle,
    /// Functions of a database with locks, if the plain one is its base.
    base: Option<BaseFunctions>,
}

impl BatchedLookups {
    /// Makes the handles for an open database; `None` if the library has no such look-ups of it.
    pub(super) fn of(symbols: &RocksDbLibrary, database: Handle, has_locks: bool) -> Option<Self> {
        let functions = symbols.batched?;
        let base = if has_locks { Some(symbols.base?) } else { None };
        let database = match base {
            // SAFETY: the database is open and one with locks.
            Some(base) => unsafe { (base.get_base_db)(database) },
            None => database,
        };
        // SAFETY: the database is open and plain.
        let column_family = unsafe { (functions.get_default_column_family_handle)(database) };
        Some(Self {
            functions,
            database,
            column_family,
            base,
        })
    }

    /// The plain database.
    pub(super) fn database(&self) -> Handle {
        self.database
    }

    /// The look-up itself.
    pub(super) fn multi_get(&self) -> MultiGet {
        MultiGet::Pinned {
            get: self.functions.batched_multi_get_cf,
            database: self.database,
            column_family: self.column_family,
        }
    }
}

impl Drop for BatchedLookups {
    fn drop(&mut self) {
        // SAFETY: both are ours and not used any more. The column family stays the database's, and
        // closing a base frees only the handle.
        unsafe {
            (self.functions.column_family_handle_destroy)(self.column_family);
            if let Some(base) = self.base {
                (base.close_base_db)(self.database);
            }
        }
    }
}
