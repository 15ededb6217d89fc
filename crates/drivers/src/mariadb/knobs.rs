//! MariaDB's knobs.

use trueput_engine::{Kind, Knob};

pub(super) const NAME: &str = "mariadb";

const fn knob(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    summary: &'static str,
    gives_up: &'static str,
) -> Knob {
    Knob {
        name,
        summary,
        gives_up,
        kind,
        unit,
    }
}

const fn bytes(default: u64, min: u64, max: u64) -> Kind {
    Kind::Bytes { default, min, max }
}

const fn whole(default: i64, min: i64, max: i64) -> Kind {
    Kind::Integer { default, min, max }
}

const fn words(default: &'static str, choices: &'static [&'static str]) -> Kind {
    Kind::Choice { default, choices }
}

pub(super) const KNOBS: &[Knob] = &[
    knob(
        "storage_engine",
        "",
        words("innodb", &["innodb", "rocksdb"]),
        "Storage engine of the tables: InnoDB, or MyRocks (RocksDB).",
        "rocksdb: gap locks and serializable; a phantom is possible in a write transaction",
    ),
    knob(
        "isolation",
        "",
        words(
            "repeatable-read",
            &[
                "read-committed",
                "repeatable-read",
                "snapshot",
                "serializable",
            ],
        ),
        "The isolation of write transactions; snapshot is repeatable-read in which a write of what \
         another has changed since the first read is refused (innodb_snapshot_isolation).",
        "read-committed: repeated reads and gap locks. Stronger than the default: more conflicts",
    ),
    knob(
        "log_directory",
        "",
        words("beside", &["beside", "log"]),
        "Directory of the redo log or WAL: the data folder, or the database's subfolder 'log', \
         where another device can be mounted.",
        "",
    ),
    knob(
        "compression",
        "",
        words("none", &["none", "zlib"]),
        "Compresses pages (InnoDB, by holes in the file) or blocks (MyRocks).",
        "CPU time; with InnoDB, holes in the files, which the file system must be able to punch",
    ),
    knob(
        "innodb_buffer_pool_size",
        "bytes",
        bytes(128 << 20, 5 << 20, 1 << 42),
        "InnoDB's page cache.",
        "memory; a longer warm-up after a restart",
    ),
    knob(
        "innodb_log_file_size",
        "bytes",
        bytes(96 << 20, 16 << 20, 1 << 39),
        "Size of the redo log: how far checkpoints may fall behind.",
        "larger: disk space and a longer recovery. Smaller: pages are written out sooner and more \
         often",
    ),
    knob(
        "innodb_log_buffer_size",
        "bytes",
        bytes(16 << 20, 2 << 20, 2 << 30),
        "The redo log's buffer in memory.",
        "memory",
    ),
    knob(
        "innodb_io_capacity",
        "per second",
        whole(200, 100, 1 << 31),
        "Pages per second that InnoDB writes in the background.",
        "more: device bandwidth for transactions",
    ),
    knob(
        "innodb_max_dirty_pages_pct",
        "%",
        whole(90, 0, 99),
        "Share of dirty pages in the buffer pool above which InnoDB writes them aggressively.",
        "more: a longer recovery. Less: the same page is written more often",
    ),
    knob(
        "innodb_doublewrite",
        "",
        words("auto", &["auto", "on", "off"]),
        "Writes each page twice, so that one torn by a power cut can be repaired; auto is on, or off \
         at level process.",
        "off: safety from torn pages after lost power, so level process only",
    ),
    knob(
        "innodb_flush_method",
        "",
        words("O_DIRECT", &["O_DIRECT", "fsync", "O_DSYNC"]),
        "How data files are written and flushed.",
        "fsync: memory, since the page cache holds the pages too. O_DSYNC: every write waits",
    ),
    knob(
        "innodb_page_size",
        "bytes",
        words("16384", &["4096", "8192", "16384", "32768", "65536"]),
        "Size of a page of a new instance.",
        "larger: more is written for a small change. Smaller: a deeper tree",
    ),
    knob(
        "innodb_adaptive_hash_index",
        "",
        Kind::Boolean { default: false },
        "Keeps a hash index of frequently used pages.",
        "on: memory, and a latch that many writers share",
    ),
    knob(
        "innodb_lock_wait_timeout",
        "s",
        whole(50, 0, 100_000),
        "Time that InnoDB waits for a lock before it reports a conflict.",
        "shorter: more conflicts to retry; longer: waits where a retry would be faster",
    ),
    knob(
        "rocksdb_block_cache_size",
        "bytes",
        bytes(512 << 20, 1 << 20, 1 << 42),
        "MyRocks' block cache.",
        "memory",
    ),
    knob(
        "rocksdb_write_buffer_size",
        "bytes",
        bytes(64 << 20, 1 << 20, 1 << 36),
        "Size of MyRocks' memtable before it is flushed.",
        "memory, and a longer recovery",
    ),
    knob(
        "rocksdb_max_background_jobs",
        "threads",
        whole(2, 1, 64),
        "Threads of MyRocks that flush and compact.",
        "more: CPU time and bandwidth for transactions",
    ),
    knob(
        "rocksdb_lock_wait_timeout",
        "s",
        whole(1, 1, 100_000),
        "Time that MyRocks waits for a lock before it reports a conflict.",
        "shorter: more conflicts to retry. Longer: a deadlock lasts as long",
    ),
];
