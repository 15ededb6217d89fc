//! The settings of a private server that a plan may turn. A user's server is as its owner set it.

use super::isolation::PostgresqlIsolation;
use crate::log_directory::LogDirectory;
use trueput_engine::{Durability, Error, Parameter, Result, choices, parameters};

parameters! {
    /// The knobs of a private server.
    pub(super) struct PostgresqlKnobs {
        /// Isolation of write transactions. Read transactions see one state at each.
        isolation: Choice<PostgresqlIsolation> = RepeatableRead,
            cost "read-committed: a transaction's statements see different states, and records by \
                key are locked as they are read; repeatable-read: write skew is possible; \
                serializable: more conflicts",
        /// Memory for pages, shared by all sessions.
        shared_buffers: Bytes = 128 MiB in 128 KiB..=1 TiB, cost "memory",
        /// Memory for the log before it is written; 0 is a 32nd of shared_buffers, 16 MiB at most.
        wal_buffers: Bytes = 0 B in 0 B..=1 GiB, cost "memory",
        /// Approximate log size between two checkpoints; at least two segments of the log.
        max_wal_size: Bytes = 1 GiB in 2 MiB..=1 TiB,
            cost "disk space, and a longer restart after a crash",
        /// Size of a file of the log. Fixed when the instance is created.
        wal_segment_size: Choice = "16" of ["1", "2", "4", "8", "16", "32", "64", "128", "256"],
            unit "MiB",
            cost "larger: disk space. Smaller: more files to make and flush",
        /// Maximum time between two checkpoints.
        checkpoint_timeout: Integer = 300 in 30..=86_400, unit "s",
            cost "a longer restart after a crash",
        /// Part of the checkpoint interval over which a checkpoint is spread.
        checkpoint_completion_target: Fraction = 0.9 in 0.0..=1.0,
            cost "lower: steadiness, since a checkpoint writes in a burst",
        /// Whether the server flushes to storage: as the level of durability has it, or on at a
        /// level that does not ask for it.
        fsync: Choice<Fsync> = ByLevel,
        /// Puts each page whole into the log when it is first changed after a checkpoint.
        full_page_writes: Boolean = true,
            cost "off: a torn page of 8 KiB corrupts the database after lost power; only at level \
                'process'",
        /// Compression of whole pages in the log; 'on' is PostgreSQL's own method. lz4 and zstd
        /// since PostgreSQL 15.
        wal_compression: Choice = "off" of ["off", "on", "lz4", "zstd"],
            cost "others than off: CPU time",
        /// The amount that is logged. minimal: what a restart needs. replica: also what archives
        /// and standbys need.
        wal_level: Choice<WalLevel> = Replica, cost "minimal: archives of the log, and standbys",
        /// The call that flushes the log.
        wal_sync_method: Choice = "fdatasync" of [
            "fdatasync",
            "fsync",
            "open_datasync",
            "open_sync",
        ],
        /// Pause of the process that writes the log behind asynchronous commits.
        wal_writer_delay: Integer = 200 in 1..=10_000, unit "ms",
            cost "longer: at 'buffered' three times as much can be lost",
        /// Time that a commit waits for others, to flush for all of them.
        commit_delay: Integer = 0 in 0..=100_000, unit "us", cost "the time of each commit",
        /// Number of other open transactions from which a commit waits commit_delay.
        commit_siblings: Integer = 5 in 0..=1000, unit "transactions",
        /// Time that a session waits for a lock before it checks for a deadlock.
        deadlock_timeout: Integer = 1000 in 1..=600_000, unit "ms", cost "shorter: CPU time",
        /// Memory of each sort or hash of a query.
        work_mem: Bytes = 4 MiB in 64 KiB..=64 GiB, cost "memory, in each session",
        /// Planner's cost of a random page read; a sequential one costs 1.
        random_page_cost: Fraction = 4.0 in 0.0..=1000.0,
        /// Removes old versions of rows and gathers statistics in the background.
        autovacuum: Boolean = true,
            cost "off: disk space and speed over time, and up-to-date query plans",
        /// Huge pages for shared memory: with 'on' the server does not start without them.
        huge_pages: Choice = "try" of ["try", "on", "off"],
        /// Directory of the log: the database's folder, or its subfolder 'log', where another
        /// device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
    }
}

choices! {
    /// Whether the server flushes to storage.
    pub(super) enum Fsync {
        ByLevel = "by-level",
        On = "on",
    }
}

choices! {
    /// The amount that is logged.
    pub(super) enum WalLevel {
        Minimal = "minimal",
        Replica = "replica",
        Logical = "logical",
    }
}

/// The knobs of a user's server: the isolation.
pub(super) const OF_A_SESSION: &[Parameter] = PostgresqlKnobs::PARAMETERS.split_at(1).0;

/// The server's settings for a level of durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WalSettings {
    /// Whether a commit flushes the log.
    pub fsync: bool,
    /// Whether a commit waits until its log is written.
    pub synchronous_commit: bool,
    /// Whether pages are logged whole.
    pub full_page_writes: bool,
}

impl WalSettings {
    /// Of a private server.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a level that does not exist, or not with these knobs.
    pub fn of(knobs: &PostgresqlKnobs, durability: Durability) -> Result<Self> {
        Self::of_engine("postgresql", knobs, durability)
    }

    /// Of the servers of the engine of that name.
    ///
    /// # Errors
    /// As [`WalSettings::of`].
    pub fn of_engine(
        engine: &str,
        knobs: &PostgresqlKnobs,
        durability: Durability,
    ) -> Result<Self> {
        let full_page_writes = knobs.full_page_writes;
        let durability_settings = Self {
            fsync: durability != Durability::Process || knobs.fsync == Fsync::On,
            synchronous_commit: durability != Durability::Buffered,
            full_page_writes,
        };
        match durability {
            Durability::Sync | Durability::Buffered if !full_page_writes => {
                Err(Error::Unsupported(format!(
                    "{engine}: without full_page_writes a database may not outlive lost power, \
                     so the durability is not '{durability}'; it is 'process', there with fsync = \
                     \"on\" if you like"
                )))
            }
            Durability::Sync | Durability::Buffered | Durability::Process => {
                Ok(durability_settings)
            }
            Durability::Async | Durability::None => Err(Error::no_durability(engine, durability)),
        }
    }

    /// The value of synchronous_commit.
    pub fn commit_word(self) -> &'static str {
        if self.synchronous_commit { "on" } else { "off" }
    }

    /// The level as a promise puts it.
    pub fn text(self) -> String {
        let word = |on| if on { "on" } else { "off" };
        let pages = self.pages_text();
        let (fsync, commit) = (word(self.fsync), self.commit_word());
        format!("fsync={fsync}, synchronous_commit={commit}{pages}")
    }

    /// What follows in the text if pages are not logged whole.
    pub fn pages_text(self) -> &'static str {
        if self.full_page_writes {
            ""
        } else {
            ", full_page_writes=off"
        }
    }
}

/// The server's settings, in the words of its configuration file.
///
/// # Errors
/// See [`WalSettings::of`].
pub(super) fn settings(
    knobs: &PostgresqlKnobs,
    durability: Durability,
    sessions: u32,
) -> Result<Vec<(&'static str, String)>> {
    let durability_settings = WalSettings::of(knobs, durability)?;
    let word = |on| if on { "on" } else { "off" }.to_owned();
    let kilobytes = |bytes: u64| format!("{}kB", bytes >> 10);
    let mut all = vec![
        ("fsync", word(durability_settings.fsync)),
        (
            "synchronous_commit",
            durability_settings.commit_word().to_owned(),
        ),
        (
            "full_page_writes",
            word(durability_settings.full_page_writes),
        ),
        (
            "max_connections",
            (sessions + SPARE_CONNECTIONS).to_string(),
        ),
        ("shared_buffers", kilobytes(knobs.shared_buffers)),
        ("work_mem", kilobytes(knobs.work_mem)),
        (
            "checkpoint_timeout",
            format!("{}s", knobs.checkpoint_timeout),
        ),
        ("wal_writer_delay", format!("{}ms", knobs.wal_writer_delay)),
        ("deadlock_timeout", format!("{}ms", knobs.deadlock_timeout)),
        ("commit_delay", knobs.commit_delay.to_string()),
        ("commit_siblings", knobs.commit_siblings.to_string()),
        (
            "checkpoint_completion_target",
            knobs.checkpoint_completion_target.to_string(),
        ),
        ("random_page_cost", knobs.random_page_cost.to_string()),
        ("wal_compression", knobs.wal_compression.to_owned()),
        ("wal_level", knobs.wal_level.word().to_owned()),
        ("wal_sync_method", knobs.wal_sync_method.to_owned()),
        ("huge_pages", knobs.huge_pages.to_owned()),
        ("autovacuum", word(knobs.autovacuum)),
        ("log_checkpoints", word(true)),
        // The times of checkpoints are read from the log.
        ("log_timezone", "UTC".to_owned()),
    ];
    if knobs.wal_buffers > 0 {
        all.push(("wal_buffers", kilobytes(knobs.wal_buffers)));
    }
    if knobs.wal_level == WalLevel::Minimal {
        // There is nothing that could be sent.
        all.push(("max_wal_senders", "0".to_owned()));
    }
    all.extend(log_sizes(knobs)?.map(|(name, bytes)| (name, kilobytes(bytes))));
    Ok(all)
}

/// The sizes between which the server keeps the log.
///
/// # Errors
/// [`Error::Unsupported`] if the larger one does not hold the two segments that the server needs.
fn log_sizes(knobs: &PostgresqlKnobs) -> Result<[(&'static str, u64); 2]> {
    let segment_mib: u64 = knobs.wal_segment_size.parse().map_err(Error::engine)?;
    let (segment_bytes, max_bytes) = (segment_mib << 20, knobs.max_wal_size);
    if max_bytes < 2 * segment_bytes {
        return Err(Error::Unsupported(format!(
            "postgresql.max_wal_size: {max_bytes} bytes do not hold two segments of {segment_mib} \
             MiB (wal_segment_size)"
        )));
    }
    // The server's own default, which may not be more than the most.
    let least_bytes = max_bytes.min(5 * segment_bytes);
    Ok([("min_wal_size", least_bytes), ("max_wal_size", max_bytes)])
}

/// Connections in addition to the sessions': one per process, and the ones that the server reserves
/// for its owner.
const SPARE_CONNECTIONS: u32 = 16;

/// The settings of the server that are reported in addition to those that knobs set.
pub(super) const REPORTED: &[&str] = &[
    "server_version",
    "block_size",
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
    use trueput_engine::{Value, parameter};

    fn resolved(given: &[(&str, Value)]) -> PostgresqlKnobs {
        let given: BTreeMap<_, _> = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let values = parameter::resolve("postgresql", PostgresqlKnobs::PARAMETERS, &given);
        PostgresqlKnobs::from(&values.unwrap())
    }

    fn setting(name: &str, level: Durability, given: &[(&str, Value)]) -> String {
        let all = settings(&resolved(given), level, 4).unwrap();
        let found = all.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).unwrap_or_default()
    }

    #[test]
    fn a_users_server_has_the_isolation_alone() {
        let names: Vec<_> = OF_A_SESSION.iter().map(|knob| knob.name).collect();
        assert_eq!(names, ["isolation"]);
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
        assert_eq!(setting("min_wal_size", level, &[]), "81920kB");
    }

    #[test]
    fn a_log_without_room_for_two_segments_is_refused() {
        let sizes = |most: &str, segment: &str| {
            let given = [
                ("max_wal_size", Value::from(most)),
                ("wal_segment_size", Value::from(segment)),
            ];
            log_sizes(&resolved(&given)).map(|sizes| sizes.map(|(_, bytes)| bytes >> 20))
        };
        assert_eq!(sizes("4MiB", "1"), Ok([4, 4]));
        assert_eq!(sizes("128MiB", "64"), Ok([128, 128]));
        let reason = sizes("4MiB", "16").unwrap_err().to_string();
        assert!(reason.contains("wal_segment_size"), "{reason}");
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
            let reason = WalSettings::of(&torn, level).unwrap_err().to_string();
            assert!(
                reason.contains("full_page_writes") && reason.contains("'process'"),
                "{reason}"
            );
        }
        let text = WalSettings::of(&torn, Durability::Process).unwrap().text();
        assert_eq!(
            text,
            "fsync=off, synchronous_commit=on, full_page_writes=off"
        );
    }
}
