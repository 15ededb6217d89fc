//! A random forest that predicts scores with their uncertainty, as SMAC has it (Hutter, Hoos and
//! Leyton-Brown, "Sequential Model-Based Optimization for General Algorithm Configuration", LION
//! 2011; Hutter et al., "Algorithm runtime prediction", AIJ 2014). Of the models compared by Zhang
//! et al. ("Facilitating Database Tuning with Hyper-Parameter Optimization", VLDB 2022) it did best
//! on the mixed, high-dimensional spaces of databases.
//!
//! Each tree learns a bootstrap sample. A split considers a random part of the axes, each at a
//! random point between two neighboring values, so that predictions between samples vary smoothly
//! over the trees. A category is split into random subsets. The variance of a prediction is that
//! of the trees' means plus the mean variance within their leaves.

use crate::random::Random;
use std::f64::consts::{PI, SQRT_2};

const TREES: usize = 40;
/// Samples below which a node is a leaf, as in SMAC.
const FEWEST_TO_SPLIT: usize = 4;
/// The part of the axes that a split considers, as in SMAC.
const AXES_PART: f64 = 5.0 / 6.0;
/// The fewest samples of a forest.
const FEWEST_SAMPLES: usize = 4;

/// A point of the unit cube and the value there.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The point.
    pub point: Vec<f64>,
    /// The value.
    pub value: f64,
}

/// A fitted forest.
#[derive(Debug)]
pub struct Forest {
    trees: Vec<Tree>,
}

#[derive(Debug)]
struct Tree {
    root: Node,
    /// For each sample, whether the tree has learned it.
    is_learned: Vec<bool>,
}

#[derive(Debug)]
enum Node {
    Leaf { mean: f64, variance: f64 },
    Branch { split: Split, sides: Box<[Node; 2]> },
}

#[derive(Debug, Clone, Copy)]
enum Split {
    /// Below the threshold is the first side.
    Below { axis: usize, threshold: f64 },
    /// The categories of the set's bits are the first side.
    Subset { axis: usize, count: usize, set: u64 },
}

impl Split {
    fn side(&self, point: &[f64]) -> usize {
        let is_first = match *self {
            Self::Below { axis, threshold } => point[axis] < threshold,
            Self::Subset { axis, count, set } => set >> category(point[axis], count) & 1 == 1,
        };
        usize::from(!is_first)
    }
}

fn category(position: f64, count: usize) -> usize {
    ((position * count as f64) as usize).min(count - 1).min(63)
}

impl Forest {
    /// Fits a forest. `categories` has the number of categories of each axis, 0 for a range. `None`
    /// for fewer than four samples.
    #[must_use]
    pub(crate) fn fit(
        samples: &[Sample],
        categories: &[usize],
        random: &mut Random,
    ) -> Option<Self> {
        if samples.len() < FEWEST_SAMPLES {
            return None;
        }
        let tree = |_| {
            let mut is_learned = vec![false; samples.len()];
            let mut drawn = Vec::with_capacity(samples.len());
            for _ in 0..samples.len() {
                let index = random.below(samples.len());
                is_learned[index] = true;
                drawn.push(&samples[index]);
            }
            let root = grow(&drawn, categories, random);
            Tree { root, is_learned }
        };
        Some(Self {
            trees: (0..TREES).map(tree).collect(),
        })
    }

    /// Returns mean and variance of the prediction at a point.
    #[must_use]
    pub fn predict(&self, point: &[f64]) -> (f64, f64) {
        let leaves = || self.trees.iter().map(|tree| tree.root.leaf(point));
        let count = self.trees.len() as f64;
        let mean = leaves().map(|(mean, _)| mean).sum::<f64>() / count;
        let within = leaves().map(|(_, variance)| variance).sum::<f64>() / count;
        let between = leaves().map(|(own, _)| (own - mean).powi(2)).sum::<f64>() / count;
        (mean, within + between)
    }

    /// Returns the expected improvement over `best` at a point (Jones, Schonlau and Welch, 1998).
    #[must_use]
    pub fn expected_improvement(&self, point: &[f64], best: f64) -> f64 {
        let (mean, variance) = self.predict(point);
        let deviation = variance.sqrt().max(1e-9);
        let z = (mean - best) / deviation;
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        deviation * (z * normal_below(z) + density)
    }

    /// Returns each axis's share of the importance: how much the squared error of predictions for
    /// samples that a tree has not learned grows when the axis's values are exchanged at random
    /// among them (Breiman, "Random Forests", 2001). All are 0 if no axis matters.
    #[must_use]
    pub(crate) fn importance(&self, samples: &[Sample], random: &mut Random) -> Vec<f64> {
        let axes = samples.first().map_or(0, |sample| sample.point.len());
        let mut growth = vec![0.0; axes];
        for tree in &self.trees {
            let unseen = samples
                .iter()
                .zip(&tree.is_learned)
                .filter(|(_, learned)| !**learned);
            let unseen: Vec<_> = unseen.map(|(sample, _)| sample).collect();
            for (axis, growth) in growth.iter_mut().enumerate() {
                for sample in &unseen {
                    let mut changed = sample.point.clone();
                    changed[axis] = unseen[random.below(unseen.len())].point[axis];
                    let error = |point| (tree.root.leaf(point).0 - sample.value).powi(2);
                    *growth += error(&changed) - error(&sample.point);
                }
            }
        }
        let gains: Vec<f64> = growth.into_iter().map(|gain: f64| gain.max(0.0)).collect();
        let sum: f64 = gains.iter().sum();
        gains
            .iter()
            .map(|gain| if sum > 0.0 { gain / sum } else { 0.0 })
            .collect()
    }
}

impl Node {
    /// Mean and variance of the leaf of a point.
    fn leaf(&self, point: &[f64]) -> (f64, f64) {
        match self {
            Self::Leaf { mean, variance } => (*mean, *variance),
            Self::Branch { split, sides } => sides[split.side(point)].leaf(point),
        }
    }
}

/// Mean and sum of squared deviations.
fn moments<'s>(samples: impl Iterator<Item = &'s Sample> + Clone) -> (f64, f64, f64) {
    let count = samples.clone().count() as f64;
    let mean = samples.clone().map(|sample| sample.value).sum::<f64>() / count.max(1.0);
    let squares = samples.map(|sample| (sample.value - mean).powi(2)).sum();
    (count, mean, squares)
}

fn grow(samples: &[&Sample], categories: &[usize], random: &mut Random) -> Node {
    let (count, mean, squares) = moments(samples.iter().copied());
    let leaf = Node::Leaf {
        mean,
        variance: squares / count,
    };
    if samples.len() < FEWEST_TO_SPLIT || squares <= 1e-12 {
        return leaf;
    }
    let Some(split) = best_split(samples, categories, random) else {
        return leaf;
    };
    let (first, second): (Vec<_>, Vec<_>) = samples
        .iter()
        .partition(|sample| split.side(&sample.point) == 0);
    let sides = Box::new([
        grow(&first, categories, random),
        grow(&second, categories, random),
    ]);
    Node::Branch { split, sides }
}

/// The split of the smallest sum of squares within its sides, of one random split per axis.
fn best_split(samples: &[&Sample], categories: &[usize], random: &mut Random) -> Option<Split> {
    let mut best: Option<(f64, Split)> = None;
    for (axis, count) in categories.iter().enumerate() {
        if random.uniform() > AXES_PART {
            continue;
        }
        let split = match count {
            0 => threshold(samples, axis, random),
            count => subset(samples, axis, *count, random),
        };
        let Some(split) = split else {
            continue;
        };
        let side = |side| {
            let of_side = samples
                .iter()
                .copied()
                .filter(move |one| split.side(&one.point) == side);
            moments(of_side).2
        };
        let squares = side(0) + side(1);
        if best.is_none_or(|(least, _)| squares < least) {
            best = Some((squares, split));
        }
    }
    best.map(|(_, split)| split)
}

/// The best threshold of an axis, at a random point between two neighboring values.
fn threshold(samples: &[&Sample], axis: usize, random: &mut Random) -> Option<Split> {
    let mut sorted: Vec<_> = samples
        .iter()
        .map(|one| (one.point[axis], one.value))
        .collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let total: f64 = sorted.iter().map(|(_, value)| value).sum();
    let (mut below, mut best) = (0.0, None);
    for index in 1..sorted.len() {
        below += sorted[index - 1].1;
        let (before, after) = (sorted[index - 1].0, sorted[index].0);
        if before == after {
            continue;
        }
        let (n, m) = (index as f64, (sorted.len() - index) as f64);
        // The sum of squares within the sides is least where this is greatest.
        let between = below * below / n + (total - below) * (total - below) / m;
        if best.is_none_or(|(most, _, _)| between > most) {
            best = Some((between, before, after));
        }
    }
    best.map(|(_, before, after)| Split::Below {
        axis,
        threshold: after - random.uniform() * (after - before),
    })
}

/// A random subset of the categories, with samples on both sides.
fn subset(samples: &[&Sample], axis: usize, count: usize, random: &mut Random) -> Option<Split> {
    let sets = samples
        .iter()
        .map(|one| 1_u64 << category(one.point[axis], count));
    let present = sets.fold(0, |all, one| all | one);
    if present.count_ones() < 2 {
        return None;
    }
    loop {
        let set = random.next_u64();
        if set & present != 0 && set & present != present {
            return Some(Split::Subset { axis, count, set });
        }
    }
}

/// The standard normal distribution's part below z, by the error function of Abramowitz and Stegun
/// (7.1.26), which is right to 1.5e-7.
fn normal_below(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let factors = [
        0.254_829_592,
        -0.284_496_736,
        1.421_413_741,
        -1.453_152_027,
        1.061_405_429,
    ];
    let polynomial = factors
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    let tail = polynomial * (-x * x).exp() / 2.0;
    if z > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a step on the first axis and a category on the second; the third does nothing.
    fn samples(count: usize, random: &mut Random) -> Vec<Sample> {
        let sample = |_| {
            let point = random.point(3);
            let value = f64::from(point[0] > 0.6) + f64::from(category(point[1], 3) == 1);
            Sample { point, value }
        };
        (0..count).map(sample).collect()
    }

    const CATEGORIES: [usize; 3] = [0, 3, 0];

    #[test]
    fn a_forest_predicts_steps_and_categories_it_has_not_seen() {
        let mut random = Random::new(1, 1);
        let forest = Forest::fit(&samples(200, &mut random), &CATEGORIES, &mut random).unwrap();
        let errors = samples(200, &mut random)
            .into_iter()
            .map(|sample| (forest.predict(&sample.point).0 - sample.value).powi(2));
        let error = errors.sum::<f64>() / 200.0;
        assert!(
            error < 0.05,
            "the mean squared error is {error}; the values' variance is 0.46"
        );
    }

    #[test]
    fn predictions_are_less_certain_at_a_step_than_beside_it() {
        let mut random = Random::new(2, 1);
        let forest = Forest::fit(&samples(60, &mut random), &CATEGORIES, &mut random).unwrap();
        let variance = |at: f64| forest.predict(&[at, 0.1, 0.5]).1;
        assert!(
            variance(0.6) > 1.5 * variance(0.2),
            "{} {}",
            variance(0.6),
            variance(0.2)
        );
    }

    #[test]
    fn importance_names_the_axes_that_matter() {
        let mut random = Random::new(3, 1);
        let samples = samples(100, &mut random);
        let forest = Forest::fit(&samples, &CATEGORIES, &mut random).unwrap();
        let shares = forest.importance(&samples, &mut random);
        assert!(
            shares[0] > 0.3 && shares[1] > 0.3 && shares[2] < 0.05,
            "{shares:?}"
        );
        let flat: Vec<_> = samples
            .iter()
            .map(|sample| Sample {
                value: 1.0,
                ..sample.clone()
            })
            .collect();
        let forest = Forest::fit(&flat, &CATEGORIES, &mut random).unwrap();
        assert_eq!(forest.importance(&flat, &mut random), [0.0; 3]);
    }

    #[test]
    fn expected_improvement_agrees_with_its_closed_form() {
        // R: pnorm(c(-2, 0, 1.5)) is 0.02275013 0.5 0.9331928.
        for (z, part) in [(-2.0, 0.022_750_13), (0.0, 0.5), (1.5, 0.933_192_8)] {
            assert!((normal_below(z) - part).abs() < 2e-7, "{z}");
        }
        let mut random = Random::new(4, 1);
        assert!(Forest::fit(&samples(3, &mut random), &CATEGORIES, &mut random).is_none());
        let forest = Forest::fit(&samples(80, &mut random), &CATEGORIES, &mut random).unwrap();
        let at = |x: f64| forest.expected_improvement(&[x, 0.5, 0.5], 1.5);
        assert!(at(0.9) > 0.3 && at(0.1) < 0.2, "{} {}", at(0.9), at(0.1));
    }
}
