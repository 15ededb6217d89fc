//! Turso, the rewrite of SQLite in Rust, as a plug-in of trueput: one table, keys and values as
//! blobs, in a write-ahead log.

mod sql;
#[path = "../../template/rust/src/trueput_engine.rs"]
mod trueput_engine;

use sql::{Sql, scan_index, scan_sql, step};
use std::ops::Bound;
use std::sync::Arc;
use trueput_engine::{
    Database, Durability, Failure, FailureKind, Mode, Open, Range, Session, Value,
};
use turso_core::{CheckpointMode, Connection, OpenOptions, SqliteDialect, Statement};

export_engine!(Turso, "../description.json");

/// An open database.
pub struct Turso {
    database: Arc<turso_core::Database>,
    /// The settings of each connection, as SQL.
    setup: Vec<String>,
    /// The first connection and the last one: it makes the table, checkpoints, and reports.
    control: Arc<Connection>,
}

/// Settings that are read back, each by the PRAGMA of its name.
const SETTINGS: [&str; 5] = [
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "busy_timeout",
];

impl Turso {
    fn connect(
        database: &Arc<turso_core::Database>,
        setup: &[String],
    ) -> Result<Arc<Connection>, Failure> {
        let connection = database.connect()?;
        for statement in setup {
            connection.execute(statement)?;
        }
        Ok(connection)
    }

    fn reported(&self, pragma: &'static str) -> Option<(&'static str, Value)> {
        let rows = self.control.pragma_query(pragma).ok()?;
        let value = match rows.first()?.first()? {
            turso_core::Value::Text(text) => Value::Text(text.as_str().to_owned()),
            value => Value::Integer(value.as_int()?),
        };
        Some((pragma, value))
    }
}

impl Database for Turso {
    type Session<'d> = TursoSession;

    fn open(open: &Open) -> Result<Self, Failure> {
        let synchronous = match open.durability {
            Durability::Sync => "FULL",
            Durability::Async => "NORMAL",
            Durability::Process => "OFF",
            _ => {
                let text = "no such level of durability";
                return Err(Failure::new(FailureKind::Unsupported, text));
            }
        };
        let knob = |name| open.integer(name).expect("the knob is described");
        let setup = vec![
            format!("PRAGMA busy_timeout={}", knob("busy_timeout")),
            format!("PRAGMA synchronous={synchronous}"),
            format!("PRAGMA cache_size=-{}", knob("cache_size") / 1024),
        ];
        let file = open.directory.join("turso.db");
        let path = file.to_str().ok_or_else(|| {
            let text = "the path of the database is not UTF-8";
            Failure::new(FailureKind::Unsupported, text)
        })?;
        let io = turso_core::Database::io_for_path(path)?;
        let options = OpenOptions::new(Arc::new(SqliteDialect));
        let database = turso_core::Database::open(io, path, options)?;
        let control = database.connect()?;
        // It has no effect on a database that exists.
        control.execute(format!("PRAGMA page_size={}", knob("page_size")))?;
        for statement in &setup {
            control.execute(statement)?;
        }
        control.execute(sql::TABLE)?;
        // Turso flushes its files, and not their entries in the folder.
        std::fs::File::open(&open.directory)?.sync_all()?;
        Ok(Self {
            database,
            setup,
            control,
        })
    }

    fn session(&self) -> Result<TursoSession, Failure> {
        TursoSession::new(Self::connect(&self.database, &self.setup)?)
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        let mode = CheckpointMode::Truncate {
            upper_bound_inclusive: None,
        };
        self.control.checkpoint(mode)?;
        Ok(())
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        let reported = SETTINGS.iter().filter_map(|name| self.reported(name));
        let schema = Value::Text(sql::TABLE.to_owned());
        reported.chain([("schema", schema)]).collect()
    }

    fn counters(&self) -> Vec<(&'static str, Value)> {
        let counters = ["page_count", "freelist_count"];
        counters
            .iter()
            .filter_map(|name| self.reported(name))
            .collect()
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.control.close()?)
    }
}

/// One worker's session: a connection and its prepared statements.
pub struct TursoSession {
    sql: Sql,
    /// By [`scan_index`]; prepared when first used.
    scans: [Option<Statement>; sql::SCANS],
    /// The statement of the open scan.
    scan: usize,
    /// What a get returned.
    value: Vec<u8>,
    connection: Arc<Connection>,
}

impl TursoSession {
    fn new(connection: Arc<Connection>) -> Result<Self, Failure> {
        Ok(Self {
            sql: Sql::prepare(&connection)?,
            scans: std::array::from_fn(|_| None),
            scan: 0,
            value: Vec::new(),
            connection,
        })
    }

    /// Ends the transaction, unless Turso has already rolled it back after an error.
    fn roll_back(&mut self) -> Result<(), Failure> {
        if self.connection.get_auto_commit() {
            return Ok(());
        }
        Ok(sql::run(&mut self.sql.rollback, &[])?)
    }
}

impl Session for TursoSession {
    fn begin(&mut self, mode: Mode) -> Result<(), Failure> {
        let begin = match mode {
            Mode::Read => &mut self.sql.begin_read,
            Mode::Write => &mut self.sql.begin_write,
        };
        let outcome = sql::run(begin, &[]);
        if outcome.is_err() {
            self.roll_back()?;
        }
        Ok(outcome?)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let outcome = sql::run(&mut self.sql.commit, &[]);
        if outcome.is_err() {
            self.roll_back()?;
        }
        Ok(outcome?)
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.roll_back()
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let get = &mut self.sql.get;
        sql::start(get, &[key])?;
        if !step(get)? {
            return Ok(None);
        }
        self.value.clear();
        self.value.extend_from_slice(sql::blob(get, 0));
        // To its end: a statement that is on a row keeps the transaction from its end.
        while step(get)? {}
        Ok(Some(&self.value))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        Ok(sql::run(&mut self.sql.put, &[key, value])?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Failure> {
        Ok(sql::run(&mut self.sql.remove, &[key])?)
    }

    fn scan(&mut self, range: Range<'_>) -> Result<(), Failure> {
        self.scan = scan_index(&range);
        if self.scans[self.scan].is_none() {
            let scan = self.connection.prepare(scan_sql(&range))?;
            self.scans[self.scan] = Some(scan);
        }
        let Some(scan) = &mut self.scans[self.scan] else {
            unreachable!("it was just prepared");
        };
        let key = |bound| match bound {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
        };
        Ok(match (key(range.lower), key(range.upper)) {
            (Some(lower), Some(upper)) => sql::start(scan, &[lower, upper]),
            (Some(key), None) | (None, Some(key)) => sql::start(scan, &[key]),
            (None, None) => sql::start(scan, &[]),
        }?)
    }

    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, Failure> {
        let Some(scan) = &mut self.scans[self.scan] else {
            return Ok(None);
        };
        if !step(scan)? {
            return Ok(None);
        }
        Ok(Some((sql::blob(scan, 0), sql::blob(scan, 1))))
    }

    fn end_scan(&mut self) {
        if let Some(scan) = &mut self.scans[self.scan] {
            scan.reset_best_effort();
        }
    }
}

impl Drop for TursoSession {
    fn drop(&mut self) {
        // It rolls an open transaction back. The control connection stays open, so that nothing is
        // checkpointed here.
        let _ = self.connection.close();
    }
}
