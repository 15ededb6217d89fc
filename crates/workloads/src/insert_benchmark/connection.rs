//! One worker's access to its client's table.

use super::kinds::{Kind, Kinds};
use super::settings::Settings;
use super::store;
use super::tables::PurchaseTables;
use crate::keyed::backoff::Backoff;
use crate::keyed::transaction::retry_with_backoff;
use crate::{JobTask, Meter, Result};
use trueput_engine::Result as EngineResult;

/// A connection of a client, with the meter of its operations.
pub(super) struct Connection<'t> {
    tables: Box<dyn PurchaseTables + 't>,
    pub(super) meter: &'t mut dyn Meter,
    backoff: Backoff,
    kinds: Kinds,
    /// The client's table, from 1.
    table: u32,
}

impl<'t> Connection<'t> {
    /// Opens the tables of a worker's session for the client of this table.
    ///
    /// # Errors
    /// The session does not support the store.
    pub(super) fn open(task: &'t mut JobTask<'_>, settings: &Settings, table: u32) -> Result<Self> {
        let (seed, worker) = (task.seed, task.worker);
        Ok(Self {
            tables: store::tables(&mut *task.session, settings.store)?,
            meter: &mut *task.meter,
            backoff: Backoff::new(settings.retry_pause_us, seed, worker),
            kinds: settings.step.kinds(),
            table,
        })
    }

    /// Attempts an operation on the table until it meets no conflict; `doing` is what it does, as
    /// in `inserting into`.
    ///
    /// # Errors
    /// The engine's other errors, and a stop by the user.
    #[inline]
    pub(super) fn retry<T>(
        &mut self,
        doing: &'static str,
        mut attempt: impl FnMut(&mut dyn PurchaseTables, u32) -> EngineResult<T>,
    ) -> Result<T> {
        let (tables, backoff, table) = (&mut *self.tables, &mut self.backoff, self.table);
        retry_with_backoff(
            &mut *self.meter,
            || format!("{doing} pi{table}"),
            |conflicts| backoff.pause(conflicts),
            |_| attempt(&mut *tables, table),
        )
    }

    /// An operation of this kind has ended.
    #[inline]
    pub(super) fn finish(&mut self, kind: Kind) {
        self.meter.finish(self.kinds.index(kind));
    }

    /// An operation of this kind, which was a unit of work, has ended.
    #[inline]
    pub(super) fn finish_unit(&mut self, kind: Kind) {
        let index = self.kinds.index(kind);
        self.meter.finish(index);
        self.meter.finish_unit(index);
    }
}
