//! The specification's random numbers and strings (clauses 2.1.6 and 4.3.2).

use super::rows::Address;
use crate::fixed_text::FixedText;
use crate::generate::random::Random;

const LETTERS_AND_DIGITS: &[u8; 62] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
/// The word that a tenth of I_DATA and S_DATA contains (clause 4.3.3.1).
pub const ORIGINAL: &str = "ORIGINAL";

/// A of NURand for C_LAST, C_ID and OL_I_ID (clause 2.1.6).
const A_LAST: u64 = 255;
const A_CUSTOMER: u64 = 1_023;
const A_ITEM: u64 = 8_191;

/// Differences that are allowed between C of the load and C of the run (clause 2.1.6.1).
const DELTA: std::ops::RangeInclusive<u64> = 65..=119;
const DELTA_WITHOUT: [u64; 2] = [96, 112];

/// A number from `low` to `high`, both included, each as likely.
pub fn uniform(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Whether something of this percentage happens.
pub fn happens(random: &mut Random, percent: f64) -> bool {
    random.unit_f64() * 100.0 < percent
}

/// NURand(A, x, y) of clause 2.1.6.
pub fn non_uniform(random: &mut Random, a: u64, c: u64, low: u64, high: u64) -> u64 {
    let mixed = uniform(random, 0, a) | uniform(random, low, high);
    (mixed + c) % (high - low + 1) + low
}

/// The constants C of NURand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomConstants {
    /// For C_LAST, 0 to 255.
    pub last: u64,
    /// For C_ID, 0 to 1,023.
    pub customer: u64,
    /// For OL_I_ID, 0 to 8,191.
    pub item: u64,
}

impl RandomConstants {
    /// Returns the constants of the load with this seed.
    #[must_use]
    pub fn for_load(seed: u64) -> Self {
        let mut random = Random::for_worker(seed, 0, "tpcc constants of the load");
        Self {
            last: random.below(A_LAST + 1),
            customer: random.below(A_CUSTOMER + 1),
            item: random.below(A_ITEM + 1),
        }
    }

    /// Returns the constants of a run on that load: the two C of C_LAST differ by 65 to 119,
    /// without 96 and 112
    /// (clause 2.1.6.1).
    #[must_use]
    pub fn for_run(seed: u64, generation: u32) -> Self {
        let load = Self::for_load(seed).last;
        let mut random = Random::for_worker(seed, generation, "tpcc constants of the run");
        let delta = loop {
            let delta = uniform(&mut random, *DELTA.start(), *DELTA.end());
            if !DELTA_WITHOUT.contains(&delta) {
                break delta;
            }
        };
        // One of the two is within 0 to 255, for no delta is over half of that.
        let last = match load + delta {
            above if above <= A_LAST => above,
            _ => load - delta,
        };
        Self {
            last,
            customer: random.below(A_CUSTOMER + 1),
            item: random.below(A_ITEM + 1),
        }
    }

    /// The number of a last name: NURand(255, 0, `names` - 1).
    pub fn name(&self, random: &mut Random, names: u32) -> u32 {
        non_uniform(random, A_LAST, self.last, 0, u64::from(names) - 1) as u32
    }

    /// A C_ID: NURand(1023, 1, `customers`).
    pub fn customer(&self, random: &mut Random, customers: u32) -> u32 {
        non_uniform(random, A_CUSTOMER, self.customer, 1, u64::from(customers)) as u32
    }

    /// An OL_I_ID: NURand(8191, 1, `items`).
    pub fn item(&self, random: &mut Random, items: u32) -> u32 {
        non_uniform(random, A_ITEM, self.item, 1, u64::from(items)) as u32
    }
}

/// The last name of a number from 0 to 999: a syllable for each digit (clause 4.3.2.3).
#[must_use]
pub fn last_name(number: u32) -> FixedText<16> {
    let mut name = FixedText::EMPTY;
    for digit in [number / 100, number / 10, number] {
        name.push(SYLLABLES[(digit % 10) as usize]);
    }
    name
}

/// A random a-string of `low` to `high` characters (clause 4.3.2.2), which must not exceed `N`.
pub fn letters<const N: usize>(random: &mut Random, low: u64, high: u64) -> FixedText<N> {
    let mut bytes = [0; N];
    let length = (uniform(random, low, high) as usize).min(N);
    for byte in &mut bytes[..length] {
        *byte = LETTERS_AND_DIGITS[random.below(LETTERS_AND_DIGITS.len() as u64) as usize];
    }
    FixedText::cut(std::str::from_utf8(&bytes[..length]).unwrap_or_default())
}

/// A random n-string of `length` digits (clause 4.3.2.2), which must not exceed `N`.
pub fn digits<const N: usize>(random: &mut Random, length: usize) -> FixedText<N> {
    let mut bytes = [b'0'; N];
    for byte in &mut bytes[..length] {
        *byte += random.below(10) as u8;
    }
    FixedText::cut(std::str::from_utf8(&bytes[..length]).unwrap_or_default())
}

/// A random a-string of 26 to 50 characters; a tenth of them have `ORIGINAL` somewhere in them.
pub fn data(random: &mut Random) -> FixedText<50> {
    let text: FixedText<50> = letters(random, 26, 50);
    if !happens(random, 10.0) {
        return text;
    }
    let place = random.below((text.len() - ORIGINAL.len() + 1) as u64) as usize;
    let (before, after) = (
        &text.as_str()[..place],
        &text.as_str()[place + ORIGINAL.len()..],
    );
    let mut original = FixedText::cut(before);
    original.push(ORIGINAL);
    original.push(after);
    original
}

/// A random address; the zip code is four digits and `11111` (clause 4.3.2.7).
pub fn address(random: &mut Random) -> Address {
    let street = |random: &mut Random| letters(random, 10, 20);
    let mut address = Address {
        street_1: street(random),
        street_2: street(random),
        city: street(random),
        state: letters(random, 2, 2),
        zip: digits(random, 4),
    };
    address.zip.push("11111");
    address
}

/// The numbers from 1 to `count` in random order (clause 4.3.3.1, O_C_ID).
pub fn permutation(random: &mut Random, count: u32) -> Vec<u32> {
    let mut numbers: Vec<_> = (1..=count).collect();
    for index in (1..numbers.len()).rev() {
        numbers.swap(index, random.below(index as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(0).as_str(), "BARBARBAR");
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(999).as_str(), "EINGEINGEING");
        let longest = (0..1_000).map(|number| last_name(number).len()).max();
        assert_eq!(longest, Some(15));
    }

    #[test]
    fn the_constants_of_load_and_run_differ_as_clause_2_1_6_1_wants() {
        for seed in 0..2_000 {
            for generation in 0..3 {
                let (load, run) = (
                    RandomConstants::for_load(seed),
                    RandomConstants::for_run(seed, generation),
                );
                let delta = load.last.abs_diff(run.last);
                assert!(
                    DELTA.contains(&delta) && !DELTA_WITHOUT.contains(&delta),
                    "{delta}"
                );
                assert!(run.last <= 255 && load.last <= 255);
            }
        }
    }

    #[test]
    fn non_uniform_numbers_are_in_range_and_skewed() {
        let mut random = Random::new(1);
        let constants = RandomConstants::for_run(1, 0);
        let mut counts = vec![0_u32; 100_001];
        const DRAWS: u32 = 1_000_000;
        for _ in 0..DRAWS {
            counts[constants.item(&mut random, 100_000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // With A = 8191 the hottest 1 % of the items get about 20 % of the draws, against 1 % of
        // uniform ones.
        let hottest: u32 = counts[..1_000].iter().sum();
        let share = f64::from(hottest) / f64::from(DRAWS);
        assert!((0.12..0.35).contains(&share), "{share}");
    }

    #[test]
    fn non_uniform_numbers_follow_the_formula() {
        // NURand(1, 0, 1) with C = 0 is 1 unless both draws are 0.
        let mut random = Random::new(3);
        let ones: u64 = (0..40_000)
            .map(|_| non_uniform(&mut random, 1, 0, 0, 1))
            .sum();
        assert!((29_300..30_700).contains(&ones), "{ones}");
    }

    #[test]
    fn a_tenth_of_the_data_is_original_at_its_drawn_length() {
        let mut random = Random::new(5);
        let drawn: Vec<_> = (0..20_000).map(|_| data(&mut random)).collect();
        let is_original = |text: &&FixedText<50>| text.as_str().contains(ORIGINAL);
        let original = drawn.iter().filter(is_original).count();
        assert!((1_800..2_200).contains(&original), "{original}");
        assert!(drawn.iter().all(|text| (26..=50).contains(&text.len())));
    }

    #[test]
    fn zip_codes_end_in_ones() {
        let zip = address(&mut Random::new(2)).zip;
        assert_eq!((zip.len(), &zip.as_str()[4..]), (9, "11111"));
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut numbers = permutation(&mut Random::new(8), 3_000);
        assert_ne!(numbers[..3], [1, 2, 3]);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..=3_000));
    }
}
