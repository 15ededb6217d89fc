//! The commits of one worker, in a group or alone.

use super::super::io_error;
use super::super::log::{self, LogPosition, LogShape};
use super::super::log_record::RecordWriter;
use super::super::write_channel::WriteChannel;
use super::group_commit::GroupCommit;
use super::{LogFlushJob, kinds};
use crate::{Error, JobTask, Meter, Result, WorkerFindings};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use trueput_host::page_buffer::PageBuffer;

/// The finding with the number of records that a worker wrote, including the warm-up.
pub(super) const WRITTEN: &str = "written";

/// Does one worker's share.
pub(super) fn run(job: &LogFlushJob, task: &mut JobTask<'_>) -> Result<WorkerFindings> {
    let (worker, workers) = (task.worker, task.workers);
    let path = log::path(task.directory, job.apart, worker);
    let opened = WriteChannel::open(&path, job.flush, job.mapped_bytes(workers));
    let mut channel = opened.map_err(|error| io_error("opening", &path, &error))?;
    let record_writer = RecordWriter::new(task.seed, worker, job.log.bytes);
    let mut left = log::share(job.operations, worker, workers);
    let written = if job.shares_flushes() {
        let group = job.group.get_or_init(|| GroupCommit::new(job.log, workers));
        commits(task.meter, &mut left, |sequence, meter| {
            group.commit(&record_writer, sequence, &mut channel, meter)
        })
    } else {
        let cursor = (!job.apart).then(|| job.cursor.get_or_init(|| LogCursor::new(workers)));
        let mut writer = SoloWriter::new(job.log, &record_writer, cursor, worker);
        commits(task.meter, &mut left, |sequence, _| {
            writer.commit(&record_writer, sequence, &mut channel)
        })
    };
    let written = written.map_err(|error| write_error(&path, &error))?;
    Ok(WorkerFindings::from([(WRITTEN.to_owned(), written)]))
}

/// The error of a write, with advice if the file system is full: a growing log fills a small one
/// within seconds.
fn write_error(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull => Error::Workload(format!(
            "committing to {}: {error}; give it more room, or write over it with file=recycled",
            path.display()
        )),
        _ => io_error("committing to", path, error),
    }
}

/// Commits until the time is up or nothing is left; returns the number of commits, including the
/// warm-up.
fn commits(
    meter: &mut dyn Meter,
    left: &mut u64,
    mut commit: impl FnMut(u64, &mut dyn Meter) -> io::Result<()>,
) -> io::Result<u64> {
    let mut sequence = 0;
    meter.start();
    while *left > 0 && meter.next_unit() {
        let warming = meter.is_warming_up();
        commit(sequence, meter)?;
        sequence += 1;
        meter.finish(kinds::COMMIT);
        meter.finish_unit(kinds::COMMIT);
        if !warming {
            *left -= 1;
            meter.advance(1);
        }
    }
    Ok(sequence)
}

/// The position of the next record of a log to which several threads write independently.
pub(super) struct LogCursor {
    next: AtomicU64,
    /// For each worker, the index of the record that it writes or a lower one; the largest number
    /// if it writes none.
    under_way: Vec<AtomicU64>,
}

impl LogCursor {
    pub(super) fn new(workers: u32) -> Self {
        Self {
            next: AtomicU64::new(0),
            under_way: (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    fn claim(&self, worker: u32) -> u64 {
        let own = &self.under_way[worker as usize];
        // Stored before the claim, so that no other worker misses it.
        own.store(self.next.load(SeqCst), SeqCst);
        let index = self.next.fetch_add(1, SeqCst);
        own.store(index, SeqCst);
        index
    }

    fn finish(&self, worker: u32) {
        self.under_way[worker as usize].store(u64::MAX, SeqCst);
    }

    /// No record before this index is still being written.
    fn finished_before(&self) -> u64 {
        let under_way = self.under_way.iter().map(|index| index.load(SeqCst));
        under_way.min().unwrap_or(u64::MAX)
    }
}

/// A worker that flushes only its own records.
struct SoloWriter<'a> {
    log: LogShape,
    record: PageBuffer,
    /// `None` if the file is the worker's own.
    cursor: Option<&'a LogCursor>,
    worker: u32,
    /// Records before this index may be overwritten: the records one lap before them are complete.
    free_before: u64,
}

impl<'a> SoloWriter<'a> {
    fn new(
        log: LogShape,
        record_writer: &RecordWriter,
        cursor: Option<&'a LogCursor>,
        worker: u32,
    ) -> Self {
        let mut record = PageBuffer::zeroed(log.bytes);
        record_writer.fill(record.bytes_mut());
        Self {
            log,
            record,
            cursor,
            worker,
            free_before: log.records,
        }
    }

    fn commit(
        &mut self,
        record_writer: &RecordWriter,
        sequence: u64,
        channel: &mut WriteChannel,
    ) -> io::Result<()> {
        let index = match self.cursor {
            Some(cursor) => cursor.claim(self.worker),
            None => sequence,
        };
        record_writer.stamp(self.record.bytes_mut(), index, sequence);
        let offset = match (self.log.place, self.cursor) {
            (LogPosition::End, Some(cursor)) => {
                self.wait_for_lap(cursor, index);
                self.log.offset(index)
            }
            (LogPosition::End, None) => self.log.offset(index),
            // Each worker has a place of its own at the start.
            (LogPosition::Start, Some(_)) => u64::from(self.worker) * self.log.bytes as u64,
            (LogPosition::Start, None) => 0,
        };
        let done = channel.commit([(offset, self.record.bytes()), (0, &[])]);
        if let Some(cursor) = self.cursor {
            cursor.finish(self.worker);
        }
        done
    }

    /// Waits for the record to be overwritten: once the file's start is used again, a slow worker
    /// may still be writing it.
    fn wait_for_lap(&mut self, cursor: &LogCursor, index: u64) {
        while index >= self.free_before {
            let finished = cursor.finished_before();
            self.free_before = finished.saturating_add(self.log.records);
            if index >= self.free_before {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_under_way_holds_back_who_would_write_over_it() {
        let cursor = LogCursor::new(2);
        assert_eq!((cursor.claim(0), cursor.claim(1)), (0, 1));
        assert_eq!(cursor.finished_before(), 0);
        cursor.finish(0);
        assert_eq!(cursor.finished_before(), 1);
        assert_eq!(cursor.claim(0), 2);
        cursor.finish(1);
        assert_eq!(cursor.finished_before(), 2);
    }
}
