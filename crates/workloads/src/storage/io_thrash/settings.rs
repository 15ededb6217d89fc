//! What can be set about `io-thrash`.

use super::super::record::LEAST_BYTES;
use trueput_engine::{Kind, Knob};

const fn knob(name: &'static str, summary: &'static str, kind: Kind, unit: &'static str) -> Knob {
    Knob {
        name,
        summary,
        gives_up: "",
        kind,
        unit,
    }
}

const fn size(default: u64, min: u64, max: u64) -> Kind {
    Kind::Bytes { default, min, max }
}

const fn number(default: i64, max: i64) -> Kind {
    Kind::Integer {
        default,
        min: 0,
        max,
    }
}

pub(super) const SETTINGS: &[Knob] = &[
    knob(
        "journal_percent",
        "Which part of the operations append to the journal.",
        number(50, 100),
        "%",
    ),
    knob(
        "read_percent",
        "Which part of the others read a block; the rest write one.",
        number(50, 100),
        "%",
    ),
    knob(
        "block_bytes",
        "A block of the database.",
        size(4_096, LEAST_BYTES as u64, 1 << 20),
        "bytes",
    ),
    knob(
        "database_bytes",
        "Each worker's database.",
        size(64 << 20, 4_096, 1 << 40),
        "bytes",
    ),
    knob(
        "journal_bytes",
        "A journal record.",
        size(512, LEAST_BYTES as u64, 1 << 20),
        "bytes",
    ),
    knob(
        "journal_file_bytes",
        "Each worker's journal; its start is used again then.",
        size(64 << 20, 4_096, 1 << 40),
        "bytes",
    ),
    Knob {
        name: "sync_every",
        summary: "Journal records between two flushes of the journal; 0: it is never flushed.",
        gives_up: "all but 1: records that were acknowledged can be lost",
        kind: number(100, i64::MAX),
        unit: "records",
    },
    knob(
        "epoch_every",
        "Block writes between two flushes of the database; 0: it is never flushed.",
        number(0, i64::MAX),
        "writes",
    ),
    knob(
        "direct",
        "Reads and writes past the page cache (O_DIRECT), in whole blocks.",
        Kind::Boolean { default: false },
        "",
    ),
    knob(
        "operations",
        "Reads, writes and journal records over all workers; 0: as many as the duration allows, \
         or else 100,000.",
        number(0, i64::MAX),
        "operations",
    ),
];
