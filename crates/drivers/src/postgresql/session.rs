//! A session: a connection, a table of keys and values, and statements prepared over both.

use super::isolation::PostgresqlIsolation;
use super::message::{RowColumns, length};
use super::value::{BinaryCopy, encode_keys};
use super::wire::{CommandResult, PostgresqlConnection};
use crate::key_positions::KeyPositions;
use std::ops::ControlFlow;
use trueput_engine::common_errors::{self, LengthLimits};
use trueput_engine::sql::scan::{ScanShape, end_keys, scan_in_batches};
use trueput_engine::{
    BatchVisitor, Direction, Error, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor, Result,
    Session, Sql, ValueVisitor, get_each,
};

/// Statements that every session prepares, by their names.
const GET: &str = "get";
const GET_MANY: &str = "get-many";
const GET_LOCKED: &str = "get-locked";
const LOCK_MISSING: &str = "lock-missing";
const PUT: &str = "put";
const PUT_IF_ABSENT: &str = "put-if-absent";
const DELETE: &str = "delete";
const BEGIN_WRITE: &str = "begin-write";
const BEGIN_READ: &str = "begin-read";
const COMMIT: &str = "commit";
const ROLLBACK: &str = "rollback";

/// The most records of a scan's first statement, of the second, and of each later one.
const BATCHES: [usize; 3] = [16, 128, 1024];

/// The number of scan statements.
const SCANS: usize = ScanShape::COUNT * BATCHES.len();

const LIMITS: LengthLimits = LengthLimits::new(super::MAX_KEY_BYTES, super::MAX_VALUE_BYTES);

/// The state of a session's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionState {
    Idle,
    /// Begun here; the server hears of it with the first statement, in one round trip.
    Begun(Mode),
    /// Begun there.
    Open(Mode),
}

/// A statement of a workload's.
pub(super) struct PostgresqlStatement {
    /// Its name on the connection.
    pub name: String,
    /// The types of its parameters.
    pub parameters: Vec<u32>,
    /// The types of its columns.
    pub columns: Vec<u32>,
}

/// A session.
pub(super) struct PostgresqlSession {
    pub(super) connection: PostgresqlConnection,
    isolation: PostgresqlIsolation,
    state: TransactionState,
    /// The names of the scan statements; empty: not prepared yet.
    scans: [String; SCANS],
    /// The statements that the workload has prepared.
    pub(super) statements: Vec<PostgresqlStatement>,
    /// Room for the arrays of a row, one for each column.
    pub(super) arrays: Vec<Vec<i64>>,
    /// Those of the last batch of look-ups.
    positions: KeyPositions,
}

impl PostgresqlSession {
    /// Prepares the session's statements.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn new(
        mut connection: PostgresqlConnection,
        isolation: PostgresqlIsolation,
    ) -> Result<Self> {
        let select = "SELECT v FROM record WHERE k = $1";
        let (locked, begin_write) = (format!("{select} FOR UPDATE"), isolation.begin(Mode::Write));
        let begin_read = isolation.begin(Mode::Read);
        let put = "INSERT INTO record (k, v) VALUES ($1, $2) \
                   ON CONFLICT (k) DO UPDATE SET v = excluded.v";
        let put_if_absent = "INSERT INTO record (k, v) VALUES ($1, $2) \
                             ON CONFLICT (k) DO NOTHING";
        for (name, text) in [
            (GET, select),
            (GET_MANY, "SELECT k, v FROM record WHERE k = ANY($1)"),
            (GET_LOCKED, &locked),
            (
                LOCK_MISSING,
                "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))",
            ),
            (PUT, put),
            (PUT_IF_ABSENT, put_if_absent),
            (DELETE, "DELETE FROM record WHERE k = $1"),
            (BEGIN_WRITE, begin_write),
            (BEGIN_READ, begin_read),
            (COMMIT, "COMMIT"),
            (ROLLBACK, "ROLLBACK"),
        ] {
            connection.parse(name, text)?;
        }
        connection.finish(&mut ignore)?;
        Ok(Self {
            connection,
            isolation,
            state: TransactionState::Idle,
            scans: std::array::from_fn(|_| String::new()),
            statements: Vec::new(),
            arrays: Vec::new(),
            positions: KeyPositions::default(),
        })
    }

    /// The text that begins the open transaction if the server does not know of it yet; otherwise
    /// empty.
    pub(super) fn pending(&self) -> &'static str {
        match self.state {
            TransactionState::Begun(mode) => self.isolation.begin(mode),
            _ => "",
        }
    }

    /// Notes that the server has heard of the transaction.
    pub(super) fn note_sent(&mut self) {
        if let TransactionState::Begun(mode) = self.state {
            self.state = TransactionState::Open(mode);
        }
    }

    /// Asks for the beginning of a transaction that the server has not heard of.
    pub(super) fn send_begin(&mut self) -> Result<()> {
        match self.state {
            TransactionState::Begun(Mode::Write) => {
                self.connection.execute(BEGIN_WRITE, 0, |_| Ok(()))
            }
            TransactionState::Begun(Mode::Read) => {
                self.connection.execute(BEGIN_READ, 0, |_| Ok(()))
            }
            _ => Ok(()),
        }
    }

    /// Executes a statement of this driver's with these values of bytes.
    fn run(
        &mut self,
        name: &str,
        values: &[&[u8]],
        on_row: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<CommandResult> {
        let write = |out: &mut Vec<u8>| encode_values(out, values);
        self.run_with(name, values.len(), write, on_row)
    }

    /// Executes a statement of this driver's with so many values, which `write` writes.
    fn run_with(
        &mut self,
        name: &str,
        count: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
        on_row: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<CommandResult> {
        self.send_begin()?;
        self.queue(name, count, write)?;
        self.note_sent();
        self.connection.finish(on_row)
    }

    /// Adds a statement of this driver's to the next round trip, with so many values, which `write`
    /// writes. If that fails, nothing is left to be sent.
    fn queue(
        &mut self,
        name: &str,
        count: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let queued = self.connection.execute(name, count, write);
        queued.inspect_err(|_| self.connection.discard())
    }

    fn open(&self) -> Option<Mode> {
        match self.state {
            TransactionState::Idle => None,
            TransactionState::Begun(mode) | TransactionState::Open(mode) => Some(mode),
        }
    }

    /// Whether a get locks what it finds, and what it does not find.
    fn get_locks(&self) -> Result<bool> {
        let is_writing = common_errors::require_open(self.open())? == Mode::Write;
        Ok(is_writing && self.isolation == PostgresqlIsolation::ReadCommitted)
    }

    fn value_of(
        &mut self,
        statement: &str,
        key: &[u8],
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        let mut found = false;
        self.run(statement, &[key], &mut |row| {
            let value = RowColumns::of(row)?.next_column()?;
            visitor(value.unwrap_or_default());
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Has the statement of a scan prepared, and gives its number.
    fn scan_statement(&mut self, shape: ScanShape, batch: usize) -> Result<usize> {
        let number = shape.index() * BATCHES.len() + batch;
        if self.scans[number].is_empty() {
            let name = format!("scan-{number}");
            self.connection
                .parse(&name, &scan_sql(shape, BATCHES[batch]))?;
            self.connection.finish(&mut ignore)?;
            self.scans[number] = name;
        }
        Ok(number)
    }

    /// Shows one batch of a scan; returns the number of its records and whether the visitor broke.
    fn scan_batch(
        &mut self,
        range: &KeyRange<'_>,
        (direction, batch): (Direction, usize),
        last_key: &mut Vec<u8>,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<(usize, bool)> {
        let number = self.scan_statement(ScanShape::of(range, direction), batch)?;
        let (mut shown, mut broke) = (0, false);
        let none: &[u8] = &[];
        let (mut bounds, mut count) = ([none; 2], 0);
        for key in end_keys(range) {
            bounds[count] = key;
            count += 1;
        }
        // It is taken while the statement runs, and not copied.
        let name = std::mem::take(&mut self.scans[number]);
        let done = self.run(&name, &bounds[..count], &mut |row| {
            let mut columns = RowColumns::of(row)?;
            let key = columns.next_column()?.unwrap_or_default();
            let value = columns.next_column()?.unwrap_or_default();
            shown += 1;
            if shown == BATCHES[batch] {
                last_key.clear();
                last_key.extend_from_slice(key);
            }
            let flow = visitor(key, value);
            broke = flow.is_break();
            Ok(flow)
        });
        self.scans[number] = name;
        done?;
        Ok((shown, broke))
    }
}

impl Session for PostgresqlSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open())?;
        self.state = TransactionState::Begun(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        if !self.get_locks()? {
            return self.value_of(GET, key, visitor);
        }
        if self.value_of(GET_LOCKED, key, visitor)? {
            return Ok(true);
        }
        // A missing row cannot be locked: two transactions would both find nothing, and the second
        // to store would overwrite a row that it has not seen. A put without a get does not wait:
        // it has seen nothing itself.
        self.run(LOCK_MISSING, &[key], &mut ignore)?;
        self.value_of(GET_LOCKED, key, visitor)
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        if self.get_locks()? {
            return get_each(self, keys, visitor);
        }
        if keys.is_empty() {
            return Ok(0);
        }
        // They are taken while the statement runs.
        let mut positions = std::mem::take(&mut self.positions);
        positions.note(keys);
        let mut found = 0;
        let write = |out: &mut Vec<u8>| encode_keys(out, keys);
        let done = self.run_with(GET_MANY, 1, write, &mut |row| {
            let mut columns = RowColumns::of(row)?;
            let key = columns.next_column()?.unwrap_or_default();
            let value = columns.next_column()?.unwrap_or_default();
            for position in positions.of(keys, key) {
                found += 1;
                visitor(*position, value);
            }
            Ok(ControlFlow::Continue(()))
        });
        self.positions = positions;
        done.map(|_| found)
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        common_errors::require_closed(self.open())?;
        self.value_of(GET, key, visitor)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.open())?;
        LIMITS.check(key, value)?;
        self.run(PUT, &[key, value], &mut ignore).map(drop)
    }

    /// At read committed it first locks the key, in the same round trip, as a get does that finds
    /// nothing: else it could store a record which that transaction's later put overwrites unseen.
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        common_errors::require_write(self.open())?;
        LIMITS.check(key, value)?;
        let locks = self.get_locks()?;
        self.send_begin()?;
        if locks {
            self.queue(LOCK_MISSING, 1, |out| encode_values(out, &[key]))?;
        }
        self.queue(PUT_IF_ABSENT, 2, |out| encode_values(out, &[key, value]))?;
        self.note_sent();
        let inserted = self.connection.finish(&mut ignore)?;
        Ok(inserted.rows > 0)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open())?;
        self.run(DELETE, &[key], &mut ignore).map(drop)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        common_errors::require_open(self.open())?;
        scan_in_batches(range, direction, &BATCHES, |rest, batch, last| {
            self.scan_batch(rest, (direction, batch), last, visitor)
        })
    }

    fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle => Err(common_errors::no_transaction()),
            TransactionState::Begun(_) => Ok(()),
            // The server would silently roll back a failed transaction.
            TransactionState::Open(_) if self.connection.has_failed() => {
                self.run(ROLLBACK, &[], &mut ignore)?;
                Err(Error::engine(
                    "the transaction had failed and was rolled back",
                ))
            }
            TransactionState::Open(_) => self.run(COMMIT, &[], &mut ignore).map(drop),
        }
    }

    fn abort(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, TransactionState::Idle) {
            TransactionState::Idle => Err(common_errors::no_transaction()),
            TransactionState::Begun(_) => Ok(()),
            TransactionState::Open(_) => self.run(ROLLBACK, &[], &mut ignore).map(drop),
        }
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        common_errors::require_closed(self.open())?;
        let mut copy = BinaryCopy::default();
        let statement = "COPY record (k, v) FROM STDIN (FORMAT binary)";
        self.connection
            .copy_in(statement, |out| copy.write_part(out, records, LIMITS))?;
        Ok(true)
    }

    fn flush_counters(&mut self) -> Result<()> {
        if !self.connection.can_flush_counters() {
            return Ok(());
        }
        // It takes effect with the end of this statement, before the answer to it.
        let statement = "SELECT pg_stat_force_next_flush()";
        self.connection.simple(statement, &mut |_, _| ()).map(drop)
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        Some(self)
    }
}

/// Appends the values of a statement, each as its length and its bytes.
fn encode_values(out: &mut Vec<u8>, values: &[&[u8]]) -> Result<()> {
    for value in values {
        out.extend_from_slice(&length(value.len())?.to_be_bytes());
        out.extend_from_slice(value);
    }
    Ok(())
}

/// A statement that gives no rows.
#[allow(
    clippy::unnecessary_wraps,
    reason = "it stands where rows are looked at"
)]
pub(super) fn ignore(_: &[u8]) -> Result<ControlFlow<()>> {
    Ok(ControlFlow::Continue(()))
}

fn scan_sql(shape: ScanShape, limit: usize) -> String {
    let clauses = shape.clauses("k", |_, position| format!("${position}"));
    format!("SELECT k, v FROM record {clauses} LIMIT {limit}")
}
