//! The tables as records of a key-value engine, through one session of it. A row is a record under
//! its table and id, and each has an entry of the index under its table, k and id, which is written
//! in the same transaction.

mod records;

use super::rows::{Row, RowKey};
use super::tables::{
    IdRange, KRange, RangeQuery, Statements, StoredRow, TableContents, TableLoad, merge_ranges,
};
use super::text::CText;
use crate::keyed::transaction::{TransactionScope, in_transaction};
pub(super) use records::{ENTRY_BYTES, PAIR_RECORD_BYTES, ROW_KEY_BYTES, ROW_RECORD_BYTES};
use records::{decode_c, decode_k, decode_row, decode_stored, encode_row, set_c, set_k};
use std::ops::{Bound, ControlFlow};
use trueput_engine::key::KeyBuffer;
use trueput_engine::{Direction, Error, KeyRange, Mode, Result, Session};

/// The tables over a session's keys and values.
pub(super) struct KeyValue<'s> {
    session: &'s mut dyn Session,
    /// Whether the caller has begun a transaction.
    is_open: bool,
    key: KeyBuffer,
    /// The upper end of a range whose lower end is `key`.
    upper: KeyBuffer,
    value: Vec<u8>,
    /// Ids met in the index.
    ids: Vec<u32>,
    ks: Vec<u32>,
    ranges: Vec<KRange>,
}

impl<'s> KeyValue<'s> {
    /// The tables of this session's database.
    pub(super) fn new(session: &'s mut dyn Session) -> Self {
        Self {
            session,
            is_open: false,
            key: KeyBuffer::new(),
            upper: KeyBuffer::new(),
            value: Vec::with_capacity(256),
            ids: Vec::new(),
            ks: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Does a statement in the caller's transaction, or in one of its own.
    fn statement<T>(&mut self, mode: Mode, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.is_open {
            return body(self);
        }
        in_transaction(self, mode, body)
    }

    /// Copies the value of a row's record; whether it is there.
    fn fetch(&mut self, row: RowKey) -> Result<bool> {
        records::row_key(&mut self.key, row);
        let value = &mut self.value;
        self.session.get(self.key.as_bytes(), &mut |found| {
            value.clear();
            value.extend_from_slice(found);
        })
    }

    /// k of the record that was fetched last.
    fn fetched_k(&self, row: RowKey) -> Result<u32> {
        decode_k(&self.value).ok_or_else(|| damaged(row))
    }

    /// Stores the value that was fetched and changed under a row's key.
    fn store(&mut self, row: RowKey) -> Result<()> {
        records::row_key(&mut self.key, row);
        self.session.put(self.key.as_bytes(), &self.value)
    }

    fn put_entry(&mut self, row: RowKey, k: u32) -> Result<()> {
        records::entry_key(&mut self.key, row, k);
        self.session.put(self.key.as_bytes(), &[])
    }

    fn delete_entry(&mut self, row: RowKey, k: u32) -> Result<()> {
        records::entry_key(&mut self.key, row, k);
        self.session.delete(self.key.as_bytes())
    }

    /// Puts a row and its entry of the index; the bytes of both.
    fn put_row(&mut self, table: u32, row: &Row) -> Result<u64> {
        let key = RowKey::new(table, row.id);
        encode_row(&mut self.value, row);
        self.store(key)?;
        let bytes = self.key.as_bytes().len() + self.value.len();
        self.put_entry(key, row.k)?;
        Ok((bytes + self.key.as_bytes().len()) as u64)
    }

    /// Shows every record whose key is from `key` to `upper`.
    fn scan(&mut self, mut visitor: impl FnMut(&[u8], &[u8])) -> Result<u64> {
        let range = KeyRange {
            lower: Bound::Included(self.key.as_bytes()),
            upper: Bound::Included(self.upper.as_bytes()),
        };
        self.session
            .scan(range, Direction::Forward, &mut |key, value| {
                visitor(key, value);
                ControlFlow::Continue(())
            })
    }

    /// Shows the records of the rows of a range of ids.
    fn scan_rows(
        &mut self,
        table: u32,
        ids: &IdRange,
        visitor: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        records::row_key(&mut self.key, RowKey::new(table, *ids.start()));
        records::row_key(&mut self.upper, RowKey::new(table, *ids.end()));
        self.scan(visitor)
    }

    /// Shows the index's entries of a range of k.
    fn scan_index(
        &mut self,
        table: u32,
        range: KRange,
        visitor: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        records::entry_key(&mut self.key, RowKey::new(table, 0), range.low);
        records::entry_key(&mut self.upper, RowKey::new(table, u32::MAX), range.high);
        self.scan(visitor)
    }
}

/// The error for a record that has not the length of a row.
#[cold]
fn damaged(row: RowKey) -> Error {
    Error::engine(format!("the record of {row} is damaged"))
}

impl Statements for KeyValue<'_> {
    fn select_c(&mut self, row: RowKey, out: &mut CText) -> Result<bool> {
        records::row_key(&mut self.key, row);
        let key = self.key.as_bytes();
        let mut visitor = |value: &[u8]| *out = decode_c(value);
        if self.is_open {
            self.session.get(key, &mut visitor)
        } else {
            self.session.point_read(key, &mut visitor)
        }
    }

    fn select_range(
        &mut self,
        query: RangeQuery,
        table: u32,
        ids: IdRange,
        out: &mut Vec<CText>,
    ) -> Result<()> {
        self.statement(Mode::Read, |tables| {
            out.clear();
            tables.scan_rows(table, &ids, |_, value| out.push(decode_c(value)))?;
            match query {
                RangeQuery::Simple => {}
                RangeQuery::Order => out.sort_unstable(),
                RangeQuery::Distinct => {
                    out.sort_unstable();
                    out.dedup();
                }
            }
            Ok(())
        })
    }

    fn sum_k(&mut self, table: u32, ids: IdRange) -> Result<u64> {
        self.statement(Mode::Read, |tables| {
            let mut sum = 0;
            tables.scan_rows(table, &ids, |_, value| {
                sum += u64::from(decode_k(value).unwrap_or_default());
            })?;
            Ok(sum)
        })
    }

    fn add_to_k(&mut self, row: RowKey) -> Result<bool> {
        self.statement(Mode::Write, |tables| {
            if !tables.fetch(row)? {
                return Ok(false);
            }
            let k = tables.fetched_k(row)?;
            let raised = k.saturating_add(1);
            tables.delete_entry(row, k)?;
            tables.put_entry(row, raised)?;
            set_k(&mut tables.value, raised);
            tables.store(row)?;
            Ok(true)
        })
    }

    fn set_c(&mut self, row: RowKey, c: &CText) -> Result<bool> {
        self.statement(Mode::Write, |tables| {
            if !tables.fetch(row)? {
                return Ok(false);
            }
            // Only a value of the right length is changed in place.
            tables.fetched_k(row)?;
            set_c(&mut tables.value, c);
            tables.store(row)?;
            Ok(true)
        })
    }

    fn delete(&mut self, row: RowKey) -> Result<bool> {
        self.statement(Mode::Write, |tables| {
            if !tables.fetch(row)? {
                return Ok(false);
            }
            let k = tables.fetched_k(row)?;
            tables.delete_entry(row, k)?;
            records::row_key(&mut tables.key, row);
            tables.session.delete(tables.key.as_bytes())?;
            Ok(true)
        })
    }

    fn insert(&mut self, table: u32, row: &Row) -> Result<()> {
        self.statement(Mode::Write, |tables| tables.put_row(table, row).map(drop))
    }

    fn select_by_k(&mut self, table: u32, ks: &[u32], out: &mut Vec<Row>) -> Result<()> {
        self.statement(Mode::Read, |tables| {
            out.clear();
            let mut wanted = std::mem::take(&mut tables.ks);
            wanted.clear();
            wanted.extend_from_slice(ks);
            wanted.sort_unstable();
            wanted.dedup();
            let mut read = Ok(());
            for k in &wanted {
                read = read.and_then(|()| tables.rows_with_k(table, *k, out));
            }
            tables.ks = wanted;
            read
        })
    }

    fn count_k(&mut self, table: u32, ranges: &[KRange]) -> Result<u64> {
        self.statement(Mode::Read, |tables| {
            let mut merged = std::mem::take(&mut tables.ranges);
            merged.clear();
            merged.extend_from_slice(ranges);
            merge_ranges(&mut merged);
            let (mut count, mut read) = (0, Ok(0));
            for range in &merged {
                read = read.and_then(|_| tables.scan_index(table, *range, |_, _| count += 1));
            }
            tables.ranges = merged;
            read.map(|_| count)
        })
    }

    fn insert_pairs(&mut self, table: u32, first: u32, rows: u32) -> Result<()> {
        self.statement(Mode::Write, |tables| {
            for id in first..first.saturating_add(rows) {
                tables.value.clear();
                tables.value.extend_from_slice(&id.to_le_bytes());
                tables.store(RowKey::new(table, id))?;
            }
            Ok(())
        })
    }
}

impl KeyValue<'_> {
    /// Reads the rows with this k, by the index.
    fn rows_with_k(&mut self, table: u32, k: u32, out: &mut Vec<Row>) -> Result<()> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        let range = KRange { low: k, high: k };
        let mut read = self
            .scan_index(table, range, |key, _| ids.extend(records::last_u32(key)))
            .map(drop);
        for id in &ids {
            let row = RowKey::new(table, *id);
            read = read.and_then(|()| {
                // An entry of a row that is not there gives a row that nobody wrote.
                self.value.clear();
                self.fetch(row)?;
                out.push(decode_row(*id, &self.value));
                Ok(())
            });
        }
        self.ids = ids;
        read
    }
}

impl TableLoad for KeyValue<'_> {
    fn create(&mut self, _tables: u32, _of_pairs: bool) -> Result<()> {
        // Key spaces need no making.
        Ok(())
    }

    fn load(&mut self, table: u32, rows: &[Row]) -> Result<u64> {
        self.statement(Mode::Write, |tables| {
            rows.iter()
                .try_fold(0, |bytes, row| Ok(bytes + tables.put_row(table, row)?))
        })
    }

    fn finish_load(&mut self, _tables: u32) -> Result<()> {
        // Indexes are written with their rows.
        Ok(())
    }
}

impl TableContents for KeyValue<'_> {
    fn each_row(&mut self, table: u32, visitor: &mut dyn FnMut(StoredRow<'_>)) -> Result<()> {
        let all = 0..=u32::MAX;
        self.scan_rows(table, &all, |key, value| visitor(decode_stored(key, value)))
            .map(drop)
    }

    fn each_pair(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()> {
        let all = 0..=u32::MAX;
        self.scan_rows(table, &all, |key, value| {
            let k = <[u8; 4]>::try_from(value).map(u32::from_le_bytes);
            let id = records::id_of(key);
            visitor(id, k.map_or(-1, i64::from));
        })
        .map(drop)
    }

    fn each_index_entry(&mut self, table: u32, visitor: &mut dyn FnMut(i64, i64)) -> Result<()> {
        let all = KRange {
            low: 0,
            high: u32::MAX,
        };
        self.scan_index(table, all, |key, _| {
            let (k, id) = records::entry_of(key);
            visitor(k, id);
        })
        .map(drop)
    }
}

impl TransactionScope for KeyValue<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }

    fn begin(&mut self, mode: Mode) -> Result<()> {
        self.session.begin(mode)?;
        self.is_open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.is_open = false;
        self.session.commit()
    }

    fn abort(&mut self) -> Result<()> {
        self.is_open = false;
        self.session.abort()
    }
}
