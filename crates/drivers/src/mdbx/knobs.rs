//! libmdbx's knobs.

use trueput_engine::{choices, parameters};

parameters! {
    /// libmdbx's knobs.
    pub(super) struct MdbxKnobs {
        /// Maximum size of the database; the file grows as it fills. All processes must use the
        /// same value.
        size_upper: Bytes = 64 GiB in 1 MiB..=64 TiB,
            cost "smaller: a put may fail as full. Larger: address space only",
        /// Growth step of the file; 0: libmdbx chooses.
        growth_step: Bytes = 0 B in 0 B..=64 GiB,
            cost "larger: disk space in advance. Smaller: the file grows more often, within \
                transactions",
        /// Size of a page of a new database.
        page_size: Choice = "4096" of ["4096", "8192", "16384", "32768", "65536"], unit "bytes",
            cost "larger: more is written for a small change, and a crash may tear more than the \
                storage writes at once",
        /// Slots in the reader table, one per session of every process; libmdbx rounds up to what
        /// fills the lock file's pages.
        max_readers: Integer = 126 in 1..=32_767, unit "sessions",
            cost "more: each commit looks through a longer table. Fewer: a session that finds no \
                slot fails as full",
        /// What async is: safe-nosync flushes nothing and keeps the last flushed state
        /// (MDBX_SAFE_NOSYNC); no-meta-sync flushes data, and the meta page with the next commit
        /// (MDBX_NOMETASYNC).
        async_by: Choice<AsyncMethod> = SafeNosync,
            cost "no-meta-sync: a flush at each commit. safe-nosync: pages freed since the last \
                flushed state are not used again, so the file grows",
        /// Flushes after this many bytes are written, at process and at async with safe-nosync; 0:
        /// libmdbx decides.
        sync_bytes: Bytes = 0 B in 0 B..=1 TiB,
            cost "smaller: more commits that flush. Larger: more that lost power takes",
        /// Flushes at the first commit after this time, at process and at async with safe-nosync;
        /// 0: never.
        sync_period: Integer = 0 in 0..=65_535_000, unit "ms",
            cost "shorter: more commits that flush. Longer: more that lost power takes",
        /// At sync without writemap: a commit of up to this many writes uses write-through
        /// (O_DSYNC); a larger one writes, then flushes.
        writethrough_threshold: Integer = 2 in 0..=1_000_000, unit "writes",
            cost "larger: each write waits for the storage. Smaller: a flush per commit",
        /// Writes pages through a writable map instead of write calls (MDBX_WRITEMAP).
        writemap: Boolean = false, cost "protection from stray pointers",
        /// Uses the pages again that were freed last, not first (MDBX_LIFORECLAIM).
        lifo_reclaim: Boolean = false,
            cost "nothing known; it helps storage that caches writes, at sync",
        /// Tells the kernel not to read ahead in the map (MDBX_NORDAHEAD).
        no_read_ahead: Boolean = false,
            cost "speed of scans and of warming up; random reads of a database larger than memory \
                gain",
        /// Does not clear fresh pages before it fills them (MDBX_NOMEMINIT).
        no_mem_init: Boolean = false,
            cost "privacy: leftovers of the process's memory can reach the file",
    }
}

choices! {
    /// The setting that `async` maps to.
    pub(super) enum AsyncMethod {
        SafeNosync = "safe-nosync",
        NoMetaSync = "no-meta-sync",
    }
}
