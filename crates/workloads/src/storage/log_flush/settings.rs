//! The settings of `log-flush`.

use super::super::file::FileLayout;
use super::super::write_channel::FlushMethod;
use super::log_record::MIN_RECORD_BYTES;
use trueput_engine::{choices, parameters};

parameters! {
    /// The settings.
    pub(super) struct Settings {
        /// How a commit is made durable.
        flush: Choice<FlushMethod> = Fsync,
            cost "sync-file-range flushes neither the length nor the device's cache; none flushes \
                nothing",
        /// Bytes that a commit writes.
        bytes: Bytes = 256 B in (MIN_RECORD_BYTES as u64) B..=64 MiB,
        /// Where a commit writes: at the end of the log, or always at its start, as Berkeley DB's
        /// test does.
        at: Choice<WritePosition> = End,
            cost "a log that is overwritten in place keeps nothing but its last record",
        /// State of the file at the start: empty, with its blocks reserved, filled with zeros, or
        /// filled with an older log.
        file: Choice<FileLayout> = Growing, cost "all but growing: disk space, in advance",
        /// Maximum size of the file; then writing continues at its start. 0: 64MiB, or 1GiB if it
        /// grows.
        file_bytes: Bytes = 0 B in 0 B..=1 TiB,
        /// Whether all workers append to one log, or each worker to its own.
        files: Choice<Files> = One, cost "apart: commits of different logs have no common order",
        /// On one log, one worker flushes for all workers that wait.
        group_commit: Boolean = true, cost "off: one flush per commit",
        /// Commits of all workers together; 0: until the duration ends, or 1000 if there is no
        /// duration.
        operations: Integer = 0 in 0.., unit "commits",
    }
}

choices! {
    /// The position at which a commit writes.
    pub(super) enum WritePosition {
        End = "end",
        Place = "place",
    }
}

choices! {
    /// The logs that the workers append to.
    pub(super) enum Files {
        One = "one",
        Apart = "apart",
    }
}
