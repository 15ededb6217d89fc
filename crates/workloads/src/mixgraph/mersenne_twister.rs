//! The random numbers by which db_bench scatters popular keys and hot key ranges: its `Random64` is
//! C++'s `std::mt19937_64`, the 64-bit Mersenne Twister (Nishimura, 2000). With the same numbers,
//! the popular keys here are those of db_bench.

/// Words of the state.
const WORDS: usize = 312;

/// How far apart the words are that make a new one.
const DISTANCE: usize = 156;

const SEED_FACTOR: u64 = 6_364_136_223_846_793_005;
const TWIST: u64 = 0xb502_6f5a_a966_19e9;
const UPPER_BITS: u64 = 0xffff_ffff_8000_0000;
const LOWER_BITS: u64 = 0x0000_0000_7fff_ffff;

/// A stream of random numbers.
pub(super) struct MersenneTwister {
    state: [u64; WORDS],
    /// The place of the next word; after the last one, all are made anew.
    next: usize,
}

impl MersenneTwister {
    /// The stream of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut state = [seed; WORDS];
        for index in 1..WORDS {
            state[index] = seed_word(state[index - 1], index as u64);
        }
        Self { state, next: WORDS }
    }

    /// The next number, any of 64 bits.
    pub(super) fn next_u64(&mut self) -> u64 {
        if self.next == WORDS {
            for index in 0..WORDS {
                let following = self.state[(index + 1) % WORDS];
                let distant = self.state[(index + DISTANCE) % WORDS];
                self.state[index] = twist(self.state[index], following, distant);
            }
            self.next = 0;
        }
        self.next += 1;
        temper(self.state[self.next - 1])
    }
}

/// The first number of the stream of a seed. It needs only half of the state, and no memory: it is
/// drawn for every operation.
#[inline]
pub(super) fn first_output(seed: u64) -> u64 {
    let second = seed_word(seed, 1);
    let distant = (2..=DISTANCE as u64).fold(second, seed_word);
    temper(twist(seed, second, distant))
}

#[inline]
fn seed_word(before: u64, index: u64) -> u64 {
    let folded = before ^ (before >> 62);
    SEED_FACTOR.wrapping_mul(folded).wrapping_add(index)
}

#[inline]
fn twist(word: u64, following: u64, distant: u64) -> u64 {
    let joined = (word & UPPER_BITS) | (following & LOWER_BITS);
    let odd = if joined & 1 == 1 { TWIST } else { 0 };
    distant ^ (joined >> 1) ^ odd
}

#[inline]
fn temper(word: u64) -> u64 {
    let word = word ^ ((word >> 29) & 0x5555_5555_5555_5555);
    let word = word ^ ((word << 17) & 0x71d6_7fff_eda6_0000);
    let word = word ^ ((word << 37) & 0xfff7_eee0_0000_0000);
    word ^ (word >> 43)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_the_one_that_the_standard_of_cpp_states() {
        // [rand.predef] of C++11 states it for the default seed, 5489.
        let mut stream = MersenneTwister::new(5_489);
        let last = (0..10_000).map(|_| stream.next_u64()).last();
        assert_eq!(last, Some(9_981_545_732_273_789_042));
    }

    #[test]
    fn the_first_number_needs_no_whole_state() {
        assert_eq!(first_output(5_489), 14_514_284_786_278_117_030);
        for seed in [0, 1, 2, 40_000_000, u64::MAX] {
            assert_eq!(first_output(seed), MersenneTwister::new(seed).next_u64());
        }
    }
}
