//! What one worker does: commits, together with others or each by itself.

use super::super::buffer::Buffer;
use super::super::channel::Channel;
use super::super::failed;
use super::super::log::{self, Log, Place};
use super::super::record::Pen;
use super::group::Group;
use super::{LogFlushJob, kinds};
use crate::{Error, JobTask, Meter, WorkerFindings};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The finding that says how many records a worker wrote, those of the warm-up included.
pub(super) const WRITTEN: &str = "written";

/// Does one worker's share.
pub(super) fn run(job: &LogFlushJob, task: &mut JobTask<'_>) -> Result<WorkerFindings, Error> {
    let (worker, workers) = (task.worker, task.workers);
    let path = log::path(task.directory, job.apart, worker);
    let opened = Channel::open(&path, job.flush, job.mapped_bytes(workers));
    let mut channel = opened.map_err(|error| failed("opening", &path, &error))?;
    let pen = Pen::new(task.seed, worker, job.log.bytes);
    let mut left = log::share(job.operations, worker, workers);
    let written = if job.shares_flushes() {
        let group = job.group.get_or_init(|| Group::new(job.log, workers));
        commits(task.meter, &mut left, |sequence, meter| {
            group.commit(&pen, sequence, &mut channel, meter)
        })
    } else {
        let cursor = (!job.apart).then(|| job.cursor.get_or_init(|| Cursor::new(workers)));
        let mut alone = Alone::new(job.log, &pen, cursor, worker);
        commits(task.meter, &mut left, |sequence, _| {
            alone.commit(&pen, sequence, &mut channel)
        })
    };
    let written = written.map_err(|error| no_commit(&path, &error))?;
    Ok(WorkerFindings::from([(WRITTEN.to_owned(), written)]))
}

/// A growing log fills a small file system within seconds: then it is said what to do.
fn no_commit(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull => Error::Workload(format!(
            "committing to {}: {error}; give it more room, or write over it with file=recycled",
            path.display()
        )),
        _ => failed("committing to", path, error),
    }
}

/// Commits until the time is up or nothing is left, and says how often, the warm-up included.
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

/// Where the next record of a log goes that several threads write to, each by itself.
pub(super) struct Cursor {
    next: AtomicU64,
    /// By worker, the index of the record that it writes or a lower one; the largest number where
    /// it writes none.
    under_way: Vec<AtomicU64>,
}

impl Cursor {
    pub(super) fn new(workers: u32) -> Self {
        Self {
            next: AtomicU64::new(0),
            under_way: (0..workers).map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    fn claim(&self, worker: u32) -> u64 {
        let own = &self.under_way[worker as usize];
        // Said before the claim, so that nobody misses it.
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

/// A worker that flushes for itself alone.
struct Alone<'a> {
    log: Log,
    record: Buffer,
    /// `None` where the file is the worker's own.
    cursor: Option<&'a Cursor>,
    worker: u32,
    /// Records before this index may be written over: those a lap before them are finished.
    free_before: u64,
}

impl<'a> Alone<'a> {
    fn new(log: Log, pen: &Pen, cursor: Option<&'a Cursor>, worker: u32) -> Self {
        let mut record = Buffer::zeroed(log.bytes);
        pen.fill(record.bytes_mut());
        Self {
            log,
            record,
            cursor,
            worker,
            free_before: log.records,
        }
    }

    fn commit(&mut self, pen: &Pen, sequence: u64, channel: &mut Channel) -> io::Result<()> {
        let index = match self.cursor {
            Some(cursor) => cursor.claim(self.worker),
            None => sequence,
        };
        pen.stamp(self.record.bytes_mut(), index, sequence);
        let offset = match (self.log.place, self.cursor) {
            (Place::End, Some(cursor)) => {
                self.wait_for_lap(cursor, index);
                self.log.offset(index)
            }
            (Place::End, None) => self.log.offset(index),
            // Each worker has a place of its own at the start.
            (Place::Start, Some(_)) => u64::from(self.worker) * self.log.bytes as u64,
            (Place::Start, None) => 0,
        };
        let done = channel.commit([(offset, self.record.bytes()), (0, &[])]);
        if let Some(cursor) = self.cursor {
            cursor.finish(self.worker);
        }
        done
    }

    /// Where the file's start is used again, a slow worker may still be at the record to be written
    /// over.
    fn wait_for_lap(&mut self, cursor: &Cursor, index: u64) {
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
        let cursor = Cursor::new(2);
        assert_eq!((cursor.claim(0), cursor.claim(1)), (0, 1));
        assert_eq!(cursor.finished_before(), 0);
        cursor.finish(0);
        assert_eq!(cursor.finished_before(), 1);
        assert_eq!(cursor.claim(0), 2);
        cursor.finish(1);
        assert_eq!(cursor.finished_before(), 2);
    }
}
