//! Generates the keys and values of records, and checks values that were read.

use super::draws::ValueLengths;
use super::error::StoredValueError;
use super::partition::{KeyNumbers, Partitions};
use super::read_check::RecordState;
use super::sized_keys::SizedKeys;
use crate::generate::key::{KeyBuffer, KeyFormat};
use crate::generate::value::Values;
use std::sync::Arc;
use trueput_record::VerifyLevel;

/// A list of keys in their order: the number of a key is its place.
#[derive(Debug)]
pub(crate) struct KeyTable {
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<u64>,
}

impl KeyTable {
    /// The table of keys that are sorted and distinct.
    pub(crate) fn new(sorted: &[Box<[u8]>]) -> Self {
        let mut bytes = Vec::with_capacity(sorted.iter().map(|key| key.len()).sum());
        let mut ends = Vec::with_capacity(sorted.len());
        for key in sorted {
            bytes.extend_from_slice(key);
            ends.push(bytes.len() as u64);
        }
        Self { bytes, ends }
    }

    /// The key of a number.
    #[inline]
    pub(crate) fn key(&self, item: u64) -> &[u8] {
        let item = item as usize;
        let start = item.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[item] as usize]
    }

    /// The number of a key; `None` if it is not in the table.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u64> {
        let (mut from, mut to) = (0, self.ends.len() as u64);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }

    /// Bytes that the table takes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.bytes.len() + size_of_val(&*self.ends)) as u64
    }

    /// The length of the longest key, bytes.
    pub(crate) fn longest(&self) -> usize {
        let keys = (0..self.ends.len() as u64).map(|item| self.key(item).len());
        keys.max().unwrap_or(0)
    }
}

/// The keys of records.
#[derive(Debug, Clone)]
pub(crate) enum RecordKeys {
    /// Generated from the number of the item, all of one format.
    Generated(KeyFormat),
    /// The same, and each of a length of its own.
    Sized(SizedKeys),
    /// Listed.
    Listed(Arc<KeyTable>),
    /// Generated, of one length or each of its own, and those of each partition together.
    Partitioned(KeyNumbers, Box<Self>),
}

impl From<KeyFormat> for RecordKeys {
    fn from(format: KeyFormat) -> Self {
        Self::Generated(format)
    }
}

impl RecordKeys {
    /// The key of an item; `buffer` is room for it.
    #[inline]
    pub(crate) fn write<'b>(&'b mut self, item: u64, buffer: &'b mut KeyBuffer) -> &'b [u8] {
        match self {
            Self::Generated(format) => format.write(item, buffer),
            Self::Sized(keys) => keys.write(item, buffer),
            Self::Listed(table) => table.key(item),
            Self::Partitioned(numbers, keys) => keys.write(numbers.number(item), buffer),
        }
    }

    /// The item of a key, if it has one ([`KeyFormat::read`]).
    #[inline]
    fn read(&mut self, key: &[u8]) -> Option<u64> {
        match self {
            Self::Generated(format) => format.read(key),
            Self::Sized(keys) => keys.read(key),
            Self::Listed(table) => table.find(key),
            Self::Partitioned(numbers, keys) => numbers.item(keys.read(key)?),
        }
    }

    /// The first key that a number may have, whatever the length; `None` of listed keys.
    fn first_key<'b>(&self, number: u64, buffer: &'b mut KeyBuffer) -> Option<&'b [u8]> {
        match self {
            Self::Generated(format) => Some(format.write(number, buffer)),
            Self::Sized(keys) => Some(keys.first_key(number, buffer)),
            Self::Listed(_) | Self::Partitioned(..) => None,
        }
    }

    /// The keys that a worker's partition may have: from the first key on, up to the second, which
    /// is of the next partition. `None` without partitions.
    pub(crate) fn bounds(&self, worker: u32) -> Option<[Box<[u8]>; 2]> {
        let Self::Partitioned(_, keys) = self else {
            return None;
        };
        let mut buffer = KeyBuffer::default();
        let mut bound = |worker| -> Option<Box<[u8]>> {
            let key = keys.first_key(KeyNumbers::start(worker), &mut buffer)?;
            Some(key.into())
        };
        Some([bound(worker)?, bound(worker + 1)?])
    }
}

/// The most memory that is taken for values of different lengths before they are made, bytes. The
/// first longer ones take more while they are made.
const MAX_ROOM_BYTES: u64 = 64 << 20;

/// The values that reads compare to their last byte; of others, only the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeReads {
    None,
    /// Those of every tenth record.
    Tenth,
    All,
}

/// Makes and recognizes the records of a seed.
#[derive(Debug, Clone)]
pub(crate) struct RecordMaker<L> {
    keys: RecordKeys,
    values: Values,
    lengths: L,
    key: KeyBuffer,
    value: Vec<u8>,
    whole_reads: WholeReads,
}

impl<L: ValueLengths> RecordMaker<L> {
    /// A generator of records with these keys, values and lengths. It takes the memory for a value
    /// of any of these lengths now, up to 64 MiB, so that making one takes none.
    pub(crate) fn new(keys: impl Into<RecordKeys>, values: Values, mut lengths: L) -> Self {
        let room = lengths.longest().min(MAX_ROOM_BYTES) as usize;
        let value = vec![0; room.max(lengths.value_bytes(0, 0))];
        Self {
            keys: keys.into(),
            values,
            lengths,
            key: KeyBuffer::default(),
            value,
            whole_reads: WholeReads::None,
        }
    }

    /// Compares the values that are read to their last byte: all at `full`, those of every tenth
    /// record at `sample`.
    pub(crate) fn comparing_reads(self, level: VerifyLevel) -> Self {
        let whole_reads = match level {
            VerifyLevel::Full => WholeReads::All,
            VerifyLevel::Sample => WholeReads::Tenth,
            VerifyLevel::Off => WholeReads::None,
        };
        Self {
            whole_reads,
            ..self
        }
    }

    /// Puts the keys of each partition together, if there are partitions.
    pub(crate) fn in_partitions(self, partitions: Option<Partitions>) -> Self {
        let keys = match partitions {
            Some(all) => RecordKeys::Partitioned(KeyNumbers::new(all), Box::new(self.keys)),
            None => self.keys,
        };
        Self { keys, ..self }
    }

    /// Whether [`RecordMaker::state`] compares an item's value to its last byte.
    #[inline]
    pub(crate) fn is_read_whole(&self, item: u64) -> bool {
        match self.whole_reads {
            WholeReads::All => true,
            WholeReads::Tenth => self.lengths.record(item).is_multiple_of(10),
            WholeReads::None => false,
        }
    }

    /// The keys of the records.
    pub(crate) fn keys(&self) -> &RecordKeys {
        &self.keys
    }

    /// The key of an item.
    #[inline]
    pub(crate) fn key(&mut self, item: u64) -> &[u8] {
        self.keys.write(item, &mut self.key)
    }

    /// The key of an item and its value in a version.
    #[inline]
    pub(crate) fn make(&mut self, item: u64, version: u32) -> (&[u8], &[u8]) {
        let bytes = self.lengths.value_bytes(item, version);
        self.make_sized(item, version, bytes)
    }

    /// The key of an item and its value in a version, of so many bytes.
    #[inline]
    pub(crate) fn make_sized(&mut self, item: u64, version: u32, bytes: usize) -> (&[u8], &[u8]) {
        self.value.resize(bytes, 0);
        self.values.write(item, version, &mut self.value);
        (self.keys.write(item, &mut self.key), &self.value)
    }

    /// The state of an item's record, by the value that was read for it: its header, and every byte
    /// as [`RecordMaker::comparing_reads`] says.
    #[inline]
    pub(crate) fn state(&mut self, item: u64, value: &[u8]) -> RecordState {
        let version = if self.is_read_whole(item) {
            self.values.check_all(item, value)
        } else {
            self.values.read(item, value)
        };
        match version {
            Ok(version) if self.lengths.fits(item, version, value.len()) => {
                RecordState::Version(version)
            }
            _ => RecordState::Foreign,
        }
    }

    /// The item of a key, if it has one ([`KeyFormat::read`]).
    #[inline]
    pub(crate) fn item(&mut self, key: &[u8]) -> Option<u64> {
        self.keys.read(key)
    }

    /// The place of an item's key among the keys of all items, in their order.
    pub(crate) fn key_place(&mut self, item: u64) -> u64 {
        match &mut self.keys {
            RecordKeys::Partitioned(numbers, _) => numbers.number(item),
            _ => item,
        }
    }

    /// The number of loaded records, of `records`, whose keys are before that of an item.
    pub(crate) fn loaded_before(&self, item: u64, records: u64) -> u64 {
        match &self.keys {
            RecordKeys::Partitioned(numbers, _) => numbers.loaded_before(item),
            _ => item.min(records),
        }
    }

    /// The version of a value that stood under an item's key, by its length and every byte.
    ///
    /// # Errors
    /// The fault of the value.
    pub(crate) fn check_whole(&mut self, item: u64, value: &[u8]) -> Result<u32, StoredValueError> {
        let version = self.values.check_all(item, value)?;
        let bytes = value.len();
        if self.lengths.fits(item, version, bytes) {
            Ok(version)
        } else {
            Err(StoredValueError::Length { item, bytes })
        }
    }

    /// The item and the version of a value that stood under a key, by its header; by every byte
    /// where `whole`, or as [`RecordMaker::comparing_reads`] says.
    ///
    /// # Errors
    /// The item in the value, if it is not the key's.
    pub(crate) fn identify(
        &mut self,
        key: &[u8],
        value: &[u8],
        whole: bool,
    ) -> Result<(u64, u32), u64> {
        let (item, version) = self.values.owner(value).map_err(|_| 0_u64)?;
        let whole = whole || self.is_read_whole(item);
        let matches = self.key(item) == key
            && self.lengths.value_bytes(item, version) == value.len()
            && (!whole || self.values.check_all(item, value).is_ok());
        matches.then_some((item, version)).ok_or(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::draws::{LengthDistribution, RecordLengths};

    #[test]
    fn making_a_value_takes_no_memory() {
        let lengths = LengthDistribution::LogNormal {
            fewest: 12,
            median: 300,
            p99: 4_096,
        };
        let format = KeyFormat::plain(24).unwrap();
        let values = Values::new(1, 100).unwrap();
        let mut maker = RecordMaker::new(format, values, RecordLengths::new(1, lengths, 1));
        let capacity = maker.value.capacity();
        let made = (0..100_000).map(|item| maker.make(item, 1).1.len());
        let most = made.max().unwrap();
        assert!(most > 2 * 4_096, "{most}: the longest draws are missing");
        assert_eq!(maker.value.capacity(), capacity);
    }
}
