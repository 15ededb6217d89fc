//! TokuDB's settings that a plan may turn.

use super::shim::{DictionaryLayout, TokuSettings};
use trueput_engine::{Durability, Value, choices, parameters};

parameters! {
    /// TokuDB's knobs.
    pub(super) struct TokuKnobs {
        /// Cache of nodes in the process. TokuDB's own default in MariaDB is half of the host's
        /// memory.
        cache_size: Bytes = 64 MiB in 16 MiB..=1 TiB,
            cost "host memory; smaller: more reads and writes of nodes",
        /// Size of a node before compression; fixed when the database is created.
        node_size: Bytes = 4 MiB in 64 KiB..=64 MiB,
            cost "larger: memory, and more that is written for a change; smaller: changes that \
                are buffered together",
        /// Size of the part of a leaf that is read and decompressed at once; fixed when the
        /// database is created.
        basement_node_size: Bytes = 64 KiB in 4 KiB..=4 MiB,
            cost "larger: more work for a get; smaller: compression, and speed of scans",
        /// Maximum number of children of a node; fixed when the database is created.
        fanout: Integer<u32> = 16 in 4..=1024, unit "children",
            cost "more: room for buffered changes; fewer: a deeper tree",
        /// How nodes are compressed; fixed when the database is created.
        compression: Choice<TokuCompression> = Quicklz,
            cost "none: space on disk; zlib and lzma: CPU time",
        /// Time from the start of one checkpoint to the next; 0: only when opening and closing.
        checkpoint_period: Integer<u32> = 60 in 0..=86_400, unit "s",
            cost "shorter: nodes are written more often; longer or 0: a longer log, on disk and \
                to replay when opening after a crash",
        /// Interval at which a thread writes and flushes the log, at any level; 0: never.
        fsync_log_period: Integer<u32> = 0 in 0..=3_600_000, unit "ms",
            cost "shorter: throughput at 'buffered'; longer or 0: a wider window there",
        /// Time that a transaction waits for a lock before it reports a conflict.
        lock_timeout: Integer<u32> = 4000 in 1..=3_600_000, unit "ms",
            cost "shorter: conflicts of transactions that would have got the lock; longer: \
                waiting time",
        /// Maximum memory for locks. When it fills, locks on many keys are merged into ranges.
        lock_memory: Bytes = 64 MiB in 1 MiB..=1 TiB,
            cost "more: memory; less: locks on ranges cover keys that no transaction wrote",
    }
}

choices! {
    /// The compression of nodes.
    pub(super) enum TokuCompression {
        None = "none",
        Snappy = "snappy",
        Zlib = "zlib",
        Quicklz = "quicklz",
        Lzma = "lzma",
    }
}

impl TokuCompression {
    /// Returns the number of the method in `db.h` (`toku_compression_method`).
    const fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Snappy => 7,
            Self::Zlib => 11,
            Self::Quicklz => 9,
            Self::Lzma => 10,
        }
    }
}

/// The settings of an environment.
pub(super) fn settings(knobs: &TokuKnobs, durability: Durability) -> TokuSettings {
    TokuSettings {
        cache_bytes: knobs.cache_size,
        lock_bytes: knobs.lock_memory,
        checkpoint_period_s: knobs.checkpoint_period,
        fsync_log_period_ms: knobs.fsync_log_period,
        lock_timeout_ms: knobs.lock_timeout,
        is_nosync: u32::from(durability == Durability::Buffered),
    }
}

/// Returns the layout of a new database.
pub(super) fn layout(knobs: &TokuKnobs) -> DictionaryLayout {
    let number = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    DictionaryLayout {
        node_bytes: number(knobs.node_size),
        basement_bytes: number(knobs.basement_node_size),
        fanout: knobs.fanout,
        compression: knobs.compression.number(),
    }
}

/// A compression method by its name here, or the library's number.
pub(super) fn compression_name(number: u64) -> Value {
    let method = TokuCompression::ALL
        .into_iter()
        .find(|method| u64::from(method.number()) == number);
    method.map_or_else(|| Value::from(number), |method| method.word().into())
}
