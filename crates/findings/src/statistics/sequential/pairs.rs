//! Differences of pairs of contenders over the repeats that all of them have.

use super::Observation;

/// Blocks are merged only while there are so many of them.
const MIN_MERGED_BLOCKS: usize = 8;

/// A larger correlation of neighboring blocks makes their variance say too little.
const MAX_CORRELATION: f64 = 0.05;

/// The weight of the variance of all pairs beside that of one, in repeats.
const POOL_WEIGHT: f64 = 4.0;

/// The results of contenders in the repeats that all of them have.
pub struct Repeats {
    /// By contender, the logarithms of its rates.
    rates: Vec<Vec<f64>>,
    /// The repeats of a block.
    block: usize,
    /// The mean variance of the differences of all pairs, between blocks.
    pooled: f64,
}

/// The difference of the logarithms of two contenders' rates.
pub struct Difference {
    /// Its mean over the repeats.
    pub mean: f64,
    /// The standard error of the mean.
    pub error: f64,
    /// The degrees of freedom of the error.
    pub freedom: f64,
}

impl Repeats {
    /// The results of the contenders at those places in those repeats, which must all be there.
    pub fn of(contenders: &[Vec<Observation>], places: &[usize], repeats: &[usize]) -> Self {
        let rate = |place: usize, repeat: usize| match contenders[place][repeat] {
            Observation::LogRate(rate) => rate,
            Observation::Invalid | Observation::Disturbed | Observation::Missing => f64::NAN,
        };
        let of = |&place: &usize| repeats.iter().map(|&it| rate(place, it)).collect();
        Self::new(places.iter().map(of).collect())
    }

    /// Merges adjacent repeats while noise lasts longer than one: their variance would be too
    /// small (lag-1 autocorrelation, with its bias of one over the number of blocks).
    pub fn new(rates: Vec<Vec<f64>>) -> Self {
        let mut repeats = Self {
            rates,
            block: 1,
            pooled: 0.0,
        };
        while repeats.blocks() >= MIN_MERGED_BLOCKS
            && repeats.correlation() + 1.0 / repeats.blocks() as f64 > MAX_CORRELATION
        {
            repeats.block *= 2;
        }
        let variances: Vec<f64> = repeats
            .pairs()
            .filter_map(|(one, other)| variance(&repeats.block_means(one, other)))
            .collect();
        if !variances.is_empty() {
            repeats.pooled = mean(&variances);
        }
        repeats
    }

    /// Whether adjacent repeats were merged.
    pub fn is_merged(&self) -> bool {
        self.block > 1
    }

    /// The place of the contender with the highest mean.
    pub fn leader(&self) -> usize {
        let means = self.rates.iter().map(|rates| mean(rates));
        let best = means
            .enumerate()
            .max_by(|one, other| one.1.total_cmp(&other.1));
        best.map_or(0, |(place, _)| place)
    }

    /// The difference of `one` over `other`; `None` for fewer than two blocks. From three
    /// contenders on its variance leans on that of all pairs (Smyth, 2004, has the idea).
    pub fn difference(&self, one: usize, other: usize) -> Option<Difference> {
        let own = variance(&self.block_means(one, other))?;
        let blocks = self.blocks() as f64;
        let (variance, freedom) = if self.rates.len() > 2 {
            let weighted = POOL_WEIGHT * self.pooled + (blocks - 1.0) * own;
            (
                weighted / (POOL_WEIGHT + blocks - 1.0),
                POOL_WEIGHT + blocks - 1.0,
            )
        } else {
            (own, blocks - 1.0)
        };
        Some(Difference {
            mean: mean(&self.differences(one, other)),
            error: (variance / blocks).sqrt(),
            freedom,
        })
    }

    fn blocks(&self) -> usize {
        self.rates.first().map_or(0, Vec::len) / self.block
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let count = self.rates.len();
        (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
    }

    fn differences(&self, one: usize, other: usize) -> Vec<f64> {
        let both = self.rates[one].iter().zip(&self.rates[other]);
        both.map(|(one, other)| one - other).collect()
    }

    /// The mean difference in each block. Repeats at the end that fill no block are left out.
    fn block_means(&self, one: usize, other: usize) -> Vec<f64> {
        let differences = self.differences(one, other);
        differences.chunks_exact(self.block).map(mean).collect()
    }

    /// The correlation of the differences in neighboring blocks, of all pairs together.
    fn correlation(&self) -> f64 {
        let (mut together, mut all) = (0.0, 0.0);
        for (one, other) in self.pairs() {
            let blocks = self.block_means(one, other);
            let middle = mean(&blocks);
            let deviations: Vec<f64> = blocks.iter().map(|block| block - middle).collect();
            together += deviations
                .windows(2)
                .map(|two| two[0] * two[1])
                .sum::<f64>();
            all += deviations.iter().map(|it| it * it).sum::<f64>();
        }
        if all > 0.0 { together / all } else { 0.0 }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sample variance; `None` for fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [3.0, 3.1, 2.9, 3.2, 3.05];
    const B: [f64; 5] = [2.9, 3.05, 2.85, 3.05, 2.9];
    const C: [f64; 5] = [2.5, 2.7, 2.4, 2.6, 2.6];

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn two_contenders_have_their_own_variance() {
        let repeats = Repeats::new(vec![A.to_vec(), B.to_vec()]);
        let lead = repeats.difference(0, 1).unwrap();
        // a - b is 0.1, 0.05, 0.05, 0.15, 0.15: mean 0.1, variance 0.0025.
        near(lead.mean, 0.1);
        near(lead.error, (0.0025_f64 / 5.0).sqrt());
        assert_eq!((lead.freedom, repeats.leader()), (4.0, 0));
    }

    #[test]
    fn three_contenders_share_their_variances() {
        let repeats = Repeats::new(vec![C.to_vec(), A.to_vec(), B.to_vec()]);
        // a - c is 0.5, 0.4, 0.5, 0.6, 0.45: variance 0.00550; b - c is 0.4, 0.35, 0.45, 0.45, 0.3:
        // variance 0.00425.
        let pooled: f64 = (0.0025 + 0.0055 + 0.00425) / 3.0;
        let lead = repeats.difference(1, 2).unwrap();
        near(
            lead.error,
            ((4.0 * pooled + 4.0 * 0.0025) / 8.0 / 5.0).sqrt(),
        );
        assert_eq!((lead.freedom, repeats.leader()), (8.0, 1));
    }

    #[test]
    fn repeats_are_merged_while_their_noise_lasts() {
        let slow: Vec<f64> = (0..32).map(|it| f64::from(it / 4 % 2)).collect();
        let level = vec![0.0; 32];
        let merged = Repeats::new(vec![slow, level.clone()]);
        assert_eq!((merged.block, merged.blocks()), (4, 8));
        assert!(merged.is_merged());
        let fast: Vec<f64> = (0..32).map(|it| f64::from(it % 2)).collect();
        assert!(!Repeats::new(vec![fast, level]).is_merged());
        let few = Repeats::new(vec![vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0], vec![0.0; 6]]);
        assert!(!few.is_merged(), "six blocks are too few to tell");
    }
}
