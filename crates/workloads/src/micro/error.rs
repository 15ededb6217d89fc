//! The mistakes in the settings of `micro`.

use crate::generate::key::KeyError;
use crate::keyed::error::RecordError;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MicroError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(
        "{test} ends when its records are done and cannot do them twice: leave duration and \
         warm_up out, and choose records"
    )]
    Timed { test: &'static str },
    #[error(
        "{test} puts each record once: leave operations={operations} out, and write \
         records={operations}"
    )]
    CountedFill { test: &'static str, operations: u64 },
    #[error(
        "{operations} deletes are more than the {records} records; give operations={records} or \
         less"
    )]
    TooManyDeletes { operations: u64, records: u64 },
    #[error("fill-sync commits each record; leave batch={batch} out, or write test=fill-random")]
    BatchOfSync { batch: u64 },
    #[error("{test} has a transaction per operation; leave batch={batch} out")]
    Batch { test: &'static str, batch: u64 },
    #[error(
        "{test} does not support writers or scanners; remove them, or choose a test that reads"
    )]
    AddedWorkers { test: &'static str },
    #[error(
        "{test} needs a duration, because its writers and scanners have no end; set duration and \
         remove operations"
    )]
    NoEnd { test: &'static str },
    #[error("{test} chooses records itself; remove distribution={distribution}")]
    Distribution {
        test: &'static str,
        distribution: &'static str,
    },
    #[error("the percentages add up to {sum}; the maximum is 100, and the rest are reads")]
    PercentageSum { sum: u64 },
    #[error("percentages are a mix's; leave them out of {test}, or write test=mix")]
    PercentagesOfOther { test: &'static str },
    #[error(
        "a mix needs a percentage: set update_percent, insert_percent, delete_percent or \
         scan_percent; the rest are reads"
    )]
    EmptyMix,
    #[error(
        "with deletes it cannot verify what a crash lost: choose a test that fills, overwrites or \
         reads, or remove crash_and_recover"
    )]
    CrashWithDeletes,
}
