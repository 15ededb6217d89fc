//! What can be set about `io-thrash`.

use super::super::record::LEAST_BYTES;
use trueput_engine::{Kind, Parameter};

const fn knob(
    name: &'static str,
    summary: &'static str,
    kind: Kind,
    unit: &'static str,
) -> Parameter {
    Parameter {
        name,
        summary,
        cost: "",
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

pub(super) const SETTINGS: &[Parameter] = &[
    knob(
        "journal_percent",
        "Percentage of operations that append to the journal.",
        number(50, 100),
        "%",
    ),
    knob(
        "read_percent",
        "Percentage of the other operations that read a block; the rest write one.",
        number(50, 100),
        "%",
    ),
    knob(
        "block_bytes",
        "Size of a block of the database.",
        size(4_096, LEAST_BYTES as u64, 1 << 20),
        "bytes",
    ),
    knob(
        "database_bytes",
        "Size of each worker's database.",
        size(64 << 20, 4_096, 1 << 40),
        "bytes",
    ),
    knob(
        "journal_bytes",
        "Size of a journal record.",
        size(512, LEAST_BYTES as u64, 1 << 20),
        "bytes",
    ),
    knob(
        "journal_file_bytes",
        "Maximum size of each worker's journal; then writing continues at its start.",
        size(64 << 20, 4_096, 1 << 40),
        "bytes",
    ),
    Parameter {
        name: "sync_every",
        summary: "Journal records between two flushes of the journal; 0: never flush it.",
        cost: "all but 1: acknowledged records can be lost",
        kind: number(100, i64::MAX),
        unit: "records",
    },
    knob(
        "epoch_every",
        "Block writes between two flushes of the database; 0: never flush it.",
        number(0, i64::MAX),
        "writes",
    ),
    knob(
        "direct",
        "Bypass the page cache (O_DIRECT), in whole blocks.",
        Kind::Boolean { default: false },
        "",
    ),
    knob(
        "operations",
        "Reads, writes and journal records of all workers together; 0: until the duration ends, or \
         100000 if there is no duration.",
        number(0, i64::MAX),
        "operations",
    ),
];
