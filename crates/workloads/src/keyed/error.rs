//! The mistakes in settings that the keyed workloads share, and the faults of stored values.

use crate::generate::value::{MIN_VALUE_BYTES, ValueError};
use trueput_record::value::format_bytes;

/// A record that does not fit. `Display` is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Keys or values that are longer than an engine takes.
    #[error(
        "{subject} of {} are longer than the {} that this engine takes; give {setting}={max_bytes} \
         or less",
        format_bytes(*.bytes as u64),
        format_bytes(*.max_bytes as u64)
    )]
    TooLong {
        /// What is too long.
        subject: &'static str,
        /// Its length.
        bytes: usize,
        /// The engine's limit.
        max_bytes: usize,
        /// The setting of the length.
        setting: &'static str,
    },
    /// A value that has no room for its check and version.
    #[error(
        "values of {bytes} bytes have no room for the check and the version by which reads are \
         verified; give value_bytes={MIN_VALUE_BYTES} or more"
    )]
    ShortValue {
        /// Its length.
        bytes: usize,
    },
    /// A size of the data in which not even one record fits.
    #[error("size={size} is less than one record of {record_bytes} bytes; give more")]
    NoRecord {
        /// The size of the data, bytes.
        size: u64,
        /// The size of a record.
        record_bytes: u64,
    },
}

/// What is wrong with a value that was stored for a record. `Display` is one clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoredValueError {
    /// It is another record's, or damaged.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// It has another length than its version.
    #[error("record {item} has {bytes} bytes")]
    Length {
        /// The record.
        item: u64,
        /// The length of its value.
        bytes: usize,
    },
}
