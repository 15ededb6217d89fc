//! The settings of a private server that a plan may turn. A user's server is as its owner set it.

use super::database::Isolation;
use crate::refuse;
use trueput_engine::{Durability, Error, Kind, Knob, Resolved, Result};

/// Settings of the server, which only a private one takes.
pub(super) const KNOBS: &[Knob] = &[
    ISOLATION,
    Knob {
        name: "shared_buffers",
        summary: "Memory for pages, shared by all sessions.",
        gives_up: "memory",
        kind: Kind::Bytes {
            default: 128 << 20,
            min: 128 << 10,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "wal_buffers",
        summary: "Memory for the log before it is written; 0 is a 32nd of shared_buffers, 16 MiB at \
                  most.",
        gives_up: "memory",
        kind: Kind::Bytes {
            default: 0,
            min: 0,
            max: 1 << 30,
        },
        unit: "bytes",
    },
    Knob {
        name: "max_wal_size",
        summary: "Approximate log size between two checkpoints.",
        gives_up: "disk space, and a longer restart after a crash",
        kind: Kind::Bytes {
            default: 1 << 30,
            min: 32 << 20,
            max: 1 << 40,
        },
        unit: "bytes",
    },
    Knob {
        name: "checkpoint_timeout",
        summary: "Maximum time between two checkpoints.",
        gives_up: "a longer restart after a crash",
        kind: Kind::Integer {
            default: 300,
            min: 30,
            max: 86_400,
        },
        unit: "s",
    },
    Knob {
        name: "checkpoint_completion_target",
        summary: "Part of the checkpoint interval over which a checkpoint is spread.",
        gives_up: "lower: steadiness, since a checkpoint writes in a burst",
        kind: Kind::Fraction {
            default: Some(0.9),
            min: 0.0,
            max: 1.0,
        },
        unit: "",
    },
    Knob {
        name: "fsync",
        summary: "Whether the server flushes to storage: as the level of durability has it, or on \
                  at a level that does not ask for it.",
        gives_up: "",
        kind: Kind::Choice {
            default: "by-level",
            choices: &["by-level", "on"],
        },
        unit: "",
    },
    Knob {
        name: "full_page_writes",
        summary: "Puts each page whole into the log when it is first changed after a checkpoint.",
        gives_up: "off: a torn page of 8 KiB corrupts the database after lost power; only at \
            level 'process'",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "wal_compression",
        summary: "Compression of whole pages in the log; 'on' is PostgreSQL's own method. lz4 and \
                  zstd since PostgreSQL 15.",
        gives_up: "others than off: CPU time",
        kind: Kind::Choice {
            default: "off",
            choices: &["off", "on", "lz4", "zstd"],
        },
        unit: "",
    },
    Knob {
        name: "wal_level",
        summary: "How much is logged. minimal: what a restart needs. replica: also what archives \
                  and standbys need.",
        gives_up: "minimal: archives of the log, and standbys",
        kind: Kind::Choice {
            default: "replica",
            choices: &["minimal", "replica", "logical"],
        },
        unit: "",
    },
    Knob {
        name: "wal_sync_method",
        summary: "The call that flushes the log.",
        gives_up: "",
        kind: Kind::Choice {
            default: "fdatasync",
            choices: &["fdatasync", "fsync", "open_datasync", "open_sync"],
        },
        unit: "",
    },
    Knob {
        name: "wal_writer_delay",
        summary: "Pause of the process that writes the log behind asynchronous commits.",
        gives_up: "longer: at 'buffered' three times as much can be lost",
        kind: Kind::Integer {
            default: 200,
            min: 1,
            max: 10_000,
        },
        unit: "ms",
    },
    Knob {
        name: "commit_delay",
        summary: "Time that a commit waits for others, to flush for all of them.",
        gives_up: "the time of each commit",
        kind: Kind::Integer {
            default: 0,
            min: 0,
            max: 100_000,
        },
        unit: "us",
    },
    Knob {
        name: "commit_siblings",
        summary: "Number of other open transactions from which a commit waits commit_delay.",
        gives_up: "",
        kind: Kind::Integer {
            default: 5,
            min: 0,
            max: 1_000,
        },
        unit: "transactions",
    },
    Knob {
        name: "deadlock_timeout",
        summary: "Time that a session waits for a lock before it checks for a deadlock.",
        gives_up: "shorter: CPU time",
        kind: Kind::Integer {
            default: 1_000,
            min: 1,
            max: 600_000,
        },
        unit: "ms",
    },
    Knob {
        name: "work_mem",
        summary: "Memory of each sort or hash of a query.",
        gives_up: "memory, in each session",
        kind: Kind::Bytes {
            default: 4 << 20,
            min: 64 << 10,
            max: 1 << 36,
        },
        unit: "bytes",
    },
    Knob {
        name: "random_page_cost",
        summary: "Planner's cost of a random page read; a sequential one costs 1.",
        gives_up: "",
        kind: Kind::Fraction {
            default: Some(4.0),
            min: 0.0,
            max: 1_000.0,
        },
        unit: "",
    },
    Knob {
        name: "autovacuum",
        summary: "Removes old versions of rows and gathers statistics in the background.",
        gives_up: "off: disk space and speed over time, and up-to-date query plans",
        kind: Kind::Boolean { default: true },
        unit: "",
    },
    Knob {
        name: "huge_pages",
        summary: "Huge pages for shared memory: with 'on' the server does not start without them.",
        gives_up: "",
        kind: Kind::Choice {
            default: "try",
            choices: &["try", "on", "off"],
        },
        unit: "",
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
];

const ISOLATION: Knob = Knob {
    name: "isolation",
    summary: "Isolation of write transactions. Read transactions see one state at each.",
    gives_up: "read-committed: a transaction's statements see different states, and records by key \
               are locked as they are read; repeatable-read: write skew is possible; serializable: \
               more conflicts",
    kind: Kind::Choice {
        default: "repeatable-read",
        choices: &["read-committed", "repeatable-read", "serializable"],
    },
    unit: "",
};

/// What can be turned at a user's server.
pub(super) const OF_A_SESSION: &[Knob] = &[ISOLATION];

/// The isolation of write transactions.
pub(super) fn isolation(knobs: &Resolved) -> Isolation {
    match knobs.text("isolation") {
        "read-committed" => Isolation::ReadCommitted,
        "serializable" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

/// What a level of durability is for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keeping {
    /// Whether it flushes.
    pub fsync: bool,
    /// Whether a commit waits until its log is written.
    pub synchronous_commit: bool,
    /// Whether pages are logged whole.
    pub full_page_writes: bool,
}

impl Keeping {
    /// Of a private server.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level that there is not, or not with these knobs.
    pub fn of(knobs: &Resolved, durability: Durability) -> Result<Self> {
        let full_page_writes = knobs.boolean("full_page_writes");
        let keeping = Self {
            fsync: durability != Durability::Process || knobs.text("fsync") == "on",
            synchronous_commit: durability != Durability::Buffered,
            full_page_writes,
        };
        match durability {
            Durability::Sync | Durability::Buffered if !full_page_writes => {
                Err(Error::Unsupported(format!(
                    "postgresql: without full_page_writes a database may not outlive lost power, so \
                     the durability is not '{durability}'; it is 'process', there with fsync = \"on\" \
                     if you like"
                )))
            }
            Durability::Sync | Durability::Buffered | Durability::Process => Ok(keeping),
            Durability::Async | Durability::None => {
                Err(refuse::no_durability("postgresql", durability))
            }
        }
    }

    /// The level as a promise puts it.
    pub fn text(self) -> String {
        let word = |on| if on { "on" } else { "off" };
        let pages = if self.full_page_writes {
            ""
        } else {
            ", full_page_writes=off"
        };
        let (fsync, commit) = (word(self.fsync), word(self.synchronous_commit));
        format!("fsync={fsync}, synchronous_commit={commit}{pages}")
    }
}

/// The server's settings, in the words of its configuration file.
///
/// # Errors
/// As [`Keeping::of`].
pub(super) fn settings(
    knobs: &Resolved,
    durability: Durability,
    sessions: u32,
) -> Result<Vec<(&'static str, String)>> {
    let keeping = Keeping::of(knobs, durability)?;
    let word = |on| if on { "on" } else { "off" }.to_owned();
    let kilobytes = |name| format!("{}kB", knobs.unsigned(name) >> 10);
    let fraction = |name| knobs.fraction(name).unwrap_or_default().to_string();
    let with_unit = |name| {
        let unit = KNOBS
            .iter()
            .find(|knob| knob.name == name)
            .map_or("", |knob| knob.unit);
        format!("{}{unit}", knobs.integer(name))
    };
    let number = |name| knobs.integer(name).to_string();
    let text = |name| knobs.text(name).to_owned();
    let mut all = vec![
        ("fsync", word(keeping.fsync)),
        ("synchronous_commit", word(keeping.synchronous_commit)),
        ("full_page_writes", word(keeping.full_page_writes)),
        (
            "max_connections",
            (sessions + SPARE_CONNECTIONS).to_string(),
        ),
        ("shared_buffers", kilobytes("shared_buffers")),
        ("max_wal_size", kilobytes("max_wal_size")),
        ("work_mem", kilobytes("work_mem")),
        ("checkpoint_timeout", with_unit("checkpoint_timeout")),
        ("wal_writer_delay", with_unit("wal_writer_delay")),
        ("deadlock_timeout", with_unit("deadlock_timeout")),
        ("commit_delay", number("commit_delay")),
        ("commit_siblings", number("commit_siblings")),
        (
            "checkpoint_completion_target",
            fraction("checkpoint_completion_target"),
        ),
        ("random_page_cost", fraction("random_page_cost")),
        ("wal_compression", text("wal_compression")),
        ("wal_level", text("wal_level")),
        ("wal_sync_method", text("wal_sync_method")),
        ("huge_pages", text("huge_pages")),
        ("autovacuum", word(knobs.boolean("autovacuum"))),
        ("log_checkpoints", word(true)),
        // The times of checkpoints are read from the log.
        ("log_timezone", "UTC".to_owned()),
    ];
    if knobs.unsigned("wal_buffers") > 0 {
        all.push(("wal_buffers", kilobytes("wal_buffers")));
    }
    if knobs.text("wal_level") == "minimal" {
        // There is nothing that could be sent.
        all.push(("max_wal_senders", "0".to_owned()));
    }
    if knobs.unsigned("max_wal_size") < DEFAULT_MIN_WAL_SIZE {
        all.push(("min_wal_size", kilobytes("max_wal_size")));
    }
    Ok(all)
}

/// Connections beside those of sessions: each process's own, and what the server keeps for its
/// owner.
const SPARE_CONNECTIONS: u32 = 16;

/// The server's default of `min_wal_size`, which may not be more than `max_wal_size`.
const DEFAULT_MIN_WAL_SIZE: u64 = 80 << 20;

/// What is reported back of the server's settings, beside those that are set.
pub(super) const REPORTED: &[&str] = &[
    "server_version",
    "block_size",
    "wal_segment_size",
    "data_checksums",
    "debug_assertions",
    "transaction_isolation",
    "wal_buffers",
    "min_wal_size",
    "max_wal_senders",
    "jit",
    "effective_io_concurrency",
    "effective_cache_size",
    "bgwriter_delay",
    "plan_cache_mode",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trueput_engine::{Value, knob};

    fn resolved(given: &[(&str, Value)]) -> Resolved {
        let given: BTreeMap<_, _> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        knob::resolve("postgresql", KNOBS, &given).unwrap()
    }

    fn setting(name: &str, level: Durability, given: &[(&str, Value)]) -> String {
        let all = settings(&resolved(given), level, 4).unwrap();
        let found = all.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).unwrap_or_default()
    }

    #[test]
    fn knobs_are_written_with_their_units() {
        let level = Durability::Sync;
        let given = [("shared_buffers", Value::from("1GiB"))];
        assert_eq!(setting("shared_buffers", level, &given), "1048576kB");
        assert_eq!(setting("checkpoint_timeout", level, &[]), "300s");
        assert_eq!(setting("checkpoint_completion_target", level, &[]), "0.9");
        assert_eq!(setting("wal_buffers", level, &[]), "");
        assert_eq!(setting("max_connections", level, &[]), "20");
        let minimal = [("wal_level", Value::from("minimal"))];
        assert_eq!(setting("max_wal_senders", level, &minimal), "0");
        let small = [("max_wal_size", Value::from("64MiB"))];
        assert_eq!(setting("min_wal_size", level, &small), "65536kB");
    }

    #[test]
    fn a_level_sets_what_it_rests_on() {
        let both = |level, given: &[(&str, Value)]| {
            (
                setting("fsync", level, given),
                setting("synchronous_commit", level, given),
            )
        };
        let words = |fsync: &str, commit: &str| (fsync.to_owned(), commit.to_owned());
        assert_eq!(both(Durability::Sync, &[]), words("on", "on"));
        assert_eq!(both(Durability::Buffered, &[]), words("on", "off"));
        assert_eq!(both(Durability::Process, &[]), words("off", "on"));
        let on = [("fsync", Value::from("on"))];
        assert_eq!(both(Durability::Process, &on), words("on", "on"));
    }

    #[test]
    fn without_whole_pages_nothing_is_promised_for_lost_power() {
        let torn = resolved(&[("full_page_writes", Value::Boolean(false))]);
        for level in [Durability::Sync, Durability::Buffered] {
            let why = Keeping::of(&torn, level).unwrap_err().to_string();
            assert!(
                why.contains("full_page_writes") && why.contains("'process'"),
                "{why}"
            );
        }
        let text = Keeping::of(&torn, Durability::Process).unwrap().text();
        assert_eq!(
            text,
            "fsync=off, synchronous_commit=on, full_page_writes=off"
        );
    }
}
