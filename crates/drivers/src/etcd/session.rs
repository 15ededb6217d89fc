//! A session: transactions that read one snapshot and buffer what they write until they commit.

use super::connection::EtcdConnection;
use super::keyspace::{Bounds, KeySpace, after};
use super::message::{self, KeyValue, RangeRequest, RangeResponse, SortOrder, TxnResponse};
use super::transaction::Transaction;
use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use bytes::Bytes;
use std::collections::BTreeMap;
use trueput_engine::common_errors::{self, LengthLimits};
use trueput_engine::{
    Direction, Error, KeyRange, Mode, RecordVisitor, Result, Session, ValueVisitor,
};

const LIMITS: LengthLimits = LengthLimits::new(MAX_KEY_BYTES, MAX_VALUE_BYTES);

/// The most records of a scan's first page, and of any.
const FIRST_PAGE: usize = 64;
const MAX_PAGE: usize = 8192;

/// The bytes of a page from which on the next ones have fewer records.
const PAGE_BYTES: usize = 8 << 20;

/// A session.
pub(super) struct EtcdSession<'d> {
    connection: EtcdConnection,
    space: &'d KeySpace,
    /// Whether a transaction's first read asks only the node.
    is_serializable: bool,
    /// Whether the node has what was acknowledged before the session began. A node that has just
    /// been chosen may not have applied all of it yet.
    is_current: bool,
    open: Option<Transaction>,
}

/// A part of a scan.
struct Page {
    records: Vec<KeyValue>,
    /// The keys that it covers.
    covered: Bounds,
    /// The keys that are left.
    rest: Option<Bounds>,
}

impl<'d> EtcdSession<'d> {
    pub fn new(connection: EtcdConnection, space: &'d KeySpace, is_serializable: bool) -> Self {
        Self {
            connection,
            space,
            is_serializable,
            is_current: false,
            open: None,
        }
    }

    fn mode(&self) -> Option<Mode> {
        self.open.as_ref().map(|transaction| transaction.mode)
    }

    /// Reads in the snapshot of the transaction, which the first read takes. A node that has a
    /// revision has all before it, so a later read needs no other node. The first read of the
    /// session always asks the leader: whoever connects again finds what was acknowledged before.
    fn range(&mut self, request: RangeRequest) -> Result<RangeResponse> {
        let transaction = self
            .open
            .as_mut()
            .ok_or_else(common_errors::no_transaction)?;
        let request = RangeRequest {
            revision: transaction.snapshot,
            serializable: (self.is_serializable && self.is_current) || transaction.snapshot > 0,
            ..request
        };
        let response: RangeResponse = self.connection.call(message::RANGE, &request)?;
        self.is_current = true;
        if transaction.snapshot == 0 {
            let revision = response.header.as_ref().map(|header| header.revision);
            transaction.snapshot = revision.unwrap_or_default();
        }
        Ok(response)
    }

    fn page(&mut self, left: Bounds, direction: Direction, limit: usize) -> Result<Page> {
        let sort_order = match direction {
            Direction::Forward => SortOrder::None,
            Direction::Backward => SortOrder::Descend,
        };
        let response = self.range(RangeRequest {
            key: left.0.clone(),
            range_end: left.1.clone(),
            limit: limit as i64,
            sort_order: sort_order.into(),
            ..RangeRequest::default()
        })?;
        let (low, high) = left;
        let last = response.kvs.last().filter(|_| response.more);
        let (covered, rest) = match (last, direction) {
            (None, _) => ((low, high), None),
            (Some(last), Direction::Forward) => {
                let next = after(&last.key);
                ((low, next.clone()), Some((next, high)))
            }
            (Some(last), Direction::Backward) => {
                ((last.key.clone(), high), Some((low, last.key.clone())))
            }
        };
        Ok(Page {
            records: response.kvs,
            covered,
            rest,
        })
    }

    /// Passes a page to a visitor and notes what it has seen. Returns how many records that were,
    /// and whether it has seen enough.
    fn visit(
        &mut self,
        page: &Page,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<(u64, bool)> {
        let space = self.space;
        let transaction = self
            .open
            .as_mut()
            .ok_or_else(common_errors::no_transaction)?;
        let mut seen = 0;
        let mut last = None;
        let mut show = |key: &Bytes, value: &[u8]| {
            seen += 1;
            let flow = visitor(space.own(key), value);
            if flow.is_break() {
                last = Some(key.clone());
            }
            flow
        };
        let (low, high) = page.covered.clone();
        let mut own = transaction.writes.range(low.clone()..high.clone());
        let _ = if own.next().is_none() {
            page.records
                .iter()
                .try_for_each(|record| show(&record.key, &record.value))
        } else {
            let merged = merge(&page.records, &transaction.writes, &page.covered);
            let mut pass = |(key, value): (Bytes, Bytes)| show(&key, &value);
            match direction {
                Direction::Forward => merged.into_iter().try_for_each(&mut pass),
                Direction::Backward => merged.into_iter().rev().try_for_each(&mut pass),
            }
        };
        let is_enough = last.is_some();
        let read = match (last, direction) {
            (None, _) => (low, high),
            (Some(last), Direction::Forward) => (low, after(&last)),
            (Some(last), Direction::Backward) => (last, high),
        };
        for record in &page.records {
            if read.0 <= record.key && record.key < read.1 {
                transaction.note_key(record.key.clone(), record.mod_revision);
            }
        }
        transaction.note_range(read);
        Ok((seen, is_enough))
    }
}

/// Returns the records with the writes of the transaction in a range, by ascending key.
fn merge(
    records: &[KeyValue],
    writes: &BTreeMap<Bytes, Option<Bytes>>,
    (low, high): &Bounds,
) -> BTreeMap<Bytes, Bytes> {
    let stored = records.iter();
    let mut merged: BTreeMap<Bytes, Bytes> = stored
        .map(|record| (record.key.clone(), record.value.clone()))
        .collect();
    for (key, value) in writes.range(low.clone()..high.clone()) {
        match value {
            Some(value) => merged.insert(key.clone(), value.clone()),
            None => merged.remove(key),
        };
    }
    merged
}

/// Returns the most records of the page after this one.
fn next_limit(limit: usize, records: &[KeyValue]) -> usize {
    let bytes: usize = records
        .iter()
        .map(|record| record.key.len() + record.value.len())
        .sum();
    let each = bytes / records.len().max(1);
    let fitting = PAGE_BYTES / each.max(1);
    (8 * limit).min(MAX_PAGE).min(fitting).max(1)
}

impl Session for EtcdSession<'_> {
    fn begin(&mut self, mode: Mode) -> Result<()> {
        common_errors::require_closed(self.mode())?;
        self.open = Some(Transaction::new(mode));
        Ok(())
    }

    fn get(&mut self, key: &[u8], visitor: &mut ValueVisitor<'_>) -> Result<bool> {
        let key = self.space.key(key);
        let transaction = self
            .open
            .as_ref()
            .ok_or_else(common_errors::no_transaction)?;
        if let Some(written) = transaction.writes.get(&key) {
            if let Some(value) = written {
                visitor(value);
            }
            return Ok(written.is_some());
        }
        let response = self.range(RangeRequest {
            key: key.clone(),
            ..RangeRequest::default()
        })?;
        let found = response.kvs.first();
        if let Some(transaction) = &mut self.open {
            let mod_revision = found.map_or(0, |record| record.mod_revision);
            transaction.note_key(key, mod_revision);
        }
        if let Some(record) = found {
            visitor(&record.value);
        }
        Ok(found.is_some())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        common_errors::require_write(self.mode())?;
        LIMITS.check(key, value)?;
        let key = self.space.key(key);
        if let Some(transaction) = &mut self.open {
            let value = Bytes::copy_from_slice(value);
            transaction.writes.insert(key, Some(value));
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        common_errors::require_write(self.mode())?;
        LIMITS.check(key, b"")?;
        let key = self.space.key(key);
        if let Some(transaction) = &mut self.open {
            transaction.writes.insert(key, None);
        }
        Ok(())
    }

    fn scan(
        &mut self,
        range: KeyRange<'_>,
        direction: Direction,
        visitor: &mut RecordVisitor<'_>,
    ) -> Result<u64> {
        common_errors::require_open(self.mode())?;
        if range.is_empty() {
            return Ok(0);
        }
        let mut left = self.space.bounds(range);
        let (mut count, mut limit) = (0, FIRST_PAGE);
        loop {
            let page = self.page(left, direction, limit)?;
            let (seen, is_enough) = self.visit(&page, direction, visitor)?;
            count += seen;
            limit = next_limit(limit, &page.records);
            match page.rest {
                Some(rest) if !is_enough => left = rest,
                _ => return Ok(count),
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        let transaction = self.open.take().ok_or_else(common_errors::no_transaction)?;
        let Some(request) = transaction.commit_request(self.space) else {
            return Ok(());
        };
        let response: TxnResponse = self.connection.call(message::TXN, &request)?;
        if response.succeeded {
            return Ok(());
        }
        if let Some((_, own)) = &self.space.mark {
            let ranges = response
                .responses
                .iter()
                .filter_map(|response| response.range.as_ref());
            let mut marks = ranges.flat_map(|range| &range.kvs);
            if !marks.any(|mark| mark.value == *own) {
                return Err(Error::engine(
                    "another run has taken over the keys of trueput in this cluster",
                ));
            }
        }
        Err(Error::Conflict(
            "what the transaction has read was changed before its commit".to_owned(),
        ))
    }

    fn abort(&mut self) -> Result<()> {
        self.open
            .take()
            .map(drop)
            .ok_or_else(common_errors::no_transaction)
    }
}
