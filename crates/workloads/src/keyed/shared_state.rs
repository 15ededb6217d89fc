//! The state that the workers of a process share. It is made before they are released.

use super::write_tracker::WriteTable;
use crate::Result;
use crate::generate::value::Values;
use std::sync::OnceLock;

/// What the workers of a process share.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    values: OnceLock<Values>,
    /// The writes of each record that the threads of a process know of.
    table: OnceLock<WriteTable>,
}

impl SharedState {
    /// The values of the trial's seed, which `make` makes the first time.
    ///
    /// # Errors
    /// That of `make`.
    pub(crate) fn values(&self, make: impl FnOnce() -> Result<Values>) -> Result<Values> {
        match self.values.get() {
            Some(values) => Ok(values.clone()),
            None => {
                let values = make()?;
                Ok(self.values.get_or_init(|| values).clone())
            }
        }
    }

    /// The writes of each record, which `make` makes the first time.
    pub(crate) fn table(&self, make: impl FnOnce() -> WriteTable) -> &WriteTable {
        self.table.get_or_init(make)
    }
}
