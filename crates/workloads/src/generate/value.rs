//! Values that carry their item, their version and their length, so that every read can be checked.
//!
//! Layout: 8 bytes of check and 4 bytes of version, the lowest byte first, then the payload. The
//! check is a bijection of the item for each seed, version and length; so it also
//! identifies the item. The payload is a part of a pool, at an offset that depends on all of these.

use super::random::Random;
use std::fmt;
use std::sync::Arc;
use trueput_record::random::{mix, unmix};

/// Bytes before the payload, and so the shortest value.
pub const MIN_VALUE_BYTES: usize = CHECK_BYTES + VERSION_BYTES;

const CHECK_BYTES: usize = 8;
const VERSION_BYTES: usize = 4;

/// The pool has at least this many bytes, as db_bench's `RandomGenerator` has.
const POOL_BYTES: usize = 1 << 20;

/// The pool is made of pieces of this many bytes, as in db_bench; a payload begins with a piece.
const PIECE_BYTES: usize = 100;

/// Makes and checks the values of one seed. Clones share their pool.
#[derive(Clone)]
pub struct Values {
    seed: u64,
    pool: Arc<[u8]>,
}

impl fmt::Debug for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Values")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// The reason why a value is not the one that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It has no room for a check and a version.
    #[error("the value has {bytes} bytes, less than the {MIN_VALUE_BYTES} of its header")]
    TooShort {
        /// Its length.
        bytes: usize,
    },
    /// The check is of another item, seed, version or length.
    #[error("the value is not one of item {item}: its check does not fit")]
    Foreign {
        /// The item that it was read for.
        item: u64,
    },
    /// The header is right, and the payload is not.
    #[error("the value of item {item}, version {version}, differs from byte {offset} on")]
    Damaged {
        /// The item.
        item: u64,
        /// The version in the header.
        version: u32,
        /// The first wrong byte, from the value's start.
        offset: usize,
    },
}

/// Values cannot be made as compressible as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("values cannot be made to compress to {given} percent; give 1 to 100")]
pub struct PercentError {
    /// The percentage asked for.
    pub given: u8,
}

impl Values {
    /// Values of a seed, whose payload a general compressor gets to about `percent` percent of its
    /// size: 100 does not compress at all. It is made as db_bench's `CompressibleString` makes it:
    /// of every 100 bytes this many are random, and the rest repeats them. Ours are of all 256 byte
    /// values, where db_bench has 95, so that entropy coders find nothing more. Make it once: it
    /// fills a pool of 1 MiB.
    ///
    /// # Errors
    /// If the percentage is not 1 to 100.
    pub fn new(seed: u64, percent: u8) -> Result<Self, PercentError> {
        if !(1..=100).contains(&percent) {
            return Err(PercentError { given: percent });
        }
        let mut random = Random::for_worker(seed, 0, "values");
        let raw = PIECE_BYTES * usize::from(percent) / 100;
        let mut pool = vec![0; POOL_BYTES.next_multiple_of(PIECE_BYTES)];
        for piece in pool.chunks_exact_mut(PIECE_BYTES) {
            random.fill(&mut piece[..raw]);
            for place in raw..PIECE_BYTES {
                piece[place] = piece[place - raw];
            }
        }
        Ok(Self {
            seed: random.next_u64(),
            pool: pool.into(),
        })
    }

    /// Fills `out` with the value of an item in a version. Less than [`MIN_VALUE_BYTES`] take the
    /// beginning of the header, which no check accepts.
    #[inline]
    pub fn write(&self, item: u64, version: u32, out: &mut [u8]) {
        let check = self.check(item, version, out.len());
        let mut header = [0; MIN_VALUE_BYTES];
        header[..CHECK_BYTES].copy_from_slice(&check.to_le_bytes());
        header[CHECK_BYTES..].copy_from_slice(&version.to_le_bytes());
        let header = &header[..out.len().min(MIN_VALUE_BYTES)];
        out[..header.len()].copy_from_slice(header);
        let mut rest = &mut out[header.len()..];
        let mut place = self.payload_offset(check);
        while !rest.is_empty() {
            let piece = &self.pool[place..];
            let length = piece.len().min(rest.len());
            let (now, later) = rest.split_at_mut(length);
            now.copy_from_slice(&piece[..length]);
            (rest, place) = (later, 0);
        }
    }

    /// The version of a value that was read for an item. Only the header is looked at, which is
    /// cheap enough for every read; it also covers the length.
    ///
    /// # Errors
    /// If the value is too short, or its header is not this item's.
    #[inline]
    pub fn read(&self, item: u64, value: &[u8]) -> Result<u32, ValueError> {
        let (check, version) = header(value)?;
        if check == self.check(item, version, value.len()) {
            Ok(version)
        } else {
            Err(ValueError::Foreign { item })
        }
    }

    /// Like [`Values::read`], and also compares every byte of the payload.
    ///
    /// # Errors
    /// If any byte of the value differs from the one written for this item.
    #[inline]
    pub fn check_all(&self, item: u64, value: &[u8]) -> Result<u32, ValueError> {
        let version = self.read(item, value)?;
        let payload = &value[MIN_VALUE_BYTES..];
        let (check, _) = header(value)?;
        let place = self.payload_offset(check);
        // Most payloads end before the pool does.
        match self.pool.get(place..place + payload.len()) {
            Some(written) if written == payload => Ok(version),
            _ => self.check_payload(item, version, value, place),
        }
    }

    /// Finds the first wrong byte of a payload that is not a single piece of the pool, if any.
    #[cold]
    fn check_payload(
        &self,
        item: u64,
        version: u32,
        value: &[u8],
        mut place: usize,
    ) -> Result<u32, ValueError> {
        let mut rest = &value[MIN_VALUE_BYTES..];
        while !rest.is_empty() {
            let piece = &self.pool[place..];
            let length = piece.len().min(rest.len());
            let (now, later) = rest.split_at(length);
            if now != &piece[..length] {
                let same = now.iter().zip(piece).take_while(|(a, b)| a == b).count();
                return Err(ValueError::Damaged {
                    item,
                    version,
                    offset: value.len() - rest.len() + same,
                });
            }
            (rest, place) = (later, 0);
        }
        Ok(version)
    }

    /// Decodes the item and the version in a value, for keys that do not contain the item. Any
    /// twelve bytes decode to something: compare the item's own key with the key that was read, and
    /// the item with the number of items.
    ///
    /// # Errors
    /// If the value is too short.
    pub fn owner(&self, value: &[u8]) -> Result<(u64, u32), ValueError> {
        let (check, version) = header(value)?;
        Ok((unmix(check) ^ self.mask(version, value.len()), version))
    }

    #[inline]
    fn check(&self, item: u64, version: u32, bytes: usize) -> u64 {
        mix(item ^ self.mask(version, bytes))
    }

    /// Different for every version and length (modulo 2^32).
    #[inline]
    fn mask(&self, version: u32, bytes: usize) -> u64 {
        mix(self.seed ^ ((bytes as u64) << 32 | u64::from(version)))
    }

    /// The offset in the pool at which the payload begins, chosen by the check.
    #[inline]
    fn payload_offset(&self, check: u64) -> usize {
        let pieces = self.pool.len() / PIECE_BYTES;
        ((u128::from(check) * pieces as u128) >> 64) as usize * PIECE_BYTES
    }
}

/// The percentage to make [`Values`] with so that whole values of `value_bytes`, with their header
/// and a last piece that is cut off, compress to about `percent` percent.
#[must_use]
pub fn payload_percent(percent: u8, value_bytes: usize) -> u8 {
    let payload = value_bytes.saturating_sub(MIN_VALUE_BYTES);
    let wanted = value_bytes.saturating_mul(usize::from(percent)) / 100;
    let random = |raw: usize| {
        let (pieces, last) = (payload / PIECE_BYTES, payload % PIECE_BYTES);
        MIN_VALUE_BYTES + pieces * raw + last.min(raw)
    };
    let fitting = (1..=PIECE_BYTES as u8).take_while(|raw| random(usize::from(*raw)) <= wanted);
    if percent >= 100 {
        100
    } else {
        fitting.last().unwrap_or(1)
    }
}

fn header(value: &[u8]) -> Result<(u64, u32), ValueError> {
    let short = ValueError::TooShort { bytes: value.len() };
    let (check, rest) = value.split_first_chunk().ok_or(short)?;
    let version = rest.first_chunk().ok_or(short)?;
    Ok((u64::from_le_bytes(*check), u32::from_le_bytes(*version)))
}
