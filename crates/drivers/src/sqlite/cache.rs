//! The use of the connections' caches while a count runs.
//!
//! SQLite counts per connection, and only a connection's own thread may read it. So starting a
//! count increments a number, which each session checks at the beginning of a transaction: at the
//! first one after it, the session notes its counters' values.

use super::connection::SqliteConnection;
use rusqlite::ffi;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trueput_engine::CacheUse;

/// The totals of the count that runs, over the sessions of a database.
#[derive(Default)]
pub(super) struct CacheTotals {
    /// Counts begun so far.
    begun: AtomicU64,
    totals: Mutex<CacheUse>,
}

impl CacheTotals {
    fn totals(&self) -> MutexGuard<'_, CacheUse> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a count; one that ran is forgotten.
    pub(super) fn begin(&self) {
        *self.totals() = CacheUse::default();
        self.begun.fetch_add(1, Ordering::Release);
    }

    /// Returns the totals so far.
    pub(super) fn total(&self) -> CacheUse {
        *self.totals()
    }
}

/// A session's part of the count.
#[derive(Debug, Default)]
pub(super) struct SessionCount {
    /// The count that it takes part in; 0 where in none.
    of: u64,
    /// Its counters when it began to, or was last read.
    before: CacheUse,
}

impl SessionCount {
    /// Takes part in the count that runs, from here on. Called as each transaction begins.
    #[inline]
    pub(super) fn begin(&mut self, connection: &SqliteConnection, totals: &CacheTotals) {
        let begun = totals.begun.load(Ordering::Relaxed);
        if begun != self.of {
            self.of = begun;
            self.before = now(connection);
        }
    }

    /// Adds the cache accesses since the last call to `totals`.
    pub(super) fn add_accesses(&mut self, connection: &SqliteConnection, totals: &CacheTotals) {
        if self.of == 0 || self.of != totals.begun.load(Ordering::Acquire) {
            return;
        }
        let now = now(connection);
        let mut sum = totals.totals();
        *sum = sum.plus(&CacheUse {
            hits: counter_growth(self.before.hits, now.hits),
            misses: counter_growth(self.before.misses, now.misses),
        });
        self.before = now;
    }
}

/// Returns the growth of a counter from one reading to the next. The counters have 31 bits and
/// wrap: more accesses than that in one connection cannot be distinguished from a few.
fn counter_growth(before: u64, now: u64) -> u64 {
    now.wrapping_sub(before) & u64::from(u32::MAX >> 1)
}

/// A connection's counters. One that cannot be read counts nothing.
fn now(connection: &SqliteConnection) -> CacheUse {
    let status = |counter| connection.status(counter).unwrap_or(0);
    CacheUse {
        hits: status(ffi::SQLITE_DBSTATUS_CACHE_HIT),
        misses: status(ffi::SQLITE_DBSTATUS_CACHE_MISS),
    }
}
