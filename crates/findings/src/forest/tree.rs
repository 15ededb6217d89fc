//! A regression tree with random split points.

use super::Sample;
use trueput_record::random::SplitMix64;

/// The part of the axes that a split considers, as in SMAC.
const AXES_PART: f64 = 5.0 / 6.0;
/// The fewest samples on each side of a split: means of fewer noisy ones say little.
const MIN_LEAF_SAMPLES: usize = 4;
/// A gain that is less than this is an error of rounding.
const MIN_GAIN: f64 = 1e-12;

/// A regression tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: Node,
    /// For each sample, whether the tree has learned it.
    pub(super) is_learned: Vec<bool>,
}

#[derive(Debug)]
enum Node {
    Leaf(f64),
    Branch { split: Split, sides: Box<[Node; 2]> },
}

#[derive(Debug)]
struct Split {
    axis: usize,
    first_side: Side,
}

/// The first side of a split.
#[derive(Debug)]
enum Side {
    /// Coordinates below this.
    Below(f64),
    /// The categories that are marked.
    Categories(Vec<bool>),
}

impl Split {
    fn side(&self, point: &[f64]) -> usize {
        let is_first = match &self.first_side {
            Side::Below(threshold) => point[self.axis] < *threshold,
            Side::Categories(marks) => marks[category(point[self.axis], marks.len())],
        };
        usize::from(!is_first)
    }
}

pub(super) fn category(position: f64, count: usize) -> usize {
    ((position * count as f64) as usize).min(count - 1)
}

impl Tree {
    /// Grows a tree from as many samples as there are, drawn with repetition. `categories` has the
    /// number of categories of each axis, 0 for a range.
    pub(super) fn grow(samples: &[Sample], categories: &[usize], random: &mut SplitMix64) -> Self {
        let mut is_learned = vec![false; samples.len()];
        let mut drawn = Vec::with_capacity(samples.len());
        for _ in samples {
            let index = random.below(samples.len());
            is_learned[index] = true;
            drawn.push(&samples[index]);
        }
        let root = grow(&drawn, categories, random);
        Self { root, is_learned }
    }

    pub(super) fn predict(&self, point: &[f64]) -> f64 {
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(mean) => return *mean,
                Node::Branch { split, sides } => node = &sides[split.side(point)],
            }
        }
    }
}

fn grow(samples: &[&Sample], categories: &[usize], random: &mut SplitMix64) -> Node {
    let Some(split) = best_split(samples, categories, random) else {
        return Node::Leaf(mean(samples.iter().copied()));
    };
    let is_first = |sample: &&Sample| split.side(&sample.point) == 0;
    let (first, second): (Vec<_>, Vec<_>) = samples.iter().partition(|it| is_first(it));
    let sides = Box::new([
        grow(&first, categories, random),
        grow(&second, categories, random),
    ]);
    Node::Branch { split, sides }
}

fn mean<'s>(samples: impl Iterator<Item = &'s Sample> + Clone) -> f64 {
    let sum: f64 = samples.clone().map(|sample| sample.value).sum();
    sum / samples.count().max(1) as f64
}

/// The split of a random part of the axes that explains most of the variance.
fn best_split(samples: &[&Sample], categories: &[usize], random: &mut SplitMix64) -> Option<Split> {
    if samples.len() < 2 * MIN_LEAF_SAMPLES {
        return None;
    }
    let mut axes: Vec<usize> = (0..categories.len()).collect();
    random.shuffle(&mut axes);
    axes.truncate((AXES_PART * categories.len() as f64).ceil() as usize);
    let mut best: Option<(f64, Split)> = None;
    for axis in axes {
        let found = match categories[axis] {
            0 => split_range(samples, axis, random),
            count => split_categories(samples, axis, count),
        };
        if let Some((gain, first_side)) = found
            && best.as_ref().is_none_or(|(most, _)| gain > *most)
        {
            best = Some((gain, Split { axis, first_side }));
        }
    }
    best.map(|(_, split)| split)
}

/// The best place to cut pairs of key and value, which it sorts by the key: the variance that it
/// explains, and the keys before and after it.
fn best_cut(mut pairs: Vec<(f64, f64)>) -> Option<(f64, [f64; 2])> {
    pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = pairs.len();
    let total: f64 = pairs.iter().map(|(_, value)| value).sum();
    let mut below: f64 = pairs[..MIN_LEAF_SAMPLES]
        .iter()
        .map(|(_, value)| value)
        .sum();
    let mut best: Option<(f64, [f64; 2])> = None;
    for cut in MIN_LEAF_SAMPLES..=count - MIN_LEAF_SAMPLES {
        let (keys, value) = ([pairs[cut - 1].0, pairs[cut].0], pairs[cut].1);
        let (before, after) = (cut as f64, (count - cut) as f64);
        let gap = below / before - (total - below) / after;
        below += value;
        let gain = gap * gap * before * after / count as f64;
        let is_most = best.is_none_or(|(most, _)| gain > most);
        if keys[0] < keys[1] && gain > MIN_GAIN && is_most {
            best = Some((gain, keys));
        }
    }
    best
}

/// Cuts a range at a random place between two neighboring values, which makes the mean of the trees
/// smooth and their variance grow between samples (Hutter, Xu, Hoos and Leyton-Brown, 2014).
fn split_range(samples: &[&Sample], axis: usize, random: &mut SplitMix64) -> Option<(f64, Side)> {
    let pairs = samples.iter().map(|one| (one.point[axis], one.value));
    let (gain, [before, after]) = best_cut(pairs.collect())?;
    let threshold = after - random.unit_f64() * (after - before);
    Some((gain, Side::Below(threshold)))
}

/// Splits categories by their mean values: for squared errors, the best division is one of those in
/// that order (Breiman et al., "Classification and Regression Trees", 1984, theorem 4.5).
/// Categories without a sample go with the worse.
fn split_categories(samples: &[&Sample], axis: usize, count: usize) -> Option<(f64, Side)> {
    let own = |sample: &Sample| category(sample.point[axis], count);
    let of_category = |known| samples.iter().copied().filter(move |it| own(it) == known);
    let means: Vec<f64> = (0..count).map(|known| mean(of_category(known))).collect();
    let pairs = samples.iter().map(|one| (means[own(one)], one.value));
    let (gain, [_, after]) = best_cut(pairs.collect())?;
    let is_first = |known| of_category(known).next().is_none() || means[known] < after;
    Some((gain, Side::Categories((0..count).map(is_first).collect())))
}
