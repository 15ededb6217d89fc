//! Keys whose lengths differ from record to record.

use super::draws::{LengthChooser, LengthDistribution};
use crate::generate::hash::fnv1a_64;
use crate::generate::key::{KeyBuffer, KeyFormat};
use crate::generate::random::Random;
use trueput_record::random::mix;

/// Shortest key of a distribution, bytes: the hexadecimal digits of a record's number.
pub(crate) const MIN_SIZED_KEY_BYTES: usize = 16;

/// Fills a key behind its prefix.
const FILLER: u8 = b'0';

/// The keys of a seed's records. Each begins with a prefix by which the keys sort as the records
/// do, and is filled up to a length that is a function of the record's number and the seed.
#[derive(Debug, Clone)]
pub(crate) struct SizedKeys {
    /// The format of the prefixes, which are all equally long.
    prefix: KeyFormat,
    lengths: LengthChooser,
    seed: u64,
    /// Room for the longest key. Behind the prefix it is always filler.
    key: Box<[u8]>,
}

impl SizedKeys {
    /// Keys with these prefixes, none of which is longer than the shortest key.
    pub(crate) fn new(prefix: KeyFormat, lengths: LengthDistribution, seed: u64) -> Self {
        Self {
            prefix,
            key: vec![FILLER; lengths.longest() as usize].into(),
            lengths: LengthChooser::new(lengths),
            // The length of a record's key and that of its value have nothing to do with each
            // other.
            seed: seed ^ fnv1a_64(b"keys"),
        }
    }

    fn length(&mut self, item: u64) -> usize {
        let mut random = Random::new(mix(self.seed ^ mix(item)));
        self.lengths.next(&mut random) as usize
    }

    /// The key of an item; `buffer` is room for its prefix.
    #[inline]
    pub(crate) fn write(&mut self, item: u64, buffer: &mut KeyBuffer) -> &[u8] {
        let length = self.length(item);
        let prefix = self.prefix.write(item, buffer);
        self.key[..prefix.len()].copy_from_slice(prefix);
        &self.key[..length]
    }

    /// The first key that an item may have, whatever its length.
    pub(crate) fn first_key<'b>(&self, item: u64, buffer: &'b mut KeyBuffer) -> &'b [u8] {
        self.prefix.write(item, buffer)
    }

    /// The item of a key; `None` if no item has exactly this key.
    pub(crate) fn read(&mut self, key: &[u8]) -> Option<u64> {
        let (prefix, filler) = key.split_at_checked(self.prefix.longest())?;
        let item = self.prefix.read(prefix)?;
        let is_filler = filler.iter().all(|byte| *byte == FILLER);
        (is_filler && self.length(item) == key.len()).then_some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn keys(lengths: LengthDistribution, seed: u64) -> SizedKeys {
        let prefix = KeyFormat::plain(MIN_SIZED_KEY_BYTES).unwrap();
        SizedKeys::new(prefix, lengths, seed)
    }

    #[test]
    fn keys_sort_as_their_records_read_back_and_have_lengths_within_the_range() {
        let log_normal = LengthDistribution::LogNormal {
            fewest: 16,
            median: 24,
            p99: 90,
        };
        for lengths in [
            LengthDistribution::Uniform(16, 64),
            LengthDistribution::Zipfian(16, 1_000),
            log_normal,
        ] {
            let (mut keys, mut again) = (keys(lengths, 7), keys(lengths, 7));
            let mut buffer = KeyBuffer::default();
            let (mut former, mut seen) = (Vec::new(), BTreeSet::new());
            // An order of reading that differs from that of writing must change nothing.
            for item in (0..5_000).chain(u64::MAX - 10..=u64::MAX) {
                again.write(item / 2, &mut buffer);
                let key = keys.write(item, &mut buffer).to_vec();
                assert!(former < key, "{item}: {lengths:?}");
                assert_eq!(again.write(item, &mut buffer), key);
                assert_eq!(again.read(&key), Some(item));
                assert_eq!(key[..16], *format!("{item:016x}").as_bytes());
                seen.insert(key.len() as u64);
                former = key;
            }
            let (shortest, longest) = (lengths.shortest(), lengths.longest());
            assert!(seen.iter().all(|it| (shortest..=longest).contains(it)));
            assert!(seen.contains(&shortest), "{lengths:?}");
            assert!(seen.len() > 30, "{lengths:?}: {seen:?}");
        }
    }

    #[test]
    fn a_key_that_differs_in_a_byte_or_in_its_length_belongs_to_no_record() {
        let mut buffer = KeyBuffer::default();
        let lengths = LengthDistribution::Uniform(18, 64);
        let (mut keys, mut others) = (keys(lengths, 1), keys(lengths, 2));
        let key = keys.write(0xabc, &mut buffer).to_vec();
        assert_eq!(keys.read(&key), Some(0xabc));
        let shorter = &key[..key.len() - 1];
        let (longer, other) = ([&key[..], b"0"].concat(), [shorter, b"1"].concat());
        let upper_case = key.to_ascii_uppercase();
        for wrong in [&key[..0], &key[..10], shorter, &longer, &other, &upper_case] {
            assert_eq!(keys.read(wrong), None, "{wrong:?}");
        }
        let differs = |item: &u64| {
            let length = keys.write(*item, &mut buffer).len();
            others.write(*item, &mut buffer).len() != length
        };
        assert!((0..100).filter(differs).count() > 80);
    }
}
