//! Random choices other than records: the kind of an operation, the lengths of scans and of
//! records.

use crate::generate::random::Random;
use crate::generate::zipfian::{YCSB_THETA, Zipfian};
use trueput_record::random::mix;

/// Draws one of `N` kinds of operation by their shares, as YCSB's `DiscreteGenerator` does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationMix<const N: usize> {
    /// Up to which number from 0 to 1 a kind goes.
    ends: [f64; N],
    /// The last kind that has a share: rounding may leave a number beyond every end.
    last: usize,
}

impl<const N: usize> OperationMix<N> {
    /// Of proportions that add up to 1.
    pub(crate) fn new(proportions: &[f64; N]) -> Self {
        let mut sum = 0.0;
        let ends = proportions.map(|proportion| {
            sum += proportion;
            sum
        });
        let last = proportions.iter().rposition(|&proportion| proportion > 0.0);
        Self {
            ends,
            last: last.unwrap_or_default(),
        }
    }

    /// The next kind.
    pub(crate) fn next(&self, random: &mut Random) -> usize {
        let unit = random.unit_f64();
        let kind = self.ends.iter().position(|&end| unit < end);
        kind.unwrap_or(self.last)
    }
}

/// The distribution of the lengths of fields or scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthDistribution {
    /// All the same.
    Constant(u64),
    /// Each as often as any other, both ends included.
    Uniform(u64, u64),
    /// Short ones more often, both ends included.
    Zipfian(u64, u64),
    /// Log-normal, as sizes of stored objects often are.
    LogNormal {
        /// Shorter draws become this.
        fewest: u64,
        /// Half of the lengths are below this.
        median: u64,
        /// 99 of 100 lengths are below this. Longer draws than its square over the median, of which
        /// there are about two in a million, become that.
        p99: u64,
    },
}

/// The normal distribution's 99th percentile, in standard deviations.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

impl LengthDistribution {
    /// The shortest length.
    pub(crate) fn shortest(self) -> u64 {
        match self {
            Self::Constant(length) => length,
            Self::Uniform(fewest, _) | Self::Zipfian(fewest, _) => fewest,
            Self::LogNormal { fewest, .. } => fewest,
        }
    }

    /// The longest length.
    pub(crate) fn longest(self) -> u64 {
        match self {
            Self::Constant(length) => length,
            Self::Uniform(_, most) | Self::Zipfian(_, most) => most,
            Self::LogNormal { median, p99, .. } => {
                let longest = u128::from(p99) * u128::from(p99) / u128::from(median.max(1));
                u64::try_from(longest).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Draws lengths.
#[derive(Debug, Clone)]
pub(crate) struct LengthChooser {
    lengths: LengthDistribution,
    ranks: Zipfian,
}

impl LengthChooser {
    /// Draws from a distribution.
    pub(crate) fn new(lengths: LengthDistribution) -> Self {
        let span = match lengths {
            LengthDistribution::Zipfian(fewest, most) => most - fewest + 1,
            _ => 1,
        };
        Self {
            lengths,
            ranks: Zipfian::new(span, YCSB_THETA),
        }
    }

    /// The next length.
    pub(crate) fn next(&mut self, random: &mut Random) -> u64 {
        match self.lengths {
            LengthDistribution::Constant(length) => length,
            LengthDistribution::Uniform(fewest, most) => fewest + random.below(most - fewest + 1),
            LengthDistribution::Zipfian(fewest, most) => {
                let span = most - fewest + 1;
                fewest + self.ranks.rank(random.unit_f64(), span)
            }
            LengthDistribution::LogNormal {
                fewest,
                median,
                p99,
            } => {
                let (median, p99) = (median as f64, p99 as f64);
                let deviation = (p99 / median).ln() / NORMAL_P99;
                let length = median * (deviation * normal(random)).exp();
                (length.round() as u64).clamp(fewest, self.lengths.longest())
            }
        }
    }

    /// The mean length.
    pub(crate) fn mean(&self) -> f64 {
        match self.lengths {
            LengthDistribution::Constant(length) => length as f64,
            LengthDistribution::Uniform(fewest, most) => (fewest + most) as f64 / 2.0,
            LengthDistribution::Zipfian(..) | LengthDistribution::LogNormal { .. } => {
                const DRAWS: u32 = 10_000;
                let (mut chooser, mut random) = (self.clone(), Random::new(0));
                let sum: u64 = (0..DRAWS).map(|_| chooser.next(&mut random)).sum();
                sum as f64 / f64::from(DRAWS)
            }
        }
    }
}

/// A normally distributed number of mean 0 and deviation 1, by the method of Box and Muller (1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit_f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit_f64()).cos()
}

/// Tells how long the value of a record is.
pub(crate) trait ValueLengths {
    /// The bytes of an item's value in a version: the same item and version always have the same.
    fn value_bytes(&mut self, item: u64, version: u32) -> usize;

    /// The bytes of the longest value.
    fn longest(&self) -> u64;

    /// The record that an item belongs to: itself, unless values are in parts, each an item.
    #[inline]
    fn record(&self, item: u64) -> u64 {
        item
    }

    /// Whether the value of an item in a version may have so many bytes. A value's own header
    /// covers its length already; this refuses one that was never written.
    #[inline]
    fn fits(&mut self, item: u64, version: u32, bytes: usize) -> bool {
        self.value_bytes(item, version) == bytes
    }
}

/// The length of a record in a version: the sum of its fields' lengths. The same record and version
/// always have the same.
#[derive(Debug, Clone)]
pub(crate) struct RecordLengths {
    seed: u64,
    fields: u64,
    field: LengthChooser,
}

impl RecordLengths {
    /// The lengths of records with this number of fields.
    pub(crate) fn new(fields: u64, field_bytes: LengthDistribution, seed: u64) -> Self {
        Self {
            seed,
            fields,
            field: LengthChooser::new(field_bytes),
        }
    }

    /// The mean record, bytes.
    pub(crate) fn mean(&self) -> f64 {
        self.fields as f64 * self.field.mean()
    }
}

impl ValueLengths for RecordLengths {
    fn value_bytes(&mut self, item: u64, version: u32) -> usize {
        if let LengthDistribution::Constant(length) = self.field.lengths {
            return (self.fields * length) as usize;
        }
        let mut random = Random::new(mix(self.seed ^ mix(item)) ^ u64::from(version));
        let total: u64 = (0..self.fields).map(|_| self.field.next(&mut random)).sum();
        total as usize
    }

    fn longest(&self) -> u64 {
        self.fields.saturating_mul(self.field.lengths.longest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 1_000_000;

    #[test]
    fn a_million_draws_keep_the_shares_within_four_deviations() {
        let proportions = [0.5, 0.2, 0.25, 0.0, 0.05];
        let (mix, mut random) = (OperationMix::new(&proportions), Random::new(1));
        let mut counts = [0_u64; 5];
        for _ in 0..DRAWS {
            counts[mix.next(&mut random)] += 1;
        }
        for (count, proportion) in counts.iter().zip(proportions) {
            let expected = proportion * DRAWS as f64;
            let deviation = (expected * (1.0 - proportion)).sqrt();
            let off = (*count as f64 - expected).abs();
            assert!(off <= 4.0 * deviation, "{proportion}: {count}");
        }
        assert_eq!(counts[3], 0);
    }

    #[test]
    fn lengths_lie_between_their_ends_and_have_their_mean() {
        let ends = (10, 30);
        for lengths in [
            LengthDistribution::Uniform(ends.0, ends.1),
            LengthDistribution::Zipfian(ends.0, ends.1),
            LengthDistribution::Constant(30),
        ] {
            let (mut chooser, mut random) = (LengthChooser::new(lengths), Random::new(1));
            let drawn: Vec<u64> = (0..100_000).map(|_| chooser.next(&mut random)).collect();
            assert!(drawn.iter().all(|length| (10..=30).contains(length)));
            assert!(drawn.contains(&30), "{lengths:?}");
            let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
            assert!((mean - chooser.mean()).abs() < 0.3, "{lengths:?}: {mean}");
        }
    }

    #[test]
    fn log_normal_lengths_have_their_median_and_their_99th_percentile() {
        let lengths = LengthDistribution::LogNormal {
            fewest: 100,
            median: 1_000,
            p99: 20_000,
        };
        let (mut chooser, mut random) = (LengthChooser::new(lengths), Random::new(1));
        let drawn: Vec<u64> = (0..DRAWS).map(|_| chooser.next(&mut random)).collect();
        for (length, expected) in [(1_000, 0.5), (20_000, 0.99)] {
            let below = drawn.iter().filter(|drawn| **drawn < length).count() as f64;
            let share = below / DRAWS as f64;
            let deviation = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
            // Lengths are whole numbers, so that some of the median are exactly it.
            assert!((share - expected).abs() < 4.0 * deviation + 2e-4, "{share}");
        }
        assert!(drawn.iter().all(|drawn| (100..=400_000).contains(drawn)));
        assert!(drawn.contains(&100));
        assert_eq!(lengths.longest(), 400_000);
    }
}
