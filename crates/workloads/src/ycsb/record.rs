//! How records are made and checked.

use super::draw::RecordLengths;
use super::fault::Fault;
use super::properties::Shape;
use crate::Error;
use crate::generate::key::Buffer;
use crate::generate::value::Values;

/// The values never compress: YCSB's are random characters.
const PERCENT: u8 = 100;

/// Makes records of a seed.
#[derive(Debug, Clone)]
pub(super) struct Maker {
    values: Values,
    lengths: RecordLengths,
    shape: Shape,
    key: Buffer,
    record: Vec<u8>,
}

impl Maker {
    pub(super) fn new(shape: Shape, seed: u64) -> Result<Self, Error> {
        let values = Values::new(seed, PERCENT);
        Ok(Self {
            values: values.map_err(|error| Error::Workload(error.to_string()))?,
            lengths: RecordLengths::new(&shape, seed),
            shape,
            key: Buffer::default(),
            record: Vec::new(),
        })
    }

    /// The key of an item.
    pub(super) fn key(&mut self, item: u64) -> &[u8] {
        self.shape.keys.write(item, &mut self.key)
    }

    /// The key of an item and its record in a version.
    pub(super) fn make(&mut self, item: u64, version: u32) -> (&[u8], &[u8]) {
        let bytes = self.lengths.of(item, version);
        self.record.resize(bytes, 0);
        self.values.write(item, version, &mut self.record);
        (self.shape.keys.write(item, &mut self.key), &self.record)
    }

    /// The item and the version of a record that stood under a key, by its header; of every byte
    /// where `whole`.
    ///
    /// # Errors
    /// Where the record is not one of that key; the item that it says to be of.
    pub(super) fn read(&mut self, key: &[u8], record: &[u8], whole: bool) -> Result<Seen, u64> {
        let (item, version) = self.values.owner(record).map_err(|_| 0_u64)?;
        let right = self.key(item) == key
            && self.lengths.of(item, version) == record.len()
            && (!whole || self.values.check_all(item, record).is_ok());
        right.then_some(Seen { item, version }).ok_or(item)
    }

    /// The version of a record that was read for an item.
    ///
    /// # Errors
    /// Where it is not one of this item.
    pub(super) fn version(&mut self, item: u64, record: &[u8]) -> Result<u32, Fault> {
        let version = self.values.read(item, record);
        let version = version.map_err(|_| Fault::Foreign)?;
        if self.lengths.of(item, version) == record.len() {
            Ok(version)
        } else {
            Err(Fault::Foreign)
        }
    }
}

/// Whose a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) item: u64,
    pub(super) version: u32,
}
