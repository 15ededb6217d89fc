//! TokuDB's settings that a plan may turn.

use super::environment::{Layout, Settings};
use trueput_engine::{Durability, Kind, Knob, Resolved, Value};

/// The compression methods, and what `db.h` has for them (`toku_compression_method`).
const METHODS: [(&str, u32); 5] = [
    ("none", 0),
    ("snappy", 7),
    ("zlib", 11),
    ("quicklz", 9),
    ("lzma", 10),
];

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "cache_size",
        summary: "Cache of nodes in the process. TokuDB's own default in MariaDB is half of the \
                  host's memory.",
        gives_up: "host memory; smaller: more reads and writes of nodes",
        kind: Kind::Bytes {
            default: 64 << 20,
            min: 16 << 20,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "node_size",
        summary: "Size of a node before compression; fixed when the database is created.",
        gives_up: "larger: memory, and more that is written for a change; smaller: changes that \
                   are buffered together",
        kind: Kind::Bytes {
            default: 4 << 20,
            min: 64 << 10,
            max: 64 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "basement_node_size",
        summary: "Size of the part of a leaf that is read and decompressed at once; fixed when \
            the database is created.",
        gives_up: "larger: more work for a get; smaller: compression, and speed of scans",
        kind: Kind::Bytes {
            default: 64 << 10,
            min: 4 << 10,
            max: 4 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "fanout",
        summary: "Maximum number of children of a node; fixed when the database is created.",
        gives_up: "more: room for buffered changes; fewer: a deeper tree",
        kind: Kind::Integer {
            default: 16,
            min: 4,
            max: 1024,
        },
        unit: "children",
    },
    Knob {
        name: "compression",
        summary: "How nodes are compressed; fixed when the database is created.",
        gives_up: "none: space on disk; zlib and lzma: CPU time",
        kind: Kind::Choice {
            default: "quicklz",
            choices: &["none", "snappy", "zlib", "quicklz", "lzma"],
        },
        unit: "",
    },
    Knob {
        name: "checkpoint_period",
        summary: "Time from the start of one checkpoint to the next; 0: only when opening and \
            closing.",
        gives_up: "shorter: nodes are written more often; longer or 0: a longer log, on disk and \
                   to replay when opening after a crash",
        kind: Kind::Integer {
            default: 60,
            min: 0,
            max: 86_400,
        },
        unit: "s",
    },
    Knob {
        name: "fsync_log_period",
        summary: "Interval at which a thread writes and flushes the log, at any level; 0: never.",
        gives_up: "shorter: throughput at 'buffered'; longer or 0: a wider window there",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 3_600_000,
        },
        unit: "ms",
    },
    Knob {
        name: "lock_timeout",
        summary: "Time that a transaction waits for a lock before it reports a conflict.",
        gives_up: "shorter: conflicts of transactions that would have got the lock; longer: \
            waiting time",
        kind: Kind::Integer {
            default: 4_000,
            min: 1,
            max: 3_600_000,
        },
        unit: "ms",
    },
    Knob {
        name: "lock_memory",
        summary: "Maximum memory for locks. When it fills, locks on many keys are merged into \
            ranges.",
        gives_up: "more: memory; less: locks on ranges cover keys that no transaction wrote",
        kind: Kind::Bytes {
            default: 64 << 20,
            min: 1 << 20,
            max: 1 << 40,
        },
        unit: "bytes",
    },
];

/// The settings of an environment.
pub(super) fn settings(knobs: &Resolved, durability: Durability) -> Settings {
    let number = |name| u32::try_from(knobs.unsigned(name)).unwrap_or(u32::MAX);
    Settings {
        cache_bytes: knobs.unsigned("cache_size"),
        lock_bytes: knobs.unsigned("lock_memory"),
        checkpoint_period_s: number("checkpoint_period"),
        fsync_log_period_ms: number("fsync_log_period"),
        lock_timeout_ms: number("lock_timeout"),
        is_nosync: u32::from(durability == Durability::Buffered),
    }
}

/// How a new database is laid out.
pub(super) fn layout(knobs: &Resolved) -> Layout {
    let number = |name| u32::try_from(knobs.unsigned(name)).unwrap_or(u32::MAX);
    let named = knobs.text("compression");
    let method = METHODS.iter().find(|(name, _)| *name == named);
    Layout {
        node_bytes: number("node_size"),
        basement_bytes: number("basement_node_size"),
        fanout: number("fanout"),
        compression: method.map_or(0, |(_, number)| *number),
    }
}

/// A compression method by its name here, or the library's number.
pub(super) fn compression_name(number: u64) -> Value {
    let method = METHODS
        .iter()
        .find(|(_, method)| u64::from(*method) == number);
    method.map_or_else(|| Value::from(number), |(name, _)| Value::from(*name))
}
