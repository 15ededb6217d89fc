//! The mistakes in the settings of `micro`.

use crate::generate::key::KeyError;
use crate::keyed::error::RecordError;

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MicroError {
    /// The records do not fit their size, their check or the engine.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The key format cannot be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A test that ends by itself has a duration.
    #[error(
        "{test} ends when its records are done and cannot do them twice: leave duration and \
         warm_up out, and choose records"
    )]
    Timed {
        /// The test.
        test: &'static str,
    },
    /// A test that fills the database has a number of operations of its own.
    #[error(
        "{test} puts each record once: leave operations={operations} out, and write \
         records={operations}"
    )]
    CountedFill {
        /// The test.
        test: &'static str,
        /// The number of operations.
        operations: u64,
    },
    /// More records are to be deleted than there are.
    #[error(
        "{operations} deletes are more than the {records} records; give operations={records} or \
         less"
    )]
    TooManyDeletes {
        /// The number of operations.
        operations: u64,
        /// The number of records.
        records: u64,
    },
    /// `fill-sync` is to commit several records at once.
    #[error("fill-sync commits each record; leave batch={batch} out, or write test=fill-random")]
    BatchOfSync {
        /// Operations per transaction.
        batch: u64,
    },
    /// A test without batches has one.
    #[error("{test} has a transaction per operation; leave batch={batch} out")]
    Batch {
        /// The test.
        test: &'static str,
        /// Operations per transaction.
        batch: u64,
    },
    /// A test has added writers or scanners that it does not support.
    #[error(
        "{test} does not support writers or scanners; remove them, or choose a test that reads"
    )]
    AddedWorkers {
        /// The test.
        test: &'static str,
    },
    /// A test with added workers has no duration.
    #[error(
        "{test} needs a duration, because its writers and scanners have no end; set duration and \
         remove operations"
    )]
    NoEnd {
        /// The test.
        test: &'static str,
    },
    /// A test that chooses records by itself has a distribution.
    #[error("{test} chooses records itself; remove distribution={distribution}")]
    Distribution {
        /// The test.
        test: &'static str,
        /// The distribution.
        distribution: &'static str,
    },
    /// The percentages of a mix are more than 100 together.
    #[error("the percentages add up to {sum}; the maximum is 100, and the rest are reads")]
    PercentageSum {
        /// The sum.
        sum: u64,
    },
    /// A test that is not a mix has percentages.
    #[error("percentages are a mix's; leave them out of {test}, or write test=mix")]
    PercentagesOfOther {
        /// The test.
        test: &'static str,
    },
    /// A mix has no percentage.
    #[error(
        "a mix needs a percentage: set update_percent, insert_percent, delete_percent or \
         scan_percent; the rest are reads"
    )]
    EmptyMix,
    /// Records are deleted in a trial that crashes.
    #[error(
        "with deletes it cannot verify what a crash lost: choose a test that fills, overwrites or \
         reads, or remove crash_and_recover"
    )]
    CrashWithDeletes,
}
