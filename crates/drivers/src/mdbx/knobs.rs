//! libmdbx's knobs.

use trueput_engine::{Kind, Knob};

const GIB: u64 = 1 << 30;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "size_upper",
        summary: "Maximum size of the database; the file grows as it fills. All processes must \
            use the same value.",
        gives_up: "smaller: a put may fail as full. Larger: address space only",
        kind: Kind::Bytes {
            default: 64 * GIB,
            min: 1 << 20,
            max: 64 * 1024 * GIB,
        },
        unit: "bytes",
    },
    Knob {
        name: "growth_step",
        summary: "Growth step of the file; 0: libmdbx chooses.",
        gives_up: "larger: disk space in advance. Smaller: the file grows more often, within \
                   transactions",
        kind: Kind::Bytes {
            default: 0,
            min: 0,
            max: 64 * GIB,
        },
        unit: "bytes",
    },
    Knob {
        name: "page_size",
        summary: "Size of a page of a new database.",
        gives_up: "larger: more is written for a small change, and a crash may tear more than the \
                   storage writes at once",
        kind: Kind::Choice {
            default: "4096",
            choices: &["4096", "8192", "16384", "32768", "65536"],
        },
        unit: "bytes",
    },
    Knob {
        name: "max_readers",
        summary: "Slots in the reader table, one per session of every process; libmdbx rounds up \
            to what fills the lock file's pages.",
        gives_up: "more: each commit looks through a longer table. Fewer: a session that finds no \
                   slot fails as full",
        kind: Kind::Integer {
            default: 126,
            min: 1,
            max: 32_767,
        },
        unit: "sessions",
    },
    Knob {
        name: "async_by",
        summary: "What async is: safe-nosync flushes nothing and keeps the last flushed state \
                  (MDBX_SAFE_NOSYNC); no-meta-sync flushes data, and the meta page with the next \
                  commit (MDBX_NOMETASYNC).",
        gives_up: "no-meta-sync: a flush at each commit. safe-nosync: pages freed since the last \
                   flushed state are not used again, so the file grows",
        kind: Kind::Choice {
            default: "safe-nosync",
            choices: &["safe-nosync", "no-meta-sync"],
        },
        unit: "",
    },
    Knob {
        name: "sync_bytes",
        summary: "Flushes after this many bytes are written, at process and at async with \
            safe-nosync; 0: libmdbx decides.",
        gives_up: "smaller: more commits that flush. Larger: more that lost power takes",
        kind: Kind::Bytes {
            default: 0,
            min: 0,
            max: 1024 * GIB,
        },
        unit: "bytes",
    },
    Knob {
        name: "sync_period",
        summary: "Flushes at the first commit after this time, at process and at async with \
            safe-nosync; 0: never.",
        gives_up: "shorter: more commits that flush. Longer: more that lost power takes",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 65_535_000,
        },
        unit: "ms",
    },
    Knob {
        name: "writethrough_threshold",
        summary: "At sync without writemap: a commit of up to this many writes uses \
            write-through (O_DSYNC); a larger one writes, then flushes.",
        gives_up: "larger: each write waits for the storage. Smaller: a flush per commit",
        kind: Kind::Integer {
            default: 2,
            min: 0,
            max: 1_000_000,
        },
        unit: "writes",
    },
    Knob {
        name: "writemap",
        summary: "Writes pages through a writable map instead of write calls (MDBX_WRITEMAP).",
        gives_up: "protection from stray pointers",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "lifo_reclaim",
        summary: "Uses the pages again that were freed last, not first (MDBX_LIFORECLAIM).",
        gives_up: "nothing known; it helps storage that caches writes, at sync",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "no_read_ahead",
        summary: "Tells the kernel not to read ahead in the map (MDBX_NORDAHEAD).",
        gives_up: "speed of scans and of warming up; random reads of a database larger than memory \
                   gain",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
    Knob {
        name: "no_mem_init",
        summary: "Does not clear fresh pages before it fills them (MDBX_NOMEMINIT).",
        gives_up: "privacy: leftovers of the process's memory can reach the file",
        kind: Kind::Boolean { default: false },
        unit: "",
    },
];
