//! Group commit: a worker that finds no flush in progress writes and flushes the records of all
//! that wait.

use super::super::log::LogShape;
use super::super::log_record::RecordWriter;
use super::super::write_channel::WriteChannel;
use super::kinds;
use crate::Meter;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use trueput_host::page_buffer::PageBuffer;

/// The log that the threads of a process append to together.
pub(super) struct GroupCommit {
    log: LogShape,
    state: Mutex<GroupState>,
    turned: Condvar,
}

struct GroupState {
    /// Index of the next record.
    next: u64,
    /// Records before this index are durable.
    durable: u64,
    /// Whether a worker writes and flushes.
    leading: bool,
    /// Records from `next - gathered` on, which are not written yet. A worker has one at most.
    gathering: PageBuffer,
    gathered: usize,
    /// The buffer that is not gathered in; taken while it is written from.
    spare: Option<PageBuffer>,
    /// The error that ended it.
    failure: Option<(io::ErrorKind, Option<i32>)>,
}

impl GroupCommit {
    /// A log of this many writers.
    pub(super) fn new(log: LogShape, writers: u32) -> Self {
        let room = log.bytes * writers as usize;
        let state = GroupState {
            next: 0,
            durable: 0,
            leading: false,
            gathering: PageBuffer::zeroed(room),
            gathered: 0,
            spare: Some(PageBuffer::zeroed(room)),
            failure: None,
        };
        Self {
            log,
            state: Mutex::new(state),
            turned: Condvar::new(),
        }
    }

    /// Appends a record, and returns when it is durable.
    ///
    /// # Errors
    /// Errors of the operating system, returned to the worker that wrote the record.
    pub(super) fn commit(
        &self,
        record_writer: &RecordWriter,
        sequence: u64,
        channel: &mut WriteChannel,
        meter: &mut dyn Meter,
    ) -> io::Result<()> {
        let mut state = self.lock();
        let index = state.next;
        let at = state.gathered * self.log.bytes;
        let record = &mut state.gathering.bytes_mut()[at..at + self.log.bytes];
        record_writer.fill(record);
        record_writer.stamp(record, index, sequence);
        state.next += 1;
        state.gathered += 1;
        loop {
            if state.durable > index {
                return Ok(());
            }
            if let Some(failure) = state.failure {
                return Err(as_error(failure));
            }
            if !state.leading {
                return self.commit_group(state, channel, meter);
            }
            let waited = self.turned.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes and flushes the gathered records, including the leader's own.
    fn commit_group(
        &self,
        mut state: MutexGuard<'_, GroupState>,
        channel: &mut WriteChannel,
        meter: &mut dyn Meter,
    ) -> io::Result<()> {
        let Some(spare) = state.spare.take() else {
            return Err(io::Error::other("two leaders of one log"));
        };
        state.leading = true;
        let batch = std::mem::replace(&mut state.gathering, spare);
        let count = std::mem::take(&mut state.gathered);
        let end = state.next;
        drop(state);
        let mark = meter.timestamp();
        let bytes = &batch.bytes()[..count * self.log.bytes];
        let done = channel.commit(self.log.parts(end - count as u64, bytes));
        meter.finish_nested(kinds::FLUSH, mark);
        let mut state = self.lock();
        state.spare = Some(batch);
        state.leading = false;
        match &done {
            Ok(()) => state.durable = end,
            Err(error) => state.failure = Some((error.kind(), error.raw_os_error())),
        }
        drop(state);
        self.turned.notify_all();
        done
    }

    fn lock(&self) -> MutexGuard<'_, GroupState> {
        // The numbers that a panicking thread leaves are each valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn as_error((kind, code): (io::ErrorKind, Option<i32>)) -> io::Error {
    code.map_or_else(|| kind.into(), io::Error::from_raw_os_error)
}
