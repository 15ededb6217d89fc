//! LevelDB's settings that a plan may turn, with its own defaults (`include/leveldb/options.h`).

use trueput_engine::{Kind, Knob};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "write_buffer_size",
        summary: "Size at which the records in memory are written out as a table; up to two such \
                  buffers are held.",
        gives_up: "larger: memory, a longer log to replay when opening, a wider window at 'async'; \
                   smaller: more compaction",
        kind: Kind::Bytes {
            default: 4 << 20,
            min: 64 << 10,
            max: 1 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "block_cache",
        summary: "Memory for uncompressed blocks of tables.",
        gives_up: "host memory; smaller: more reads",
        kind: Kind::Bytes {
            default: 8 << 20,
            min: 0,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "block_size",
        summary: "Size of a table's block before compression.",
        gives_up: "larger: reads more than needed; smaller: larger index in memory",
        kind: Kind::Bytes {
            default: 4 << 10,
            min: 1 << 10,
            max: 4 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "compression",
        summary: "Compression of blocks. A library that was built without snappy stores them as \
                  they are.",
        gives_up: "snappy: CPU time; none: disk and cache",
        kind: Kind::Choice {
            default: "snappy",
            choices: &["snappy", "none"],
        },
        unit: "",
    },
    Knob {
        name: "bloom_bits",
        summary: "Bits per key of each table's Bloom filter; 0 is no filter.",
        gives_up: "more: memory and disk; fewer: reads of tables without the key",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 64,
        },
        unit: "bits",
    },
    Knob {
        name: "max_open_files",
        summary: "Files that LevelDB keeps open.",
        gives_up: "more: file descriptors; fewer: opening tables again",
        kind: Kind::Integer {
            default: 1000,
            min: 74,
            max: 1_000_000,
        },
        unit: "files",
    },
];
