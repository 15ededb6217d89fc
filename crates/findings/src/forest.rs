//! A random forest that predicts scores with their uncertainty, as SMAC has it (Hutter, Hoos and
//! Leyton-Brown, "Sequential Model-Based Optimization for General Algorithm Configuration", LION
//! 2011; Hutter et al., "Algorithm runtime prediction", AIJ 2014). Of the models compared by Zhang
//! et al. ("Facilitating Database Tuning with Hyper-Parameter Optimization", VLDB 2022) it did best
//! on the mixed, high-dimensional spaces of databases.
//!
//! Each tree learns a bootstrap sample. A split considers a random part of the axes, each at a
//! random point between two neighboring values, so that predictions between samples vary smoothly
//! over the trees. The uncertainty of a prediction is the variance of the trees' predictions.

mod tree;

use statrs::function::erf::erf;
use std::f64::consts::{PI, SQRT_2};
use tree::Tree;
use trueput_record::random::SplitMix64;

const TREES: usize = 40;

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

/// How much each axis matters to a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    /// Each axis's share; all are 0 if no axis matters.
    pub shares: Vec<f64>,
    /// The part of the samples' variance that the forest predicts without having learned the
    /// sample, from 0 to 1. If it is small, the shares are noise.
    pub explained: f64,
}

impl Forest {
    /// Fits a forest. `categories` has the number of categories of each axis, 0 for a range. `None`
    /// without a sample.
    #[must_use]
    pub fn fit(samples: &[Sample], categories: &[usize], random: &mut SplitMix64) -> Option<Self> {
        let trees = (0..TREES).map(|_| Tree::grow(samples, categories, random));
        (!samples.is_empty()).then(|| Self {
            trees: trees.collect(),
        })
    }

    /// Returns mean and deviation of the prediction at a point.
    #[must_use]
    pub fn predict(&self, point: &[f64]) -> (f64, f64) {
        let values: Vec<f64> = self.trees.iter().map(|tree| tree.predict(point)).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }

    /// Returns the importance of each axis: how much the squared error of predictions for samples
    /// that a tree has not learned grows when the axis's values are exchanged at random among them
    /// (Breiman, "Random Forests", 2001).
    #[must_use]
    pub fn importance(&self, samples: &[Sample], random: &mut SplitMix64) -> Importance {
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
                    let error = |point| (tree.predict(point) - sample.value).powi(2);
                    *growth += error(&changed) - error(&sample.point);
                }
            }
        }
        let gains: Vec<f64> = growth.into_iter().map(|gain: f64| gain.max(0.0)).collect();
        let sum: f64 = gains.iter().sum();
        let share = |gain: &f64| if sum > 0.0 { gain / sum } else { 0.0 };
        Importance {
            shares: gains.iter().map(share).collect(),
            explained: self.explained(samples),
        }
    }

    /// The part of the samples' variance that is explained by predictions of those trees that have
    /// not learned the sample.
    fn explained(&self, samples: &[Sample]) -> f64 {
        let mean = samples.iter().map(|sample| sample.value).sum::<f64>() / samples.len() as f64;
        let (mut error, mut variance) = (0.0, 0.0);
        for (number, sample) in samples.iter().enumerate() {
            let unaware = self.trees.iter().filter(|tree| !tree.is_learned[number]);
            let predictions: Vec<_> = unaware.map(|tree| tree.predict(&sample.point)).collect();
            if !predictions.is_empty() {
                let prediction = predictions.iter().sum::<f64>() / predictions.len() as f64;
                error += (prediction - sample.value).powi(2);
                variance += (mean - sample.value).powi(2);
            }
        }
        if variance > 0.0 {
            (1.0 - error / variance).max(0.0)
        } else {
            0.0
        }
    }
}

/// Returns by how much a value of this mean and deviation is expected to exceed `best`, where what
/// falls short counts as nothing (Jones, Schonlau and Welch, 1998).
#[must_use]
pub fn expected_improvement((mean, deviation): (f64, f64), best: f64) -> f64 {
    let deviation = deviation.max(1e-9);
    let z = (mean - best) / deviation;
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    let below = f64::midpoint(1.0, erf(z / SQRT_2));
    deviation * (z * below + density)
}

#[cfg(test)]
mod tests {
    use super::tree::category;
    use super::*;

    /// Samples of a step on the first axis and a category on the second; the third does nothing.
    fn samples(count: usize, random: &mut SplitMix64) -> Vec<Sample> {
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
        let mut random = SplitMix64::for_use(1, 1);
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
        let mut random = SplitMix64::for_use(2, 1);
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
        let mut random = SplitMix64::for_use(3, 1);
        let samples = samples(100, &mut random);
        let forest = Forest::fit(&samples, &CATEGORIES, &mut random).unwrap();
        let Importance { shares, explained } = forest.importance(&samples, &mut random);
        assert!(explained > 0.7, "{explained}");
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
        let importance = forest.importance(&flat, &mut random);
        assert_eq!(
            (importance.shares, importance.explained),
            (vec![0.0; 3], 0.0)
        );
        let mut noise = SplitMix64::for_use(4, 1);
        let noisy: Vec<_> = samples
            .iter()
            .map(|sample| Sample {
                value: noise.normal(),
                ..sample.clone()
            })
            .collect();
        let forest = Forest::fit(&noisy, &CATEGORIES, &mut random).unwrap();
        let explained = forest.importance(&noisy, &mut random).explained;
        assert!(explained < 0.1, "{explained}");
    }

    #[test]
    fn expected_improvement_agrees_with_its_closed_form() {
        // scipy 1.17.1: (m - b) * norm.cdf((m - b) / s) + s * norm.pdf((m - b) / s).
        for (best, expected) in [(0.5, 0.541_657_735_250_6), (1.0, 0.199_471_140_2)] {
            let found = expected_improvement((1.0, 0.5), best);
            assert!((found - expected).abs() < 1e-9, "{best}: {found}");
        }
        let certain = expected_improvement((1.0, 0.0), 0.25);
        assert!((certain - 0.75).abs() < 1e-8, "{certain}");
        assert!(expected_improvement((1.0, 0.0), 2.0) < 1e-8);
    }

    #[test]
    fn a_single_sample_is_predicted_everywhere_and_none_cannot_be_learned() {
        let mut random = SplitMix64::for_use(4, 1);
        let sample = samples(1, &mut random);
        assert!(Forest::fit(&[], &CATEGORIES, &mut random).is_none());
        let forest = Forest::fit(&sample, &CATEGORIES, &mut random).unwrap();
        assert_eq!(forest.predict(&[0.5; 3]), (sample[0].value, 0.0));
    }
}
