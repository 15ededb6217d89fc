//! The settings of `io-thrash`.

use super::super::log_record::MIN_RECORD_BYTES;
use trueput_engine::parameters;

parameters! {
    /// The settings.
    pub(super) struct Settings {
        /// Percentage of operations that append to the journal.
        journal_percent: Integer = 50 in 0..=100, unit "%",
        /// Percentage of the other operations that read a block; the rest write one.
        read_percent: Integer = 50 in 0..=100, unit "%",
        /// Size of a block of the database.
        block_bytes: Bytes = 4 KiB in (MIN_RECORD_BYTES as u64) B..=1 MiB,
        /// Size of each worker's database.
        database_bytes: Bytes = 64 MiB in 4 KiB..=1 TiB,
        /// Size of a journal record.
        journal_bytes: Bytes = 512 B in (MIN_RECORD_BYTES as u64) B..=1 MiB,
        /// Maximum size of each worker's journal; then writing continues at its start.
        journal_file_bytes: Bytes = 64 MiB in 4 KiB..=1 TiB,
        /// Journal records between two flushes of the journal; 0: never flush it.
        sync_every: Integer = 100 in 0.., unit "records",
            cost "all but 1: acknowledged records can be lost",
        /// Block writes between two flushes of the database; 0: never flush it.
        epoch_every: Integer = 0 in 0.., unit "writes",
        /// Bypass the page cache (O_DIRECT), in whole blocks.
        direct: Boolean = false,
        /// Reads, writes and journal records of all workers together; 0: until the duration ends,
        /// or 100000 if there is no duration.
        operations: Integer = 0 in 0.., unit "operations",
    }
}
