//! Berkeley DB's settings that a plan may turn.

use super::shim::{Level, Settings};
use std::ptr;
use trueput_engine::{Durability, Error, Kind, Knob, Resolved, Result};

/// The choices of `lk_detect`, in the order of the shim's `POLICIES`.
const POLICIES: &[&str] = &["random", "youngest", "oldest", "minlocks", "minwrite"];

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "cache_size",
        summary: "Page cache, in memory that all processes share. Berkeley DB's own default is 256 \
                  KiB, and it adds a quarter to what is below 500 MiB.",
        gives_up: "host memory; smaller: more reads and writes of pages",
        kind: Kind::Bytes {
            default: 64 << 20,
            min: 64 << 10,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "page_size",
        summary: "Page size; fixed when the database is created.",
        gives_up: "larger: locks that cover more records, and more log for a split. A page larger \
                   than the storage writes at once can be torn by lost power",
        kind: Kind::Choice {
            default: "4096",
            choices: &[
                "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536",
            ],
        },
        unit: "bytes",
    },
    Knob {
        name: "access_method",
        summary: "Index structure; fixed when the database is created.",
        gives_up: "hash: order, so that a scan reads the whole table, holds it in memory and sorts",
        kind: Kind::Choice {
            default: "btree",
            choices: &["btree", "hash"],
        },
        unit: "",
    },
    Knob {
        name: "writers",
        summary: "Whether write transactions overlap. guarded: they do, and each put to a B-tree \
                  first locks the leaf of its key (a get with DB_RMW), which 5.3 needs to lose no \
                  record; turns: one at a time, by a lock of the environment; overlapping: no \
                  guard. See docs/ENGINES.md.",
        gives_up: "guarded: a second search of the tree for a put whose key was not read; turns: \
                   commits that share a flush; overlapping: correctness, since a put to a B-tree \
                   can, rarely, go to the wrong leaf and not be found again",
        kind: Kind::Choice {
            default: "guarded",
            choices: &["guarded", "turns", "overlapping"],
        },
        unit: "",
    },
    Knob {
        name: "isolation",
        summary: "How read transactions see one state: they keep read locks on pages to their end, \
                  or read versions of pages (DB_MULTIVERSION, DB_TXN_SNAPSHOT).",
        gives_up: "locking: readers and writers wait for each other, and a scan locks every \
            page that it reads; snapshot: cache memory for a copy of each written page",
        kind: Kind::Choice {
            default: "locking",
            choices: &["locking", "snapshot"],
        },
        unit: "",
    },
    Knob {
        name: "read_for_update",
        summary: "A get in a write transaction takes the write lock at once (DB_RMW).",
        gives_up: "on: no concurrent reads of a page; off: two transactions that read a page \
            and then write it deadlock",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "lk_detect",
        summary: "Transaction to abort in a deadlock. Deadlocks are detected as soon as a \
                  transaction waits for a lock.",
        gives_up: "",
        kind: Kind::Choice {
            default: "random",
            choices: POLICIES,
        },
        unit: "",
    },
    Knob {
        name: "lk_max_locks",
        summary: "Maximum number of locks, and of locked pages.",
        gives_up: "more: shared memory, as they are used; fewer: a scan or a large transaction \
                   fails as full",
        kind: Kind::Integer {
            default: 1_000_000,
            min: 1_000,
            max: 100_000_000,
        },
        unit: "locks",
    },
    Knob {
        name: "tx_max",
        summary: "Maximum number of open transactions, over all processes.",
        gives_up: "more: shared memory",
        kind: Kind::Integer {
            default: 1_000,
            min: 20,
            max: 1_000_000,
        },
        unit: "transactions",
    },
    Knob {
        name: "log_buffer",
        summary: "Log held in shared memory before it is written to the file.",
        gives_up: "larger: a wider window at 'buffered'; smaller: more writes for large \
                   transactions",
        kind: Kind::Bytes {
            default: 32 << 10,
            min: 4 << 10,
            max: 512 << 20,
        },
        unit: "bytes",
    },
    Knob {
        name: "log_file_size",
        summary: "Size of one log file; at least four times log_buffer.",
        gives_up: "larger: log that is removed later; smaller: more files",
        kind: Kind::Bytes {
            default: 10 << 20,
            min: 64 << 10,
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
        name: "log_auto_remove",
        summary: "Removes log files that recovery does not need, at checkpoints \
            (DB_LOG_AUTO_REMOVE).",
        gives_up: "recovery of a damaged database from an old copy and the log",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "checkpoint_log",
        summary: "Log size after which a thread of each process writes a checkpoint; 0: never \
            while the database is open.",
        gives_up: "smaller: pages are written more often; larger or 0: a longer log, on disk and \
                   to replay when opening after a crash",
        kind: Kind::Bytes {
            default: 128 << 20,
            min: 0,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "none_log",
        summary: "Log at 'none': in memory (DB_LOG_IN_MEMORY), or only what an abort needs \
                  (DB_TXN_NOT_DURABLE).",
        gives_up: "",
        kind: Kind::Choice {
            default: "in-memory",
            choices: &["in-memory", "not-durable"],
        },
        unit: "",
    },
    Knob {
        name: "none_log_buffer",
        summary: "Size of the log in memory at 'none'; it must hold every open transaction.",
        gives_up: "larger: memory; smaller: a large transaction fails as full",
        kind: Kind::Bytes {
            default: 64 << 20,
            min: 1 << 20,
            max: 2 << 30,
        },
        unit: "bytes",
    },
];

/// How write transactions go beside each other: the knob `writers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// They overlap, and a put locks its leaf before it looks for its place.
    Guarded,
    /// One at a time.
    Turns,
    /// They overlap, as the library has it.
    Overlapping,
}

impl Writers {
    pub(super) fn of(knobs: &Resolved) -> Self {
        match knobs.text("writers") {
            "turns" => Self::Turns,
            "overlapping" => Self::Overlapping,
            _ => Self::Guarded,
        }
    }
}

/// Whether the records lie in a hash table.
pub(super) fn is_hash(knobs: &Resolved) -> bool {
    knobs.text("access_method") == "hash"
}

/// What the driver does that other users of the library may not need: see `Engine::workaround`.
pub(super) fn workaround(knobs: &Resolved) -> Option<String> {
    let writers = match Writers::of(knobs) {
        Writers::Guarded if is_hash(knobs) => None,
        Writers::Guarded => Some(
            "each put first locks its leaf by a look-up of the key, because Berkeley DB 5.3 can \
             lose records where writers overlap; that is a second search of the tree, unless the \
             transaction has looked the key up itself",
        ),
        Writers::Turns => Some(
            "write transactions take turns, by a lock of the driver, because Berkeley DB 5.3 can \
             lose records where they overlap; commits share no flush then (with writers=guarded \
             they do)",
        ),
        Writers::Overlapping => None,
    };
    let scans = is_hash(knobs)
        .then_some("a scan reads the whole hash table and sorts, because it has no order");
    let all: Vec<_> = writers.into_iter().chain(scans).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What Berkeley DB does wrong with these knobs: see `Engine::known_defect`.
pub(super) fn known_defect(knobs: &Resolved) -> Option<&'static str> {
    let is_exposed = Writers::of(knobs) == Writers::Overlapping && !is_hash(knobs);
    is_exposed.then_some(
        "it can lose records, because Berkeley DB 5.3 can put one on the wrong leaf of a B-tree where \
         unguarded writers overlap",
    )
}

/// The subfolder of the log, where it has one.
pub(super) const LOG_FOLDER: &std::ffi::CStr = c"log";

/// What becomes of the log at a commit; `None` where there is no such level.
pub(super) fn level(durability: Durability, knobs: &Resolved) -> Option<Level> {
    match durability {
        Durability::Sync => Some(Level::Sync),
        Durability::Async => Some(Level::WriteNosync),
        Durability::Buffered => Some(Level::Nosync),
        Durability::Process => None,
        Durability::None if knobs.text("none_log") == "in-memory" => Some(Level::LogInMemory),
        Durability::None => Some(Level::NotDurable),
    }
}

/// The settings of an environment.
///
/// # Errors
/// One line for sizes that do not go together.
pub(super) fn settings(knobs: &Resolved, level: Level) -> Result<Settings> {
    let number = |name| u32::try_from(knobs.unsigned(name)).unwrap_or(u32::MAX);
    let (buffer, file) = match level {
        Level::LogInMemory => (number("none_log_buffer"), 0),
        _ => (number("log_buffer"), number("log_file_size")),
    };
    if file != 0 && u64::from(file) < 4 * u64::from(buffer) {
        return Err(Error::Unsupported(format!(
            "log_file_size ({file}) must be at least four times log_buffer ({buffer})"
        )));
    }
    let policy = POLICIES
        .iter()
        .position(|policy| *policy == knobs.text("lk_detect"));
    Ok(Settings {
        cache_bytes: knobs.unsigned("cache_size"),
        log_buffer_bytes: buffer,
        log_file_bytes: file,
        max_transactions: number("tx_max"),
        max_locks: number("lk_max_locks"),
        deadlock_policy: policy.and_then(|at| u32::try_from(at).ok()).unwrap_or(0),
        level,
        log_auto_remove: u32::from(level != Level::LogInMemory && knobs.boolean("log_auto_remove")),
        log_directory: match knobs.text("log_directory") {
            "log" => LOG_FOLDER.as_ptr(),
            _ => ptr::null(),
        },
    })
}
