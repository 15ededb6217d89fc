//! LevelDB's settings that a plan may turn, with its own defaults (`include/leveldb/options.h`).

use trueput_engine::{choices, parameters};

parameters! {
    /// LevelDB's knobs.
    pub(super) struct LevelDbKnobs {
        /// Size at which the records in memory are written out as a table; up to two such buffers
        /// are held.
        write_buffer_size: Bytes = 4 MiB in 64 KiB..=1 GiB,
            cost "larger: memory, a longer log to replay when opening; smaller: more compaction",
        /// Memory for uncompressed blocks of tables.
        block_cache: Bytes = 8 MiB in 0 B..=1 TiB, cost "host memory; smaller: more reads",
        /// Size of a table's block before compression.
        block_size: Bytes = 4 KiB in 1 KiB..=4 MiB,
            cost "larger: reads more than needed; smaller: larger index in memory",
        /// Compression of blocks. A library that was built without snappy stores them as they are.
        compression: Choice<LevelDbCompression> = Snappy,
            cost "snappy: CPU time; none: disk and cache",
        /// Bits per key of each table's Bloom filter; 0 is no filter.
        bloom_bits: Integer<i32> = 0 in 0..=64, unit "bits",
            cost "more: memory and disk; fewer: reads of tables without the key",
        /// Files that LevelDB keeps open.
        max_open_files: Integer<i32> = 1000 in 74..=1_000_000, unit "files",
            cost "more: file descriptors; fewer: opening tables again",
    }
}

choices! {
    /// Compression of blocks.
    pub(super) enum LevelDbCompression {
        Snappy = "snappy",
        None = "none",
    }
}
