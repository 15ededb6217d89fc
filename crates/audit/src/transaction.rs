//! The transactions of an audit: each is a pure function of the seed, the worker and its number, so
//! that the content of a database can be checked without a copy of what was written.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trueput_record::random::SplitMix64;

/// The ranges of keys; each holds records of another life.
const SEQUENCE: u8 = 0;
const OVERWRITTEN: u8 = 1;
const DELETED: u8 = 2;
const LARGE: u8 = 3;
const GROWING: u8 = 4;

const OVERWRITTEN_SLOTS: u64 = 48;
const DELETED_SLOTS: u64 = 24;
/// A growing record is deleted after this many transactions.
const LIFETIME: u64 = 60;

const SMALL_BYTES: usize = 100;
/// The bytes of a large value: more than five pages, so that it does not fit into one page of any
/// engine.
pub(crate) const LARGE_BYTES: usize = 20 * 1024;
const HEADER_BYTES: usize = 16;

/// The number of transactions that are aborted: none that commits has it.
pub(crate) const ABORTED: u64 = u64::MAX;

/// The key of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordKey {
    range: u8,
    worker: u32,
    slot: u64,
}

impl RecordKey {
    /// The record that holds the number of a worker's last transaction.
    pub(crate) fn sequence(worker: u32) -> Self {
        Self {
            range: SEQUENCE,
            worker,
            slot: 0,
        }
    }

    /// The worker that writes it.
    pub(crate) fn worker(self) -> u32 {
        self.worker
    }

    pub(crate) fn to_bytes(self) -> [u8; 13] {
        let mut bytes = [0; 13];
        bytes[0] = b'a' + self.range;
        bytes[1..5].copy_from_slice(&self.worker.to_be_bytes());
        bytes[5..].copy_from_slice(&self.slot.to_be_bytes());
        bytes
    }

    /// Reads a key back; `None` if it is not one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 13] = bytes.try_into().ok()?;
        Some(Self {
            range: bytes[0].checked_sub(b'a')?,
            worker: u32::from_be_bytes(bytes[1..5].try_into().ok()?),
            slot: u64::from_be_bytes(bytes[5..].try_into().ok()?),
        })
    }
}

impl std::fmt::Display for RecordKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = match self.range {
            SEQUENCE => "sequence",
            OVERWRITTEN => "overwritten",
            DELETED => "deleted",
            LARGE => "large",
            _ => "growing",
        };
        write!(
            formatter,
            "record {range}/{} of worker {}",
            self.slot, self.worker
        )
    }
}

/// A change of a transaction: a put, or a delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Put(RecordKey),
    Delete(RecordKey),
}

/// The large values of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LargeValues {
    /// One transaction in this many writes one,
    pub(crate) every: u64,
    /// into one of so many records of its worker.
    pub(crate) slots: u64,
}

impl LargeValues {
    /// Those of an audit.
    pub(crate) const OF_AUDIT: Self = Self { every: 8, slots: 3 };

    /// One in each transaction, into few records.
    pub(crate) const ALWAYS: Self = Self {
        every: 1,
        ..Self::OF_AUDIT
    };

    /// One in each transaction, into a record that no other one writes: files must grow.
    pub(crate) const GROWING: Self = Self {
        every: 1,
        slots: u64::MAX,
    };
}

/// The transactions of one audit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    /// The longest value that the engine accepts, bytes.
    pub(crate) max_value_bytes: usize,
    pub(crate) large: LargeValues,
}

impl Script {
    /// Returns the changes of a worker's transaction; the first has the number 1.
    pub(crate) fn changes(self, worker: u32, sequence: u64) -> Vec<Change> {
        let draw = |purpose: u64| mix(&[self.seed, u64::from(worker), sequence, purpose]);
        let key = |range, slot| RecordKey {
            range,
            worker,
            slot,
        };
        let mut changes = vec![
            Change::Put(key(OVERWRITTEN, draw(1) % OVERWRITTEN_SLOTS)),
            Change::Put(key(GROWING, sequence)),
        ];
        let deleted = key(DELETED, draw(2) % DELETED_SLOTS);
        changes.push(if draw(3).is_multiple_of(3) {
            Change::Delete(deleted)
        } else {
            Change::Put(deleted)
        });
        if let Some(old) = sequence.checked_sub(LIFETIME) {
            changes.push(Change::Delete(key(GROWING, old)));
        }
        if sequence.is_multiple_of(self.large.every) {
            changes.push(Change::Put(key(LARGE, draw(4) % self.large.slots)));
        }
        // Last, so that an engine that loses the end of a transaction loses it.
        changes.push(Change::Put(RecordKey::sequence(worker)));
        changes
    }

    /// Returns the value that a transaction puts under a key: its number, then bytes that do not
    /// compress.
    pub(crate) fn value(self, key: RecordKey, sequence: u64) -> Vec<u8> {
        let bytes = match key.range {
            SEQUENCE => HEADER_BYTES,
            LARGE => LARGE_BYTES.min(self.max_value_bytes),
            _ => SMALL_BYTES.min(self.max_value_bytes),
        };
        let range = u64::from(key.range);
        let start = mix(&[self.seed, u64::from(key.worker), sequence, range, key.slot]);
        let mut value = Vec::with_capacity(bytes + 8);
        value.extend_from_slice(&sequence.to_le_bytes());
        let mut counter = 0;
        while value.len() < bytes {
            value.extend_from_slice(&mix(&[start, counter]).to_le_bytes());
            counter += 1;
        }
        value.truncate(bytes);
        value
    }

    /// Reads the number of the transaction that put a value; `None` if nobody put it.
    pub(crate) fn sequence_of(self, key: RecordKey, value: &[u8]) -> Option<u64> {
        let sequence = u64::from_le_bytes(value.get(..8)?.try_into().ok()?);
        (self.value(key, sequence) == value).then_some(sequence)
    }

    /// Returns the records of a worker after its transaction of that number, each with the number
    /// of the transaction that put it.
    pub(crate) fn records(self, worker: u32, sequence: u64) -> BTreeMap<RecordKey, u64> {
        let mut records = BTreeMap::new();
        for number in 1..=sequence {
            for change in self.changes(worker, number) {
                match change {
                    Change::Put(key) => records.insert(key, number),
                    Change::Delete(key) => records.remove(&key),
                };
            }
        }
        records
    }
}

/// Mixes numbers into one that looks random.
pub(crate) fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |state, number| {
        SplitMix64::new(state ^ number).next_u64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: Script = Script {
        seed: 7,
        max_value_bytes: usize::MAX,
        large: LargeValues::OF_AUDIT,
    };

    #[test]
    fn a_value_names_the_transaction_that_put_it_and_a_changed_one_is_nobodys() {
        for change in SCRIPT.changes(2, 16) {
            let Change::Put(key) = change else { continue };
            let mut value = SCRIPT.value(key, 16);
            assert_eq!(SCRIPT.sequence_of(key, &value), Some(16));
            let last = value.len() - 1;
            value[last] ^= 1;
            assert_eq!(SCRIPT.sequence_of(key, &value), None);
        }
    }

    #[test]
    fn records_grow_and_are_deleted_again() {
        let records = SCRIPT.records(0, 500);
        let growing = records.keys().filter(|key| key.range == GROWING).count();
        assert_eq!(growing as u64, LIFETIME);
        assert_eq!(records[&RecordKey::sequence(0)], 500);
    }

    #[test]
    fn large_values_that_must_grow_are_each_a_record_of_its_own() {
        let large_records = |large| {
            let script = Script { large, ..SCRIPT };
            let records = script.records(0, 300);
            records.keys().filter(|key| key.range == LARGE).count()
        };
        assert_eq!(large_records(LargeValues::GROWING), 300);
        // The control: the others are written again and again.
        assert_eq!(large_records(LargeValues::ALWAYS), 3);
        assert_eq!(large_records(LargeValues::OF_AUDIT), 3);
    }

    #[test]
    fn a_key_is_read_back() {
        let key = RecordKey {
            range: LARGE,
            worker: 3,
            slot: 258,
        };
        assert_eq!(RecordKey::from_bytes(&key.to_bytes()), Some(key));
        assert_eq!(RecordKey::from_bytes(b"short"), None);
    }
}
