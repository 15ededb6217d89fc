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
        "{test} ends when its records are done and cannot do them twice: remove duration and \
         warm_up, and give records=N"
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
    /// Each record of a bulk load is to be committed.
    #[error(
        "fill-bulk does not commit each record; give batch=2 or more, or write \
         test=fill-sequential"
    )]
    BulkBatch,
    /// A bulk load is to keep a rate.
    #[error(
        "fill-bulk is one call of the engine's loader, which keeps no rate: remove the rate, or \
         write test=fill-batch"
    )]
    BulkRate,
    /// Several workers are to load in bulk.
    #[error(
        "fill-bulk loads all records in the order of their keys with one worker; {workers} are \
         too many: give one worker, or write test=fill-batch"
    )]
    BulkWorkers {
        /// The workers.
        workers: u32,
    },
    /// A part of a value is to be shorter than any that is useful.
    #[error(
        "part_size={part_size} is less than 1 KiB; give part_size=1KiB or more, or 0 to store \
         values whole"
    )]
    SmallParts {
        /// The longest part, bytes.
        part_size: u64,
    },
    /// A test of large values has scanners.
    #[error("{test} has no scanners; remove scanners={scanners}, or write test=read-random")]
    LargeScanners {
        /// The test.
        test: &'static str,
        /// The scanners.
        scanners: u32,
    },
    /// Values are to be overwritten part by part, and others would see them torn.
    #[error(
        "it puts the {parts} parts of a value in one transaction, and this engine's transactions \
         do not take effect as a whole; give part_size=0 and a large_value_bytes that it takes"
    )]
    TornParts {
        /// The parts of a value.
        parts: u64,
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
    /// There is a rate for writers, and there are none.
    #[error(
        "write_rate={write_rate} is for writers, and {test} has none: give writers=1 or more, or \
         write test=read-while-writing"
    )]
    RateWithoutWriters {
        /// The test.
        test: &'static str,
        /// Updates a second.
        write_rate: u64,
    },
    /// The rate for writers is too small to be shared among them.
    #[error(
        "write_rate={write_rate} is less than one update a second for each of {writers} writers; \
         give write_rate={writers} or more"
    )]
    SmallRate {
        /// Updates a second.
        write_rate: u64,
        /// The writers.
        writers: u32,
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
        "a mix needs a percentage, as in update_percent=50: give update_percent, insert_percent, \
         delete_percent or scan_percent; the rest are reads"
    )]
    EmptyMix,
    /// Records are deleted in a trial that crashes.
    #[error(
        "with deletes it cannot verify what a crash lost: choose a test that fills, overwrites or \
         reads, or remove crash_and_recover"
    )]
    CrashWithDeletes,
    /// Conditional puts in a trial that crashes.
    #[error(
        "with conditional puts it cannot verify what a crash lost: choose a test that fills, \
         overwrites or reads, or remove crash_and_recover"
    )]
    CrashWithConditionalPuts,
}
