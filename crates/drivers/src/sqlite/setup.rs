//! The settings of a connection for a durability level, and the check that they took effect.

use super::build::Api;
use super::connection::SqliteConnection;
use super::{BusyWait, JournalMode, SqliteKnobs};
use crate::retry::Retry;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trueput_engine::{Durability, Error, OpenSpec, Result, Value};

/// The database's file within its folder.
pub(super) const FILE: &str = "trueput.sqlite";

/// Opening is retried: connections that open a new database at once block each other when they
/// switch its journal mode and create its table, and SQLite does not call the busy handler in every
/// case.
const OPENING: Retry = Retry::new(Duration::from_secs(30), Duration::from_millis(2));

/// Everything that one more connection to the same database needs.
pub(super) struct ConnectionSetup {
    api: &'static Api,
    file: PathBuf,
    journal_mode: &'static str,
    synchronous: SynchronousMode,
    page_bytes: &'static str,
    cache_kib: u64,
    mmap_bytes: u64,
    wal_autocheckpoint: u64,
    busy_timeout_ms: c_int,
    waits_shortly: bool,
    without_rowid: bool,
}

/// `PRAGMA synchronous`, by SQLite's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SynchronousMode {
    Off = 0,
    Normal = 1,
    Full = 2,
    Extra = 3,
}

/// The journal mode of `durability` if the knob says `auto`.
fn usual_journal_mode(durability: Durability) -> &'static str {
    if durability == Durability::None {
        "memory"
    } else {
        "wal"
    }
}

/// Returns the value of `PRAGMA synchronous` for a level under a journal mode; `None` if the two
/// do not go together.
pub(super) fn synchronous(durability: Durability, journal_mode: &str) -> Option<SynchronousMode> {
    let is_log = journal_mode == "wal";
    let is_file = matches!(journal_mode, "delete" | "truncate" | "persist");
    match durability {
        Durability::Sync if is_log => Some(SynchronousMode::Full),
        // EXTRA flushes the folder after the journal is gone: without it the last commit can be
        // undone by a journal that comes back.
        Durability::Sync if is_file => Some(SynchronousMode::Extra),
        // With a rollback journal NORMAL can leave a corrupt database, so only the log qualifies.
        Durability::Async if is_log => Some(SynchronousMode::Normal),
        Durability::Process if is_log || is_file => Some(SynchronousMode::Off),
        Durability::None if !is_log && !is_file => Some(SynchronousMode::Off),
        _ => None,
    }
}

/// The journal's mode and how it is flushed, for a level with this knob.
///
/// # Errors
/// [`Error::Unsupported`] if sqlite does not have the level, or not in the mode that a knob chose.
pub(super) fn journal(
    durability: Durability,
    asked: JournalMode,
) -> Result<(&'static str, SynchronousMode)> {
    if durability == Durability::Buffered {
        return Err(Error::no_durability("sqlite", durability));
    }
    let journal_mode = match asked {
        JournalMode::Auto => usual_journal_mode(durability),
        chosen => chosen.word(),
    };
    let synchronous = synchronous(durability, journal_mode).ok_or_else(|| {
        Error::Unsupported(format!(
            "sqlite cannot keep durability '{durability}' with journal_mode '{journal_mode}'"
        ))
    })?;
    Ok((journal_mode, synchronous))
}

impl SynchronousMode {
    /// The name in SQLite's documentation.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
            Self::Extra => "EXTRA",
        }
    }
}

impl ConnectionSetup {
    /// Reads the settings of `spec`, and refuses settings that would break its promise.
    pub(super) fn new(api: &'static Api, spec: &OpenSpec<'_>) -> Result<Self> {
        let knobs = SqliteKnobs::from(spec.knobs);
        let (journal_mode, synchronous) = journal(spec.durability, knobs.journal_mode)?;
        Ok(Self {
            api,
            file: spec.directory.join(FILE),
            journal_mode,
            synchronous,
            page_bytes: knobs.page_size,
            cache_kib: (knobs.cache_size / 1024).max(1),
            mmap_bytes: knobs.mmap_size,
            wal_autocheckpoint: knobs.wal_autocheckpoint,
            busy_timeout_ms: knobs.busy_timeout,
            waits_shortly: knobs.busy_wait == BusyWait::Short,
            without_rowid: knobs.without_rowid,
        })
    }

    /// A connection with everything set and the table made.
    pub(super) fn connect(&self) -> Result<SqliteConnection> {
        OPENING.run(Error::is_conflict, || self.try_connect())
    }

    fn try_connect(&self) -> Result<SqliteConnection> {
        let connection = SqliteConnection::open(self.api, &self.file)?;
        self.set_wait(&connection)?;
        // Before the journal mode: the page size of a database in WAL mode cannot be changed.
        connection.execute(&format!("PRAGMA page_size={}", self.page_bytes))?;
        self.set_journal_mode(&connection)?;
        connection.execute(&format!(
            "PRAGMA synchronous={}; PRAGMA cache_size=-{}; PRAGMA mmap_size={};
             PRAGMA wal_autocheckpoint={}",
            self.synchronous as i64, self.cache_kib, self.mmap_bytes, self.wal_autocheckpoint
        ))?;
        self.make_table(&connection)?;
        self.verify(&connection)?;
        Ok(connection)
    }

    fn set_wait(&self, connection: &SqliteConnection) -> Result<()> {
        if !self.waits_shortly {
            return connection.set_busy_timeout(self.busy_timeout_ms);
        }
        // SAFETY: `wait_shortly` takes the timeout out of the pointer itself and follows no
        // pointer.
        unsafe {
            let timeout = usize::try_from(self.busy_timeout_ms).unwrap_or(0);
            connection.set_busy_handler(wait_shortly, std::ptr::without_provenance_mut(timeout))
        }
    }

    fn set_journal_mode(&self, connection: &SqliteConnection) -> Result<()> {
        let wanted = Some(Value::from(self.journal_mode));
        // Switching needs exclusive access, asking does not.
        if connection.query("PRAGMA journal_mode")? == wanted {
            return Ok(());
        }
        let found = connection.query(&format!("PRAGMA journal_mode={}", self.journal_mode))?;
        if found == wanted {
            return Ok(());
        }
        let found = found.map(|mode| mode.to_string()).unwrap_or_default();
        let wanted = self.journal_mode;
        Err(Error::engine(format!(
            "journal_mode is '{found}' after setting it to '{wanted}'"
        )))
    }

    fn make_table(&self, connection: &SqliteConnection) -> Result<()> {
        let table = "SELECT 1 FROM sqlite_schema WHERE name='record'";
        if connection.query(table)?.is_some() {
            return Ok(());
        }
        let ending = if self.without_rowid {
            " WITHOUT ROWID"
        } else {
            ""
        };
        connection.execute(&format!(
            "CREATE TABLE IF NOT EXISTS record \
             (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL){ending}"
        ))
    }

    /// Asks the connection whether it is set as the promise needs it: SQLite ignores a wish that it
    /// cannot grant, without an error.
    fn verify(&self, connection: &SqliteConnection) -> Result<()> {
        let wanted = Some(Value::Integer(self.synchronous as i64));
        let found = connection.query("PRAGMA synchronous")?;
        let mode = connection.query("PRAGMA journal_mode")?;
        if found == wanted && mode == Some(Value::from(self.journal_mode)) {
            return Ok(());
        }
        Err(Error::engine(format!(
            "the connection reports synchronous {found:?} and journal_mode {mode:?}; the promise \
             needs {wanted:?} and {}",
            self.journal_mode
        )))
    }
}

/// A busy handler that sleeps 50 us at first and 1 ms at most, where SQLite's own sleeps 1 ms at
/// first and 100 ms at most. `timeout_ms` is a number in a pointer's place.
unsafe extern "C" fn wait_shortly(timeout_ms: *mut c_void, calls: c_int) -> c_int {
    thread_local!(static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) });
    let now = Instant::now();
    if calls == 0 {
        WAITING_SINCE.set(Some(now));
    }
    let waited = WAITING_SINCE
        .get()
        .map_or(Duration::ZERO, |since| now - since);
    if waited.as_millis() >= timeout_ms.addr() as u128 {
        return 0;
    }
    let doublings = u32::try_from(calls).unwrap_or(0).min(5);
    std::thread::sleep(Duration::from_micros(50 << doublings).min(Duration::from_millis(1)));
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_mode_that_breaks_the_promise_has_no_setting() {
        assert_eq!(
            synchronous(Durability::Sync, "wal"),
            Some(SynchronousMode::Full)
        );
        assert_eq!(
            synchronous(Durability::Sync, "delete"),
            Some(SynchronousMode::Extra)
        );
        assert_eq!(synchronous(Durability::Sync, "memory"), None);
        assert_eq!(synchronous(Durability::Async, "delete"), None);
        assert_eq!(synchronous(Durability::Process, "off"), None);
        assert_eq!(synchronous(Durability::None, "wal"), None);
    }

    #[test]
    fn every_level_has_its_usual_journal_mode() {
        for level in [
            Durability::Sync,
            Durability::Async,
            Durability::Process,
            Durability::None,
        ] {
            assert!(
                synchronous(level, usual_journal_mode(level)).is_some(),
                "{level}"
            );
        }
    }

    #[test]
    fn the_short_wait_ends_at_its_timeout() {
        let give_up = std::ptr::without_provenance_mut(0);
        // SAFETY: the handler follows no pointer.
        assert_eq!(unsafe { wait_shortly(give_up, 0) }, 0);
        let patient = std::ptr::without_provenance_mut(60_000);
        // SAFETY: as above.
        assert_eq!(unsafe { wait_shortly(patient, 0) }, 1);
    }
}
