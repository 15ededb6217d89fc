//! The random numbers of measured loops: xoshiro256++ of David Blackman and Sebastiano Vigna,
//! seeded by splitmix64 as its authors recommend. Both are in the public domain:
//! <https://prng.di.unimi.it/>.

use super::hash::fnv1a_64;
use trueput_record::random::{GOLDEN_STEP, SplitMix64, mix, unit_f64};

/// A stream of random numbers: fast, of period 2^256 - 1, and no secret from anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut seeds = SplitMix64::new(seed);
        Self {
            state: std::array::from_fn(|_| seeds.next_u64()),
        }
    }

    /// The stream of one worker for one purpose (`"keys"`, `"mix"`): streams of different workers,
    /// purposes or seeds have nothing to do with each other.
    #[must_use]
    pub fn for_worker(seed: u64, worker: u32, purpose: &str) -> Self {
        let own = u64::from(worker).wrapping_mul(GOLDEN_STEP);
        Self::new(mix(
            mix(seed.wrapping_add(GOLDEN_STEP)) ^ mix(own ^ fnv1a_64(purpose.as_bytes()))
        ))
    }

    /// The stream that continues from a state, as the published test vectors are given. The state
    /// that the generator cannot leave, all zeros, becomes the stream of seed 0.
    #[must_use]
    pub fn from_state(state: [u64; 4]) -> Self {
        if state == [0; 4] {
            return Self::new(0);
        }
        Self { state }
    }

    /// The next number, any of 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A uniformly distributed number below `limit`; 0 if the limit is 0.
    ///
    /// Daniel Lemire, "Fast random integer generation in an interval", 2019: one multiplication,
    /// and a division only where the first draw might favor some numbers.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(limit);
        if (product as u64) < limit {
            let surplus = limit.wrapping_neg() % limit;
            while (product as u64) < surplus {
                product = u128::from(self.next_u64()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
    }

    /// A number from 0 up to but without 1, a multiple of 2^-53.
    #[inline]
    pub fn unit_f64(&mut self) -> f64 {
        unit_f64(self.next_u64())
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}
