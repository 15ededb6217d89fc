//! The positions of a log's records in its file.

use super::StorageError;
use std::path::{Path, PathBuf};

/// The position of the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPosition {
    /// Behind the last one.
    End,
    /// At the file's start, over the last one.
    Start,
}

/// A log: records of one size, packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogShape {
    /// Bytes of a record.
    pub bytes: usize,
    /// The number of records that the file holds before its start is used again.
    pub records: u64,
    /// The position of the next record.
    pub place: LogPosition,
}

impl LogShape {
    /// The length of the file of this many writers, once it is laid out.
    pub(super) fn file_bytes(&self, writers: u32) -> u64 {
        let records = match self.place {
            LogPosition::End => self.records,
            LogPosition::Start => u64::from(writers),
        };
        records * self.bytes as u64
    }

    /// The offset of the record with an index in the log's order.
    pub(super) fn offset(&self, index: u64) -> u64 {
        index % self.records * self.bytes as u64
    }

    /// The offsets of consecutive records, and their bytes: in two parts if the file's start is
    /// used again among them. In place, they are at the start.
    pub(super) fn parts<'b>(&self, first: u64, batch: &'b [u8]) -> [(u64, &'b [u8]); 2] {
        match self.place {
            LogPosition::Start => [(0, batch), (0, &[])],
            LogPosition::End => {
                let before_end = self.records - first % self.records;
                let before_end = usize::try_from(before_end).unwrap_or(usize::MAX);
                let cut = before_end.saturating_mul(self.bytes).min(batch.len());
                let (head, tail) = batch.split_at(cut);
                [(self.offset(first), head), (0, tail)]
            }
        }
    }
}

/// The file of a log, or of a worker's.
pub(super) fn path(directory: &Path, apart: bool, worker: u32) -> PathBuf {
    if apart {
        directory.join(format!("log-{worker:04}"))
    } else {
        directory.join("log")
    }
}

/// The operations of a trial over all workers, given the plan's number (or 0) and its duration, if
/// any; the largest number means no limit.
pub(super) fn operations(
    given: u64,
    default: u64,
    duration_s: Option<f64>,
) -> Result<u64, StorageError> {
    match (given, duration_s) {
        (0, None) => Ok(default),
        (given, None) => Ok(given),
        (0, Some(_)) => Ok(u64::MAX),
        (operations, Some(_)) => Err(StorageError::TwoEnds { operations }),
    }
}

/// The number of units in this many operations, for progress; 0 means no limit.
pub(super) fn total_units(operations: u64) -> u64 {
    match operations {
        u64::MAX => 0,
        operations => operations,
    }
}

/// Refuses a size of direct writes that no device takes.
pub(super) fn check_direct(setting: &'static str, bytes: u64) -> Result<(), StorageError> {
    if bytes.is_multiple_of(512) {
        Ok(())
    } else {
        Err(StorageError::PartOfBlock { setting, bytes })
    }
}

/// A worker's part of this many operations over all workers; the largest number means no limit.
pub(super) fn share(operations: u64, worker: u32, workers: u32) -> u64 {
    if operations == u64::MAX {
        return operations;
    }
    let (worker, workers) = (u64::from(worker), u64::from(workers.max(1)));
    operations / workers + u64::from(worker < operations % workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: LogShape = LogShape {
        bytes: 100,
        records: 10,
        place: LogPosition::End,
    };

    #[test]
    fn records_follow_each_other_and_the_files_start_is_used_again() {
        let batch = [7; 300];
        assert_eq!(LOG.parts(0, &batch), [(0, &batch[..]), (0, &[])]);
        assert_eq!(LOG.parts(27, &batch), [(700, &batch[..]), (0, &[])]);
        assert_eq!(
            LOG.parts(28, &batch),
            [(800, &batch[..200]), (0, &batch[200..])]
        );
        assert_eq!(LOG.offset(28), 800);
        assert_eq!(LOG.file_bytes(4), 1_000);
    }

    #[test]
    fn the_shares_of_the_workers_make_the_whole() {
        for (operations, workers) in [(1_000, 3), (7, 8), (u64::from(u32::MAX), 5)] {
            let shares = (0..workers).map(|worker| share(operations, worker, workers));
            assert_eq!(shares.sum::<u64>(), operations);
        }
        assert_eq!(share(u64::MAX, 3, 4), u64::MAX);
    }

    #[test]
    fn in_place_every_batch_lies_at_the_start() {
        let log = LogShape {
            place: LogPosition::Start,
            ..LOG
        };
        assert_eq!(log.parts(28, &[7; 300])[0].0, 0);
        assert_eq!(log.file_bytes(4), 400);
    }
}
