//! The numbers below n in an order that looks random, each exactly once, without keeping them.

use trueput_record::random::{SplitMix64, mix};

/// Rounds of the Feistel network. Four make a good cipher of a good round function (Luby and
/// Rackoff, 1988); some more make up for halves of few bits.
const ROUNDS: usize = 6;

/// A bijection of the numbers below `count` onto themselves, different for every seed: a Feistel
/// network over the next power of two, walked until it falls below the count (Black and Rogaway,
/// "Ciphers with arbitrary finite domains", 2002). Less than two turns are needed on average.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation {
    count: u64,
    keys: [u64; ROUNDS],
    high_mask: u64,
    low_mask: u64,
    low_bits: u32,
}

impl Permutation {
    /// The permutation of a seed.
    #[must_use]
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let high_bits = bits / 2;
        let low_bits = bits - high_bits;
        let mut keys = SplitMix64::new(mix(seed ^ mix(count)));
        Self {
            count,
            keys: std::array::from_fn(|_| keys.next_u64()),
            high_mask: (1 << high_bits) - 1,
            low_mask: (1 << low_bits) - 1,
            low_bits,
        }
    }

    /// The count of numbers that it permutes.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The number at a place. A place of `count` or more holds itself.
    #[inline]
    #[must_use]
    pub fn at(&self, place: u64) -> u64 {
        if place >= self.count {
            return place;
        }
        let mut number = self.permute(place);
        while number >= self.count {
            number = self.permute(number);
        }
        number
    }

    /// The place of a number: the inverse of [`Permutation::at`].
    #[inline]
    #[must_use]
    pub fn place_of(&self, number: u64) -> u64 {
        if number >= self.count {
            return number;
        }
        let mut place = self.invert(number);
        while place >= self.count {
            place = self.invert(place);
        }
        place
    }

    fn permute(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.halves(number);
        for pair in self.keys.chunks_exact(2) {
            high ^= mix(low ^ pair[0]) & self.high_mask;
            low ^= mix(high ^ pair[1]) & self.low_mask;
        }
        (high << self.low_bits) | low
    }

    fn invert(&self, number: u64) -> u64 {
        let (mut high, mut low) = self.halves(number);
        for pair in self.keys.chunks_exact(2).rev() {
            low ^= mix(high ^ pair[1]) & self.low_mask;
            high ^= mix(low ^ pair[0]) & self.high_mask;
        }
        (high << self.low_bits) | low
    }

    fn halves(&self, number: u64) -> (u64, u64) {
        (number >> self.low_bits, number & self.low_mask)
    }
}
