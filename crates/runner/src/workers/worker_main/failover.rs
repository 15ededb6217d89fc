//! A session that survives the failover of a cluster: it finds the new leader, and learns there
//! whether a commit without an answer took effect.
//!
//! Each write transaction also puts the number of the transaction into a record of the worker's
//! own. After a lost connection that record tells what the new leader has.
//!
//! A commit that nobody acknowledged may be read there and be lost with the next leader: PostgreSQL
//! shows commits that waited for a follower once the leader restarts. That is no broken promise, so
//! such commits are counted apart from those that were acknowledged.

use super::commit_numbers::CommitNumbers;
use crate::evidence::failover::CommitLog;
use crate::workers::clock::read_monotonic_ns;
use crate::workers::meter::Stage;
use std::time::{Duration, Instant};
use trueput_engine::{
    BatchVisitor, Database, Datum, Dialect, Direction, Error, KeyBatch, KeyRange, Mode,
    RecordSource, RecordVisitor, Result, Session, Sql, ValueVisitor,
    sql::{RowVisitor, Statement},
};

/// The start of the keys of the workers' own records: behind those of workloads.
const MARKER: &[u8] = b"\xff\xfftrueput-worker-";

/// The time without a leader after which a trial fails.
const NO_LEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// The interval between two attempts to reach a leader.
const PAUSE: Duration = Duration::from_millis(5);

/// A session on the leader of a cluster, whoever that is.
pub(super) struct FailoverSession<'a> {
    database: &'a dyn Database,
    stage: &'a Stage,
    /// The present session; `None` after a lost connection.
    session: Option<Box<dyn Session + 'a>>,
    marker: Vec<u8>,
    /// The numbers of its write transactions.
    numbers: CommitNumbers,
    /// The open transaction, also if its connection was lost.
    open: Option<Mode>,
    /// The dialect of its SQL, if it has SQL.
    dialect: Option<Dialect>,
    /// The statements that the workload has prepared, and what the present session calls them.
    statements: Vec<(String, Statement)>,
    log: CommitLog,
}

impl<'a> FailoverSession<'a> {
    /// Opens a session for the worker of that number, whose work takes about `expected_s`.
    ///
    /// # Errors
    /// The errors of the engine; no leader for [`NO_LEADER_TIMEOUT`].
    pub fn open(
        database: &'a dyn Database,
        stage: &'a Stage,
        worker: u32,
        expected_s: Option<f64>,
    ) -> Result<Self> {
        let mut opened = Self {
            database,
            stage,
            session: None,
            marker: [MARKER, &worker.to_be_bytes()].concat(),
            numbers: CommitNumbers::default(),
            open: None,
            dialect: None,
            statements: Vec::new(),
            log: CommitLog::begin(now_ns()?, expected_s),
        };
        opened.numbers = CommitNumbers::after(opened.connect()?);
        opened.dialect = opened.present()?.sql().map(|sql| sql.dialect());
        Ok(opened)
    }

    /// Ends the log, checks that the last acknowledged commit is there, and removes the worker's
    /// own record.
    ///
    /// # Errors
    /// As [`FailoverSession::open`].
    pub fn finish(mut self) -> Result<CommitLog> {
        self.log.end_gap(now_ns()?);
        let began = Instant::now();
        loop {
            self.reconnect()?;
            match self.remove_marker() {
                Err(error) if began.elapsed() >= NO_LEADER_TIMEOUT => return Err(error),
                Err(error) if error.is_disconnection() => self.session = None,
                Err(error) if error.is_conflict() => {}
                removed => return removed.map(|()| self.log),
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn remove_marker(&mut self) -> Result<()> {
        let stored = self.read_marker()?;
        self.note_missing(stored);
        // A removal without an answer may have taken effect.
        self.numbers = CommitNumbers::default();
        let marker = self.marker.clone();
        let session = self.present()?;
        session.begin(Mode::Write)?;
        if let Err(error) = session.delete(&marker) {
            let _ = session.abort();
            return Err(error);
        }
        session.commit()
    }

    /// Returns the present session.
    fn present(&mut self) -> Result<&mut (dyn Session + 'a)> {
        match &mut self.session {
            Some(session) => Ok(&mut **session),
            None => Err(lost()),
        }
    }

    /// Reads the number in the worker's own record; 0 if there is none.
    fn read_marker(&mut self) -> Result<u64> {
        let (marker, mut number) = (self.marker.clone(), 0);
        self.present()?.point_read(&marker, &mut |value| {
            number = value.try_into().map_or(0, u64::from_be_bytes);
        })?;
        Ok(number)
    }

    /// Opens a session on the leader, waiting for one, and returns the number in the worker's own
    /// record there.
    fn connect(&mut self) -> Result<u64> {
        let began = Instant::now();
        loop {
            let tried = self.try_connect();
            let error = match tried {
                Ok(number) => return Ok(number),
                Err(error) if error.is_disconnection() || error.is_conflict() => error,
                Err(error) => return Err(error),
            };
            self.session = None;
            if self.stage.is_stopped() {
                return Err(error);
            }
            if began.elapsed() >= NO_LEADER_TIMEOUT {
                return Err(Error::engine(format!(
                    "the cluster has had no leader for {} s: {error}",
                    NO_LEADER_TIMEOUT.as_secs()
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn try_connect(&mut self) -> Result<u64> {
        let session = self.session.insert(self.database.session()?);
        for (text, statement) in &mut self.statements {
            *statement = sql_of(&mut **session)?.prepare(text)?;
        }
        self.read_marker()
    }

    /// Opens a session on the leader if there is none. A commit that is missing there is counted.
    fn reconnect(&mut self) -> Result<()> {
        if self.session.is_none() {
            let stored = self.connect()?;
            self.log.reconnections += 1;
            self.note_missing(stored);
        }
        Ok(())
    }

    fn note_missing(&mut self, stored: u64) {
        let missing = self.numbers.take_missing(stored);
        self.log.missing += missing.acknowledged;
        self.log.visible_then_lost += missing.only_read;
    }

    /// Passes an operation on, and turns a lost connection into a conflict: the transaction has had
    /// no effect. Outside a transaction it opens a lost connection again.
    fn pass<T>(&mut self, operation: impl FnOnce(&mut dyn Session) -> Result<T>) -> Result<T> {
        if self.open.is_none() {
            self.reconnect()?;
        }
        let done = match self.present() {
            Ok(session) => operation(session),
            Err(error) => Err(error),
        };
        self.without_connection(done)
    }

    fn without_connection<T>(&mut self, done: Result<T>) -> Result<T> {
        match done {
            Err(error) if error.is_disconnection() => {
                if self.session.take().is_some() {
                    self.log.repeated += 1;
                }
                Err(Error::Conflict(error.to_string()))
            }
            done => done,
        }
    }

    /// Learns from the new leader whether a commit without an answer took effect.
    fn resolve(&mut self, reason: &Error) -> Result<()> {
        self.session = None;
        let stored = self.connect()?;
        self.log.reconnections += 1;
        if stored == self.numbers.last() + 1 {
            self.log.unknown_committed += 1;
            // It was read, which ends no time without commits.
            self.numbers.note_read(stored);
            return Ok(());
        }
        self.log.unknown_lost += 1;
        self.note_missing(stored);
        Err(Error::Conflict(reason.to_string()))
    }

    fn acknowledge(&mut self) -> Result<()> {
        self.numbers.acknowledge();
        self.log.acknowledge(now_ns()?);
        Ok(())
    }
}

/// Puts the number of a transaction into the worker's own record: the next one after what is there.
/// Returns what was there. It is read in the transaction, so that one that was repeated cannot take
/// effect unnoticed later.
fn mark(session: &mut (dyn Session + '_), marker: &[u8], last: u64) -> Result<u64> {
    let mut stored = 0;
    session.get(marker, &mut |value| {
        stored = value.try_into().map_or(0, u64::from_be_bytes);
    })?;
    let number = stored.max(last) + 1;
    session.put(marker, &number.to_be_bytes())?;
    Ok(stored)
}

fn now_ns() -> Result<u64> {
    read_monotonic_ns().map_err(|error| Error::engine(error.to_string()))
}

fn lost() -> Error {
    Error::Disconnected("the connection to the leader is lost".to_owned())
}

fn sql_of<'s>(session: &'s mut (dyn Session + '_)) -> Result<&'s mut dyn Sql> {
    let has_none = || Error::Unsupported("the session has no SQL".to_owned());
    session.sql().ok_or_else(has_none)
}

impl Session for FailoverSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.pass(|session| session.begin(mode))?;
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.pass(|session| session.get(key, visitor))
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        self.pass(|session| session.get_many(keys, visitor))
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        self.pass(|session| session.point_read(key, visitor))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.pass(|session| session.put(key, value))
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pass(|session| session.put_if_absent(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.pass(|session| session.delete(key))
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let mut own = 0;
        let scanned = self.pass(|session| {
            session.scan(range, direction, &mut |key, value| {
                if key.starts_with(MARKER) {
                    own += 1;
                    std::ops::ControlFlow::Continue(())
                } else {
                    visitor(key, value)
                }
            })
        });
        scanned.map(|count| count - own)
    }

    fn commit(&mut self) -> Result<()> {
        if self.open != Some(Mode::Write) {
            let committed = self.pass(|session| session.commit());
            self.open = None;
            return committed;
        }
        let (marker, last) = (std::mem::take(&mut self.marker), self.numbers.last());
        let marked = self.pass(|session| {
            let marked = mark(session, &marker, last);
            if marked.is_err() {
                // The error says more than one of the abort.
                let _ = session.abort();
            }
            marked
        });
        self.marker = marker;
        self.open = None;
        let stored = marked?;
        // What took effect after it had been repeated did so before this transaction.
        self.log.late += stored.saturating_sub(last);
        self.numbers.note_read(stored);
        match self.present().and_then(|session| session.commit()) {
            Ok(()) => self.acknowledge(),
            Err(error) if error.is_disconnection() => self.resolve(&error),
            Err(error) => Err(error),
        }
    }

    /// It does not load in bulk: the records would be committed without a marker, so that after a
    /// lost connection nobody knew which are there.
    fn bulk_load(&mut self, _records: &mut dyn RecordSource) -> Result<bool> {
        Ok(false)
    }

    fn abort(&mut self) -> Result<()> {
        self.open = None;
        match &mut self.session {
            Some(session) => {
                let aborted = session.abort();
                match aborted {
                    Err(error) if error.is_disconnection() => {
                        self.session = None;
                        Ok(())
                    }
                    aborted => aborted,
                }
            }
            // It ended with its connection.
            None => Ok(()),
        }
    }

    fn flush_counters(&mut self) -> Result<()> {
        self.reconnect()?;
        match self.present()?.flush_counters() {
            // The counters of a server that has gone are not read.
            Err(error) if error.is_disconnection() => {
                self.session = None;
                Ok(())
            }
            flushed => flushed,
        }
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        match self.dialect {
            Some(_) => Some(self),
            None => None,
        }
    }
}

impl Sql for FailoverSession<'_> {
    fn dialect(&self) -> Dialect {
        // Only a session with SQL is taken for one.
        self.dialect.unwrap_or(Dialect::Postgresql)
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        self.pass(|session| sql_of(session)?.batch(statements))
    }

    fn prepare(&mut self, statement: &str) -> Result<Statement> {
        let prepared = self.pass(|session| sql_of(session)?.prepare(statement))?;
        self.statements.push((statement.to_owned(), prepared));
        Ok(Statement(self.statements.len() - 1))
    }

    fn execute(&mut self, statement: Statement, parameters: &[Datum<'_>]) -> Result<u64> {
        let (_, statement) = self.statements[statement.0];
        self.pass(|session| sql_of(session)?.execute(statement, parameters))
    }

    fn query(
        &mut self,
        statement: Statement,
        parameters: &[Datum<'_>],
        visitor: &mut RowVisitor<'_>,
    ) -> Result<u64> {
        let (_, statement) = self.statements[statement.0];
        self.pass(|session| sql_of(session)?.query(statement, parameters, visitor))
    }
}
