//! The state of a transaction: the snapshot that it reads, what it has read and what it will write.

use super::keyspace::{Bounds, KeySpace, nothing_stored_after, unchanged};
use super::message::{
    Compare, DeleteRangeRequest, Operation, PutRequest, RangeRequest, RequestOp, TxnRequest,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use trueput_engine::Mode;

/// A transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    pub mode: Mode,
    /// The revision of its snapshot, that of its first read; 0 before.
    pub snapshot: i64,
    /// The keys that it read, with the revisions that changed them last; 0 for a missing one.
    keys: BTreeMap<Bytes, i64>,
    ranges: Vec<Bounds>,
    /// What it will store; `None` for a key that it deletes.
    pub writes: BTreeMap<Bytes, Option<Bytes>>,
}

impl Transaction {
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            snapshot: 0,
            keys: BTreeMap::new(),
            ranges: Vec::new(),
            writes: BTreeMap::new(),
        }
    }

    /// Notes that a key was read. What only reads needs no check: it has read one state.
    pub fn note_key(&mut self, key: Bytes, mod_revision: i64) {
        if self.mode == Mode::Write {
            self.keys.insert(key, mod_revision);
        }
    }

    /// Notes that every key of a range was read.
    pub fn note_range(&mut self, bounds: Bounds) {
        if self.mode == Mode::Write && bounds.0 < bounds.1 {
            self.ranges.push(bounds);
        }
    }

    /// Returns the request that commits it: everything is written if all that was read is still as
    /// it was. `None` if it writes nothing.
    pub fn commit_request(self, space: &KeySpace) -> Option<TxnRequest> {
        if self.writes.is_empty() {
            return None;
        }
        let keys = self.keys.into_iter();
        let keys = keys.map(|(key, revision)| unchanged(key, revision));
        let snapshot = self.snapshot;
        let ranges = self.ranges.into_iter();
        let ranges = ranges.map(|bounds| nothing_stored_after(snapshot, bounds));
        let compare: Vec<Compare> = space
            .is_own()
            .into_iter()
            .chain(keys)
            .chain(ranges)
            .collect();
        let mark = space.mark.iter().map(|(key, _)| {
            operation(Operation::Range(RangeRequest {
                key: key.clone(),
                ..RangeRequest::default()
            }))
        });
        Some(TxnRequest {
            compare,
            success: self.writes.into_iter().map(write).collect(),
            failure: mark.collect(),
        })
    }
}

fn write((key, value): (Bytes, Option<Bytes>)) -> RequestOp {
    operation(match value {
        Some(value) => Operation::Put(PutRequest { key, value }),
        None => Operation::Delete(DeleteRangeRequest {
            key,
            range_end: Bytes::new(),
        }),
    })
}

pub(super) fn operation(operation: Operation) -> RequestOp {
    RequestOp {
        operation: Some(operation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_checks_what_was_read_and_a_reader_checks_nothing() {
        let space = KeySpace::new("d");
        let mut writer = Transaction::new(Mode::Write);
        writer.snapshot = 7;
        writer.note_key(space.key(b"a"), 5);
        writer.note_key(space.key(b"missing"), 0);
        writer.note_range(space.all());
        writer.writes.insert(space.key(b"b"), None);
        let request = writer.commit_request(&space).unwrap();
        assert_eq!((request.compare.len(), request.success.len()), (3, 1));
        let mut reader = Transaction::new(Mode::Read);
        reader.note_key(space.key(b"a"), 5);
        assert!(reader.commit_request(&space).is_none());
    }
}
