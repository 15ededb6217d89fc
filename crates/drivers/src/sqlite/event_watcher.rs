//! Derives the progress of checkpoints and of the log from the index of the write-ahead log, which
//! connections share through a file ("WAL-mode File Format", section 2; the header has 136 bytes).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use trueput_engine::event_watcher::LogPosition;

/// Offsets of the fields of the index, bytes.
const FRAMES: usize = 16;
const SALT: usize = 32;
const BACKFILLED: usize = 96;
const LENGTH: usize = 100;

/// The state of the log, as its index has it.
#[derive(Debug, Clone, Copy, Default)]
struct WalState {
    /// Frames in the log.
    frames: u32,
    /// Incremented whenever the log starts again from its beginning.
    salt: u32,
    /// Frames that checkpoints have copied into the database.
    backfilled: u32,
}

impl WalState {
    fn of(index: &[u8; LENGTH]) -> Self {
        let four = |at: usize| [index[at], index[at + 1], index[at + 2], index[at + 3]];
        Self {
            frames: u32::from_ne_bytes(four(FRAMES)),
            salt: u32::from_be_bytes(four(SALT)),
            backfilled: u32::from_ne_bytes(four(BACKFILLED)),
        }
    }

    /// Whether a checkpoint has made progress since `last`. A log starts again once all of it was
    /// copied.
    fn is_after_checkpoint(self, last: Self) -> bool {
        match self.salt.wrapping_sub(last.salt) {
            0 => self.backfilled != last.backfilled,
            1 => self.backfilled > 0 || last.backfilled < last.frames,
            _ => true,
        }
    }
}

/// Returns a reader of the progress of the database in this file.
pub(super) fn reader(database: &Path) -> impl FnMut() -> Option<LogPosition> + Send + use<> {
    let mut index = database.as_os_str().to_owned();
    index.push("-shm");
    let (mut last, mut checkpoints): (Option<WalState>, u64) = (None, 0);
    move || {
        let mut bytes = [0; LENGTH];
        let file = File::open(&index).ok()?;
        file.read_exact_at(&mut bytes, 0).ok()?;
        let now = WalState::of(&bytes);
        let before = last.replace(now).unwrap_or(now);
        checkpoints += u64::from(now.is_after_checkpoint(before));
        Some(LogPosition {
            checkpoint: checkpoints,
            log: u64::from(now.salt),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_differs_from_a_log_that_grows_or_begins_anew() {
        let seen = |salt, frames, backfilled| WalState {
            frames,
            salt,
            backfilled,
        };
        let last = seen(7, 100, 0);
        assert!(!seen(7, 200, 0).is_after_checkpoint(last));
        assert!(seen(7, 100, 60).is_after_checkpoint(last));
        // It started again, so all of it must have been copied.
        assert!(seen(8, 5, 0).is_after_checkpoint(last));
        assert!(!seen(8, 5, 0).is_after_checkpoint(seen(7, 100, 100)));
        assert!(seen(8, 5, 5).is_after_checkpoint(seen(7, 100, 100)));
        assert!(seen(9, 5, 0).is_after_checkpoint(seen(7, 100, 100)));
    }
}
