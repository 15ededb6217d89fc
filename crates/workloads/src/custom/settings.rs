//! The settings of `custom`. Those that mean the same as in micro and ycsb have the same names.

use super::mix::TransactionMix;
use super::popularity::Popularity;
use super::sizes::{KeySizes, ValueSizes};
use trueput_engine::parameters;

/// The setting that may name a file.
pub(super) const DISTRIBUTION: &str = "distribution";

parameters! {
    /// Every setting.
    pub(super) struct Settings {
        /// Transactions and their weights: get, put, update, read-modify-write, insert, delete,
        /// delete-range(N), scan(N), first, last, or several joined by +; insert*8 is eight of
        /// them.
        operations: Text<TransactionMix> = "get:50 update:50" by TransactionMix::parse as
            "operation[+operation...]:weight, with spaces between",
        /// Records to load.
        records: Integer = 1_000_000 in 1..=(1 << 40), unit "records",
        /// Total size of the keys and values to load, instead of records; 0: use records.
        size: Bytes = 0 B in 0 B..=1_048_576 TiB,
        /// Length of a key, or its distribution, as for values. Keys of 16 bytes or more are
        /// hexadecimal digits; shorter keys are binary.
        key_bytes: Text<KeySizes> = "16" by KeySizes::parse as
            "SIZE from 8 to 1000; uniform(A..B), zipfian(A..B) or lognormal(MEDIAN..P99) from 16 \
             to 1000", unit "bytes",
        /// Length of a value, or its distribution: between two sizes, or by median and 99th
        /// percentile.
        value_bytes: Text<ValueSizes> = "100B" by ValueSizes::parse as
            "SIZE, uniform(A..B), zipfian(A..B) or lognormal(MEDIAN..P99)",
        /// Size of the values after compression, as a percentage of their size.
        compressibility: Integer<u8> = 50 in 1..=100, unit "%",
        /// Distribution of the records that operations choose.
        distribution: Text<Popularity> = "uniform" by Popularity::parse as
            "uniform, zipfian, zipfian(THETA), latest, hotspot(20%..80%), pareto, sequential, \
             oldest or histogram(FILE)",
        /// Share of the loaded records that operations choose from: the first ones.
        working_set: Fraction = 1.0 in 0.000_001..=1.0,
        /// Time that each worker waits between two transactions.
        think_time: Duration = 0.0 s in 0.0 s..=1.0 h,
        /// Transactions of all workers together, whatever the time they take; 0: until the duration
        /// ends.
        operationcount: Integer = 0 in 0.., unit "transactions",
        /// Records per transaction of the load.
        loadbatchsize: Integer = 1000 in 1..=1_000_000, unit "records",
    }
}
