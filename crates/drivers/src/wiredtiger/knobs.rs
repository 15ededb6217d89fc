//! WiredTiger's settings that a plan may turn, with its own defaults unless it is said otherwise.

use trueput_engine::{Kind, Knob};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "table",
        summary: "Storage structure: a B-tree, or a log-structured merge tree of B-trees. Fixed \
            when the database is created.",
        gives_up: "lsm: speed of reads; btree: speed of scattered writes",
        kind: Kind::Choice {
            default: "btree",
            choices: &["btree", "lsm"],
        },
        unit: "",
    },
    Knob {
        name: "cache_size",
        summary: "Memory for uncompressed pages.",
        gives_up: "host memory; smaller: more reads, and transactions that must fit",
        kind: Kind::Bytes {
            default: 100 << 20,
            min: 1 << 20,
            max: 10 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "transaction_sync",
        summary: "How a commit at 'sync' flushes the log: fsync after writing it, or the log \
                  opened with O_DSYNC. Without effect at other levels.",
        gives_up: "",
        kind: Kind::Choice {
            default: "fsync",
            choices: &["fsync", "dsync"],
        },
        unit: "",
    },
    Knob {
        name: "buffered_by",
        summary: "What 'buffered' returns to after a crash: the end of the log as far as it was \
                  written, or, without a log, the last checkpoint. Without effect at other levels.",
        gives_up: "checkpoint: every commit since the last checkpoint; not with table=lsm",
        kind: Kind::Choice {
            default: "log",
            choices: &["log", "checkpoint"],
        },
        unit: "",
    },
    Knob {
        name: "checkpoint_wait",
        summary: "Seconds from the end of one checkpoint to the next; 0: no checkpoints by \
            time. WiredTiger's own default is 0: the log grows until the database is closed. \
            MongoDB's is 60.",
        gives_up: "longer: disk for the log and time to recover; shorter: writing pages again",
        kind: Kind::Integer {
            default: 60,
            min: 0,
            max: 100_000,
        },
        unit: "s",
    },
    Knob {
        name: "checkpoint_log_size",
        summary: "Log size from one checkpoint to the next; 0: no checkpoints by size. Values \
            below log_file_max count as log_file_max.",
        gives_up: "as checkpoint_wait",
        kind: Kind::Bytes {
            default: 0,
            min: 0,
            max: 2 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "log_file_max",
        summary: "Size of a log file. A full one is flushed when the next is begun.",
        gives_up: "larger: a wider window for lost power; smaller: more files to make and flush",
        kind: Kind::Bytes {
            default: 100 << 20,
            min: 100 << 10,
            max: 2 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "log_directory",
        summary: "Directory of the log: the database's folder, or its subfolder 'log', where \
            another device can be mounted.",
        gives_up: "",
        kind: Kind::Choice {
            default: "beside",
            choices: &["beside", "log"],
        },
        unit: "",
    },
    Knob {
        name: "eviction_threads_min",
        summary: "Threads that write out pages when the cache fills, at the least.",
        gives_up: "",
        kind: Kind::Integer {
            default: 1,
            min: 1,
            max: 20,
        },
        unit: "threads",
    },
    Knob {
        name: "eviction_threads_max",
        summary: "Threads that write out pages when the cache fills, at the most.",
        gives_up: "more: CPU time",
        kind: Kind::Integer {
            default: 8,
            min: 1,
            max: 20,
        },
        unit: "threads",
    },
    Knob {
        name: "block_compressor",
        summary: "Compression of pages on disk, where this build has it. Fixed when the database \
            is created.",
        gives_up: "snappy, lz4: CPU time; none: disk",
        kind: Kind::Choice {
            default: "none",
            choices: &["none", "snappy", "lz4"],
        },
        unit: "",
    },
    Knob {
        name: "leaf_page_max",
        summary: "Largest leaf page on disk before compression. Fixed when the database is \
            created.",
        gives_up: "larger: reads and writes more than needed; smaller: more internal pages",
        kind: Kind::Bytes {
            default: 32 << 10,
            min: 4 << 10,
            max: 512 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "internal_page_max",
        summary: "Largest internal page on disk before compression. Fixed when the database is \
            created.",
        gives_up: "as leaf_page_max",
        kind: Kind::Bytes {
            default: 4 << 10,
            min: 4 << 10,
            max: 512 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "memory_page_max",
        summary: "Size to which a page may grow in memory before it is split and written; at most \
            a tenth of the cache. Not used for lsm. Fixed when the database is created.",
        gives_up: "larger: longer stalls at a split",
        kind: Kind::Bytes {
            default: 5 << 20,
            min: 4 << 10,
            max: 10 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "lsm_chunk_size",
        summary: "Size at which an lsm table's chunk in memory is written out. Fixed when the \
            database is created.",
        gives_up: "larger: memory, which the cache must hold several times over",
        kind: Kind::Bytes {
            default: 10 << 20,
            min: 512 << 10,
            max: 500 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "lsm_bloom",
        summary: "Bloom filters on an lsm table's chunks, 16 bits per record. Fixed when the \
            database is created.",
        gives_up: "on: memory and disk; off: reads of chunks without the key",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "lsm_threads",
        summary: "Threads that write out and merge the chunks of lsm tables.",
        gives_up: "more: CPU time",
        kind: Kind::Integer {
            default: 4,
            min: 3,
            max: 20,
        },
        unit: "threads",
    },
    Knob {
        name: "statistics",
        summary: "Whether WiredTiger collects statistics, which the record shows as counters.",
        gives_up: "fast: a little CPU time; none: the counters, and the settings read from them",
        kind: Kind::Choice {
            default: "fast",
            choices: &["fast", "none"],
        },
        unit: "",
    },
];
