//! Berkeley DB's settings that a plan may turn.

use super::shim::{BerkeleySettings, LogFlush};
use crate::log_directory::LogDirectory;
use std::ptr;
use trueput_engine::{Durability, Error, Result, choices, parameters};

parameters! {
    /// Berkeley DB's knobs.
    pub(super) struct BerkeleyKnobs {
        /// Page cache, in memory that all processes share. Berkeley DB's own default is 256 KiB,
        /// and it adds a quarter to what is below 500 MiB.
        cache_size: Bytes = 64 MiB in 64 KiB..=1 TiB,
            cost "host memory; smaller: more reads and writes of pages",
        /// Page size; fixed when the database is created.
        page_size: Choice = "4096" of [
            "512",
            "1024",
            "2048",
            "4096",
            "8192",
            "16384",
            "32768",
            "65536",
        ], unit "bytes",
            cost "larger: locks that cover more records, and more log for a split. A page larger \
                than the storage writes at once can be torn by lost power",
        /// Index structure; fixed when the database is created.
        access_method: Choice<BerkeleyAccessMethod> = Btree,
            cost "hash: order, so that a scan reads the whole table, holds it in memory and sorts",
        /// Whether write transactions overlap. guarded: they do, and each put to a B-tree first
        /// locks the leaf of its key (a get with DB_RMW), which 5.3 needs to lose no record; turns:
        /// one at a time, by a lock of the environment; overlapping: no guard. See docs/ENGINES.md.
        writers: Choice<Writers> = Guarded,
            cost "guarded: a second search of the tree for a put whose key was not read; turns: \
                commits that share a flush; overlapping: correctness, since a put to a B-tree \
                can, rarely, go to the wrong leaf and not be found again",
        /// How read transactions see one state: they keep read locks on pages to their end, or read
        /// versions of pages (DB_MULTIVERSION, DB_TXN_SNAPSHOT).
        isolation: Choice<ReadIsolation> = Locking,
            cost "locking: readers and writers wait for each other, and a scan locks every page \
                that it reads; snapshot: cache memory for a copy of each written page",
        /// A get in a write transaction takes the write lock at once (DB_RMW).
        read_for_update: Boolean = true,
            cost "on: no concurrent reads of a page; off: two transactions that read a page and \
                then write it deadlock",
        /// Transaction to abort in a deadlock. Deadlocks are detected as soon as a transaction
        /// waits for a lock.
        lk_detect: Choice<DeadlockPolicy> = Random,
        /// Maximum number of locks, and of locked pages.
        lk_max_locks: Integer<u32> = 1_000_000 in 1000..=100_000_000, unit "locks",
            cost "more: shared memory, as they are used; fewer: a scan or a large transaction \
                fails as full",
        /// Maximum number of open transactions, over all processes.
        tx_max: Integer<u32> = 1000 in 20..=1_000_000, unit "transactions",
            cost "more: shared memory",
        /// Log held in shared memory before it is written to the file.
        log_buffer: Bytes = 32 KiB in 4 KiB..=512 MiB,
            cost "larger: a wider window at 'buffered'; smaller: more writes for large \
                transactions",
        /// Size of one log file; at least four times log_buffer.
        log_file_size: Bytes = 10 MiB in 64 KiB..=2 GiB,
            cost "larger: log that is removed later; smaller: more files",
        /// Directory of the log: the database's folder, or its subfolder 'log', where another
        /// device can be mounted.
        log_directory: Choice<LogDirectory> = Beside,
        /// Removes log files that recovery does not need, at checkpoints (DB_LOG_AUTO_REMOVE).
        log_auto_remove: Boolean = true,
            cost "recovery of a damaged database from an old copy and the log",
        /// Log size after which a thread of each process writes a checkpoint; 0: never while the
        /// database is open.
        checkpoint_log: Bytes = 128 MiB in 0 B..=1 TiB,
            cost "smaller: pages are written more often; larger or 0: a longer log, on disk and \
                to replay when opening after a crash",
        /// Log at 'none': in memory (DB_LOG_IN_MEMORY), or only what an abort needs
        /// (DB_TXN_NOT_DURABLE).
        none_log: Choice<LogAtNone> = InMemory,
        /// Size of the log in memory at 'none'; it must hold every open transaction.
        none_log_buffer: Bytes = 64 MiB in 1 MiB..=2 GiB,
            cost "larger: memory; smaller: a large transaction fails as full",
    }
}

choices! {
    /// The index structure.
    pub(super) enum BerkeleyAccessMethod {
        Btree = "btree",
        Hash = "hash",
    }
}

choices! {
    /// The way in which concurrent write transactions are kept apart.
    pub(super) enum Writers {
        /// They overlap, and a put locks its leaf before it looks for its place.
        Guarded = "guarded",
        /// One at a time.
        Turns = "turns",
        /// They overlap, as the library has it.
        Overlapping = "overlapping",
    }
}

choices! {
    /// The way in which a read transaction sees one state.
    pub(super) enum ReadIsolation {
        Locking = "locking",
        Snapshot = "snapshot",
    }
}

choices! {
    /// The transaction to abort in a deadlock, in the order of the shim's `POLICIES`.
    pub(super) enum DeadlockPolicy {
        Random = "random",
        Youngest = "youngest",
        Oldest = "oldest",
        Minlocks = "minlocks",
        Minwrite = "minwrite",
    }
}

choices! {
    /// The log at `none`.
    pub(super) enum LogAtNone {
        InMemory = "in-memory",
        NotDurable = "not-durable",
    }
}

impl BerkeleyKnobs {
    /// Whether the records are in a hash table.
    pub(super) fn is_hash(&self) -> bool {
        self.access_method == BerkeleyAccessMethod::Hash
    }
}

/// Returns the workaround of the driver that other users of the library may not need.
pub(super) fn workaround(knobs: &BerkeleyKnobs) -> Option<String> {
    let writers = match knobs.writers {
        Writers::Guarded if knobs.is_hash() => None,
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
    let scans = knobs
        .is_hash()
        .then_some("a scan reads the whole hash table and sorts, because it has no order");
    let all: Vec<_> = writers.into_iter().chain(scans).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns the known defect of Berkeley DB with these knobs.
pub(super) fn known_defect(knobs: &BerkeleyKnobs) -> Option<&'static str> {
    let is_exposed = knobs.writers == Writers::Overlapping && !knobs.is_hash();
    is_exposed.then_some(
        "it can lose records, because Berkeley DB 5.3 can put one on the wrong leaf of a B-tree \
         where unguarded writers overlap",
    )
}

/// The subfolder of the log, if the log has one.
pub(super) const LOG_FOLDER: &std::ffi::CStr = c"log";

/// Returns the flush of the log at a commit; `None` if there is no such level.
pub(super) fn level(durability: Durability, knobs: &BerkeleyKnobs) -> Option<LogFlush> {
    match durability {
        Durability::Sync => Some(LogFlush::Sync),
        Durability::Async => Some(LogFlush::WriteNosync),
        Durability::Buffered => Some(LogFlush::Nosync),
        Durability::Process => None,
        Durability::None if knobs.none_log == LogAtNone::InMemory => Some(LogFlush::LogInMemory),
        Durability::None => Some(LogFlush::NotDurable),
    }
}

/// The settings of an environment.
///
/// # Errors
/// One line for sizes that contradict each other.
pub(super) fn settings(knobs: &BerkeleyKnobs, level: LogFlush) -> Result<BerkeleySettings> {
    let number = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let (buffer, file) = match level {
        LogFlush::LogInMemory => (number(knobs.none_log_buffer), 0),
        _ => (number(knobs.log_buffer), number(knobs.log_file_size)),
    };
    if file != 0 && u64::from(file) < 4 * u64::from(buffer) {
        return Err(Error::Unsupported(format!(
            "log_file_size ({file}) must be at least four times log_buffer ({buffer})"
        )));
    }
    Ok(BerkeleySettings {
        cache_bytes: knobs.cache_size,
        log_buffer_bytes: buffer,
        log_file_bytes: file,
        max_transactions: knobs.tx_max,
        max_locks: knobs.lk_max_locks,
        deadlock_policy: knobs.lk_detect as u32,
        level,
        log_auto_remove: u32::from(level != LogFlush::LogInMemory && knobs.log_auto_remove),
        log_directory: match knobs.log_directory {
            LogDirectory::Apart => LOG_FOLDER.as_ptr(),
            LogDirectory::Beside => ptr::null(),
        },
    })
}
