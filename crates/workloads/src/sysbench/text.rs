//! The texts of the columns c and pad: groups of eleven digits with dashes between them, as
//! sysbench draws them. Here each text is a function of the seed and of the write that put it, and
//! names that write, so that a value that is read back can be checked.
//!
//! The last two groups are the row's id and the write, each plus a number that the first group
//! gives, modulo 10^11. So all digits look random, and texts have a random order.

use crate::generate::random::Random;
use crate::keyed::versions::MAX_NUMBER;
use trueput_record::random::mix;

/// Digits of a group.
const GROUP_DIGITS: usize = 11;
/// Bytes from a group's start to the next one's.
const GROUP_BYTES: usize = GROUP_DIGITS + 1;
/// A group's number is below it.
const GROUP_LIMIT: u64 = 100_000_000_000;

/// Bytes of c: 10 groups.
pub(super) const C_BYTES: usize = 119;
/// Bytes of pad: 5 groups.
pub(super) const PAD_BYTES: usize = 59;

/// A text of the column c.
pub(super) type CText = [u8; C_BYTES];
/// A text of the column pad.
pub(super) type PadText = [u8; PAD_BYTES];

/// Writes of one writer and row that have a name of their own.
const NUMBERS: u64 = MAX_NUMBER as u64 + 1;

/// The most workers that can write: a group has room for the name of each one's writes.
pub(super) const MAX_WRITERS: u32 = (GROUP_LIMIT / NUMBERS) as u32 - 1;

/// The name of the write that put a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WriteName {
    /// The worker's index and 1; 0: the load.
    pub(super) writer: u32,
    /// The number of the write, up to [`MAX_NUMBER`]; 0 for a row that the load or an insert put.
    pub(super) number: u32,
}

impl WriteName {
    /// The load.
    pub(super) const LOADED: Self = Self {
        writer: 0,
        number: 0,
    };

    /// As one number, below [`GROUP_LIMIT`].
    pub(super) fn code(self) -> u64 {
        u64::from(self.writer) * NUMBERS + u64::from(self.number)
    }

    fn from_code(code: u64) -> Self {
        Self {
            writer: (code / NUMBERS) as u32,
            number: (code % NUMBERS) as u32,
        }
    }
}

/// The row and the write that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The row's id.
    pub(super) id: u32,
    /// The write.
    pub(super) write: WriteName,
}

/// The groups of a text of this many bytes.
const fn groups(bytes: usize) -> usize {
    bytes.div_ceil(GROUP_BYTES)
}

/// The text that a write puts into a row of a table.
pub(super) fn text<const BYTES: usize>(seed: u64, table: u32, origin: Origin) -> [u8; BYTES] {
    let mut text = [b'-'; BYTES];
    let row = u64::from(table) << 32 | u64::from(origin.id);
    let column = mix(seed.wrapping_add(BYTES as u64));
    let mut random = Random::new(mix(mix(column ^ row) ^ origin.write.code()));
    let named = groups(BYTES) - 2;
    let first = random.below(GROUP_LIMIT);
    write_group(&mut text, 0, first);
    for group in 1..named {
        write_group(&mut text, group, random.below(GROUP_LIMIT));
    }
    let [for_id, for_write] = masks(seed, first);
    let masked = |number: u64, mask: u64| (number + mask) % GROUP_LIMIT;
    write_group(&mut text, named, masked(origin.id.into(), for_id));
    write_group(&mut text, named + 1, masked(origin.write.code(), for_write));
    text
}

/// The row and the write that a text names, by three of its groups; `None` if it names none.
/// Whether the rest is as it was written is for [`text`] to say.
pub(super) fn origin<const BYTES: usize>(seed: u64, text: &[u8; BYTES]) -> Option<Origin> {
    let named = groups(BYTES) - 2;
    let [for_id, for_write] = masks(seed, read_group(text, 0)?);
    let unmasked = |number: u64, mask: u64| (number + GROUP_LIMIT - mask) % GROUP_LIMIT;
    let id = unmasked(read_group(text, named)?, for_id);
    let write = unmasked(read_group(text, named + 1)?, for_write);
    Some(Origin {
        id: u32::try_from(id).ok()?,
        write: WriteName::from_code(write),
    })
}

/// The numbers that are added to a text's id and write.
fn masks(seed: u64, first: u64) -> [u64; 2] {
    let mask = mix(seed ^ mix(first));
    [mask % GROUP_LIMIT, mix(mask) % GROUP_LIMIT]
}

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

fn write_group(text: &mut [u8], group: usize, number: u64) {
    let start = group * GROUP_BYTES;
    let digits = &mut text[start..start + GROUP_DIGITS];
    let mut rest = number;
    for pair in digits[1..].rchunks_exact_mut(2) {
        pair.copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    digits[0] = b'0' + (rest % 10) as u8;
}

fn read_group(text: &[u8], group: usize) -> Option<u64> {
    let start = group * GROUP_BYTES;
    let digits = text.get(start..start + GROUP_DIGITS)?;
    digits.iter().try_fold(0, |number, digit| {
        let is_digit = digit.is_ascii_digit();
        is_digit.then(|| number * 10 + u64::from(digit - b'0'))
    })
}

/// A column's text as an engine returns it: of CHAR some pad with blanks, and some strip them. A
/// text of any other length becomes zeros, which name nothing.
pub(super) fn fit<const BYTES: usize>(found: &[u8]) -> [u8; BYTES] {
    let text = found.trim_ascii_end();
    text.try_into().unwrap_or([0; BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 7;

    fn named(id: u32, writer: u32, number: u32) -> Origin {
        Origin {
            id,
            write: WriteName { writer, number },
        }
    }

    #[test]
    fn texts_are_groups_of_eleven_digits_with_dashes() {
        let c: CText = text(SEED, 1, named(5, 0, 0));
        let pad: PadText = text(SEED, 1, named(5, 0, 0));
        for (bytes, groups) in [(c.as_slice(), 10), (pad.as_slice(), 5)] {
            let written = std::str::from_utf8(bytes).unwrap();
            let all: Vec<_> = written.split('-').collect();
            assert_eq!(all.len(), groups);
            let is_group = |group: &&str| {
                group.len() == GROUP_DIGITS && group.bytes().all(|digit| digit.is_ascii_digit())
            };
            assert!(all.iter().all(is_group), "{written}");
        }
    }

    #[test]
    fn a_text_names_its_row_and_its_write() {
        let mut seen = std::collections::HashSet::new();
        for id in [1, 2, 10_000, u32::MAX] {
            for (writer, number) in [(0, 0), (1, 0), (1, 1), (MAX_WRITERS, MAX_NUMBER)] {
                let named = named(id, writer, number);
                let c: CText = text(SEED, 3, named);
                let pad: PadText = text(SEED, 3, named);
                assert_eq!(origin(SEED, &c), Some(named));
                assert_eq!(origin(SEED, &pad), Some(named));
                assert!(seen.insert(c));
            }
        }
    }

    #[test]
    fn another_table_or_seed_has_another_text() {
        let here: CText = text(SEED, 1, named(5, 2, 9));
        let there: CText = text(SEED, 2, named(5, 2, 9));
        assert_ne!(here, there);
        assert_ne!(origin(SEED + 1, &here), Some(named(5, 2, 9)));
    }

    #[test]
    fn every_changed_byte_shows() {
        let right: CText = text(SEED, 1, named(77, 3, 4));
        for place in 0..C_BYTES {
            let mut changed = right;
            changed[place] ^= 1;
            let found = origin(SEED, &changed);
            let is_intact = found.is_some_and(|named| text(SEED, 1, named) == changed);
            assert!(!is_intact, "{place}");
        }
    }

    #[test]
    fn digits_are_as_random_as_sysbenchs() {
        let mut counts = [0_u32; 10];
        for id in 1..=1_000 {
            let c: CText = text(SEED, 1, named(id, 0, 0));
            let digits = c.iter().filter(|byte| byte.is_ascii_digit());
            digits.for_each(|digit| counts[usize::from(digit - b'0')] += 1);
        }
        assert_eq!(counts.iter().sum::<u32>(), 110_000);
        let fair = |count: &u32| (10_600..11_400).contains(count);
        assert!(counts.iter().all(fair), "{counts:?}");
    }

    #[test]
    fn blanks_at_the_end_are_stripped_and_other_lengths_name_nothing() {
        let c: CText = text(SEED, 1, named(5, 0, 0));
        let mut padded = c.to_vec();
        padded.push(b' ');
        assert_eq!(fit::<C_BYTES>(&padded), c);
        assert_eq!(fit::<C_BYTES>(&c), c);
        assert_eq!(origin(SEED, &fit::<C_BYTES>(&c[1..])), None);
    }
}
