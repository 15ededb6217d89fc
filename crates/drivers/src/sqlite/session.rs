//! A session: one connection and its prepared statements.

use super::SqliteDatabase;
use super::cache::SessionCount;
use super::connection::{SqliteConnection, Statement};
use rusqlite::ffi;
use std::ops::Bound;
use trueput_engine::sql::scan::ScanShape;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, Sql, Value, ValueVisitor,
    common_errors,
};

/// Directions times three kinds of each end.
const SCANS: usize = 2 * 3 * 3;

/// One worker's session over a database. The statements are before the connection, so that they
/// are finalized before it is closed.
pub(super) struct SqliteSession<'d> {
    pub(super) open: Option<Mode>,
    get: Statement,
    put: Statement,
    put_if_absent: Statement,
    delete: Statement,
    /// By [`scan_index`]; prepared when first used.
    scans: [Option<Statement>; SCANS],
    snapshot: Statement,
    begin_write: Statement,
    commit: Statement,
    rollback: Statement,
    /// The statements that [`trueput_engine::Sql::prepare`] has prepared, in order.
    pub(super) prepared: Vec<Statement>,
    pub(super) connection: SqliteConnection,
    count: SessionCount,
    database: &'d SqliteDatabase,
}

impl<'d> SqliteSession<'d> {
    pub(super) fn new(database: &'d SqliteDatabase, connection: SqliteConnection) -> Result<Self> {
        let table = connection.query("SELECT sql FROM sqlite_schema WHERE name='record'")?;
        let is_clustered =
            table.is_some_and(|sql| matches!(sql, Value::Text(sql) if sql.ends_with("ROWID")));
        // Without a row number REPLACE is one search that overwrites; with one it would delete the
        // row and insert it with a new number.
        let put = if is_clustered {
            "REPLACE INTO record(key, value) VALUES (?1, ?2)"
        } else {
            "INSERT INTO record(key, value) VALUES (?1, ?2) \
             ON CONFLICT(key) DO UPDATE SET value = excluded.value"
        };
        Ok(Self {
            open: None,
            get: connection.prepare("SELECT value FROM record WHERE key = ?1")?,
            put: connection.prepare(put)?,
            put_if_absent: connection
                .prepare("INSERT OR IGNORE INTO record(key, value) VALUES (?1, ?2)")?,
            delete: connection.prepare("DELETE FROM record WHERE key = ?1")?,
            scans: std::array::from_fn(|_| None),
            // A statement that is on a row holds a read transaction: the table's own entry is a
            // row that is always there. So a read needs no BEGIN and no COMMIT, and its snapshot is
            // that of its beginning, not of its first get.
            snapshot: connection.prepare("SELECT 1 FROM sqlite_schema")?,
            begin_write: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
            prepared: Vec::new(),
            connection,
            count: SessionCount::default(),
            database,
        })
    }

    /// Ends a write transaction, unless SQLite has already rolled it back after an error.
    fn roll_back(&self) -> Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.check(self.rollback.run())
    }

    fn prepare_scan(&mut self, range: &KeyRange<'_>, direction: Direction) -> Result<&Statement> {
        let shape = ScanShape::of(range, direction);
        let slot = &mut self.scans[shape.index()];
        match slot {
            Some(statement) => Ok(statement),
            None => Ok(slot.insert(self.connection.prepare(&scan_sql(shape))?)),
        }
    }
}

fn scan_sql(shape: ScanShape) -> String {
    let clauses = shape.clauses("key", |end, _| format!("?{end}"));
    format!("SELECT key, value FROM record {clauses}")
}

/// Shows the rows of a bound scan; returns their number, or SQLite's code.
fn show(statement: &Statement, visitor: &mut RecordVisitor<'_>) -> std::result::Result<u64, i32> {
    let mut shown = 0;
    loop {
        match statement.step() {
            ffi::SQLITE_ROW => {
                shown += 1;
                // SAFETY: the statement is on a row until its next step.
                let (key, value) = unsafe { (statement.blob(0), statement.blob(1)) };
                if visitor(key, value).is_break() {
                    return Ok(shown);
                }
            }
            ffi::SQLITE_DONE => return Ok(shown),
            code => return Err(code),
        }
    }
}

impl Session for SqliteSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open)?;
        self.count.begin(&self.connection, &self.database.cache);
        match mode {
            Mode::Read => match self.snapshot.step() {
                ffi::SQLITE_ROW => {}
                code => {
                    let error = self.connection.error(code);
                    self.snapshot.reset();
                    return Err(error);
                }
            },
            Mode::Write => self.connection.check(self.begin_write.run())?,
        }
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        common_errors::require_open(self.open)?;
        // SAFETY: the key outlives this call; the statement is bound again before its next step.
        self.connection.check(unsafe { self.get.bind(1, key) })?;
        let code = self.get.step();
        if code == ffi::SQLITE_ROW {
            // SAFETY: the statement is on a row until it is reset below.
            visitor(unsafe { self.get.blob(0) });
        }
        let outcome = match code {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(self.connection.error(code)),
        };
        self.get.reset();
        outcome
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        // SAFETY: key and value outlive this call, and the statement is bound again before its next
        // step.
        unsafe {
            self.connection.check(self.put.bind(1, key))?;
            self.connection.check(self.put.bind(2, value))?;
        }
        self.connection.check(self.put.run())
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        common_errors::require_write(self.open)?;
        // SAFETY: as in `put`.
        unsafe {
            self.connection.check(self.put_if_absent.bind(1, key))?;
            self.connection.check(self.put_if_absent.bind(2, value))?;
        }
        self.connection.check(self.put_if_absent.run())?;
        Ok(self.connection.changes() > 0)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        // SAFETY: the key outlives this call; the statement is bound again before its next step.
        self.connection.check(unsafe { self.delete.bind(1, key) })?;
        self.connection.check(self.delete.run())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        common_errors::require_open(self.open)?;
        if range.is_empty() {
            return Ok(0);
        }
        let statement = self.prepare_scan(&range, direction)?;
        let mut code = ffi::SQLITE_OK;
        for (index, bound) in [(1, range.lower), (2, range.upper)] {
            if let (Bound::Included(key) | Bound::Excluded(key), ffi::SQLITE_OK) = (bound, code) {
                // SAFETY: the range outlives this call, and the statement is bound again before its
                // next step after it.
                code = unsafe { statement.bind(index, key) };
            }
        }
        let shown = if code == ffi::SQLITE_OK {
            show(statement, visitor)
        } else {
            Err(code)
        };
        statement.reset();
        shown.map_err(|code| self.connection.error(code))
    }

    fn commit(&mut self) -> Result<()> {
        match self.open.take().ok_or_else(common_errors::no_transaction)? {
            Mode::Read => {
                self.snapshot.reset();
                Ok(())
            }
            Mode::Write => {
                let outcome = self.connection.check(self.commit.run());
                if outcome.is_err() {
                    // A commit that finds readers in its way leaves the transaction open.
                    self.roll_back()?;
                }
                outcome
            }
        }
    }

    fn abort(&mut self) -> Result<()> {
        match self.open.take().ok_or_else(common_errors::no_transaction)? {
            Mode::Read => {
                self.snapshot.reset();
                Ok(())
            }
            Mode::Write => self.roll_back(),
        }
    }

    fn flush_counters(&mut self) -> Result<()> {
        self.count
            .add_accesses(&self.connection, &self.database.cache);
        Ok(())
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        Some(self)
    }
}

impl Drop for SqliteSession<'_> {
    fn drop(&mut self) {
        if self.open.is_some() {
            // Closing the connection rolls back, if this failed.
            let _: std::result::Result<(), Error> = self.abort();
        }
        self.count
            .add_accesses(&self.connection, &self.database.cache);
        self.database.add_counters(&self.connection);
    }
}
