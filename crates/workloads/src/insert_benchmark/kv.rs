//! The tables as records of a key-value engine, through one session of it. The entries of the
//! secondary indexes change in the transaction of their row.

mod codec;

use super::purchase::{Index, IndexTuple, KeyColumns, Purchase};
use super::tables::{IndexEntry, Mark, PointRow, PurchaseTables, QUERY_ROWS, Visitor};
use crate::keyed::scan::{scan_first, scan_some};
use crate::keyed::transaction::{TransactionScope, in_transaction, read_once};
pub(super) use codec::{MAX_KEY_BYTES, ROW_KEY_BYTES, entry_bytes, value_bytes};
use std::ops::{ControlFlow, Range};
use trueput_engine::key::KeyBuffer;
use trueput_engine::{Direction, Error, KeyRange, Mode, Result, Session};

/// Rows whose entries one transaction adds to an index that is created.
const INDEX_BATCH: u64 = 1_000;

/// The tables over a session's keys and values.
pub(super) struct KeyValueTables<'s> {
    session: &'s mut dyn Session,
    /// The key of a record, or the low end of a range.
    key: KeyBuffer,
    /// The high end of a range.
    end: KeyBuffer,
    value: Vec<u8>,
    /// Rows that were read to be deleted or indexed.
    read: Vec<KeyColumns>,
}

/// The error for a record that is none of the table's rows or entries.
#[cold]
fn damaged(table: u32) -> Error {
    Error::engine(format!("a record of pi{table} is damaged"))
}

impl<'s> KeyValueTables<'s> {
    /// The tables of this session's database.
    pub(super) fn new(session: &'s mut dyn Session) -> Self {
        Self {
            session,
            key: KeyBuffer::new(),
            end: KeyBuffer::new(),
            value: codec::new_value(),
            read: Vec::with_capacity(INDEX_BATCH as usize),
        }
    }

    /// Does `body` in a write transaction, once.
    fn write(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        in_transaction(self, Mode::Write, body)
    }

    fn put_entry(&mut self, table: u32, index: Index, row: &KeyColumns) -> Result<()> {
        codec::write_entry_key(&mut self.key, table, index, row);
        self.session.put(self.key.as_bytes(), &[])
    }

    fn put_row(&mut self, table: u32, row: &Purchase, has_indexes: bool) -> Result<()> {
        codec::write_row_key(&mut self.key, table, row.columns.id);
        codec::write_value(&mut self.value, row);
        self.session.put(self.key.as_bytes(), &self.value)?;
        if has_indexes {
            for index in Index::ALL {
                self.put_entry(table, index, &row.columns)?;
            }
        }
        Ok(())
    }

    fn delete_row(&mut self, table: u32, row: &KeyColumns) -> Result<()> {
        codec::write_row_key(&mut self.key, table, row.id);
        self.session.delete(self.key.as_bytes())?;
        for index in Index::ALL {
            codec::write_entry_key(&mut self.key, table, index, row);
            self.session.delete(self.key.as_bytes())?;
        }
        Ok(())
    }

    /// Sets the range to the rows with these ids.
    fn select_rows(&mut self, table: u32, ids: &Range<u64>) {
        codec::write_row_key(&mut self.key, table, ids.start);
        codec::write_row_key(&mut self.end, table, ids.end);
    }

    /// Reads rows with these ids, at most so many, in a transaction of their own: their writer is
    /// the only one that changes them, and no row changes before it is deleted.
    fn read_columns(&mut self, table: u32, ids: &Range<u64>, limit: u64) -> Result<()> {
        self.select_rows(table, ids);
        let range = KeyRange::between(self.key.as_bytes(), self.end.as_bytes());
        let (read, mut is_whole) = (&mut self.read, true);
        read.clear();
        read_once(&mut *self.session, |session| {
            scan_first(
                session,
                range,
                limit,
                |key, value| match codec::decode_row(key, value) {
                    Some(row) => read.push(row.columns),
                    None => is_whole = false,
                },
            )
        })?;
        if is_whole {
            Ok(())
        } else {
            Err(damaged(table))
        }
    }

    /// Does `change` for each row that was read last, in a write transaction.
    fn change_read(&mut self, change: impl Fn(&mut Self, &KeyColumns) -> Result<()>) -> Result<()> {
        let read = std::mem::take(&mut self.read);
        let changed = self.write(|tables| read.iter().try_for_each(|row| change(tables, row)));
        self.read = read;
        changed
    }

    /// The id at one end of a table.
    fn outermost_id(&mut self, table: u32, direction: Direction) -> Result<Option<u64>> {
        self.select_rows(table, &(0..u64::MAX));
        let range = KeyRange::between(self.key.as_bytes(), self.end.as_bytes());
        let mut id = None;
        read_once(&mut *self.session, |session| {
            scan_some(session, range, direction, 1, |key, _| {
                id = codec::row_id(key);
            })
        })?;
        Ok(id)
    }

    /// Shows every record between the key and the end, decoded.
    fn visit<T>(
        &mut self,
        table: u32,
        visitor: Visitor<'_, T>,
        decode: impl Fn(&[u8], &[u8]) -> Option<T>,
    ) -> Result<()> {
        let range = KeyRange::between(self.key.as_bytes(), self.end.as_bytes());
        let mut is_whole = true;
        let mut visit = |key: &[u8], value: &[u8]| match decode(key, value) {
            Some(row) => {
                visitor(row);
                ControlFlow::Continue(())
            }
            None => {
                is_whole = false;
                ControlFlow::Break(())
            }
        };
        read_once(&mut *self.session, |session| {
            session.scan(range, Direction::Forward, &mut visit)
        })?;
        if is_whole {
            Ok(())
        } else {
            Err(damaged(table))
        }
    }
}

impl TransactionScope for KeyValueTables<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl PurchaseTables for KeyValueTables<'_> {
    fn create(&mut self, _tables: u32) -> Result<()> {
        // Ranges of keys need no making.
        Ok(())
    }

    fn insert(&mut self, table: u32, rows: &[Purchase], has_indexes: bool) -> Result<()> {
        self.write(|tables| {
            let mut rows = rows.iter();
            rows.try_for_each(|row| tables.put_row(table, row, has_indexes))
        })
    }

    fn delete(&mut self, table: u32, first: u64, rows: u32) -> Result<u64> {
        let rows = u64::from(rows);
        self.read_columns(table, &(first..first + rows), rows)?;
        self.change_read(|tables, row| tables.delete_row(table, row))?;
        Ok(self.read.len() as u64)
    }

    fn extend_index(&mut self, table: u32, index: Index, from: u64) -> Result<Option<u64>> {
        self.read_columns(table, &(from..u64::MAX), INDEX_BATCH)?;
        self.change_read(|tables, row| tables.put_entry(table, index, row))?;
        let is_full = self.read.len() as u64 == INDEX_BATCH;
        let last = self.read.last().filter(|_| is_full);
        Ok(last.map(|row| row.id + 1))
    }

    fn first_id(&mut self, table: u32) -> Result<Option<u64>> {
        self.outermost_id(table, Direction::Forward)
    }

    fn last_id(&mut self, table: u32) -> Result<Option<u64>> {
        self.outermost_id(table, Direction::Backward)
    }

    fn range_query(
        &mut self,
        table: u32,
        index: Index,
        value: u32,
        found: &mut Vec<IndexEntry>,
    ) -> Result<()> {
        found.clear();
        codec::write_value_key(&mut self.key, table, index, index.least_value(value));
        codec::write_end_key(&mut self.end, table, index);
        let range = KeyRange::between(self.key.as_bytes(), self.end.as_bytes());
        let mut is_whole = true;
        read_once(&mut *self.session, |session| {
            scan_first(
                session,
                range,
                QUERY_ROWS as u64,
                |key, _| match codec::decode_entry(index, key) {
                    Some((tuple, id)) => found.push(IndexEntry {
                        tuple,
                        id: Some(id),
                    }),
                    None => is_whole = false,
                },
            )
        })?;
        if is_whole {
            Ok(())
        } else {
            Err(damaged(table))
        }
    }

    fn point_query(
        &mut self,
        table: u32,
        ids: &[u64; QUERY_ROWS],
        found: &mut Vec<PointRow>,
    ) -> Result<()> {
        found.clear();
        let (buffer, mut is_whole) = (&mut self.key, true);
        read_once(&mut *self.session, |session| {
            for &id in ids {
                codec::write_row_key(buffer, table, id);
                session.get(
                    buffer.as_bytes(),
                    &mut |value| match codec::decode_value(id, value) {
                        Some(row) => found.push(PointRow {
                            id,
                            product: row.columns.product,
                            data: row.data,
                        }),
                        None => is_whole = false,
                    },
                )?;
            }
            Ok(())
        })?;
        if is_whole {
            Ok(())
        } else {
            Err(damaged(table))
        }
    }

    fn count(&mut self, table: u32) -> Result<u64> {
        self.select_rows(table, &(0..u64::MAX));
        let range = KeyRange::between(self.key.as_bytes(), self.end.as_bytes());
        read_once(&mut *self.session, |session| {
            session.scan(range, Direction::Forward, &mut |_, _| {
                ControlFlow::Continue(())
            })
        })
    }

    fn each_row(
        &mut self,
        table: u32,
        ids: Range<u64>,
        visitor: Visitor<'_, Purchase>,
    ) -> Result<()> {
        self.select_rows(table, &ids);
        self.visit(table, visitor, codec::decode_row)
    }

    fn each_entry(
        &mut self,
        table: u32,
        index: Index,
        values: Range<u32>,
        visitor: Visitor<'_, (IndexTuple, u64)>,
    ) -> Result<()> {
        codec::write_value_key(&mut self.key, table, index, values.start);
        if values.end < index.values() {
            codec::write_value_key(&mut self.end, table, index, values.end);
        } else {
            codec::write_end_key(&mut self.end, table, index);
        }
        self.visit(table, visitor, |key, _| codec::decode_entry(index, key))
    }

    fn force_index_plans(&mut self) -> Result<()> {
        // An index is read by its keys.
        Ok(())
    }

    fn analyze(&mut self, _tables: u32) -> Result<()> {
        Ok(())
    }

    fn has_mark(&mut self, mark: Mark, table: u32) -> Result<bool> {
        codec::write_mark_key(&mut self.key, mark, table);
        self.session.point_read(self.key.as_bytes(), &mut |_| ())
    }

    fn set_mark(&mut self, mark: Mark, table: u32, is_set: bool) -> Result<()> {
        self.write(|tables| {
            codec::write_mark_key(&mut tables.key, mark, table);
            let key = tables.key.as_bytes();
            if is_set {
                tables.session.put(key, &[])
            } else {
                tables.session.delete(key)
            }
        })
    }
}
