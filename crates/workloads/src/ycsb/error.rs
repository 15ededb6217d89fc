//! The mistakes in the settings of `ycsb`.

use super::kinds;
use crate::generate::key::KeyError;
use crate::generate::value::MIN_VALUE_BYTES;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum YcsbError {
    /// The shortest scan is longer than the longest.
    #[error("minscanlength={min} is more than the {max} of maxscanlength")]
    ReversedScans {
        /// The shortest, records.
        min: u64,
        /// The longest, records.
        max: u64,
    },
    /// No operation has a share.
    #[error("no operation has a share; give one of {}", kinds::PROPORTIONS.join(", "))]
    NoShare,
    /// A share of the operations goes to no record.
    #[error("hotspotdatafraction={share} leaves no {kind} record among {records}; give {remedy}")]
    EmptyHotspot {
        /// The hot records' share.
        share: f64,
        /// `hot`, or `other` than hot.
        kind: &'static str,
        /// The records.
        records: u64,
        /// A share that would be right.
        remedy: &'static str,
    },
    /// The shortest field is longer than the longest.
    #[error("minfieldlength={min} is more than the {max} of fieldlength")]
    ReversedFields {
        /// The shortest, bytes.
        min: u64,
        /// The longest, bytes.
        max: u64,
    },
    /// A record has no room for its check.
    #[error(
        "{fields} fields of {bytes} bytes leave no room for the {MIN_VALUE_BYTES} bytes by which a \
         record is checked; give more or longer ones"
    )]
    ShortRecord {
        /// Fields of a record.
        fields: u64,
        /// The shortest field.
        bytes: u64,
    },
    /// The key format cannot be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Workers that insert are processes.
    #[error(
        "{workers} workers that insert must know of each other's records, so they must be threads: \
         give --worker-kind threads"
    )]
    InsertsOfProcesses {
        /// The workers.
        workers: u32,
    },
    /// Keys are longer than the engine takes.
    #[error(
        "keys of {bytes} bytes are longer than the {max_bytes} that the engine takes; give a \
         smaller zeropadding"
    )]
    LongKeys {
        /// The longest key.
        bytes: usize,
        /// The engine's limit.
        max_bytes: usize,
    },
    /// Records are longer than the engine takes.
    #[error(
        "records of {bytes} bytes are longer than the {max_bytes} that the engine takes; give \
         fewer or shorter fields"
    )]
    LongRecords {
        /// The longest record.
        bytes: u64,
        /// The engine's limit.
        max_bytes: usize,
    },
}
