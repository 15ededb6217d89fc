//! A session: one connection, keys and values in a table of two columns.

use super::record_text::RecordText;
use super::schema::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use super::statement::MariaDbStatement;
use super::wire::MariaDbConnection;
use crate::key_positions::KeyPositions;
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use trueput_engine::common_errors::{self, LengthLimits};
use trueput_engine::sql::scan::{ScanShape, end_keys, scan_in_batches};
use trueput_engine::{
    BatchVisitor, Datum, Direction, Error, KeyBatch, KeyRange, Mode, RecordSource, RecordVisitor,
    Result, Session, Sql, ValueVisitor, get_each,
};

const LIMITS: LengthLimits = LengthLimits::new(MAX_KEY_BYTES, MAX_VALUE_BYTES);

const GET: &str = "SELECT v FROM record WHERE k = ?";
/// A write transaction locks the records that it reads: nobody else changes them before its commit.
const GET_LOCKED: &str = "SELECT v FROM record WHERE k = ? FOR UPDATE";
const PUT: &str = "INSERT INTO record (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)";
/// A put of a key that this transaction has looked up and not found. There was no row to lock, and
/// without gap locks another transaction may have inserted one since: that is then an error rather
/// than a lost update.
const INSERT: &str = "INSERT INTO record (k, v) VALUES (?, ?)";
/// The server's error code for an [`INSERT`] of an existing key.
const DUPLICATE_KEY: i64 = 1062;
/// A put that leaves an existing key alone, and then has changed no row.
const INSERT_IGNORE: &str = "INSERT IGNORE INTO record (k, v) VALUES (?, ?)";
const DELETE: &str = "DELETE FROM record WHERE k = ?";
/// Loads the records of a [`RecordText`]. Nobody reads the file's name.
const LOAD: &str = "LOAD DATA LOCAL INFILE 'records' INTO TABLE record CHARACTER SET binary \
                    FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (k, v)";
/// The server's error codes where its owner has turned loads from clients off (`local_infile`):
/// before MariaDB 10.5, and since.
const LOAD_REFUSED: [i64; 2] = [1148, 4166];

/// The most records of a scan's first statement, of the second, and so on.
const BATCHES: [usize; 5] = [64, 256, 1024, 4096, 8192];

/// The most keys of a batch that one statement looks up.
const MAX_KEYS: usize = 128;
/// Statements that look up a list of 1, 2, 4 … [`MAX_KEYS`] keys.
const LISTS: usize = MAX_KEYS.ilog2() as usize + 1;

/// Statements of the key-value table: one look-up each for reading and writing, three puts, a
/// delete, and scans by mode, direction and two kinds of each end.
const SCANS: usize = 2 * ScanShape::COUNT;
const OTHERS: [&str; 6] = [GET, GET_LOCKED, PUT, DELETE, INSERT, INSERT_IGNORE];

/// One worker's session over a database.
pub(super) struct MariaDbSession {
    pub(super) open: Option<Mode>,
    pub(super) connection: MariaDbConnection,
    /// The statements that [`Sql::prepare`] has prepared, in order.
    pub(super) prepared: Vec<MariaDbStatement>,
    others: [Option<MariaDbStatement>; OTHERS.len()],
    scans: [Option<MariaDbStatement>; SCANS],
    lists: [Option<MariaDbStatement>; LISTS],
    /// Those of the last batch of look-ups.
    positions: KeyPositions,
    /// Keys that the write transaction has looked up and not found, and has not put since.
    missing: HashSet<Vec<u8>>,
    /// Whether the session's transactions read from one snapshot by themselves.
    is_isolated: bool,
}

impl MariaDbSession {
    pub(super) fn new(connection: MariaDbConnection, is_isolated: bool) -> Self {
        Self {
            open: None,
            connection,
            prepared: Vec::new(),
            others: std::array::from_fn(|_| None),
            scans: std::array::from_fn(|_| None),
            lists: std::array::from_fn(|_| None),
            positions: KeyPositions::default(),
            missing: HashSet::new(),
            is_isolated,
        }
    }

    fn other(&mut self, index: usize) -> Result<(&mut MariaDbStatement, &mut MariaDbConnection)> {
        let connection = &mut self.connection;
        let slot = &mut self.others[index];
        let prepared = match slot {
            Some(prepared) => prepared,
            None => slot.insert(MariaDbStatement::new(connection, OTHERS[index])?),
        };
        Ok((prepared, connection))
    }

    fn look_up(
        &mut self,
        index: usize,
        key: &[u8],
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        let (prepared, connection) = self.other(index)?;
        let shown = prepared.query(connection, &[Datum::Bytes(key)], &mut |row| {
            if let [Datum::Bytes(value)] = row {
                visitor(value);
            }
            ControlFlow::Continue(())
        })?;
        Ok(shown > 0)
    }

    /// Looks up the keys of a batch at these positions, at most [`MAX_KEYS`], in one statement.
    fn look_up_list(
        &mut self,
        keys: &KeyBatch,
        part: &Range<usize>,
        positions: &KeyPositions,
        visitor: &mut BatchVisitor<'_>,
    ) -> Result<()> {
        let size = part.len().next_power_of_two();
        let slot = &mut self.lists[size.ilog2() as usize];
        let prepared = match slot {
            Some(prepared) => prepared,
            None => slot.insert(MariaDbStatement::new(
                &mut self.connection,
                &list_sql(size),
            )?),
        };
        let (mut parameters, mut last) = ([Datum::Null; MAX_KEYS], Datum::Null);
        let mut rest = keys.keys_from(part.start).take(part.len());
        for parameter in &mut parameters[..size] {
            // Behind the keys the last one is given again: it is found once.
            last = rest.next().map_or(last, Datum::Bytes);
            *parameter = last;
        }
        prepared.query(&mut self.connection, &parameters[..size], &mut |row| {
            if let [Datum::Bytes(key), Datum::Bytes(value)] = row {
                let own = positions.of(keys, key).iter();
                own.filter(|position| part.contains(*position))
                    .for_each(|position| visitor(*position, value));
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Loads the next records in one statement, which is a transaction, and commits it.
    fn load_statement(
        &mut self,
        text: &mut RecordText,
        records: &mut dyn RecordSource,
    ) -> Result<()> {
        self.begin(Mode::Write)?;
        let stored = self
            .connection
            .load_local(LOAD, |out| text.write_part(out, records, LIMITS));
        match stored.and_then(|stored| text.end_statement(stored)) {
            Ok(()) => self.commit(),
            Err(error) => {
                // The first error is the one to report.
                let _ = self.abort();
                Err(error)
            }
        }
    }

    /// Shows up to `most` records; returns their number and whether the visitor broke, and copies
    /// the last key into `last`.
    fn scan_batch(
        &mut self,
        range: &KeyRange<'_>,
        direction: Direction,
        most: usize,
        last: &mut Vec<u8>,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<(usize, bool)> {
        let is_locking = self.open == Some(Mode::Write);
        let shape = ScanShape::of(range, direction);
        let slot = &mut self.scans[usize::from(is_locking) * ScanShape::COUNT + shape.index()];
        let prepared = match slot {
            Some(prepared) => prepared,
            None => slot.insert(MariaDbStatement::new(
                &mut self.connection,
                &scan_sql(shape, is_locking),
            )?),
        };
        // The limit follows the ends that there are.
        let (mut parameters, mut count) = ([Datum::Integer(most as i64); 3], 0);
        for key in end_keys(range) {
            parameters[count] = Datum::Bytes(key);
            count += 1;
        }
        let parameters = &parameters[..=count];
        let mut is_broken = false;
        let shown = prepared.query(&mut self.connection, parameters, &mut |row| {
            let [Datum::Bytes(key), Datum::Bytes(value)] = row else {
                return ControlFlow::Break(());
            };
            last.clear();
            last.extend_from_slice(key);
            let flow = visitor(key, value);
            is_broken = flow.is_break();
            flow
        })?;
        Ok((usize::try_from(shown).unwrap_or(usize::MAX), is_broken))
    }
}

/// The error for a key that exists although this transaction has looked it up and not found it.
#[cold]
fn put_by_another() -> Error {
    Error::Conflict("another has put the key since it was looked up".to_owned())
}

/// The statements that begin a transaction. A reading one has one snapshot from its beginning.
fn begin(mode: Mode, is_isolated: bool) -> &'static str {
    match (mode, is_isolated) {
        (Mode::Write, _) => "START TRANSACTION",
        (Mode::Read, true) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        (Mode::Read, false) => {
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
             START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
        }
    }
}

fn list_sql(keys: usize) -> String {
    let more = ", ?".repeat(keys - 1);
    format!("SELECT k, v FROM record WHERE k IN (?{more})")
}

fn scan_sql(shape: ScanShape, is_locking: bool) -> String {
    let clauses = shape.clauses("k", |_, _| "?".to_owned());
    let lock = if is_locking { " FOR UPDATE" } else { "" };
    format!("SELECT k, v FROM record {clauses} LIMIT ?{lock}")
}

impl Session for MariaDbSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open)?;
        self.missing.clear();
        self.connection.batch(begin(mode, self.is_isolated))?;
        self.open = Some(mode);
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        match self.open {
            None => Err(common_errors::no_transaction()),
            Some(Mode::Read) => self.look_up(0, key, visitor),
            Some(Mode::Write) => {
                let found = self.look_up(1, key, visitor)?;
                if !found {
                    self.missing.insert(key.to_vec());
                }
                Ok(found)
            }
        }
    }

    fn get_many(&mut self, keys: &KeyBatch, visitor: &mut BatchVisitor<'_>) -> Result<u64> {
        if common_errors::require_open(self.open)? == Mode::Write {
            // Each is locked, or noted as missing.
            return get_each(self, keys, visitor);
        }
        // They are taken while the statements run.
        let mut positions = std::mem::take(&mut self.positions);
        positions.note(keys);
        let (mut found, mut done) = (0, Ok(()));
        for first in (0..keys.len()).step_by(MAX_KEYS) {
            let part = first..keys.len().min(first + MAX_KEYS);
            done = self.look_up_list(keys, &part, &positions, &mut |position, value| {
                found += 1;
                visitor(position, value);
            });
            if done.is_err() {
                break;
            }
        }
        self.positions = positions;
        done.map(|()| found)
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        match self.open {
            // A single statement is a transaction of its own: one round trip.
            None => self.look_up(0, key, visitor),
            Some(_) => Err(common_errors::already_open()),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        LIMITS.check(key, value)?;
        let was_missing = self.missing.remove(key);
        let (prepared, connection) = self.other(if was_missing { 4 } else { 2 })?;
        let put = prepared.execute(connection, &[Datum::Bytes(key), Datum::Bytes(value)]);
        match put {
            Err(Error::Engine { code, text }) if was_missing && code == DUPLICATE_KEY => {
                Err(Error::Conflict(format!("{text} (code {code})")))
            }
            put => put.map(|_| ()),
        }
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        common_errors::require_write(self.open)?;
        LIMITS.check(key, value)?;
        let was_missing = self.missing.remove(key);
        let (prepared, connection) = self.other(5)?;
        match prepared.execute(connection, &[Datum::Bytes(key), Datum::Bytes(value)])? {
            // Unless the transaction has seen that the key is missing, it may exist.
            0 if was_missing => Err(put_by_another()),
            stored => Ok(stored > 0),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        let was_missing = self.missing.contains(key);
        let (prepared, connection) = self.other(3)?;
        let deleted = prepared.execute(connection, &[Datum::Bytes(key)])?;
        if was_missing && deleted > 0 {
            Err(put_by_another())
        } else {
            Ok(())
        }
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        common_errors::require_open(self.open)?;
        scan_in_batches(range, direction, &BATCHES, |rest, batch, last| {
            self.scan_batch(rest, direction, BATCHES[batch], last, visitor)
        })
    }

    fn commit(&mut self) -> Result<()> {
        self.open.take().ok_or_else(common_errors::no_transaction)?;
        self.connection.batch("COMMIT").inspect_err(|_| {
            // The first error is the one to report.
            let _ = self.connection.batch("ROLLBACK");
        })
    }

    fn abort(&mut self) -> Result<()> {
        self.open.take().ok_or_else(common_errors::no_transaction)?;
        self.connection.batch("ROLLBACK")
    }

    fn bulk_load(&mut self, records: &mut dyn RecordSource) -> Result<bool> {
        common_errors::require_closed(self.open)?;
        let mut text = RecordText::default();
        while text.has_more() {
            match self.load_statement(&mut text, records) {
                Err(Error::Engine { code, .. })
                    if text.is_unused() && LOAD_REFUSED.contains(&code) =>
                {
                    return Ok(false);
                }
                loaded => loaded?,
            }
        }
        Ok(true)
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        Some(self)
    }
}

impl Drop for MariaDbSession {
    fn drop(&mut self) {
        if self.open.is_some() {
            // The server rolls back after the connection is closed, if this failed.
            let _: Result<()> = self.abort();
        }
    }
}
