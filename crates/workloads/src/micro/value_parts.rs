//! How an engine stores a value: whole, or in parts under keys of their own.
//!
//! A part is an item with a key, a check and a version of its own, as a plain record is. Its number
//! is the value's number times the number of parts, plus the part's position: so the parts of a
//! value are adjacent, and in their order.

use super::error::MicroError;
use super::settings::{MIN_LARGE_BYTES, Settings};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::draws::ValueLengths;
use crate::keyed::error::RecordError;
use std::ops::Range;

/// The values that the settings ask for.
pub(super) struct ValueSizes {
    /// Their number, unless a size says it.
    pub count: u64,
    pub value_bytes: usize,
    /// The longest part of a value; `None`: as long as the engine takes.
    pub max_part_bytes: Option<usize>,
}

impl ValueSizes {
    /// Reads the settings of a test, of large values or not.
    ///
    /// # Errors
    /// A value or a part would be too short.
    pub(super) fn new(settings: &Settings, is_large: bool) -> Result<Self, MicroError> {
        let bytes = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        if !is_large {
            let value_bytes = bytes(settings.value_bytes);
            if value_bytes < MIN_VALUE_BYTES {
                return Err(RecordError::ShortValue { bytes: value_bytes }.into());
            }
            return Ok(Self {
                count: settings.records,
                value_bytes,
                max_part_bytes: Some(value_bytes),
            });
        }
        let part_size = settings.part_size;
        if (1..MIN_LARGE_BYTES).contains(&part_size) {
            return Err(MicroError::SmallParts { part_size });
        }
        Ok(Self {
            count: settings.large_values,
            value_bytes: bytes(settings.large_value_bytes),
            max_part_bytes: (part_size > 0).then_some(bytes(part_size)),
        })
    }
}

/// The parts of values that are all equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueParts {
    value_bytes: usize,
    /// The number of parts of a value.
    count: usize,
}

impl ValueParts {
    /// As few parts as there can be if none is longer than `max_part_bytes`. Their lengths differ
    /// by a byte at most.
    pub(super) fn new(value_bytes: usize, max_part_bytes: usize) -> Self {
        Self {
            value_bytes,
            count: value_bytes.div_ceil(max_part_bytes.max(1)).max(1),
        }
    }

    /// The parts as far as the settings tell: one where the engine decides.
    pub(super) fn planned(value_bytes: usize, max_part_bytes: Option<usize>) -> Self {
        Self::new(value_bytes, max_part_bytes.unwrap_or(value_bytes))
    }

    /// Bytes of the keys and of the value of a record.
    pub(super) fn user_bytes(self, key_bytes: usize) -> u64 {
        self.count() * key_bytes as u64 + self.value_bytes as u64
    }

    /// The number of parts of a value.
    #[inline]
    pub(super) fn count(self) -> u64 {
        self.count as u64
    }

    /// Whether a value is in several parts.
    #[inline]
    pub(super) fn are_several(self) -> bool {
        self.count > 1
    }

    /// The items that are the parts of a record's value.
    #[inline]
    pub(super) fn items(self, record: u64) -> Range<u64> {
        let first = record * self.count();
        first..first + self.count()
    }

    /// The record that a part belongs to.
    #[inline]
    pub(super) fn record(self, item: u64) -> u64 {
        item / self.count()
    }

    /// The length of the longest part, bytes.
    pub(super) fn longest_bytes(self) -> usize {
        self.value_bytes.div_ceil(self.count)
    }
}

impl ValueLengths for ValueParts {
    #[inline]
    fn value_bytes(&mut self, item: u64, _version: u32) -> usize {
        if self.count == 1 {
            return self.value_bytes;
        }
        let position = (item % self.count()) as usize;
        let rest = self.value_bytes % self.count;
        self.value_bytes / self.count + usize::from(position < rest)
    }

    fn longest(&self) -> u64 {
        self.longest_bytes() as u64
    }

    #[inline]
    fn record(&self, item: u64) -> u64 {
        (*self).record(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_value_add_up_to_it_and_none_is_too_long() {
        for value_bytes in [1, 100, 1_024, 1_025, 10_000, 1 << 20, (64 << 20) - 1] {
            for most in [1_024, 1_025, 16_000, 256 << 10, 64 << 20] {
                let mut parts = ValueParts::new(value_bytes, most);
                let lengths = parts.items(7).map(|item| parts.value_bytes(item, 3));
                let lengths: Vec<usize> = lengths.collect();
                let expected = value_bytes.div_ceil(most);
                assert_eq!(lengths.len(), expected, "as few as there can be");
                assert_eq!(lengths.iter().sum::<usize>(), value_bytes);
                assert_eq!(lengths.iter().max(), Some(&parts.longest_bytes()));
                assert!(parts.longest_bytes() <= most);
                let shortest = lengths.iter().min().unwrap();
                assert!(parts.longest_bytes() - shortest <= 1);
                assert!(parts.items(7).all(|item| parts.record(item) == 7));
                assert_eq!(parts.items(7).end, parts.items(8).start);
                assert_eq!(parts.are_several(), expected > 1);
            }
        }
    }
}
