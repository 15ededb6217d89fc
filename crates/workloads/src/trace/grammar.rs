//! What a trace file may have: its formats, its columns and its limits.

use trueput_engine::choices;

choices! {
    /// The format of a trace file.
    #[derive(Default)]
    pub enum FormatChoice {
        /// Recognized by its first line.
        #[default]
        Auto = "auto",
        /// Columns that the first line names.
        Csv = "csv",
        /// An object of JSON on each line.
        Jsonl = "jsonl",
        /// The human-readable trace of RocksDB's `trace_analyzer`.
        Rocksdb = "rocksdb",
        /// Twitter's cache traces.
        Twitter = "twitter",
        /// The block traces of Microsoft Research Cambridge.
        Msr = "msr",
    }
}

/// The columns of our own CSV.
pub(super) const COLUMNS: [&str; 5] = ["time", "operation", "key", "size", "transaction"];

/// The longest line, bytes.
pub(super) const MAX_LINE_BYTES: u64 = 1 << 16;

/// The longest value, bytes.
pub(super) const MAX_VALUE_BYTES: u64 = 1 << 30;

/// The longest scan, records.
pub(super) const MAX_SCAN_RECORDS: u64 = 1_000_000;

/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// The longest time between two requests, nanoseconds: 18 years.
pub(super) const MAX_SPAN_NS: u64 = 576_460_751 * SECOND_NS;

/// Operations that the numbers of the requests have room for.
pub(super) const MAX_OPERATIONS: usize = u32::MAX as usize;
