//! The versions of keys, and the values that carry them.

use super::settings::ModelName;
use trueput_record::random::mix;

/// A key, by its number.
pub type Key = u32;

/// Bits of a version that number the write; those above name the worker.
const NUMBER_BITS: u32 = 40;

/// The bytes of an element of a list, and of each part of a register's value.
pub(super) const WORD_BYTES: usize = 8;

/// A version of a key: the write that made it. No two writes make the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// The key does not exist.
    pub const ABSENT: Self = Self(0);

    /// A value that no write can have made.
    pub const DAMAGED: Self = Self(u64::MAX);

    /// The version that the write of a worker with this number makes.
    #[must_use]
    pub const fn new(worker: u32, number: u64) -> Self {
        Self((worker as u64 + 1) << NUMBER_BITS | number)
    }

    /// The version with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::ABSENT => formatter.write_str("nothing"),
            Self::DAMAGED => formatter.write_str("a damaged value"),
            Self(bits) => {
                let worker = (bits >> NUMBER_BITS).saturating_sub(1);
                write!(formatter, "{worker}.{}", bits & ((1 << NUMBER_BITS) - 1))
            }
        }
    }
}

/// The value of a key, in memory that is allocated once.
///
/// A list is its elements, the oldest first, each the version that appended it. A register is the
/// number of the write, as far as its writer knew, and its version.
#[derive(Debug, Clone)]
pub(super) struct ValueBuffer {
    model: ModelName,
    bytes: Vec<u8>,
    /// Whether the value is none that a write can have made.
    is_damaged: bool,
}

impl ValueBuffer {
    /// Creates a buffer for the values of keys that are written this many times.
    pub fn new(model: ModelName, key_writes: u32) -> Self {
        Self {
            model,
            bytes: Vec::with_capacity(value_bytes(model, key_writes)),
            is_damaged: false,
        }
    }

    /// Forgets the value: the key does not exist.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.is_damaged = false;
    }

    /// Takes a value that was read.
    pub fn set(&mut self, value: &[u8]) {
        self.clear();
        let is_whole = !value.is_empty() && value.len().is_multiple_of(WORD_BYTES);
        let fits = match self.model {
            ModelName::ListAppend => value.len() <= self.bytes.capacity(),
            ModelName::Register => value.len() == 2 * WORD_BYTES,
        };
        self.is_damaged = !(is_whole && fits);
        if !self.is_damaged {
            self.bytes.extend_from_slice(value);
        }
    }

    /// Returns the version and the hash of the value under that key.
    pub fn identify(&self, key: Key) -> (Version, u32) {
        if self.is_damaged {
            return (Version::DAMAGED, 0);
        }
        let words = self.words();
        let hash = words.fold(u64::from(key), |hash, word| mix(hash ^ mix(word)));
        let version = self.words().last().map_or(Version::ABSENT, Version);
        (version, hash as u32)
    }

    /// Returns the number of writes that made the value, as far as its writer knew.
    pub fn writes(&self) -> u64 {
        match self.model {
            ModelName::ListAppend => (self.bytes.len() / WORD_BYTES) as u64,
            ModelName::Register => self.words().next().unwrap_or(0),
        }
    }

    /// Makes the value that a write of `version` leaves: of a list, the elements of the buffer and
    /// this one; of a register, this one after `writes` others.
    pub fn write(&mut self, version: Version, writes: u64) -> &[u8] {
        if self.model == ModelName::Register {
            self.clear();
            self.bytes.extend(writes.saturating_add(1).to_le_bytes());
        }
        self.bytes.extend(version.to_bits().to_le_bytes());
        &self.bytes
    }

    fn words(&self) -> impl Iterator<Item = u64> + use<'_> {
        let (words, _) = self.bytes.as_chunks::<WORD_BYTES>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }
}

/// Returns the bytes of the longest value of a key that is written this many times.
pub(super) fn value_bytes(model: ModelName, key_writes: u32) -> usize {
    match model {
        ModelName::ListAppend => key_writes as usize * WORD_BYTES,
        ModelName::Register => 2 * WORD_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_shows_its_version_its_writes_and_that_it_belongs_to_its_key() {
        let (one, two) = (Version::new(0, 1), Version::new(3, 2));
        for model in [ModelName::ListAppend, ModelName::Register] {
            let mut written = ValueBuffer::new(model, 4);
            assert_eq!(written.identify(5).0, Version::ABSENT);
            written.write(one, 0);
            let value = written.write(two, 1).to_vec();
            let mut read = ValueBuffer::new(model, 4);
            read.set(&value);
            assert_eq!(read.identify(5), written.identify(5));
            assert_eq!((read.identify(5).0, read.writes()), (two, 2));
            assert_ne!(read.identify(5).1, read.identify(6).1);
            let mut other = value.clone();
            other[0] ^= 1;
            read.set(&other);
            assert_ne!(read.identify(5).1, written.identify(5).1);
            read.set(&value[1..]);
            assert_eq!(read.identify(5).0, Version::DAMAGED);
        }
        assert_eq!(two.to_string(), "3.2");
    }
}
