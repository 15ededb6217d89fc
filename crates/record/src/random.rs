//! Random numbers from a seed, the same on every machine: whatever is drawn anew must come out as
//! it did before. Each use has a stream of its own, so that a search that is resumed draws the
//! numbers that it would have drawn.

/// The golden ratio's share of 2^64, by which the generator steps.
pub const GOLDEN_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST_FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND_FACTOR: u64 = 0x94d0_49bb_1331_11eb;

/// A stream of random numbers by splitmix64 (Steele, Lea and Flood, 2014):
/// <https://prng.di.unimi.it/splitmix64.c>.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Returns the stream that continues from a state.
    #[must_use]
    pub const fn new(state: u64) -> Self {
        Self { state }
    }

    /// Returns the stream of a seed for one numbered use.
    #[must_use]
    pub fn for_use(seed: u64, number: u64) -> Self {
        let number = Self::new(number).next_u64();
        Self::new(Self::new(seed).next_u64() ^ number.rotate_left(17))
    }

    /// Returns the next number, any of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_STEP);
        mix(self.state)
    }

    /// Returns a number below `limit`, by the upper bits; 0 if the limit is 0. For limits far below
    /// 2^64 all are as likely, so far as anybody can tell.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next_u64()) * limit as u128) >> 64) as usize
    }

    /// Returns a uniformly distributed number from 0 to less than 1, a multiple of 2^-53.
    pub fn unit_f64(&mut self) -> f64 {
        unit_f64(self.next_u64())
    }

    /// Returns a number of the standard normal distribution (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit_f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit_f64()).cos()
    }

    /// Brings a list into a random order (Fisher and Yates, 1938).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// Returns a uniformly distributed point of the unit cube.
    pub fn point(&mut self, dimensions: usize) -> Vec<f64> {
        (0..dimensions).map(|_| self.unit_f64()).collect()
    }
}

/// The number from 0 to less than 1 that the upper 53 bits of a random number are.
#[inline]
#[must_use]
pub const fn unit_f64(random: u64) -> f64 {
    (random >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Spreads every bit of a number over all 64: splitmix64's finishing steps, by David Stafford. It
/// is a bijection, and [`unmix`] is the way back.
#[inline]
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(FIRST_FACTOR);
    let number = (number ^ (number >> 27)).wrapping_mul(SECOND_FACTOR);
    number ^ (number >> 31)
}

/// The number that [`mix`] made this of.
#[inline]
#[must_use]
pub const fn unmix(mixed: u64) -> u64 {
    let number = unshift(mixed, 31).wrapping_mul(const { inverse(SECOND_FACTOR) });
    let number = unshift(number, 27).wrapping_mul(const { inverse(FIRST_FACTOR) });
    unshift(number, 30)
}

/// Undoes `x ^ (x >> bits)` for 22 bits or more.
const fn unshift(shifted: u64, bits: u32) -> u64 {
    shifted ^ (shifted >> bits) ^ (shifted >> (2 * bits))
}

/// The number whose product with an odd `factor` is 1 modulo 2^64, by Newton's iteration: each step
/// doubles the right bits, of which there are three at the start.
const fn inverse(factor: u64) -> u64 {
    let mut guess = factor;
    let mut step = 0;
    while step < 5 {
        guess = guess.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(guess)));
        step += 1;
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_numbers() {
        // Rosetta Code, "Pseudo-random numbers/Splitmix64".
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    // The numbers below were computed apart from this code, from its definitions. Another stream
    // would change what a resumed search draws, and which records a trial chooses.

    #[test]
    fn each_use_of_a_seed_keeps_its_stream() {
        let first_of = |seed, number| SplitMix64::for_use(seed, number).next_u64();
        assert_eq!(first_of(7, 1), 1_255_292_388_267_145_048);
        assert_eq!(first_of(7, 2), 1_994_363_687_269_991_746);
        assert_eq!(first_of(8, 1), 886_391_763_509_823_745);
    }

    #[test]
    fn numbers_below_a_limit_stay_as_they_were() {
        let mut random = SplitMix64::new(42);
        let drawn = [1_000, 1_000, 1_000, 3, 3, 0].map(|limit| random.below(limit));
        assert_eq!(drawn, [741, 159, 278, 1, 0, 0]);
    }

    #[test]
    fn shuffled_lists_keep_their_order() {
        let mut list: Vec<usize> = (0..10).collect();
        SplitMix64::new(42).shuffle(&mut list);
        assert_eq!(list, [8, 3, 6, 5, 4, 0, 9, 2, 1, 7]);
    }

    #[test]
    fn fractions_and_normal_numbers_stay_as_they_were() {
        let fractions = [
            0.741_564_878_771_823_3,
            0.159_910_392_876_920_1,
            0.278_601_130_255_138_66,
        ];
        assert_eq!(SplitMix64::new(42).point(3), fractions);
        let mut random = SplitMix64::new(42);
        // The last digits of a logarithm and a cosine are the system library's.
        for expected in [0.882_248_906_222_268_8, -0.450_849_875_718_860_1] {
            let drawn = random.normal();
            assert!((drawn - expected).abs() < 1e-14, "{drawn}");
        }
    }
}
