//! What can be set about `log-flush`.

use super::super::channel::Flush;
use super::super::file::Layout;
use super::record::LEAST_BYTES;
use trueput_engine::{Kind, Parameter};

const fn choice(
    name: &'static str,
    summary: &'static str,
    cost: &'static str,
    choices: &'static [&'static str],
) -> Parameter {
    let kind = Kind::Choice {
        default: choices[0],
        choices,
    };
    Parameter {
        name,
        summary,
        cost,
        kind,
        unit: "",
    }
}

const fn size(
    name: &'static str,
    summary: &'static str,
    default: u64,
    (min, max): (u64, u64),
) -> Parameter {
    let kind = Kind::Bytes { default, min, max };
    Parameter {
        name,
        summary,
        cost: "",
        kind,
        unit: "bytes",
    }
}

pub(super) const SETTINGS: &[Parameter] = &[
    choice(
        "flush",
        "How a commit is made durable.",
        "sync-file-range flushes neither the length nor the device's cache; none flushes nothing",
        &Flush::NAMES,
    ),
    size(
        "bytes",
        "Bytes that a commit writes.",
        256,
        (LEAST_BYTES as u64, 64 << 20),
    ),
    choice(
        "at",
        "Where a commit writes: at the end of the log, or always at its start, as Berkeley DB's \
         test does.",
        "a log that is overwritten in place keeps nothing but its last record",
        &["end", "place"],
    ),
    choice(
        "file",
        "State of the file at the start: empty, with its blocks reserved, filled with zeros, or \
         filled with an older log.",
        "all but growing: disk space, in advance",
        &["growing", "reserved", "preallocated", "recycled"],
    ),
    size(
        "file_bytes",
        "Maximum size of the file; then writing continues at its start. 0: 64MiB, or 1GiB if it \
         grows.",
        0,
        (0, 1 << 40),
    ),
    choice(
        "files",
        "Whether all workers append to one log, or each worker to its own.",
        "apart: commits of different logs have no common order",
        &["one", "apart"],
    ),
    Parameter {
        name: "group_commit",
        summary: "On one log, one worker flushes for all workers that wait.",
        cost: "off: one flush per commit",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Parameter {
        name: "operations",
        summary: "Commits of all workers together; 0: until the duration ends, or 1000 if there is \
                  no duration.",
        cost: "",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: i64::MAX,
        },
        unit: "commits",
    },
];

/// The layout of that name.
pub(super) fn layout(name: &str) -> Layout {
    match name {
        "reserved" => Layout::Reserved,
        "preallocated" => Layout::Preallocated,
        "recycled" => Layout::Recycled,
        _ => Layout::Growing,
    }
}
