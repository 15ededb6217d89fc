//! Generates the keys and values of records, and checks values that were read.

use super::read_check::RecordState;
use crate::generate::key::{KeyBuffer, KeyFormat};
use crate::generate::value::Values;

/// Tells how long the value of a record is.
pub(crate) trait ValueLengths {
    /// The bytes of an item's value in a version: the same item and version always have the same.
    fn value_bytes(&mut self, item: u64, version: u32) -> usize;
}

/// The length of values that are all equally long, bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedLength(pub(crate) usize);

impl ValueLengths for FixedLength {
    #[inline]
    fn value_bytes(&mut self, _item: u64, _version: u32) -> usize {
        self.0
    }
}

/// Makes and recognizes the records of a seed.
#[derive(Debug, Clone)]
pub(crate) struct RecordMaker<L> {
    keys: KeyFormat,
    values: Values,
    lengths: L,
    key: KeyBuffer,
    value: Vec<u8>,
}

impl<L: ValueLengths> RecordMaker<L> {
    /// A generator of records with these keys, values and lengths.
    pub(crate) fn new(keys: KeyFormat, values: Values, mut lengths: L) -> Self {
        let value = vec![0; lengths.value_bytes(0, 0)];
        Self {
            keys,
            values,
            lengths,
            key: KeyBuffer::default(),
            value,
        }
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
        self.value.resize(bytes, 0);
        self.values.write(item, version, &mut self.value);
        (self.keys.write(item, &mut self.key), &self.value)
    }

    /// The state of an item's record, by the header of the value that was read for it.
    #[inline]
    pub(crate) fn state(&mut self, item: u64, value: &[u8]) -> RecordState {
        match self.values.read(item, value) {
            Ok(version) if self.lengths.value_bytes(item, version) == value.len() => {
                RecordState::Version(version)
            }
            _ => RecordState::Foreign,
        }
    }

    /// The item of a key, if it has one ([`KeyFormat::read`]).
    #[inline]
    pub(crate) fn item(&self, key: &[u8]) -> Option<u64> {
        self.keys.read(key)
    }

    /// The version of a value that stood under an item's key, by its length and every byte.
    ///
    /// # Errors
    /// The fault of the value.
    pub(crate) fn check_whole(&mut self, item: u64, value: &[u8]) -> Result<u32, String> {
        let version = self.values.check_all(item, value);
        let version = version.map_err(|error| error.to_string())?;
        match self.lengths.value_bytes(item, version) == value.len() {
            true => Ok(version),
            false => Err(format!("record {item} has {} bytes", value.len())),
        }
    }

    /// The item and the version of a value that stood under a key, by its header; by every byte
    /// where `whole`.
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
        let matches = self.key(item) == key
            && self.lengths.value_bytes(item, version) == value.len()
            && (!whole || self.values.check_all(item, value).is_ok());
        matches.then_some((item, version)).ok_or(item)
    }
}
