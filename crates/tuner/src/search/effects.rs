//! The effect of each configuration: the logarithm of its score over the default's.
//!
//! A ratio to a single trial of the default has the noise of two trials. So rounds and
//! configurations are fitted together: the logarithm of a score is the level of its round, plus the
//! effect of its configuration, plus noise. The default's effect is 0. Effects are drawn towards 0
//! as far as the noise requires (best linear unbiased prediction: Henderson, 1975; Robinson, 1991),
//! or the best of many single trials would be the luckiest one.

use super::archive::{Archive, ConfigurationId, Outcome};
use serde::Serialize;

/// Passes of the fit. Each is a step towards the least squares; they converge within a few.
const PASSES: usize = 20;
/// The deviation of the noise that is assumed before there are repeats, and how many repeats that
/// assumption is worth.
const ASSUMED_NOISE: f64 = 0.15;
const ASSUMED_WEIGHT: f64 = 4.0;
/// The least deviation of effects between configurations: about 10 %.
const LEAST_SPREAD: f64 = 0.1;

/// The estimated effect of a configuration on the logarithm of the score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Effect {
    /// The mean over its repeats.
    pub mean: f64,
    /// The mean, drawn towards 0 as far as its repeats are few.
    pub shrunk: f64,
    /// The standard error of the mean.
    pub error: f64,
    /// Trials with a score.
    pub repeats: usize,
}

#[derive(Debug, Default)]
pub(super) struct Effects(Vec<Effect>);

/// One score: round, configuration, logarithm.
type Observation = (usize, usize, f64);

impl Effects {
    pub(super) fn of(&self, id: ConfigurationId) -> Effect {
        self.0.get(id.0).copied().unwrap_or_default()
    }

    pub(super) fn fit(archive: &Archive) -> Self {
        let observations = observations(archive);
        let count = archive.configurations().len();
        let repeats = tally(&observations, count, |_| 1.0);
        let mut shrunk = vec![0.0; count];
        let mut means = vec![0.0; count];
        let (mut noise, mut spread) = (ASSUMED_NOISE.powi(2), LEAST_SPREAD.powi(2));
        for _ in 0..PASSES {
            let levels = levels(&observations, archive.rounds().len(), &shrunk);
            let sums = tally(&observations, count, |(round, _, log)| log - levels[round]);
            for id in 1..count {
                if repeats[id] > 0.0 {
                    means[id] = sums[id] / repeats[id];
                    shrunk[id] = means[id] * spread / (spread + noise / repeats[id]);
                }
            }
            noise = noise_variance(&observations, &levels, &means, &repeats);
            spread = spread_variance(&means[1..], &repeats[1..], noise);
        }
        // The level of a round is known from about as many trials as it has.
        let per_round = observations.len() as f64 / archive.rounds().len().max(1) as f64;
        let effect = |id: usize| Effect {
            mean: means[id],
            shrunk: shrunk[id],
            error: (noise / repeats[id].max(1.0) * (1.0 + 1.0 / per_round.max(1.0))).sqrt(),
            repeats: repeats[id] as usize,
        };
        Self((0..count).map(effect).collect())
    }
}

/// The scores of all rounds in which the default has one.
fn observations(archive: &Archive) -> Vec<Observation> {
    let mut observations = Vec::new();
    for (number, round) in archive.rounds().iter().enumerate() {
        let scores = round.iter().filter_map(|entry| match entry.outcome {
            Outcome::Score(score) => Some((number, entry.configuration.0, score.ln())),
            Outcome::Failure(_) => None,
        });
        let scores: Vec<_> = scores.collect();
        if scores
            .iter()
            .any(|(_, id, _)| *id == ConfigurationId::DEFAULT.0)
        {
            observations.extend(scores);
        }
    }
    observations
}

fn tally(
    observations: &[Observation],
    count: usize,
    value: impl Fn(Observation) -> f64,
) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for observation in observations {
        sums[observation.1] += value(*observation);
    }
    sums
}

/// The level of each round, given the effects.
fn levels(observations: &[Observation], rounds: usize, effects: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0_f64); rounds];
    for (round, id, log) in observations {
        sums[*round].0 += log - effects[*id];
        sums[*round].1 += 1.0;
    }
    sums.iter()
        .map(|(sum, count)| sum / count.max(1.0))
        .collect()
}

/// The variance of a single score, from what repeats differ by.
fn noise_variance(
    observations: &[Observation],
    levels: &[f64],
    means: &[f64],
    repeats: &[f64],
) -> f64 {
    let squares: f64 = observations
        .iter()
        .filter(|(_, id, _)| repeats[*id] > 1.0)
        .map(|(round, id, log)| (log - levels[*round] - means[*id]).powi(2))
        .sum();
    let freedom: f64 = repeats.iter().map(|count| (count - 1.0).max(0.0)).sum();
    (squares + ASSUMED_WEIGHT * ASSUMED_NOISE.powi(2)) / (freedom + ASSUMED_WEIGHT)
}

/// The variance of the effects themselves: what the means differ by, less their noise.
fn spread_variance(means: &[f64], repeats: &[f64], noise: f64) -> f64 {
    let known: Vec<_> = means
        .iter()
        .zip(repeats)
        .filter(|(_, repeats)| **repeats > 0.0)
        .collect();
    let squares = known
        .iter()
        .map(|(mean, repeats)| mean.powi(2) - noise / **repeats);
    let variance = squares.sum::<f64>() / known.len().max(1) as f64;
    variance.max(LEAST_SPREAD.powi(2))
}
