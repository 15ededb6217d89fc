//! The numbers of inserted records, so that the workers need not know of each other.

use crate::generate::distribution::Chooser;
use crate::generate::random::Random;

/// The numbers of the records that one worker inserts: no two workers share one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InsertNumbers {
    records: u64,
    worker: u64,
    workers: u64,
    count: u64,
}

impl InsertNumbers {
    /// The numbers for a worker that has not inserted anything yet.
    pub(crate) fn new(records: u64, worker: u32, workers: u32) -> Self {
        Self {
            records,
            worker: worker.into(),
            workers: workers.max(1).into(),
            count: 0,
        }
    }

    /// The number of the worker's insert with this index.
    #[inline]
    pub(crate) fn nth(&self, nth: u64) -> u64 {
        self.records + nth * self.workers + self.worker
    }

    /// Draws the number of the next record to insert.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.count += 1;
        self.nth(self.count - 1)
    }

    /// The number of inserts drawn.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Draws one of the loaded records and of those that this worker has inserted.
    #[inline]
    pub(crate) fn choose(&self, chooser: &mut Chooser, random: &mut Random) -> u64 {
        let chosen = chooser.next_among(self.records + self.count, random);
        match chosen.checked_sub(self.records) {
            Some(nth) => self.nth(nth),
            None => chosen,
        }
    }

    /// Inverse of `nth`: which worker inserted a record, and its index among that worker's inserts.
    pub(crate) fn origin(item: u64, records: u64, workers: u32) -> Option<(usize, u64)> {
        let beyond = item.checked_sub(records)?;
        let workers = u64::from(workers.max(1));
        Some(((beyond % workers) as usize, beyond / workers))
    }
}
