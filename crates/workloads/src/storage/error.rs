//! The mistakes in the settings of the workloads on storage.

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// Both a number of operations and a duration would end the trial.
    #[error("operations={operations} and a duration: either ends the trial, so give one of them")]
    TwoEnds {
        /// The number of operations.
        operations: u64,
    },
    /// A direct write would not be a whole number of blocks.
    #[error(
        "direct writes need whole blocks: {setting}={bytes} is not a multiple of 512 (most file \
         systems want 4096)"
    )]
    PartOfBlock {
        /// The setting of the length.
        setting: &'static str,
        /// The length.
        bytes: u64,
    },
    /// The log holds too few records.
    #[error(
        "file_bytes={file_bytes} holds {records} records of {bytes} bytes; it must hold \
         {min_records}"
    )]
    ShortLog {
        /// The length of the file.
        file_bytes: u64,
        /// The records for which it has room.
        records: u64,
        /// The length of a record.
        bytes: u64,
        /// The fewest records that it must hold.
        min_records: u64,
    },
    /// Processes are to share one log.
    #[error(
        "processes share no memory, so they cannot take turns at the end of one log: give \
         files=apart or --worker-kind threads"
    )]
    LogOfProcesses,
    /// The log holds fewer records than there are workers.
    #[error(
        "a log of {records} records is too short for {workers} workers: choose a larger file_bytes"
    )]
    TooManyWorkers {
        /// The records for which it has room.
        records: u64,
        /// The workers.
        workers: u32,
    },
    /// A file is too small for its parts.
    #[error("{file}={file_bytes} is too small for {min_count} times {part}={bytes}")]
    SmallFile {
        /// The setting of the file's length.
        file: &'static str,
        /// The length of the file.
        file_bytes: u64,
        /// How many parts it must hold.
        min_count: u64,
        /// The setting of the part's length.
        part: &'static str,
        /// The length of the part.
        bytes: u64,
    },
    /// A file has more blocks than can be numbered.
    #[error("{blocks} blocks are too many: choose a larger block_bytes")]
    TooManyBlocks {
        /// The number of blocks.
        blocks: u64,
    },
}
