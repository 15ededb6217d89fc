//! Random numbers from a seed. Each use has a stream of its own, so that a search that is resumed
//! draws the numbers that it would have drawn.

/// A stream of random numbers by `SplitMix64` (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the stream of a seed for one numbered use.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut start = Self(seed);
        Self(start.next_u64() ^ Self(stream).next_u64().rotate_left(17))
    }

    /// Returns the next number, any of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniformly distributed number from 0 to less than 1.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniformly distributed number below `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next_u64()) * limit as u128) >> 64) as usize
    }

    /// Returns a number of the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Brings a list into a random order (Fisher and Yates, 1938).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// Returns a uniformly distributed point of the unit cube.
    pub fn point(&mut self, dimensions: usize) -> Vec<f64> {
        (0..dimensions).map(|_| self.uniform()).collect()
    }
}
