//! What can be set about `log-flush`.

use super::super::channel::Flush;
use super::super::file::Layout;
use super::record::LEAST_BYTES;
use trueput_engine::{Kind, Knob};

const fn choice(
    name: &'static str,
    summary: &'static str,
    gives_up: &'static str,
    choices: &'static [&'static str],
) -> Knob {
    let kind = Kind::Choice {
        default: choices[0],
        choices,
    };
    Knob {
        name,
        summary,
        gives_up,
        kind,
        unit: "",
    }
}

const fn size(
    name: &'static str,
    summary: &'static str,
    default: u64,
    (min, max): (u64, u64),
) -> Knob {
    let kind = Kind::Bytes { default, min, max };
    Knob {
        name,
        summary,
        gives_up: "",
        kind,
        unit: "bytes",
    }
}

pub(super) const SETTINGS: &[Knob] = &[
    choice(
        "flush",
        "How a commit is made durable.",
        "sync-file-range flushes neither the length nor the device's cache; none flushes nothing",
        &Flush::NAMES,
    ),
    size(
        "bytes",
        "What a commit writes.",
        256,
        (LEAST_BYTES as u64, 64 << 20),
    ),
    choice(
        "at",
        "Where: at the log's end, or in its first place again and again, as Berkeley DB's test \
         does.",
        "a log that is overwritten in place keeps nothing but its last record",
        &["end", "place"],
    ),
    choice(
        "file",
        "How the file stands at the start: empty; its blocks reserved; written with zeros; \
         written with an older log.",
        "all but growing take room in advance",
        &["growing", "reserved", "preallocated", "recycled"],
    ),
    size(
        "file_bytes",
        "How long the file may become; its start is used again then. 0: 64MiB, or 1GiB where it \
         grows.",
        0,
        (0, 1 << 40),
    ),
    choice(
        "files",
        "Whether all workers append to one log or each to its own.",
        "logs apart have no common order of commits",
        &["one", "apart"],
    ),
    Knob {
        name: "group_commit",
        summary: "On one log, whoever finds no flush under way flushes for all who wait.",
        gives_up: "off: each commit has a flush of its own",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "operations",
        summary: "Commits over all workers; 0: as many as the duration allows, or else 1,000.",
        gives_up: "",
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
