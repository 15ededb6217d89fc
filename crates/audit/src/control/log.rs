//! The log of the control engine.

use super::flush;
use super::{ControlKnobs, Fault, FlushCall, FlushFailure, Records, flush_directory};
use crate::transaction::mix;
use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use trueput_engine::Durability;

/// The length of a transaction and its checksum.
const HEADER_BYTES: u64 = 16;

/// The length that stands for a key that is deleted.
const DELETED: u64 = u64::MAX;

const COMMIT_FILE: &str = "commit";

/// Half of a log of the default size.
const HALF_BYTES: u64 = 32 << 10;

/// The flushes of a log around the write of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlushOrder {
    Before,
    After,
    Never,
}

/// How a log is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlushWay {
    order: FlushOrder,
    call: FlushCall,
    failure: FlushFailure,
}

impl FlushWay {
    pub(super) fn of(durability: Durability, knobs: &ControlKnobs) -> Self {
        let order = match (knobs.fault, durability) {
            (Fault::FlushLeftOut, _) => FlushOrder::Never,
            (Fault::FlushBeforeWrite, _) | (_, Durability::Async) => FlushOrder::Before,
            _ => FlushOrder::After,
        };
        Self {
            order,
            call: knobs.flush,
            failure: knobs.flush_failure,
        }
    }

    /// Returns whether it flushes by io_uring.
    pub(super) fn is_ring(self) -> bool {
        self.call == FlushCall::Ring
    }
}

/// One log, to which transactions are appended.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The same file, opened so that each write is flushed.
    flushing: File,
    /// The file of the next log, only with the fault `other_log_flushed`.
    next: Option<File>,
    number: u64,
    bytes: u64,
    /// Whether a flush failed, after which it takes no more transactions.
    is_failed: bool,
    fault: Fault,
    way: FlushWay,
}

impl Log {
    /// Opens the log of that number, creating it if it does not exist.
    pub(super) fn open(
        directory: &Path,
        number: u64,
        fault: Fault,
        way: FlushWay,
    ) -> io::Result<Self> {
        let path = directory.join(format!("log.{number}"));
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let next = (fault == Fault::OtherLogFlushed)
            .then(|| options.open(directory.join(format!("log.{}", number + 1))))
            .transpose()?;
        if is_new && fault != Fault::RenameWithoutDirectoryFlush {
            flush_directory(directory)?;
        }
        Ok(Self {
            next,
            flushing: options.custom_flags(libc::O_DSYNC).open(&path)?,
            path,
            file,
            number,
            bytes: 0,
            is_failed: false,
            fault,
            way,
        })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn way(&self) -> FlushWay {
        self.way
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Applies the transactions of the log up to the first that is not whole, and returns their
    /// number.
    pub(super) fn replay(&self, records: &mut Records) -> io::Result<u64> {
        let size = match self.fault {
            Fault::CommitBeforeData => self.read_commit_file()?,
            _ => self.file.metadata()?.len(),
        };
        let mut at = 0;
        let mut transactions = 0;
        while let Some(payload) = self.read_transaction(at, size)? {
            at += HEADER_BYTES + payload.len() as u64;
            apply(&payload, records);
            transactions += 1;
        }
        if self.fault == Fault::RecoveryHangs && at < size {
            loop {
                std::thread::park();
            }
        }
        Ok(transactions)
    }

    /// Reads the transaction at a position; `None` at the end of what counts.
    fn read_transaction(&self, at: u64, size: u64) -> io::Result<Option<Vec<u8>>> {
        let trusts = matches!(
            self.fault,
            Fault::ChecksumNotChecked | Fault::CommitBeforeData
        );
        let mut header = [0; HEADER_BYTES as usize];
        if at + HEADER_BYTES > size || self.file.read_exact_at(&mut header, at).is_err() {
            return Ok(None);
        }
        let (length, sum) = header.split_at(8);
        let length = number(length);
        if length == 0 || at + HEADER_BYTES + length > size {
            return Ok(None);
        }
        let mut payload = vec![0; usize::try_from(length).unwrap_or_default()];
        if self
            .file
            .read_exact_at(&mut payload, at + HEADER_BYTES)
            .is_err()
        {
            return Ok(None);
        }
        let is_whole = checksum(&payload) == number(sum);
        Ok((is_whole || trusts).then_some(payload))
    }

    /// Appends a transaction and makes it durable.
    pub(super) fn append(&mut self, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> io::Result<()> {
        if self.is_failed {
            return Err(io::Error::other("a flush of the log has failed before"));
        }
        let payload = encode(changes);
        let mut entry = (payload.len() as u64).to_le_bytes().to_vec();
        entry.extend_from_slice(&checksum(&payload).to_le_bytes());
        entry.extend_from_slice(&payload);
        let end = self.bytes + entry.len() as u64;
        if self.fault == Fault::CommitBeforeData {
            self.write_commit_file(end)?;
        }
        if self.way.order == FlushOrder::Before {
            self.flush(0..self.bytes)?;
        }
        let file = match self.way.call {
            FlushCall::MarkedWrite => &self.flushing,
            _ => &self.file,
        };
        file.write_all_at(&entry, self.bytes)?;
        if self.way.order == FlushOrder::After {
            self.flush_or_handle(self.bytes..end)?;
        }
        self.bytes = end;
        Ok(())
    }

    /// Flushes the last transaction, and does what the knob says if that fails.
    fn flush_or_handle(&mut self, part: Range<u64>) -> io::Result<()> {
        let Err(error) = self.flush(part.clone()) else {
            return Ok(());
        };
        match self.way.failure {
            FlushFailure::Refuse => {
                self.is_failed = true;
                Err(error)
            }
            FlushFailure::Continue => {
                self.bytes = part.end;
                Err(error)
            }
            FlushFailure::Retry => self.flush(part),
            FlushFailure::Ignore => Ok(()),
        }
    }

    /// Flushes what was written to a part of the log.
    fn flush(&self, part: Range<u64>) -> io::Result<()> {
        let is_wrong = self.fault == Fault::PartFlushed;
        let fills_half = part.start < HALF_BYTES && part.end >= HALF_BYTES;
        if let Some(next) = self.next.as_ref().filter(|_| fills_half) {
            return next.sync_data();
        }
        match self.way.call {
            FlushCall::Msync if is_wrong => flush::mapped_pages(&self.file, 0..1),
            _ if is_wrong => {
                let mut byte = [0];
                self.file.read_exact_at(&mut byte, 0)?;
                self.flushing.write_all_at(&byte, 0)
            }
            FlushCall::Fdatasync => self.file.sync_data(),
            FlushCall::MarkedWrite => Ok(()),
            FlushCall::Syncfs => Ok(rustix::fs::syncfs(&self.file)?),
            FlushCall::Msync => flush::mapped_pages(&self.file, part),
            FlushCall::Ring => flush::by_ring(&self.file, part),
        }
    }

    fn commit_path(&self) -> PathBuf {
        self.path.with_file_name(COMMIT_FILE)
    }

    /// Notes how many bytes of this log count.
    fn write_commit_file(&self, bytes: u64) -> io::Result<()> {
        let path = self.commit_path();
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let mut content = self.number.to_le_bytes().to_vec();
        content.extend_from_slice(&bytes.to_le_bytes());
        // The log is as long as its commits say, whatever it holds.
        self.file.set_len(bytes)?;
        file.write_all_at(&content, 0)?;
        file.sync_data()
    }

    fn read_commit_file(&self) -> io::Result<u64> {
        let content = match std::fs::read(self.commit_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            content => content?,
        };
        let is_of_this_log = content.len() == 16 && number(&content[..8]) == self.number;
        Ok(if is_of_this_log {
            number(&content[8..])
        } else {
            0
        })
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// A checksum that a torn transaction does not have by chance.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(bytes.len() as u64, |sum, word| mix(&[sum, word]))
}

fn encode(changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in changes {
        let length = value.as_ref().map_or(DELETED, |value| value.len() as u64);
        bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    bytes
}

/// Applies the changes of a transaction; what cannot be read of it is left out.
fn apply(mut bytes: &[u8], records: &mut Records) {
    while let Some((key, value, rest)) = read_change(bytes) {
        match value {
            Some(value) => records.insert(key.to_vec(), value.to_vec()),
            None => records.remove(key),
        };
        bytes = rest;
    }
}

type ReadChange<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn read_change(bytes: &[u8]) -> Option<ReadChange<'_>> {
    let (key_length, rest) = bytes.split_at_checked(8)?;
    let (value_length, rest) = rest.split_at_checked(8)?;
    let (key, rest) = rest.split_at_checked(usize::try_from(number(key_length)).ok()?)?;
    match number(value_length) {
        DELETED => Some((key, None, rest)),
        length => {
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            // Zeros in place of a change are none.
            (!key.is_empty()).then_some((key, Some(value), rest))
        }
    }
}
