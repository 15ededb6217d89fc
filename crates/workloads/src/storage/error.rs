//! The mistakes in the settings of the workloads on storage.

/// A mistake in the settings. `Display` is one sentence: the wrong part, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    #[error("operations={operations} and a duration: either ends the trial, so give one of them")]
    TwoEnds { operations: u64 },
    #[error(
        "direct writes need whole blocks: {setting}={bytes} is not a multiple of 512 (most file \
         systems want 4096)"
    )]
    PartOfBlock { setting: &'static str, bytes: u64 },
    #[error(
        "file_bytes={file_bytes} holds {records} records of {bytes} bytes; it must hold \
         {min_records}"
    )]
    ShortLog {
        file_bytes: u64,
        records: u64,
        bytes: u64,
        min_records: u64,
    },
    #[error(
        "processes share no memory, so they cannot take turns at the end of one log: choose \
         files=apart or worker_kind=threads"
    )]
    LogOfProcesses,
    #[error(
        "a log of {records} records is too short for {workers} workers: choose a larger file_bytes"
    )]
    TooManyWorkers { records: u64, workers: u32 },
    #[error("{file}={file_bytes} is too small for {min_count} times {part}={bytes}")]
    SmallFile {
        file: &'static str,
        file_bytes: u64,
        min_count: u64,
        part: &'static str,
        bytes: u64,
    },
    #[error("{blocks} blocks are too many: choose a larger block_bytes")]
    TooManyBlocks { blocks: u64 },
}
