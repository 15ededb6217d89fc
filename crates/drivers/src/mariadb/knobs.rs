//! MariaDB's knobs.

use crate::log_directory::LogDirectory;
use trueput_engine::{choices, parameters};

pub(super) const NAME: &str = "mariadb";

parameters! {
    /// MariaDB's knobs.
    pub(super) struct MariaDbKnobs {
        /// Storage engine of the tables: InnoDB, or MyRocks (RocksDB).
        storage_engine: Choice<StorageEngine> = Innodb,
            cost "rocksdb: gap locks and serializable; a phantom is possible in a write \
                transaction",
        /// The isolation of write transactions; snapshot is repeatable-read in which a write of
        /// what another has changed since the first read is refused (innodb_snapshot_isolation).
        isolation: Choice<IsolationLevel> = RepeatableRead,
            cost "read-committed: repeated reads and gap locks. Stronger than the default: more \
                conflicts",
        /// Directory of the redo log or WAL: the data folder, or the database's subfolder 'log',
        /// where another device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
        /// Compresses pages (InnoDB, by holes in the file) or blocks (MyRocks).
        compression: Choice<MariaDbCompression> = None,
            cost "CPU time; with InnoDB, holes in the files, which the file system must be able \
                to punch",
        /// InnoDB's page cache.
        innodb_buffer_pool_size: Bytes = 128 MiB in 5 MiB..=4 TiB,
            cost "memory; a longer warm-up after a restart",
        /// Size of the redo log: how far checkpoints may fall behind.
        innodb_log_file_size: Bytes = 96 MiB in 16 MiB..=512 GiB,
            cost "larger: disk space and a longer recovery. Smaller: pages are written out sooner \
                and more often",
        /// The redo log's buffer in memory.
        innodb_log_buffer_size: Bytes = 16 MiB in 2 MiB..=2 GiB, cost "memory",
        /// Pages per second that InnoDB writes in the background.
        innodb_io_capacity: Integer = 200 in 100..=2_147_483_648, unit "per second",
            cost "more: device bandwidth for transactions",
        /// Share of dirty pages in the buffer pool above which InnoDB writes them aggressively.
        innodb_max_dirty_pages_pct: Integer = 90 in 0..=99, unit "%",
            cost "more: a longer recovery. Less: the same page is written more often",
        /// Writes each page twice, so that one torn by a power cut can be repaired; auto is on, or
        /// off at level process.
        innodb_doublewrite: Choice<Doublewrite> = Auto,
            cost "off: safety from torn pages after lost power, so level process only",
        /// How data files are written and flushed.
        innodb_flush_method: Choice = "O_DIRECT" of ["O_DIRECT", "fsync", "O_DSYNC"],
            cost "fsync: memory, since the page cache holds the pages too. O_DSYNC: every write \
                waits",
        /// Size of a page of a new instance.
        innodb_page_size: Choice = "16384" of ["4096", "8192", "16384", "32768", "65536"],
            unit "bytes",
            cost "larger: more is written for a small change. Smaller: a deeper tree",
        /// Keeps a hash index of frequently used pages.
        innodb_adaptive_hash_index: Boolean = false,
            cost "on: memory, and a latch that many writers share",
        /// Time that InnoDB waits for a lock before it reports a conflict.
        innodb_lock_wait_timeout: Integer = 50 in 0..=100_000, unit "s",
            cost "shorter: more conflicts to retry; longer: waits where a retry would be faster",
        /// MyRocks' block cache.
        rocksdb_block_cache_size: Bytes = 512 MiB in 1 MiB..=4 TiB, cost "memory",
        /// Size of MyRocks' memtable before it is flushed.
        rocksdb_write_buffer_size: Bytes = 64 MiB in 1 MiB..=64 GiB,
            cost "memory, and a longer recovery",
        /// Threads of MyRocks that flush and compact.
        rocksdb_max_background_jobs: Integer = 2 in 1..=64, unit "threads",
            cost "more: CPU time and bandwidth for transactions",
        /// Time that MyRocks waits for a lock before it reports a conflict.
        rocksdb_lock_wait_timeout: Integer = 1 in 1..=100_000, unit "s",
            cost "shorter: more conflicts to retry. Longer: a deadlock lasts as long",
    }
}

choices! {
    /// The storage engine that keeps the tables.
    pub(super) enum StorageEngine {
        Innodb = "innodb",
        Rocksdb = "rocksdb",
    }
}

choices! {
    /// The isolation of write transactions.
    pub(super) enum IsolationLevel {
        ReadCommitted = "read-committed",
        RepeatableRead = "repeatable-read",
        Snapshot = "snapshot",
        Serializable = "serializable",
    }
}

choices! {
    /// Compression of pages or blocks.
    pub(super) enum MariaDbCompression {
        None = "none",
        Zlib = "zlib",
    }
}

choices! {
    /// Whether each page is written twice.
    pub(super) enum Doublewrite {
        Auto = "auto",
        On = "on",
        Off = "off",
    }
}
