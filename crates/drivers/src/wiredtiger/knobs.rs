//! WiredTiger's knobs, with its own defaults unless stated otherwise.

use crate::log_directory::LogDirectory;
use trueput_engine::{choices, parameters};

parameters! {
    /// WiredTiger's knobs.
    pub(super) struct WiredTigerKnobs {
        /// Storage structure: a B-tree, or a log-structured merge tree of B-trees. Fixed when the
        /// database is created.
        table: Choice<TableKind> = Btree,
            cost "lsm: speed of reads; btree: speed of scattered writes",
        /// Memory for uncompressed pages.
        cache_size: Bytes = 100 MiB in 1 MiB..=10 TiB,
            cost "host memory; smaller: more reads, and transactions that must fit",
        /// Seconds from the end of one checkpoint to the next; 0: no checkpoints by time.
        /// WiredTiger's own default is 0: the log grows until the database is closed. MongoDB's is
        /// 60.
        checkpoint_wait: Integer = 60 in 0..=100_000, unit "s",
            cost "longer: a wider window at 'buffered', log on disk, time to recover; shorter: \
                  writing pages again",
        /// Log size from one checkpoint to the next; 0: no checkpoints by size. Values below
        /// log_file_max count as log_file_max.
        checkpoint_log_size: Bytes = 0 B in 0 B..=2 GiB, cost "as checkpoint_wait",
        /// Size of a log file. A full one is flushed when the next is begun.
        log_file_max: Bytes = 100 MiB in 100 KiB..=2 GiB,
            cost "larger: more log that 'process' has not flushed; smaller: more files to make",
        /// Directory of the log: the database's folder, or its subfolder 'log', where another
        /// device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
        /// Threads that write out pages when the cache fills, at the least.
        eviction_threads_min: Integer = 1 in 1..=20, unit "threads",
        /// Threads that write out pages when the cache fills, at the most.
        eviction_threads_max: Integer = 8 in 1..=20, unit "threads", cost "more: CPU time",
        /// Compression of pages on disk, where this build has it. Fixed when the database is
        /// created.
        block_compressor: Choice = "none" of ["none", "snappy", "lz4"],
            cost "snappy, lz4: CPU time; none: disk",
        /// Largest leaf page on disk before compression; at most a tenth of the cache. Fixed when
        /// the database is created.
        leaf_page_max: Bytes = 32 KiB in 4 KiB..=512 MiB,
            cost "larger: reads and writes more than needed; smaller: more internal pages",
        /// Largest internal page on disk before compression; at most a tenth of the cache. Fixed
        /// when the database is created.
        internal_page_max: Bytes = 4 KiB in 4 KiB..=512 MiB, cost "as leaf_page_max",
        /// Size to which a page may grow in memory before it is split and written; at most a tenth
        /// of the cache. Not used for lsm. Fixed when the database is created.
        memory_page_max: Bytes = 5 MiB in 4 KiB..=10 TiB, cost "larger: longer stalls at a split",
        /// Size at which an lsm table's chunk in memory is written out. Fixed when the database is
        /// created.
        lsm_chunk_size: Bytes = 10 MiB in 512 KiB..=500 MiB,
            cost "larger: memory, which the cache must hold several times over",
        /// Bloom filters on an lsm table's chunks, 16 bits per record. Fixed when the database is
        /// created.
        lsm_bloom: Boolean = true, cost "on: memory and disk; off: reads of chunks without the key",
        /// Threads that write out and merge the chunks of lsm tables.
        lsm_threads: Integer = 4 in 3..=20, unit "threads", cost "more: CPU time",
        /// Whether WiredTiger collects statistics, which the record shows as counters.
        statistics: Choice = "fast" of ["fast", "none"],
            cost "fast: a little CPU time; none: the counters, and the settings read from them",
    }
}

choices! {
    /// The storage structure of the table.
    pub(super) enum TableKind {
        Btree = "btree",
        Lsm = "lsm",
    }
}
