//! The tombstones that iterators pass over. RocksDB counts them for each thread, in its perf
//! context, by default and at no further cost. No other thread can read that, so a session adds its
//! thread's count to the database's after each scan: a call of the library, and an atomic addition
//! if the scan passed any.

use super::symbols::PerfContextFunctions;
use crate::lsm::Handle;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use trueput_engine::{
    BatchVisitor, Direction, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor, Result,
    Session, ValueVisitor,
};

/// The name of the counter: that of the field in RocksDB's `perf_context.h`.
pub(super) const TOMBSTONES_PASSED: &str = "perf_context.internal_delete_skipped_count";

/// Its number: `rocksdb_internal_delete_skipped_count` in `rocksdb/c.h`.
const METRIC: c_int = 11;

/// A session whose thread's count is added to that of the database. It stays on one thread, as any
/// session, and is taken to be the only one there.
pub(super) struct CountingSession<'db, S> {
    session: S,
    functions: PerfContextFunctions,
    /// The perf context of this thread.
    context: Handle,
    /// The thread's count when it was last added to the total.
    counted: u64,
    total: &'db AtomicU64,
}

impl<'db, S> CountingSession<'db, S> {
    /// Counts from now on.
    pub(super) fn new(session: S, functions: PerfContextFunctions, total: &'db AtomicU64) -> Self {
        // SAFETY: it needs nothing.
        let context = unsafe { (functions.create)() };
        let mut counting = Self {
            session,
            functions,
            context,
            counted: 0,
            total,
        };
        counting.counted = counting.count();
        counting
    }

    /// The thread's count so far.
    fn count(&self) -> u64 {
        // SAFETY: the context is that of this thread, and is destroyed last.
        unsafe { (self.functions.metric)(self.context, METRIC) }
    }

    /// Adds to the total what the thread has counted since it was last added. After a scan that
    /// passed none it only reads a number of the thread's own.
    fn add_to_total(&mut self) {
        let count = self.count();
        let passed = count.saturating_sub(self.counted);
        if passed > 0 {
            self.total.fetch_add(passed, Ordering::Relaxed);
            self.counted = count;
        }
    }
}

impl<S> Drop for CountingSession<'_, S> {
    fn drop(&mut self) {
        self.add_to_total();
        // SAFETY: the context is ours and not used any more.
        unsafe { (self.functions.destroy)(self.context) };
    }
}

impl<S: Session> Session for CountingSession<'_, S> {
    #[inline]
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)
    }

    #[inline]
    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.session.get(key, visitor)
    }

    #[inline]
    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        self.session.get_many(keys, visitor)
    }

    #[inline]
    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.session.point_read(key, visitor)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.put(key, value)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.session.delete(key)
    }

    #[inline]
    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let scanned = self.session.scan(range, direction, visitor);
        self.add_to_total();
        scanned
    }

    #[inline]
    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    #[inline]
    fn abort(&mut self) -> Result<()> {
        self.session.abort()
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        self.session.bulk_load(records)
    }

    fn flush_counters(&mut self) -> Result<()> {
        self.add_to_total();
        self.session.flush_counters()
    }
}
