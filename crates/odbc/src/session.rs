//! A session: a connection, a table of keys and values, and statements prepared over both.

use super::connection::OdbcConnection;
use super::dialect::{BATCHES, DialectProfile, PutMethod, ScanKind};
use super::hex;
use super::statement::{OdbcStatement, StatementText};
use std::ops::ControlFlow;
use trueput_engine::sql::scan::{end_keys, scan_in_batches};
use trueput_engine::{
    Datum, Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, Sql, ValueVisitor,
    common_errors,
};

const UPDATE: &str = "UPDATE record SET v = ? WHERE k = ?";
const INSERT: &str = "INSERT INTO record (k, v) VALUES (?, ?)";
const DELETE: &str = "DELETE FROM record WHERE k = ?";

/// Statements of the key-value table other than scans, prepared when first used.
#[derive(Debug, Clone, Copy)]
enum RecordStatement {
    Get,
    GetLocked,
    Touch,
    PutMethod,
    Insert,
    Delete,
    BeginWrite,
}

/// The number of [`RecordStatement`]s.
const OWN: usize = 7;

/// The isolation of transactions, by ODBC's bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionIsolation {
    pub(super) write: u32,
    pub(super) read: u32,
}

impl TransactionIsolation {
    fn of(self, mode: Mode) -> u32 {
        match mode {
            Mode::Write => self.write,
            Mode::Read => self.read,
        }
    }
}

/// One worker's session over a database. Its statements are before the connection, so that they
/// go first.
pub(super) struct OdbcSession {
    pub(super) open: Option<Mode>,
    /// A call within the transaction has failed: it can only be aborted.
    has_failed: bool,
    /// The isolation that the connection is set to.
    isolation: u32,
    isolations: TransactionIsolation,
    own: [Option<OdbcStatement>; OWN],
    scans: Box<[Option<OdbcStatement>]>,
    /// The statements that [`Sql::prepare`] has prepared, in order.
    pub(super) prepared: Vec<OdbcStatement>,
    pub(super) connection: OdbcConnection,
    profile: &'static DialectProfile,
    /// Keys and values in hexadecimal digits, if the table stores them so.
    texts: [String; 2],
    bytes: [Vec<u8>; 2],
}

impl OdbcSession {
    /// Takes over a connection.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn new(
        connection: OdbcConnection,
        profile: &'static DialectProfile,
        isolations: TransactionIsolation,
    ) -> Result<Self> {
        let isolation = isolations.write;
        connection.set_isolation(isolation)?;
        connection.set_autocommit(false)?;
        Ok(Self {
            open: None,
            has_failed: false,
            isolation,
            isolations,
            own: std::array::from_fn(|_| None),
            scans: (0..ScanKind::COUNT).map(|_| None).collect(),
            prepared: Vec::new(),
            connection,
            profile,
            texts: Default::default(),
            bytes: Default::default(),
        })
    }

    pub(super) fn profile(&self) -> &'static DialectProfile {
        self.profile
    }

    /// Does `work` in the open transaction, or in its own if none is open.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let done = work(self);
        match self.open {
            Some(_) => self.has_failed |= done.is_err(),
            None => self
                .connection
                .end(done.is_ok())
                .or_else(|error| match &done {
                    Ok(_) => Err(error),
                    // The first error is the one to report.
                    Err(_) => Ok(()),
                })?,
        }
        done
    }

    fn check_key(&self, key: &[u8]) -> Result<()> {
        let longest = self.profile().keys.max_key_bytes;
        if key.len() > longest {
            Err(Error::Unsupported(format!(
                "a key of {} bytes; keys have up to {longest}",
                key.len()
            )))
        } else {
            Ok(())
        }
    }

    /// A statement of the key-value table, and the connection to execute it on.
    fn prepared_statement(
        &mut self,
        which: RecordStatement,
    ) -> Result<(&mut OdbcStatement, &OdbcConnection)> {
        let (profile, connection) = (self.profile, &self.connection);
        let slot = &mut self.own[which as usize];
        let prepared = match slot {
            Some(prepared) => prepared,
            None => {
                let text = match which {
                    RecordStatement::Get => profile.get(false),
                    RecordStatement::GetLocked => profile.get(true),
                    RecordStatement::Touch => profile.touch().unwrap_or_default().to_owned(),
                    RecordStatement::BeginWrite => {
                        profile.keys.begin_write.unwrap_or_default().to_owned()
                    }
                    RecordStatement::Insert => INSERT.to_owned(),
                    RecordStatement::Delete => DELETE.to_owned(),
                    RecordStatement::PutMethod => match profile.keys.put {
                        PutMethod::One(text) => text.to_owned(),
                        PutMethod::UpdateOrInsert => UPDATE.to_owned(),
                    },
                };
                slot.insert(prepare(connection, profile, text)?)
            }
        };
        Ok((prepared, connection))
    }

    /// Executes a statement of the key-value table; returns the number of rows changed.
    fn run(&mut self, which: RecordStatement, values: &[&[u8]]) -> Result<u64> {
        let is_hex = self.profile().keys.is_hex;
        let mut texts = std::mem::take(&mut self.texts);
        let done = self
            .prepared_statement(which)
            .and_then(|(prepared, connection)| {
                let mut data = [Datum::Null; 2];
                data_of(values, is_hex, &mut texts, &mut data);
                prepared.execute(connection, &data[..values.len()])
            });
        self.texts = texts;
        done
    }

    fn look_up(
        &mut self,
        which: RecordStatement,
        key: &[u8],
        visitor: &mut ValueVisitor<'_>,
    ) -> Result<bool> {
        let is_hex = self.profile().keys.is_hex;
        let mut texts = std::mem::take(&mut self.texts);
        let mut bytes = std::mem::take(&mut self.bytes);
        let shown = self
            .prepared_statement(which)
            .and_then(|(prepared, connection)| {
                let mut data = [Datum::Null; 2];
                data_of(&[key], is_hex, &mut texts, &mut data);
                let mut info = Ok(());
                let shown = prepared.query(connection, &data[..1], &mut |row| {
                    info = bytes_of(row.first(), &mut bytes[0]).map(&mut *visitor);
                    ControlFlow::Break(())
                })?;
                info.map(|()| shown)
            });
        (self.texts, self.bytes) = (texts, bytes);
        shown.map(|shown| shown > 0)
    }

    /// Shows one batch of a scan: how many records it had, and whether the visitor broke. The last
    /// one's key is in `last`.
    fn scan_batch(
        &mut self,
        range: &KeyRange<'_>,
        (direction, batch): (Direction, usize),
        last: &mut Vec<u8>,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<(usize, bool)> {
        let profile = self.profile();
        let locks = self.open == Some(Mode::Write) && profile.locks();
        let shape = ScanKind::of(range, direction, batch, locks);
        let slot = &mut self.scans[shape.number()];
        let prepared = match slot {
            Some(prepared) => prepared,
            None => slot.insert(prepare(&self.connection, profile, profile.scan(shape))?),
        };
        let (mut keys, mut count) = ([b"".as_slice(); 2], 0);
        for end in end_keys(range) {
            keys[count] = end;
            count += 1;
        }
        let mut data = [Datum::Null; 2];
        data_of(
            &keys[..count],
            profile.keys.is_hex,
            &mut self.texts,
            &mut data,
        );
        let (mut broke, mut info) = (false, Ok(()));
        let [key_bytes, value_bytes] = &mut self.bytes;
        let shown = prepared.query(&self.connection, &data[..count], &mut |row| {
            let record = bytes_of(row.first(), key_bytes)
                .and_then(|key| Ok((key, bytes_of(row.get(1), value_bytes)?)));
            match record {
                Ok((key, value)) => {
                    last.clear();
                    last.extend_from_slice(key);
                    let flow = visitor(key, value);
                    broke = flow.is_break();
                    flow
                }
                Err(error) => {
                    info = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        info.map(|()| (usize::try_from(shown).unwrap_or(usize::MAX), broke))
    }

    fn scan_all(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        scan_in_batches(range, direction, &BATCHES, |rest, batch, last| {
            self.scan_batch(rest, (direction, batch), last, visitor)
        })
    }

    fn put_record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.profile().keys.put != PutMethod::UpdateOrInsert {
            return self
                .run(RecordStatement::PutMethod, &[key, value])
                .map(drop);
        }
        match self.run(RecordStatement::PutMethod, &[value, key])? {
            0 => self.run(RecordStatement::Insert, &[key, value]).map(drop),
            _ => Ok(()),
        }
    }
}

/// A statement of the key-value table.
fn prepare(
    connection: &OdbcConnection,
    profile: &DialectProfile,
    text: String,
) -> Result<OdbcStatement> {
    let written = StatementText {
        text,
        order: None,
        is_reading: false,
    };
    OdbcStatement::of(connection, &written, profile.binding_options)
}

/// Keys and values as parameters.
fn data_of<'v>(
    values: &[&'v [u8]],
    is_hex: bool,
    texts: &'v mut [String; 2],
    data: &mut [Datum<'v>; 2],
) {
    for ((value, text), datum) in values.iter().zip(texts).zip(data) {
        *datum = if is_hex {
            hex::write(value, text);
            Datum::Text(text)
        } else {
            Datum::Bytes(value)
        };
    }
}

/// A key or a value out of its column.
fn bytes_of<'r>(datum: Option<&Datum<'r>>, room: &'r mut Vec<u8>) -> Result<&'r [u8]> {
    match datum {
        Some(Datum::Bytes(bytes)) => Ok(bytes),
        Some(Datum::Text(text)) => hex::read(text, room),
        other => Err(Error::engine(format!("a record has {other:?} in it"))),
    }
}

impl Session for OdbcSession {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.open)?;
        let isolation = self.isolations.of(mode);
        if isolation != self.isolation {
            self.connection.set_isolation(isolation)?;
            self.isolation = isolation;
        }
        if mode == Mode::Write && self.profile().keys.begin_write.is_some() {
            let begun = self.run(RecordStatement::BeginWrite, &[]);
            if let Err(error) = begun {
                // The first error is the one to report.
                let _ = self.connection.end(false);
                return Err(error);
            }
        }
        self.open = Some(mode);
        self.has_failed = false;
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let mode = common_errors::require_open(self.open)?;
        self.check_key(key)?;
        let is_write = mode == Mode::Write;
        let locks = is_write && self.profile().locks();
        self.in_transaction(|session| {
            if is_write && session.profile().touch().is_some() {
                session.run(RecordStatement::Touch, &[key])?;
            }
            session.look_up(
                if locks {
                    RecordStatement::GetLocked
                } else {
                    RecordStatement::Get
                },
                key,
                visitor,
            )
        })
    }

    fn point_read(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        common_errors::require_closed(self.open)?;
        self.check_key(key)?;
        self.in_transaction(|session| session.look_up(RecordStatement::Get, key, visitor))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        self.check_key(key)?;
        let longest = self.profile().keys.max_value_bytes;
        if value.len() > longest {
            return Err(Error::Unsupported(format!(
                "a value of {} bytes; values have up to {longest}",
                value.len()
            )));
        }
        self.in_transaction(|session| session.put_record(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.open)?;
        self.check_key(key)?;
        self.in_transaction(|session| session.run(RecordStatement::Delete, &[key]).map(drop))
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        common_errors::require_open(self.open)?;
        self.in_transaction(|session| session.scan_all(range, direction, visitor))
    }

    fn commit(&mut self) -> Result<()> {
        self.open.take().ok_or_else(common_errors::no_transaction)?;
        if self.has_failed {
            // A server that has given the transaction up would roll it back in silence.
            self.connection.end(false)?;
            return Err(Error::engine(
                "the transaction had failed and was rolled back",
            ));
        }
        self.connection.end(true).inspect_err(|_| {
            // The first error is the one to report.
            let _ = self.connection.end(false);
        })
    }

    fn abort(&mut self) -> Result<()> {
        self.open.take().ok_or_else(common_errors::no_transaction)?;
        self.connection.end(false)
    }

    fn sql(&mut self) -> Option<&mut dyn Sql> {
        Some(self)
    }
}

impl Drop for OdbcSession {
    fn drop(&mut self) {
        if self.open.is_some() {
            // Closing the connection rolls back, if this failed.
            let _: Result<()> = self.abort();
        }
    }
}
