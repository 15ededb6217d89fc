//! Derives the progress of checkpoints and of the log from WiredTiger's files: each checkpoint ends
//! with a new turtle file, and log files are numbered.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use trueput_engine::event_watcher::{LogPosition, highest};

const TURTLE: &str = "WiredTiger.turtle";
const LOG: &str = "WiredTigerLog.";

/// Returns a reader of the progress of the database in `home`, whose log is in `log`.
pub(super) fn reader(
    home: PathBuf,
    log: PathBuf,
) -> impl FnMut() -> Option<LogPosition> + Send + use<> {
    move || {
        let turtle = home.join(TURTLE).metadata().ok()?;
        let written_ns = turtle.mtime() * 1_000_000_000 + turtle.mtime_nsec();
        Some(LogPosition {
            // The file is replaced by a new one each time.
            checkpoint: (written_ns as u64) ^ turtle.ino().rotate_left(48),
            log: highest(&log, LOG).unwrap_or_default(),
        })
    }
}
