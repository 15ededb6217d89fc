//! Which record an operation uses: db_bench's power law of popular keys, and its two-term
//! exponential of hot key ranges.
//!
//! It makes a record of one random number below the number of records, as `MixGraph` and
//! `GenerateTwoTermExpKeys` of db_bench do; nothing here draws.

use super::error::MixgraphError;
use super::mersenne_twister::{MersenneTwister, first_output};

/// The law y = a x^b: the part y of the operations that the x most popular keys get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PowerLaw {
    pub a: f64,
    pub b: f64,
}

impl PowerLaw {
    /// The rank of the key that the part `unit` of the operations falls to, from 1: the inverse of
    /// the law, rounded up. No operation falls to rank 0 but that of 0.
    #[inline]
    pub(super) fn rank(self, unit: f64) -> u64 {
        (unit / self.a).powf(1.0 / self.b).ceil() as u64
    }

    /// Refuses a law by which 999 of 1,000 operations fall to one rank. With a negative exponent,
    /// a x^b is the part that less popular keys get, which may be a distribution.
    ///
    /// # Errors
    /// [`MixgraphError::OneKey`].
    pub(super) fn check(self) -> Result<(), MixgraphError> {
        let Self { a, b } = self;
        let is_one = self.rank(1e-3) == self.rank(1.0);
        if is_one {
            Err(MixgraphError::OneKey { a, b })
        } else {
            Ok(())
        }
    }
}

/// The hotness f(x) = a e^(b x) + c e^(d x) of the x-th hottest key range, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TwoTermExponential {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
}

impl TwoTermExponential {
    /// A key range that is less hot is never chosen.
    const MIN_HOTNESS: f64 = 1e-16;

    /// Whether all parameters are 0, so that there are no key ranges.
    pub(super) fn is_zero(self) -> bool {
        [self.a, self.b, self.c, self.d].iter().all(|it| *it == 0.0)
    }

    /// The hotness of the key range of a rank.
    pub(super) fn hotness(self, rank: u64) -> f64 {
        let hotness = self.value(rank);
        if hotness < Self::MIN_HOTNESS {
            0.0
        } else {
            hotness
        }
    }

    /// The sum of the two terms, which may be below 0.
    fn value(self, rank: u64) -> f64 {
        let Self { a, b, c, d } = self;
        let rank = rank as f64;
        a * (b * rank).exp() + c * (d * rank).exp()
    }

    /// How many random numbers stand for each range, the coldest first: as many times that of the
    /// coldest as it is hotter, rounded down.
    fn shares(self, ranges: u64) -> Vec<u64> {
        let mut factor = 0.0;
        let share = |rank| {
            let hotness = self.hotness(rank);
            if factor == 0.0 && hotness > 0.0 {
                factor = (1.0 / hotness).floor() + 1.0;
            }
            (factor * hotness).floor() as u64
        };
        (1..=ranges).rev().map(share).collect()
    }
}

/// Ranges of equally many records, some hotter than others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyRanges {
    /// The first random number of each range, in the order of the keys.
    starts: Box<[u64]>,
    /// Random numbers of all ranges.
    numbers: u64,
    /// Records of a range.
    records: u64,
}

impl KeyRanges {
    /// So many ranges of `records` records together. Those that are left over belong to none.
    ///
    /// # Errors
    /// A range has no record, none is ever chosen, too few numbers are drawn for all, or the
    /// hottest is below 0.
    pub(super) fn new(
        records: u64,
        ranges: u64,
        hotness: TwoTermExponential,
    ) -> Result<Self, MixgraphError> {
        if records < ranges {
            return Err(MixgraphError::FewRecords { ranges, records });
        }
        let mut shares = hotness.shares(ranges);
        let numbers = shares
            .iter()
            .try_fold(0_u64, |sum, it| sum.checked_add(*it));
        let numbers = match numbers {
            Some(0) => return Err(MixgraphError::NoHotRange { ranges }),
            Some(numbers) if numbers <= records => numbers,
            _ => return Err(MixgraphError::UnevenRanges { records }),
        };
        // The sum changes its sign once at most: only the coldest ranges may be below 0.
        let hottest = hotness.value(1);
        if hottest < 0.0 {
            return Err(MixgraphError::NegativeHotness { hotness: hottest });
        }
        // Hot ranges would all be at the end of the keys. The order depends on nothing else.
        let mut random = MersenneTwister::new(numbers);
        for place in 0..shares.len() {
            let other = random.next_u64() % ranges;
            shares.swap(place, other as usize);
        }
        let mut start = 0_u64;
        let starts = shares.iter().map(|share| {
            start += share;
            start - share
        });
        Ok(Self {
            starts: starts.collect(),
            numbers,
            records: records / ranges,
        })
    }

    /// The range that a random number stands for.
    #[inline]
    fn range(&self, number: u64) -> u64 {
        let number = number % self.numbers;
        let after = self.starts.partition_point(|start| *start <= number);
        after as u64 - 1
    }

    /// The record that a random number stands for, by the range and the popularity within it.
    #[inline]
    fn item(&self, number: u64, law: PowerLaw) -> u64 {
        let unit = (number % self.records) as f64 / self.records as f64;
        let offset = first_output(law.rank(unit)) % self.records;
        self.records * self.range(number) + offset
    }
}

/// How a random number becomes a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KeyHotness {
    /// Each record as often as any other.
    Uniform,
    /// By a power law, the popular records scattered over all.
    Popular(PowerLaw),
    /// By key range, and by a power law within it.
    Ranged(KeyRanges, PowerLaw),
}

impl KeyHotness {
    /// The record, below `records`, that a random number below `records` stands for.
    #[inline]
    pub(super) fn item(&self, number: u64, records: u64) -> u64 {
        match self {
            Self::Uniform => number,
            // db_bench takes the remainder of a signed number, and so asks in half of the cases for
            // a key that it never put.
            Self::Popular(law) => {
                let unit = number as f64 / records as f64;
                first_output(law.rank(unit)) % records
            }
            Self::Ranged(ranges, law) => ranges.item(number, *law),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{chi_squared_fits, count};
    use super::*;
    use crate::generate::random::Random;

    /// Those of the published commands.
    const LAW: PowerLaw = PowerLaw {
        a: 0.002_312,
        b: 0.346_7,
    };
    const RANGES: TwoTermExponential = TwoTermExponential {
        a: 14.18,
        b: -2.917,
        c: 0.016_4,
        d: -0.080_82,
    };
    const DRAWS: u64 = 200_000;

    #[test]
    fn ranks_follow_the_power_law() {
        let ends = [1.0, 3.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 2e7, 3e7, 5e7];
        for (law, seed) in [(LAW, 1), (PowerLaw { a: 0.01, b: 0.3 }, 2)] {
            let below = |rank: f64| (law.a * rank.powf(law.b)).min(1.0);
            let mut before = 0.0;
            let expected: Vec<f64> = ends
                .iter()
                .map(|end| {
                    let part = below(*end) - before;
                    before = below(*end);
                    part
                })
                .collect();
            assert!((before - 1.0).abs() < 1e-9, "{law:?} has more ranks");
            let mut random = Random::new(seed);
            let counts = count(ends.len(), DRAWS, || {
                let rank = law.rank(random.unit_f64()) as f64;
                ends.iter().position(|end| rank <= *end).unwrap()
            });
            assert!(chi_squared_fits(&counts, &expected), "{counts:?}");
            // The control: another exponent.
            let other = |rank: f64| below(rank).powf(1.02);
            let mut before = 0.0;
            let wrong = ends.map(|end| {
                let part = other(end) - before;
                before = other(end);
                part
            });
            assert!(!chi_squared_fits(&counts, &wrong), "{counts:?}");
        }
    }

    #[test]
    fn each_operation_of_a_rank_goes_to_one_record_and_ranks_are_scattered() {
        let records = 50_000_000;
        let hotness = KeyHotness::Popular(LAW);
        // The first rank has the numbers up to the part a of all.
        let first = hotness.item(1, records);
        assert_eq!(first, first_output(1) % records);
        assert_eq!(hotness.item(115_600, records), first);
        assert_ne!(hotness.item(115_601, records), first);
        let mut items: Vec<u64> = (0..1_000)
            .map(|it| hotness.item(it * 50_000, records))
            .collect();
        assert!(items.iter().all(|item| *item < records));
        items.sort_unstable();
        let half = items.partition_point(|item| *item < records / 2);
        // Half of them, and the deviation of a fair coin.
        assert!((420..=580).contains(&half), "{half}");
    }

    #[test]
    fn the_published_key_ranges_are_those_of_db_bench() {
        // Computed from db_bench's definition, by another program.
        let shares = [
            1, 2, 3, 1, 1, 1, 1, 7, 2, 10, 1, 5, 4, 3, 6, 5, 8, 2, 4, 3, 5, 1, 1, 38, 3, 2, 2, 6,
            1, 538,
        ];
        let ranges = KeyRanges::new(1_000_000, 30, RANGES).unwrap();
        assert_eq!((ranges.numbers, ranges.records), (667, 33_333));
        let ends = ranges.starts[1..].iter().copied().chain([667]);
        let found: Vec<u64> = ranges
            .starts
            .iter()
            .zip(ends)
            .map(|it| it.1 - it.0)
            .collect();
        assert_eq!(found, shares);
    }

    #[test]
    fn key_ranges_are_chosen_by_the_two_term_exponential() {
        // Each range is half as hot as the one before, so that rounding down changes nothing.
        let halved = -std::f64::consts::LN_2;
        let hotness = TwoTermExponential {
            a: 0.250_1,
            b: halved,
            c: 0.250_1,
            d: halved,
        };
        let records = 1_000_000;
        let ranges = KeyRanges::new(records, 8, hotness).unwrap();
        let choice = KeyHotness::Ranged(ranges.clone(), LAW);
        let mut random = Random::new(3);
        let mut counts = count(8, DRAWS, || {
            let item = choice.item(random.below(records), records);
            assert!(item < records);
            (item / ranges.records) as usize
        });
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let fits = |ratio: f64| {
            let closed_form: Vec<f64> = (1..=8).map(|rank| ratio.powi(rank)).collect();
            let sum: f64 = closed_form.iter().sum();
            let expected: Vec<f64> = closed_form.iter().map(|part| part / sum).collect();
            chi_squared_fits(&counts, &expected)
        };
        assert!(fits(0.5), "{counts:?}");
        // The control: a slower decay.
        assert!(!fits(0.51), "{counts:?}");
    }

    #[test]
    fn within_a_range_keys_follow_the_power_law() {
        let law = PowerLaw { a: 0.05, b: 0.35 };
        let ranges = KeyRanges::new(1_000_000, 30, RANGES).unwrap();
        // The numbers of one range whose place is of the first rank go to one record of it.
        let first = first_output(1) % ranges.records;
        let mut random = Random::new(4);
        let (mut hits, mut in_range) = (0, 0);
        for _ in 0..DRAWS {
            let item = ranges.item(random.below(1_000_000), law);
            in_range += u64::from(item / ranges.records == 29);
            hits += u64::from(item == 29 * ranges.records + first);
        }
        // 538 of 667 operations go to the last range, and of these 5 % to the first rank; other
        // ranks meet it in few cases.
        let share = in_range as f64 / DRAWS as f64;
        assert!((share - 538.0 / 667.0).abs() < 0.003, "{share}");
        let popular = hits as f64 / in_range as f64;
        assert!((0.046..0.056).contains(&popular), "{popular}");
    }

    #[test]
    fn a_law_that_leads_to_one_key_is_refused() {
        let is_law = |a, b| PowerLaw { a, b }.check().is_ok();
        assert!(LAW.check().is_ok());
        assert!(is_law(0.999_999, 1.0) && is_law(0.999_999, 0.01) && is_law(0.5, 0.2));
        assert!(is_law(1.0, -1.2), "a Pareto distribution");
        assert!(!is_law(1.0, 0.5) && !is_law(1e9, 0.5), "the first rank");
        assert!(!is_law(1e9, -100.0), "the second rank");
        assert!(!is_law(1e-9, 0.01), "beyond all ranks");
    }

    #[test]
    fn key_ranges_that_cannot_be_chosen_are_refused() {
        let refused = |records, ranges, hotness| KeyRanges::new(records, ranges, hotness).err();
        let few = MixgraphError::FewRecords {
            ranges: 30,
            records: 29,
        };
        assert_eq!(refused(29, 30, RANGES), Some(few));
        let cold = TwoTermExponential { a: -1.0, ..RANGES };
        let cold = TwoTermExponential { c: 0.0, ..cold };
        let none = MixgraphError::NoHotRange { ranges: 30 };
        assert_eq!(refused(1_000, 30, cold), Some(none));
        let uneven = MixgraphError::UnevenRanges { records: 600 };
        assert_eq!(refused(600, 30, RANGES), Some(uneven));
        let negative = TwoTermExponential { a: -1.0, ..RANGES };
        let refusal = refused(1_000_000, 30, negative);
        let is_negative = matches!(refusal, Some(MixgraphError::NegativeHotness { .. }));
        assert!(is_negative, "{refusal:?}");
        // db_bench allows it of the coldest ranges, which are never chosen.
        let tail = TwoTermExponential {
            c: -0.001,
            ..RANGES
        };
        assert_eq!(refused(1_000_000, 30, tail), None);
        let endless = TwoTermExponential { b: 1e3, ..RANGES };
        let uneven = MixgraphError::UnevenRanges { records: 600 };
        assert_eq!(refused(600, 30, endless), Some(uneven));
    }
}
