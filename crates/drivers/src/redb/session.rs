//! Sessions on an open redb database.

use super::{Bytes, RECORDS, RedbHandle, convert};
use crate::ordered_cursor::scan_iterator;
use ::redb::{ReadOnlyTable, ReadableDatabase, ReadableTable, Table, WriteTransaction};
use self_cell::self_cell;
use trueput_engine::{
    Direction, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor, common_errors,
};

type WriteTable<'txn> = Table<'txn, Bytes, Bytes>;

self_cell!(
    /// A write transaction and the table that it keeps open.
    struct TableWriter {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: WriteTable,
    }
);

enum Transaction {
    /// The table alone keeps the snapshot alive.
    Read(ReadOnlyTable<Bytes, Bytes>),
    Write(TableWriter),
}

/// One worker's session over a redb database.
pub(super) struct RedbSession<'db> {
    database: &'db RedbHandle,
    transaction: Option<Transaction>,
}

impl<'db> RedbSession<'db> {
    pub(super) fn new(database: &'db RedbHandle) -> Self {
        Self {
            database,
            transaction: None,
        }
    }

    fn writing(&mut self) -> Result<&mut TableWriter> {
        match &mut self.transaction {
            Some(Transaction::Write(writing)) => Ok(writing),
            Some(Transaction::Read(_)) => Err(common_errors::write_in_read()),
            None => Err(common_errors::no_transaction()),
        }
    }
}

impl Session for RedbSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.transaction.is_some() {
            return Err(common_errors::already_open());
        }
        self.transaction = Some(match mode {
            Mode::Read => {
                let transaction = self.database.engine.begin_read().map_err(convert)?;
                Transaction::Read(transaction.open_table(RECORDS).map_err(convert)?)
            }
            Mode::Write => {
                let transaction = self.database.begin_write()?;
                let opened = TableWriter::try_new(transaction, |owner| owner.open_table(RECORDS));
                Transaction::Write(opened.map_err(convert)?)
            }
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        match &self.transaction {
            Some(Transaction::Read(table)) => show_value(table, key, visitor),
            Some(Transaction::Write(writing)) => {
                writing.with_dependent(|_, table| show_value(table, key, visitor))
            }
            None => Err(common_errors::no_transaction()),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let inserted = |table: &mut WriteTable<'_>| table.insert(key, value).map(drop);
        self.writing()?
            .with_dependent_mut(|_, table| inserted(table))
            .map_err(convert)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let removed = |table: &mut WriteTable<'_>| table.remove(key).map(drop);
        self.writing()?
            .with_dependent_mut(|_, table| removed(table))
            .map_err(convert)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        match &self.transaction {
            Some(Transaction::Read(table)) => show_records(table, range, direction, visitor),
            Some(Transaction::Write(writing)) => {
                writing.with_dependent(|_, table| show_records(table, range, direction, visitor))
            }
            None => Err(common_errors::no_transaction()),
        }
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(Transaction::Write(writing)) => self.database.commit(writing.into_owner()),
            Some(Transaction::Read(_)) => Ok(()),
            None => Err(common_errors::no_transaction()),
        }
    }

    fn abort(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(Transaction::Write(writing)) => writing.into_owner().abort().map_err(convert),
            Some(Transaction::Read(_)) => Ok(()),
            None => Err(common_errors::no_transaction()),
        }
    }
}

fn show_value(
    table: &impl ReadableTable<Bytes, Bytes>,
    key: &[u8],
    visitor: &mut ValueVisitor<'_>,
) -> Result<bool> {
    let found = table.get(key).map_err(convert)?;
    if let Some(value) = &found {
        visitor(value.value());
    }
    Ok(found.is_some())
}

fn show_records(
    table: &impl ReadableTable<Bytes, Bytes>,
    range: KeyRange<'_>,
    direction: Direction,
    visitor: &mut RecordVisitor<'_>,
) -> Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    let records = table
        .range::<&[u8]>((range.lower, range.upper))
        .map_err(convert)?;
    scan_iterator(records, direction, |record| {
        let (key, value) = record.map_err(convert)?;
        Ok(visitor(key.value(), value.value()))
    })
}
