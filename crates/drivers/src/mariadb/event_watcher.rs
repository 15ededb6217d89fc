//! Derives the progress of InnoDB's checkpoints from the header of its redo log, and that of
//! MyRocks from its log.
//!
//! From 10.8 on the redo log is one circular file, with the last two checkpoints in blocks at 4,096
//! and 8,192, the log sequence number first (MariaDB's source, `log0log.h`, `log_t::FORMAT_10_8`).
//! The header of the file has where its first record stands.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use trueput_engine::event_watcher::LogPosition;

const FILE: &str = "ib_logfile0";
/// The first bytes of the file in the format that is read.
const FORMAT: &[u8; 4] = b"Phys";
/// The offset of the sequence number of the first record byte, and the offset of the records.
const FIRST: u64 = 8;
const RECORDS: u64 = 12_288;
const CHECKPOINTS: [u64; 2] = [4_096, 8_192];

/// Returns a reader of the progress of the instance whose redo log is in this folder.
pub(super) fn reader(folder: &Path) -> impl FnMut() -> Option<LogPosition> + Send + use<> {
    let path = folder.join(FILE);
    move || {
        let file = File::open(&path).ok()?;
        let mut begin = [0; 4];
        file.read_exact_at(&mut begin, 0).ok()?;
        if begin != *FORMAT {
            return None;
        }
        let number = |at| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, at).ok()?;
            Some(u64::from_be_bytes(bytes))
        };
        let checkpoint = number(CHECKPOINTS[0])?.max(number(CHECKPOINTS[1])?);
        let capacity = file.metadata().ok()?.len().checked_sub(RECORDS)?;
        Some(LogPosition {
            checkpoint,
            // The file is gone through once more whenever its capacity was written.
            log: checkpoint
                .saturating_sub(number(FIRST)?)
                .checked_div(capacity)?,
        })
    }
}
