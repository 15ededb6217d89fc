//! Ratios that were taken in blocks, such as hosts: whether they agree, and what is said of all.
//!
//! A pair of repeats ran in one block, so a block that is fast for everybody drops out of the
//! ratio. What is left between blocks is that a contender gains more by one than another does. If
//! that shows (an F test at 25 %, as Bancroft (1964) advises for pooling), the blocks are the
//! units: the interval is Student's of their means. If it does not, the pairs are.

use super::compare::{Comparison, Verdict};
use super::interval::{Interval, around};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// Variation between blocks is taken for real if chance alone exceeds it less often than this.
const POOLING: f64 = 0.25;

/// The confidence with which a block contradicts the others.
const CONTRADICTION: f64 = 0.95;

/// Logarithms of ratios of pairs, block by block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRatios {
    blocks: Vec<Vec<f64>>,
}

/// The variation within and between blocks.
struct Variance {
    /// The mean square within blocks, and its degrees of freedom.
    within: f64,
    within_freedom: f64,
    /// The mean square between the blocks' means, and its degrees of freedom.
    between: f64,
    between_freedom: f64,
    /// The pairs of a block, on average as the variance of unequal blocks has it.
    size: f64,
}

impl BlockRatios {
    /// Of these logarithms, block by block. Blocks without any are left out.
    #[must_use]
    pub fn new(blocks: impl IntoIterator<Item = Vec<f64>>) -> Self {
        let blocks = blocks.into_iter().filter(|block| !block.is_empty());
        Self {
            blocks: blocks.collect(),
        }
    }

    /// The blocks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// The mean of the logarithms of each block.
    #[must_use]
    pub fn means(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| mean(block)).collect()
    }

    /// The mean over blocks, each of which has the same weight.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean(&self.means())
    }

    /// `None` for fewer than two blocks, or if no block has two pairs.
    fn variance(&self) -> Option<Variance> {
        let blocks = self.blocks.len() as f64;
        let pairs: f64 = self.blocks.iter().map(|block| block.len() as f64).sum();
        let within_freedom = pairs - blocks;
        if self.blocks.len() < 2 || within_freedom < 1.0 {
            return None;
        }
        let grand = self.blocks.iter().flatten().sum::<f64>() / pairs;
        let (mut within, mut between, mut squares) = (0.0, 0.0, 0.0);
        for block in &self.blocks {
            let (own, size) = (mean(block), block.len() as f64);
            within += block.iter().map(|it| (it - own).powi(2)).sum::<f64>();
            between += size * (own - grand).powi(2);
            squares += size * size;
        }
        Some(Variance {
            within: within / within_freedom,
            within_freedom,
            between: between / (blocks - 1.0),
            between_freedom: blocks - 1.0,
            size: (pairs - squares / pairs) / (blocks - 1.0),
        })
    }

    /// The standard deviation of the blocks' true means, by the method of moments; `None` if it
    /// cannot be told from that of the pairs within a block.
    #[must_use]
    pub fn deviation_between(&self) -> Option<f64> {
        let variance = self.variance()?;
        Some(
            ((variance.between - variance.within) / variance.size)
                .max(0.0)
                .sqrt(),
        )
    }

    /// Whether the blocks differ by more than their pairs scatter.
    #[must_use]
    pub fn differ(&self) -> bool {
        let Some(variance) = self.variance() else {
            // One pair a block tells nothing of the scatter inside: the pairs are the blocks.
            return false;
        };
        if variance.within <= 0.0 {
            return variance.between > 0.0;
        }
        let ratio = variance.between / variance.within;
        let fisher = FisherSnedecor::new(variance.between_freedom, variance.within_freedom);
        fisher.is_ok_and(|fisher| 1.0 - fisher.cdf(ratio) < POOLING)
    }

    /// Student's interval of the ratio with the blocks as units; `None` for fewer than two.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let means = self.means();
        let count = means.len() as f64;
        if means.len() < 2 {
            return None;
        }
        let center = mean(&means);
        let squares: f64 = means.iter().map(|it| (it - center).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        around(center, error, count - 1.0, level)
    }

    /// The places of the blocks whose mean has the other sign than that of all.
    #[must_use]
    pub fn against(&self) -> Vec<usize> {
        let all = self.mean();
        let means = self.means().into_iter().enumerate();
        let against = means.filter(|(_, own)| own * all < 0.0);
        against.map(|(place, _)| place).collect()
    }

    /// Whether a block contradicts the others: its own interval, by the scatter within all blocks,
    /// lies on the other side of 1 than the mean of all.
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        let Some(variance) = self.variance() else {
            return false;
        };
        let Ok(student) = StudentsT::new(0.0, 1.0, variance.within_freedom) else {
            return false;
        };
        let reach = student.inverse_cdf(1.0 - (1.0 - CONTRADICTION) / 2.0);
        self.against().into_iter().any(|place| {
            let block = &self.blocks[place];
            let error = (variance.within / block.len() as f64).sqrt();
            mean(block).abs() > reach * error
        })
    }

    /// Whether the ratio of all may be claimed to be on its side of 1, at a level.
    #[must_use]
    pub fn support(&self, level: f64) -> bool {
        let by_blocks = || self.interval(level).is_some_and(|it| !it.holds(1.0));
        !self.is_reversed() && (!self.differ() || by_blocks())
    }

    /// Withdraws the claim of a comparison of all pairs if the blocks do not support it, and widens
    /// its interval if they differ. It never makes a claim.
    #[must_use]
    pub fn temper(&self, compared: Comparison, level: f64) -> Comparison {
        if self.count() < 2 || compared.ratio.is_none() {
            return compared;
        }
        let wider = self.interval(level).filter(|_| self.differ());
        let ratio = wider.or(compared.ratio);
        let is_supported = self.support(level);
        Comparison {
            verdict: if is_supported {
                compared.verdict
            } else {
                Verdict::NoDifference
            },
            ratio,
            chance: if is_supported { compared.chance } else { 1.0 },
            ..compared
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::compare::{claim_level, compare_among};
    use super::*;
    use trueput_record::random::SplitMix64;

    /// A fleet: by host, the rates of two contenders in pairs. `host` is the deviation of the
    /// hosts, `gain` by how much the second is faster on each host, `noise` that of a repeat.
    fn fleet(seed: u64, host: f64, gains: &[f64], noise: f64) -> Vec<Vec<(f64, f64)>> {
        let mut random = SplitMix64::new(seed);
        let mut hosts = Vec::new();
        for gain in gains {
            let speed = host * random.normal();
            let mut pairs = Vec::new();
            for _ in 0..6 {
                let one = speed + noise * random.normal();
                let two = speed + gain + noise * random.normal();
                pairs.push((one.exp(), two.exp()));
            }
            hosts.push(pairs);
        }
        hosts
    }

    fn ratios(fleet: &[Vec<(f64, f64)>]) -> BlockRatios {
        let mut blocks = Vec::new();
        for host in fleet {
            let logs = host.iter().map(|(one, two)| (two / one).ln());
            blocks.push(logs.collect::<Vec<f64>>());
        }
        BlockRatios::new(blocks)
    }

    fn verdict(fleet: &[Vec<(f64, f64)>]) -> Verdict {
        let (one, two): (Vec<_>, Vec<_>) = fleet.iter().flatten().copied().unzip();
        let compared = compare_among(&one, &two, true, 1);
        ratios(fleet).temper(compared, claim_level(1)).verdict
    }

    #[test]
    fn hosts_that_differ_more_than_engines_hide_nothing_from_pairs_inside_hosts() {
        let (mut ours, mut unpaired) = (0, 0);
        for seed in 0..100 {
            // The hosts differ by a factor of about 1.5, the engines by 8 %.
            let fleet = fleet(seed, 0.4, &[0.08; 3], 0.02);
            ours += usize::from(verdict(&fleet) == Verdict::Faster);
            let (one, two): (Vec<_>, Vec<_>) = fleet.iter().flatten().copied().unzip();
            let compared = compare_among(&one, &two, false, 1);
            unpaired += usize::from(compared.verdict == Verdict::Faster);
        }
        assert!(ours >= 75, "{ours}");
        assert!(unpaired <= 10, "{unpaired}");
    }

    #[test]
    fn equals_on_hosts_that_treat_them_differently_are_rarely_claimed_to_differ() {
        let mut claimed = (0, 0);
        for seed in 0..400 {
            let mut random = SplitMix64::new(seed + 10_000);
            let gains: Vec<f64> = (0..4).map(|_| 0.1 * random.normal()).collect();
            let fleet = fleet(seed, 0.3, &gains, 0.01);
            let (one, two): (Vec<_>, Vec<_>) = fleet.iter().flatten().copied().unzip();
            let pooled = compare_among(&one, &two, true, 1).verdict;
            claimed.0 += usize::from(pooled != Verdict::NoDifference);
            claimed.1 += usize::from(verdict(&fleet) != Verdict::NoDifference);
        }
        // Pairs alone take what one fleet does for what the next will do.
        assert!(claimed.0 > 50, "{claimed:?}");
        assert!(claimed.1 <= 20, "{claimed:?}");
    }

    #[test]
    fn an_order_that_changes_between_hosts_is_no_order_and_said_to_change() {
        let fleet = fleet(7, 0.3, &[0.3, 0.3, 0.3, 0.3, -0.05], 0.01);
        let ratios = ratios(&fleet);
        let (one, two): (Vec<_>, Vec<_>) = fleet.iter().flatten().copied().unzip();
        assert_eq!(compare_among(&one, &two, true, 1).verdict, Verdict::Faster);
        assert_eq!(verdict(&fleet), Verdict::NoDifference);
        assert!(ratios.is_reversed());
        assert_eq!(ratios.against(), [4]);
        let deviation = ratios.deviation_between().unwrap();
        assert!((0.1..0.4).contains(&deviation), "{deviation}");
    }

    #[test]
    fn the_deviation_between_blocks_is_that_of_the_analysis_of_variance() {
        // By hand: the sums of squares are 0.015 within, on 3, and 0.16 between, on 2.
        let ratios = BlockRatios::new([vec![0.0, 0.1], vec![0.2, 0.3], vec![0.4, 0.5]]);
        let within = 0.005;
        let between = 0.08;
        let expected = ((between - within) / 2.0_f64).sqrt();
        assert!((ratios.deviation_between().unwrap() - expected).abs() < 1e-12);
        assert!(ratios.differ());
        let same = BlockRatios::new([vec![0.0, 0.1], vec![0.1, 0.0]]);
        assert_eq!(same.deviation_between(), Some(0.0));
        assert!(!same.differ());
        assert!(
            BlockRatios::new([vec![0.1], vec![0.2]])
                .deviation_between()
                .is_none()
        );
    }
}
