//! A session that notes the requests that pass through it, for a trace.
//!
//! Each operation is written into a buffer of its worker that is there before the workers start; no
//! other worker touches it. What a transaction that does not commit has noted is taken out again.
//! When the buffer is full the recording ends there.

use crate::workers::stopped_time::StoppedTime;
use crate::workers::trace_file::{OperationKind, RecordedOperation};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use trueput_engine::{
    BatchVisitor, Direction, KeyBatch, KeyRange, Mode, RecordVisitor, Result, Session, Sql,
    ValueVisitor,
};
use trueput_record::is_disk_full;
use trueput_record::value::format_bytes;

/// The reason why a trace cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum TraceError {
    /// There is no memory for a worker's part.
    #[error(
        "there is no memory for a buffer of {}; give record_trace less",
        format_bytes(*buffer_bytes)
    )]
    NoMemory {
        /// The size of the buffer.
        buffer_bytes: u64,
    },
    /// A worker's part cannot be written.
    #[error("the trace cannot be written to {}: {source}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Records the requests of one worker.
pub(super) struct RecordingSession<'a> {
    session: Box<dyn Session + 'a>,
    stopped_time: &'a StoppedTime,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that are written.
    length: usize,
    /// Bytes that committed transactions have written.
    committed: usize,
    /// When the open transaction began, and its kind.
    open: Option<(u64, Mode)>,
    is_full: bool,
    /// The sizes of the values that a batch of look-ups found, by the positions of their keys.
    sizes: Vec<u64>,
}

impl<'a> RecordingSession<'a> {
    /// Records what passes to `session` in a buffer of so many bytes. Every page of it is written
    /// to, so that none faults while the trial runs.
    ///
    /// # Errors
    /// [`TraceError::NoMemory`].
    pub fn new(
        session: Box<dyn Session + 'a>,
        stopped_time: &'a StoppedTime,
        buffer_bytes: u64,
    ) -> std::result::Result<Self, TraceError> {
        let mut buffer = Vec::new();
        let length = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
        let reserved = buffer.try_reserve_exact(length);
        reserved.map_err(|_| TraceError::NoMemory { buffer_bytes })?;
        buffer.resize(length, 1);
        Ok(Self {
            session,
            stopped_time,
            buffer: buffer.into_boxed_slice(),
            length: 0,
            committed: 0,
            open: None,
            is_full: false,
            sizes: Vec::new(),
        })
    }

    /// Writes what was recorded into a file. If the disk has no room for it, the file is empty, and
    /// the measurement stands without a trace.
    ///
    /// # Errors
    /// [`TraceError::NotWritten`].
    pub fn finish(self, path: &Path) -> std::result::Result<(), TraceError> {
        let failed = |source| TraceError::NotWritten {
            path: path.to_owned(),
            source,
        };
        let mut file = File::create(path).map_err(failed)?;
        let written = file.write_all(&[u8::from(self.is_full)]);
        let written = written.and_then(|()| file.write_all(&self.buffer[..self.committed]));
        match written {
            Err(error) if is_disk_full(&error) => file.set_len(0).map_err(failed),
            other => other.map_err(failed),
        }
    }

    /// Notes an operation of the open transaction.
    fn note(&mut self, kind: OperationKind, key: &[u8], size: u64) {
        let Some((time_ns, _)) = self.open.filter(|_| !self.is_full) else {
            return;
        };
        let operation = RecordedOperation {
            time_ns,
            kind,
            begins: self.length == self.committed,
            size,
            key,
        };
        match operation.write(&mut self.buffer[self.length..]) {
            Some(bytes) => self.length += bytes,
            None => {
                self.is_full = true;
                self.length = self.committed;
            }
        }
    }

    fn open(&mut self, mode: Mode) {
        // Linux has this clock always.
        self.open = Some((self.stopped_time.running_ns().unwrap_or(0), mode));
        self.length = self.committed;
    }

    fn close(&mut self, keeps: bool) {
        self.open = None;
        if keeps {
            self.committed = self.length;
        } else {
            self.length = self.committed;
        }
    }
}

impl Session for RecordingSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        let is_first = self.open.is_none();
        if is_first {
            self.open(mode);
        }
        let begun = self.session.begin(mode);
        if begun.is_err() && is_first {
            self.close(false);
        }
        begun
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let mut size = 0;
        let found = self.session.get(key, &mut |value| {
            size = value.len() as u64;
            visitor(value);
        })?;
        self.note(OperationKind::Get, key, size);
        Ok(found)
    }

    /// A batch is noted as a look-up of each key, in their order.
    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        self.sizes.clear();
        self.sizes.resize(keys.len(), 0);
        let sizes = &mut self.sizes;
        let found = self.session.get_many(keys, &mut |position, value| {
            if let Some(size) = sizes.get_mut(position) {
                *size = value.len() as u64;
            }
            visitor(position, value);
        })?;
        for (position, key) in keys.keys_from(0).enumerate() {
            let size = self.sizes[position];
            self.note(OperationKind::Get, key, size);
        }
        Ok(found)
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.open(Mode::Read);
        let mut size = 0;
        let found = self.session.point_read(key, &mut |value| {
            size = value.len() as u64;
            visitor(value);
        });
        self.note(OperationKind::Get, key, size);
        self.close(found.is_ok());
        found
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.put(key, value)?;
        self.note(OperationKind::Put, key, value.len() as u64);
        Ok(())
    }

    /// A conditional put is noted as the put that it is, or as a look-up if it stores nothing.
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let stored = self.session.put_if_absent(key, value)?;
        let kind = if stored {
            OperationKind::Put
        } else {
            OperationKind::Get
        };
        self.note(kind, key, value.len() as u64);
        Ok(stored)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.session.delete(key)?;
        self.note(OperationKind::Delete, key, 0);
        Ok(())
    }

    /// A scan is noted with the lowest key that it passes, and their number.
    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let Some((time_ns, _)) = self.open.filter(|_| !self.is_full) else {
            return self.session.scan(range, direction, visitor);
        };
        let (start, begins) = (self.length, self.length == self.committed);
        let room = &mut self.buffer[start..];
        let (mut passed, mut written) = (0, Some(0));
        let scanned = self.session.scan(range, direction, &mut |key, value| {
            passed += 1;
            if passed == 1 || direction == Direction::Backward {
                let lowest = RecordedOperation {
                    time_ns,
                    kind: OperationKind::Scan,
                    begins,
                    size: passed,
                    key,
                };
                written = lowest.write(room);
            }
            visitor(key, value)
        })?;
        match written {
            Some(0) => {}
            Some(bytes) => {
                RecordedOperation::set_size(&mut self.buffer[start..], scanned);
                self.length += bytes;
            }
            None => {
                self.is_full = true;
                self.length = self.committed;
            }
        }
        Ok(scanned)
    }

    fn commit(&mut self) -> Result<()> {
        let committed = self.session.commit();
        self.close(committed.is_ok());
        committed
    }

    fn abort(&mut self) -> Result<()> {
        // Reads may end so.
        let only_reads = matches!(self.open, Some((_, Mode::Read)));
        let aborted = self.session.abort();
        self.close(only_reads && aborted.is_ok());
        aborted
    }

    fn flush_counters(&mut self) -> Result<()> {
        self.session.flush_counters()
    }

    /// Transactions of SQL are refused before the trial begins.
    fn sql(&mut self) -> Option<&mut dyn Sql> {
        self.session.sql()
    }
}
