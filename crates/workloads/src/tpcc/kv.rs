//! The nine tables as records of a key-value engine, through one session of it.

mod codec;
mod keys;
mod load;
mod order;
mod pay;
mod scan;

use super::rows::ItemRow;
use super::tables::Tables;
use crate::keyed::transaction::TransactionScope;
use codec::StoredRow;
use keys::{KeyPrefix, KeySpace, global_key};
use std::fmt::Display;
use trueput_engine::key::KeyBuffer;
use trueput_engine::{Error, Result, Session};

/// The nine tables over a session's keys and values.
pub struct KeyValue<'s> {
    session: &'s mut dyn Session,
    key: KeyBuffer,
    prefix: KeyPrefix,
    value: Vec<u8>,
    /// The customer that a payment has read, key and value, to be patched.
    customer: (KeyBuffer, Vec<u8>),
    /// The stocks that a new-order has read, one after the other, with where each begins.
    stocks: ValueArena,
    /// The lines of an order under delivery: their numbers and where their values begin.
    lines: ValueArena,
    /// Numbers met in an index.
    numbers: Vec<u32>,
}

/// Values kept one after the other, so that keeping them costs no allocation.
#[derive(Debug, Default)]
struct ValueArena {
    bytes: Vec<u8>,
    /// A tag, and where its value ends.
    ends: Vec<(u8, usize)>,
}

impl ValueArena {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn keep(&mut self, tag: u8, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push((tag, self.bytes.len()));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The value of this index, and its tag.
    fn get_mut(&mut self, index: usize) -> Option<(u8, &mut [u8])> {
        let start = match index {
            0 => 0,
            _ => self.ends.get(index - 1)?.1,
        };
        let (tag, end) = *self.ends.get(index)?;
        Some((tag, self.bytes.get_mut(start..end)?))
    }
}

/// A row that must be there is not.
#[cold]
fn missing(row: impl Display) -> Error {
    Error::engine(format!("{row} is not there"))
}

/// The error for a record that does not decode to the row that its key names.
#[cold]
fn damaged(row: impl Display) -> Error {
    Error::engine(format!("the record of {row} is damaged"))
}

impl<'s> KeyValue<'s> {
    /// The tables of this session's database.
    pub fn new(session: &'s mut dyn Session) -> Self {
        Self {
            session,
            key: KeyBuffer::new(),
            prefix: KeyPrefix::new(),
            value: Vec::with_capacity(1_024),
            customer: (KeyBuffer::new(), Vec::with_capacity(1_024)),
            stocks: ValueArena::default(),
            lines: ValueArena::default(),
            numbers: Vec::new(),
        }
    }

    /// Reads the record of the key that was written last; `None` if it is not there.
    fn read<T>(
        &mut self,
        row: impl Display,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut decoded = None;
        let found = self.session.get(self.key.as_bytes(), &mut |value| {
            decoded = decode(value);
        })?;
        match (found, decoded) {
            (false, _) => Ok(None),
            (true, None) => Err(damaged(row)),
            (true, decoded) => Ok(decoded),
        }
    }

    /// Like [`KeyValue::read`], but a missing record is an error.
    fn read_existing<T>(
        &mut self,
        row: impl Display + Copy,
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T> {
        self.read(row, decode)?.ok_or_else(|| missing(row))
    }

    /// Copies the value of the key that was written last, to be patched; that the record is not
    /// there is an error.
    fn fetch_existing(&mut self, row: impl Display) -> Result<()> {
        let value = &mut self.value;
        let found = self.session.get(self.key.as_bytes(), &mut |found| {
            value.clear();
            value.extend_from_slice(found);
        })?;
        if found { Ok(()) } else { Err(missing(row)) }
    }

    /// Stores the value under the key that was written last.
    fn store(&mut self) -> Result<()> {
        self.session.put(self.key.as_bytes(), &self.value)
    }

    /// Stores a row's record.
    fn put_row<R: StoredRow>(&mut self, row: &R) -> Result<()> {
        row.write_key(&mut self.key);
        row.encode(&mut self.value);
        self.store()
    }

    /// Adds to the record of a sum whose key was written last.
    fn add_to_sum(&mut self, name: &str, amount: i64) -> Result<()> {
        let sum: i64 = self.read_existing(name, codec::leading)?;
        self.value.clear();
        self.value.extend_from_slice(&(sum + amount).to_le_bytes());
        self.store()
    }
}

impl TransactionScope for KeyValue<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl Tables for KeyValue<'_> {
    fn set_price(&mut self, item: u32, price: i64) -> Result<()> {
        global_key(&mut self.key, KeySpace::Item).u32(item);
        let row = ItemRow {
            id: item,
            ..ItemRow::default()
        };
        let named = format_args!("item {item}");
        let row = self.read_existing(named, |value| codec::decode(row, value))?;
        self.put_row(&ItemRow { price, ..row })
    }
}
