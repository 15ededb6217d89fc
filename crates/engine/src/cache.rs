//! Counts of the lookups and misses of an engine's own cache over an interval.

use crate::Result;
use trueput_record::accounting::CacheUse;

/// Whose asks the engine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Lookups of every process that uses the database, including its server.
    Database,
    /// Lookups of this process only.
    Process,
}

type End<'d> = Box<dyn FnOnce() -> Result<CacheUse> + 'd>;

/// A count of cache lookups, from its creation to [`CacheCount::end`].
pub struct CacheCount<'d> {
    scope: CacheScope,
    end: End<'d>,
}

impl<'d> CacheCount<'d> {
    /// Creates a count that `end` completes.
    pub fn new(scope: CacheScope, end: impl FnOnce() -> Result<CacheUse> + 'd) -> Self {
        Self {
            scope,
            end: Box::new(end),
        }
    }

    /// Starts a count from the engine's counters, which `read` reads now and at the end; `None` if
    /// the engine does not report them at the moment.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn of_counters(
        scope: CacheScope,
        read: impl Fn() -> Result<Option<CacheUse>> + 'd,
    ) -> Result<Option<Self>> {
        let Some(before) = read()? else {
            return Ok(None);
        };
        let end = move || Ok(read()?.unwrap_or(before).since(&before));
        Ok(Some(Self::new(scope, end)))
    }

    /// Returns the scope of the counted lookups.
    #[must_use]
    pub fn scope(&self) -> CacheScope {
        self.scope
    }

    /// Returns the lookups since the count began.
    ///
    /// # Errors
    /// The errors of the engine.
    pub fn end(self) -> Result<CacheUse> {
        (self.end)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_was_counted_before_is_no_part_of_a_count() {
        let so_far = Cell::new(CacheUse { hits: 5, misses: 7 });
        let count = CacheCount::of_counters(CacheScope::Database, || Ok(Some(so_far.get())));
        let count = count.unwrap().unwrap();
        so_far.set(CacheUse { hits: 8, misses: 8 });
        assert_eq!(count.scope(), CacheScope::Database);
        assert_eq!(count.end().unwrap(), CacheUse { hits: 3, misses: 1 });
    }

    #[test]
    fn an_engine_that_does_not_tell_has_no_count() {
        let count = CacheCount::of_counters(CacheScope::Process, || Ok(None));
        assert!(count.unwrap().is_none());
    }
}
