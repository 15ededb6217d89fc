//! Derives the progress of checkpoints and of the log from the log's files: they are numbered, and
//! a checkpoint is a record in them.
//!
//! A record begins with the offset of the one before it, its length and a checksum, four bytes
//! each; its type follows (Berkeley DB's source, `dbinc/log.h`, `HDR`; the type of a checkpoint is
//! `DB___txn_ckp`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use trueput_engine::event_watcher::{LogPosition, highest};

const PREFIX: &str = "log.";
/// Bytes before a record's data.
const HEADER: usize = 12;
/// The type of a checkpoint's record.
const CHECKPOINT: u32 = 11;
/// Bytes that are read at once. A record that does not fit is looked at by its beginning alone.
const PIECE: usize = 1 << 20;
/// The most that one look reads, bytes; a log that grows faster is caught up with later.
const MAX_READ_BYTES: u64 = 64 << 20;

/// A position in the log, at the beginning of the next record.
struct LogReader {
    folder: PathBuf,
    number: u64,
    offset: u64,
    checkpoints: u64,
}

/// Returns a reader of the progress of the environment whose log is in this folder.
pub(super) fn reader(folder: &Path) -> impl FnMut() -> Option<LogPosition> + Send + use<> {
    let mut reader = LogReader {
        folder: folder.to_owned(),
        number: 0,
        offset: 0,
        checkpoints: 0,
    };
    move || reader.read()
}

impl LogReader {
    fn read(&mut self) -> Option<LogPosition> {
        let newest = highest(&self.folder, PREFIX)?;
        let mut left = match self.number {
            // At the first look, only the end of the existing log matters.
            0 => {
                self.number = newest;
                u64::MAX
            }
            _ => MAX_READ_BYTES,
        };
        loop {
            let read = self.read_file(left);
            left = left.saturating_sub(read);
            if left == 0 || self.number >= newest {
                break;
            }
            self.number += 1;
            self.offset = 0;
        }
        Some(LogPosition {
            checkpoint: self.checkpoints,
            log: newest,
        })
    }

    /// Goes on in the present file to its end, or for about `most` bytes; how many it passed.
    fn read_file(&mut self, most: u64) -> u64 {
        let name = format!("{PREFIX}{:010}", self.number);
        // One that was removed has been passed.
        let Ok(file) = File::open(self.folder.join(name)) else {
            return 0;
        };
        let (began, mut piece) = (self.offset, vec![0; PIECE]);
        loop {
            let got = file.read_at(&mut piece, self.offset).unwrap_or_default();
            let passed = self.pass(&piece[..got]);
            self.offset += passed;
            let all = self.offset - began;
            if passed == 0 || all >= most {
                return all;
            }
        }
    }

    /// Parses the records that begin in these bytes; returns the total length of those records,
    /// which for the last one may lie beyond the end of the bytes.
    fn pass(&mut self, bytes: &[u8]) -> u64 {
        let mut at = 0;
        while let Some(record) = bytes.get(at..at + HEADER + 4) {
            let word = |at: usize| [record[at], record[at + 1], record[at + 2], record[at + 3]];
            let length = u32::from_ne_bytes(word(4)) as usize;
            if length < HEADER {
                // Nothing is written here yet.
                break;
            }
            self.checkpoints += u64::from(u32::from_ne_bytes(word(HEADER)) == CHECKPOINT);
            at += length;
        }
        at as u64
    }
}
