//! The four tables as records of a key-value engine, through one session of it.

mod codec;

use super::bank::{
    BalanceRow, Bank, HistoryOrigin, HistoryRow, IdRange, LoadedRow, UpdateOutcome, Visitor,
};
use super::scale::BalanceTable;
use crate::keyed::record_reader::{GET, POINT_READ, RecordGetter};
use crate::keyed::transaction::TransactionScope;
pub(super) use codec::{BALANCE_RECORD_BYTES, HISTORY_RECORD_BYTES};
use std::fmt::Display;
use std::ops::ControlFlow;
use trueput_engine::key::KeyBuffer;
use trueput_engine::{Direction, Error, KeyRange, Result, Session};

/// The four tables over a session's keys and values.
pub(super) struct KeyValueBank<'s> {
    session: &'s mut dyn Session,
    key: KeyBuffer,
    value: Vec<u8>,
}

/// The error for a record that does not decode to the row that its key names.
#[cold]
fn damaged(row: impl Display) -> Error {
    Error::engine(format!("the record of {row} is damaged"))
}

impl<'s> KeyValueBank<'s> {
    /// The tables of this session's database.
    pub(super) fn new(session: &'s mut dyn Session) -> Self {
        Self {
            session,
            key: KeyBuffer::new(),
            value: Vec::with_capacity(BALANCE_RECORD_BYTES),
        }
    }

    /// Reads the balance of an account by `get`.
    fn read_balance(&mut self, account: u32, get: RecordGetter) -> Result<Option<i32>> {
        codec::write_balance_key(&mut self.key, BalanceTable::Accounts, account);
        let mut balance = None;
        let is_there = get(&mut *self.session, self.key.as_bytes(), &mut |value| {
            balance = codec::balance(value);
        })?;
        if is_there && balance.is_none() {
            return Err(damaged(format_args!("account {account}")));
        }
        Ok(balance)
    }
}

impl TransactionScope for KeyValueBank<'_> {
    fn session(&mut self) -> &mut dyn Session {
        self.session
    }
}

impl Bank for KeyValueBank<'_> {
    fn create(&mut self) -> Result<()> {
        // Ranges of keys need no making.
        Ok(())
    }

    fn load(&mut self, table: BalanceTable, rows: &[LoadedRow]) -> Result<u64> {
        let mut bytes = 0;
        for row in rows {
            codec::write_balance_key(&mut self.key, table, row.id);
            codec::write_balance(&mut self.value, table, row.branch, 0);
            let key = self.key.as_bytes();
            self.session.put(key, &self.value)?;
            bytes += (key.len() + self.value.len()) as u64;
        }
        Ok(bytes)
    }

    fn finish_load(&mut self) -> Result<()> {
        Ok(())
    }

    fn add(&mut self, table: BalanceTable, id: u32, delta: i32) -> Result<UpdateOutcome> {
        codec::write_balance_key(&mut self.key, table, id);
        let (key, value) = (self.key.as_bytes(), &mut self.value);
        let is_there = self.session.get(key, &mut |found| {
            value.clear();
            value.extend_from_slice(found);
        })?;
        if !is_there {
            return Ok(UpdateOutcome::Missing);
        }
        let name = table.row_name();
        let balance = codec::balance(value);
        let balance = balance.ok_or_else(|| damaged(format_args!("{name} {id}")))?;
        let balance = balance
            .checked_add(delta)
            .ok_or_else(|| Error::engine(format!("the balance of {name} {id} is out of range")))?;
        codec::replace_balance(value, balance);
        self.session.put(key, value)?;
        Ok(UpdateOutcome::Updated {
            balance: Some(balance),
        })
    }

    fn balance(&mut self, account: u32) -> Result<Option<i32>> {
        self.read_balance(account, GET)
    }

    fn point_balance(&mut self, account: u32) -> Result<Option<i32>> {
        self.read_balance(account, POINT_READ)
    }

    fn insert_history(&mut self, row: &HistoryRow, origin: HistoryOrigin) -> Result<()> {
        codec::write_history_key(&mut self.key, origin);
        codec::write_history(&mut self.value, row, origin.at_us);
        self.session.put(self.key.as_bytes(), &self.value)
    }

    fn each_balance(
        &mut self,
        table: BalanceTable,
        ids: IdRange,
        visitor: Visitor<'_, BalanceRow>,
    ) -> Result<()> {
        let space = codec::key_space(table);
        let (mut lower, mut upper) = (KeyBuffer::new(), KeyBuffer::new());
        lower.u8(space);
        if let Some(first) = ids.first {
            lower.u32(first);
        }
        if let Some(last) = ids.last {
            upper.u8(space).u32(last + 1);
        } else {
            upper.u8(space + 1);
        }
        let range = KeyRange::between(lower.as_bytes(), upper.as_bytes());
        self.visit(range, table.name(), visitor, |key, value| {
            codec::decode_balance(table, key, value)
        })
    }

    fn each_history(&mut self, visitor: Visitor<'_, HistoryRow>) -> Result<()> {
        let (lower, upper) = ([codec::HISTORY], [codec::HISTORY + 1]);
        let range = KeyRange::between(&lower, &upper);
        self.visit(range, "history", visitor, |_, value| {
            codec::decode_history(value)
        })
    }
}

impl KeyValueBank<'_> {
    /// Shows every record of a range, decoded.
    fn visit<T>(
        &mut self,
        range: KeyRange<'_>,
        subject: &str,
        visitor: Visitor<'_, T>,
        decode: impl Fn(&[u8], &[u8]) -> Option<T>,
    ) -> Result<()> {
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
        self.session.scan(range, Direction::Forward, &mut visit)?;
        if is_whole {
            Ok(())
        } else {
            Err(damaged(subject))
        }
    }
}
