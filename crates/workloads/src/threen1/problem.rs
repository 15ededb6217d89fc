//! One problem: the range, its blocks, and how it is worked on. The database keeps a description of
//! it, so that a resumed run cannot mix two.

use super::codec::MAX_STORABLE;
use std::fmt;
use trueput_engine::choices;

choices! {
    /// The updates that one transaction covers.
    pub enum CommitScope {
        /// One store.
        Store = "per-store",
        /// All stores of a start.
        Start = "per-start",
        /// All reads and stores of a block.
        Block = "per-block",
    }
}

choices! {
    /// The encoding of keys and values.
    pub enum KeyEncoding {
        /// See [`super::codec::IntegerCodec`].
        Integers = "integers",
        /// See [`super::codec::WordCodec`].
        Words = "words",
    }
}

/// The block length that is used: the original's default where `block` is 0, and no more than that.
///
/// ```
/// use trueput_workloads::threen1::used_block;
/// assert_eq!(used_block(1_000_000, 8, 50_000), 50_000);
/// assert_eq!(used_block(1_000_000, 8, 0), 125_000);
/// assert_eq!(used_block(1_000_001, 8, 500_000), 125_001);
/// ```
#[must_use]
pub fn used_block(starts: u64, workers: u32, block: u64) -> u64 {
    let default = starts.div_ceil(workers.max(1).into()).max(1);
    if block == 0 {
        default
    } else {
        block.min(default)
    }
}

/// A problem, with the block length that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// The first start.
    pub start: u64,
    /// The last start; `None` if the time ends the work.
    pub finish: Option<u64>,
    /// Starts per block; the last block may be shorter.
    pub block: u64,
    /// Workers.
    pub workers: u32,
    /// When work is committed.
    pub commit: CommitScope,
    /// The encoding of keys and values.
    pub keys: KeyEncoding,
}

/// Length of a problem's description in the database, bytes.
const DESCRIPTION_BYTES: usize = 31;
/// First byte of a description: the version of this layout.
const LAYOUT: u8 = 1;

impl Problem {
    /// The last start that could be done.
    fn last_start(&self) -> u64 {
        self.finish.unwrap_or(MAX_STORABLE)
    }

    /// The number of blocks, until numbers are too large if the time ends the work.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        (self.last_start() - self.start + 1).div_ceil(self.block)
    }

    /// The first and the last start of a block, which counts from 0.
    #[must_use]
    pub fn bounds(&self, block: u64) -> (u64, u64) {
        let first = self.start + block * self.block;
        let last = first.saturating_add(self.block - 1);
        (first, self.last_start().min(last))
    }

    /// The number of starts of a block.
    #[must_use]
    pub fn length(&self, block: u64) -> u64 {
        let (first, last) = self.bounds(block);
        last - first + 1
    }

    /// The description that the database keeps.
    #[must_use]
    pub fn describe(&self) -> [u8; DESCRIPTION_BYTES] {
        let mut bytes = [0; DESCRIPTION_BYTES];
        bytes[0] = LAYOUT;
        bytes[1..9].copy_from_slice(&self.start.to_be_bytes());
        bytes[9..17].copy_from_slice(&self.finish.unwrap_or(0).to_be_bytes());
        bytes[17..25].copy_from_slice(&self.block.to_be_bytes());
        bytes[25..29].copy_from_slice(&self.workers.to_be_bytes());
        bytes[29] = self.commit as u8;
        bytes[30] = self.keys as u8;
        bytes
    }

    /// The problem that a description is of; `None` if it is none of this layout.
    #[must_use]
    pub fn from_description(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; DESCRIPTION_BYTES] = bytes.try_into().ok()?;
        let long = |at: usize| bytes[at..at + 8].try_into().ok().map(u64::from_be_bytes);
        let workers = u32::from_be_bytes(bytes[25..29].try_into().ok()?);
        let problem = Self {
            start: long(1)?,
            finish: long(9).filter(|&finish| finish > 0),
            block: long(17)?,
            workers,
            commit: *CommitScope::ALL.get(usize::from(bytes[29]))?,
            keys: *KeyEncoding::ALL.get(usize::from(bytes[30]))?,
        };
        let is_range = problem.start <= problem.last_start();
        let sound = bytes[0] == LAYOUT && is_range && problem.block > 0;
        sound.then_some(problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            start,
            finish,
            block,
            workers,
            commit,
            keys,
        } = self;
        match finish {
            Some(finish) => write!(formatter, "{start} to {finish}")?,
            None => write!(formatter, "{start} and above")?,
        }
        write!(
            formatter,
            ", {workers} workers, blocks of {block}, {}, {}",
            commit.word(),
            keys.word()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(start: u64, starts: u64, workers: u32, block: u64) -> Problem {
        Problem {
            start,
            finish: Some(start + starts - 1),
            block: used_block(starts, workers, block),
            workers,
            commit: CommitScope::Start,
            keys: KeyEncoding::Words,
        }
    }

    proptest! {
        #[test]
        fn the_blocks_cover_the_range_without_gap_or_overlap(
            start in 1..1_000_u64, starts in 1..500_u64, workers in 1..9_u32, block in 0..600_u64,
        ) {
            let problem = problem(start, starts, workers, block);
            let mut next = problem.start;
            for index in 0..problem.blocks() {
                let (first, last) = problem.bounds(index);
                prop_assert_eq!(first, next);
                prop_assert!(last >= first && last - first < problem.block);
                next = last + 1;
            }
            prop_assert_eq!(Some(next), problem.finish.map(|finish| finish + 1));
        }

        #[test]
        fn a_description_reads_back(
            start in 1..1_000_u64, starts in 1..500_u64, workers in 1..9_u32,
        ) {
            let problem = problem(start, starts, workers, 0);
            prop_assert_eq!(Problem::from_description(&problem.describe()), Some(problem));
            let endless = Problem { finish: None, ..problem };
            prop_assert_eq!(Problem::from_description(&endless.describe()), Some(endless));
        }
    }

    #[test]
    fn what_is_no_description_is_refused() {
        let good = problem(1, 10, 2, 0).describe();
        for (at, byte) in [(0, 9), (1, 0xFF), (29, 7), (30, 7)] {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(Problem::from_description(&bad), None, "byte {at}");
        }
        assert_eq!(Problem::from_description(b"1 100000"), None);
    }
}
