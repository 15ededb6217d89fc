//! Sessions of the control engine. Each works on a copy, and no two change one key.

use super::{LogDatabase, Records};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use trueput_engine::common_errors::{already_open, no_transaction, write_in_read};
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

/// A transaction: the records when it began, and its changes.
struct Transaction {
    mode: Mode,
    records: Records,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

pub(super) struct LogSession<'a> {
    database: &'a LogDatabase,
    transaction: Option<Transaction>,
}

impl<'a> LogSession<'a> {
    pub(super) fn new(database: &'a LogDatabase) -> Self {
        Self {
            database,
            transaction: None,
        }
    }

    fn transaction(&mut self) -> Result<&mut Transaction> {
        self.transaction.as_mut().ok_or_else(no_transaction)
    }

    fn change(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let transaction = self.transaction()?;
        if transaction.mode == Mode::Read {
            return Err(write_in_read());
        }
        let value = value.map(<[u8]>::to_vec);
        match &value {
            Some(value) => transaction.records.insert(key.to_vec(), value.clone()),
            None => transaction.records.remove(key),
        };
        transaction.changes.insert(key.to_vec(), value);
        Ok(())
    }
}

impl Session for LogSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        if self.transaction.is_some() {
            return Err(already_open());
        }
        self.transaction = Some(Transaction {
            mode,
            records: self.database.store().records.clone(),
            changes: BTreeMap::new(),
        });
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let value = self.transaction()?.records.get(key);
        if let Some(value) = value {
            visitor(value);
        }
        Ok(value.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.change(key, Some(value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.change(key, None)
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        let transaction = self.transaction()?;
        if range.is_empty() {
            return Ok(0);
        }
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (range.lower, range.upper);
        let mut records = transaction.records.range::<[u8], _>(bounds);
        let mut visited = 0;
        while let Some((key, value)) = match direction {
            Direction::Forward => records.next(),
            Direction::Backward => records.next_back(),
        } {
            visited += 1;
            if let ControlFlow::Break(()) = visitor(key, value) {
                break;
            }
        }
        Ok(visited)
    }

    fn commit(&mut self) -> Result<()> {
        self.transaction()?;
        let Some(transaction) = self.transaction.take() else {
            return Ok(());
        };
        if transaction.changes.is_empty() {
            return Ok(());
        }
        let changes: Vec<_> = transaction.changes.into_iter().collect();
        let mut store = self.database.store();
        store.commit(&changes).map_err(Error::engine)
    }

    fn abort(&mut self) -> Result<()> {
        self.transaction()?;
        self.transaction = None;
        Ok(())
    }
}
