//! Sessions on an open fjall database.

use super::{FjallDatabase, FjallHandle, MAX_KEY_BYTES, MAX_VALUE_BYTES, convert};
use crate::ordered_cursor::scan_iterator;
use ::fjall::{
    Keyspace, OptimisticTxKeyspace, OptimisticWriteTx, Readable, SingleWriterTxKeyspace,
    SingleWriterWriteTx, Snapshot,
};
use std::ops::Bound;
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor, common_errors,
};

enum WriteTransaction<'db> {
    SingleWriter(SingleWriterWriteTx<'db>, &'db SingleWriterTxKeyspace),
    Optimistic(OptimisticWriteTx, &'db OptimisticTxKeyspace),
}

impl<'db> WriteTransaction<'db> {
    fn begin(database: &'db FjallDatabase) -> Result<Self> {
        let mode = Some(database.commit_mode);
        match &database.handle {
            FjallHandle::SingleWriter(engine, records) => Ok(Self::SingleWriter(
                engine.write_tx().durability(mode),
                records,
            )),
            FjallHandle::Optimistic(engine, records) => {
                let transaction = engine.write_tx().map_err(convert)?;
                Ok(Self::Optimistic(transaction.durability(mode), records))
            }
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) {
        match self {
            Self::SingleWriter(transaction, records) => transaction.insert(records, key, value),
            Self::Optimistic(transaction, records) => transaction.insert(records, key, value),
        }
    }

    fn remove(&mut self, key: &[u8]) {
        match self {
            Self::SingleWriter(transaction, records) => transaction.remove(records, key),
            Self::Optimistic(transaction, records) => transaction.remove(records, key),
        }
    }

    fn commit(self) -> Result<()> {
        match self {
            Self::SingleWriter(transaction, _) => transaction.commit().map_err(convert),
            Self::Optimistic(transaction, _) => transaction
                .commit()
                .map_err(convert)?
                .map_err(|conflict| Error::Conflict(format!("fjall: {conflict}"))),
        }
    }
}

enum Transaction<'db> {
    Read(Snapshot),
    Write(WriteTransaction<'db>),
}

/// One worker's session over a fjall database.
pub(super) struct FjallSession<'db> {
    database: &'db FjallDatabase,
    transaction: Option<Transaction<'db>>,
}

impl<'db> FjallSession<'db> {
    pub(super) fn new(database: &'db FjallDatabase) -> Self {
        Self {
            database,
            transaction: None,
        }
    }

    fn writing(&mut self) -> Result<&mut WriteTransaction<'db>> {
        match &mut self.transaction {
            Some(Transaction::Write(writing)) => Ok(writing),
            Some(Transaction::Read(_)) => Err(common_errors::write_in_read()),
            None => Err(common_errors::no_transaction()),
        }
    }
}

impl Session for FjallSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.transaction.is_some() {
            return Err(common_errors::already_open());
        }
        self.transaction = Some(match mode {
            Mode::Read => {
                let database = self.database;
                let snapshot = database.commit_turn.snapshot(database.engine());
                Transaction::Read(snapshot.map_err(convert)?)
            }
            Mode::Write => Transaction::Write(WriteTransaction::begin(self.database)?),
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let records = self.database.records();
        // A key that is too long cannot be there, and fjall panics on it.
        let can_be_there = key.len() <= MAX_KEY_BYTES;
        let found = match &self.transaction {
            None => return Err(common_errors::no_transaction()),
            Some(_) if !can_be_there => return Ok(false),
            Some(Transaction::Read(snapshot)) => snapshot.get(records, key),
            Some(Transaction::Write(WriteTransaction::SingleWriter(reader, _))) => {
                reader.get(records, key)
            }
            Some(Transaction::Write(WriteTransaction::Optimistic(reader, _))) => {
                reader.get(records, key)
            }
        };
        let found = found.map_err(convert)?;
        if let Some(value) = &found {
            visitor(value);
        }
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let writing = self.writing()?;
        check_lengths(key, value)?;
        writing.insert(key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let writing = self.writing()?;
        // A key that is too long cannot exist, and fjall panics on it.
        if check_lengths(key, &[]).is_ok() {
            writing.remove(key);
        }
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let records = self.database.records();
        match &self.transaction {
            None => Err(common_errors::no_transaction()),
            // fjall panics if the bounds are reversed.
            Some(_) if range.is_empty() => Ok(0),
            Some(Transaction::Read(snapshot)) => {
                show_records(snapshot, records, range, direction, visitor)
            }
            Some(Transaction::Write(WriteTransaction::SingleWriter(reader, _))) => {
                show_records(reader, records, range, direction, visitor)
            }
            Some(Transaction::Write(WriteTransaction::Optimistic(reader, _))) => {
                show_records(reader, records, range, direction, visitor)
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(Transaction::Write(writing)) => {
                let database = self.database;
                database
                    .commit_turn
                    .apply(database.engine(), || writing.commit())
            }
            Some(Transaction::Read(_)) => Ok(()),
            None => Err(common_errors::no_transaction()),
        }
    }

    fn abort(&mut self) -> Result<()> {
        // A transaction that is dropped is rolled back.
        self.transaction
            .take()
            .map(drop)
            .ok_or_else(common_errors::no_transaction)
    }
}

/// Refuses lengths on which fjall would panic.
fn check_lengths(key: &[u8], value: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        let length = key.len();
        return Err(Error::Unsupported(format!(
            "fjall: a key of {length} bytes; it may have 1 to {MAX_KEY_BYTES}"
        )));
    }
    if value.len() > MAX_VALUE_BYTES {
        let length = value.len();
        return Err(Error::Unsupported(format!(
            "fjall: a value of {length} bytes; it may have up to {MAX_VALUE_BYTES}"
        )));
    }
    Ok(())
}

/// A low end that fjall can hold, with the same records above it: a key that is longer than any
/// stored one is right above its longest prefix that can be stored.
fn lower_within(bound: Bound<&[u8]>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) if key.len() > MAX_KEY_BYTES => {
            Bound::Excluded(&key[..MAX_KEY_BYTES])
        }
        other => other,
    }
}

/// A high end that fjall can hold, with the same records below it.
fn upper_within(bound: Bound<&[u8]>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) if key.len() > MAX_KEY_BYTES => {
            Bound::Included(&key[..MAX_KEY_BYTES])
        }
        other => other,
    }
}

fn show_records(
    reader: &impl Readable,
    records: &Keyspace,
    range: KeyRange<'_>,
    direction: Direction,
    visitor: &mut RecordVisitor<'_>,
) -> Result<u64> {
    let bounds = (lower_within(range.lower), upper_within(range.upper));
    let found = reader.range::<&[u8], _>(records, bounds);
    scan_iterator(found, direction, |record| {
        let (key, value) = record.into_inner().map_err(convert)?;
        Ok(visitor(&key, &value))
    })
}
