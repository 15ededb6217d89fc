//! The mistakes in the settings of `ycsb`.

use super::kinds;
use crate::generate::key::KeyError;
use crate::generate::value::MIN_VALUE_BYTES;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YcsbError {
    #[error("minscanlength={min} is more than the {max} of maxscanlength")]
    ReversedScans { min: u64, max: u64 },
    #[error("no operation has a share; give one of {}", kinds::PROPORTIONS.join(", "))]
    NoShare,
    #[error("minfieldlength={min} is more than the {max} of fieldlength")]
    ReversedFields { min: u64, max: u64 },
    #[error(
        "{fields} fields of {bytes} bytes leave no room for the {MIN_VALUE_BYTES} bytes by which a \
         record is checked; give more or longer ones"
    )]
    ShortRecord { fields: u64, bytes: u64 },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(
        "{workers} workers that insert must know of each other's records, so they must be threads: \
         give worker_kind threads"
    )]
    InsertsOfProcesses { workers: u32 },
    #[error(
        "keys of {bytes} bytes are longer than the {max_bytes} that the engine takes; give a \
         smaller zeropadding"
    )]
    LongKeys { bytes: usize, max_bytes: usize },
    #[error(
        "records of {bytes} bytes are longer than the {max_bytes} that the engine takes; give \
         fewer or shorter fields"
    )]
    LongRecords { bytes: u64, max_bytes: usize },
}
