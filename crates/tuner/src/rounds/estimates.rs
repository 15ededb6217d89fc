//! The gain of each configuration over the default: the logarithm of the ratio of their scores.
//!
//! A ratio to a single trial of the default has the noise of two trials. So rounds and
//! configurations are fitted together by least squares: the logarithm of a score is the level of
//! its round, plus the gain of its configuration, plus noise (the intra-block analysis of an
//! incomplete block design: Yates, 1936). The default's gain is 0. All that several rounds have in
//! common (the default, the incumbent, repeats) says how much faster the machine was in one than in
//! the other.

use super::archive::{Archive, ConfigurationId};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use trueput_findings::statistics::Interval;

/// The deviation of a logarithm of a score that is assumed before repeats show one.
const ASSUMED_DEVIATION: f64 = 0.15;
/// The degrees of freedom that the assumption weighs.
const ASSUMED_FREEDOM: f64 = 4.0;
/// The level of the intervals that are shown.
const INTERVAL_LEVEL: f64 = 0.95;

/// The estimated gain of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Its score over the default's, with the interval at 95 %.
    pub factor: Interval,
    /// Its trials with a score in a round in which the default has one too.
    pub repeats: usize,
}

/// A configuration with a score.
#[derive(Debug)]
struct Gain {
    /// The logarithm of the factor over the default.
    log: f64,
    /// The places of its rounds among those that count.
    rounds: Vec<usize>,
}

/// The gains of all configurations that share a round with the default.
#[derive(Debug, Default)]
pub(super) struct Estimates {
    /// By configuration; none without a score.
    gains: Vec<Option<Gain>>,
    /// Of the rounds' levels, in units of the variance of one trial.
    covariance: Vec<Vec<f64>>,
    deviation: f64,
    freedom: f64,
    /// The logarithm of each score, relative to the default's level in its round.
    adjusted: Vec<(ConfigurationId, f64)>,
}

/// The logarithms of the scores of a round, each configuration at most once.
type Round = Vec<(ConfigurationId, f64)>;

impl Estimates {
    /// Fits gains and levels. Rounds in which the default has no score are left out.
    pub(super) fn fit(archive: &Archive) -> Self {
        Self::of_rounds(archive.configurations().len(), &archive.comparable_rounds())
    }

    fn of_rounds(configurations: usize, rounds: &[Round]) -> Self {
        let mut estimates = Self::default();
        estimates.gains.resize_with(configurations, || None);
        for (place, round) in rounds.iter().enumerate() {
            for (id, log) in round {
                let gain = estimates.gains[id.0].get_or_insert_with(|| Gain {
                    log: 0.0,
                    rounds: Vec::new(),
                });
                // The mean of its scores, until the levels are known.
                let count = gain.rounds.len() as f64;
                gain.log = (gain.log * count + log) / (count + 1.0);
                gain.rounds.push(place);
            }
        }
        estimates.solve(rounds);
        estimates.add_noise(rounds);
        estimates
    }

    /// Solves the normal equations of the levels, from which the gains are eliminated: there are
    /// fewer rounds than configurations. The default in each round makes them positive definite.
    fn solve(&mut self, rounds: &[Round]) {
        let mut matrix = vec![vec![0.0; rounds.len()]; rounds.len()];
        let mut right = vec![0.0; rounds.len()];
        for (place, round) in rounds.iter().enumerate() {
            for (id, log) in round {
                matrix[place][place] += 1.0;
                right[place] += log;
                let Some(gain) = self.challenger(*id) else {
                    continue;
                };
                right[place] -= gain.log;
                for other in &gain.rounds {
                    matrix[place][*other] -= 1.0 / gain.rounds.len() as f64;
                }
            }
        }
        self.covariance = inverted(matrix);
        let levels = self.covariance.iter().map(|row| product(row, &right));
        let levels: Vec<f64> = levels.collect();
        for (id, gain) in self.gains.iter_mut().enumerate() {
            let Some(gain) = gain else { continue };
            let sum: f64 = gain.rounds.iter().map(|place| levels[*place]).sum();
            gain.log = match ConfigurationId(id) {
                ConfigurationId::DEFAULT => 0.0,
                _ => gain.log - sum / gain.rounds.len() as f64,
            };
        }
        let adjusted = rounds.iter().zip(&levels);
        let adjusted = adjusted
            .flat_map(|(round, level)| round.iter().map(move |(id, log)| (*id, log - level)));
        self.adjusted = adjusted.collect();
    }

    /// Computes the deviation of a trial from what is left over.
    fn add_noise(&mut self, rounds: &[Round]) {
        let scores = self.adjusted.iter();
        let left = scores.filter_map(|(id, log)| Some(log - self.gain(*id)?));
        let squares: f64 = left.map(|left| left * left).sum();
        let unknowns = self.gains.iter().flatten().count() + rounds.len();
        let own_freedom = (self.adjusted.len() + 1).saturating_sub(unknowns) as f64;
        self.freedom = ASSUMED_FREEDOM + own_freedom;
        let assumed = ASSUMED_FREEDOM * ASSUMED_DEVIATION * ASSUMED_DEVIATION;
        self.deviation = ((assumed + squares) / self.freedom).sqrt();
    }

    fn known(&self, id: ConfigurationId) -> Option<&Gain> {
        self.gains.get(id.0)?.as_ref()
    }

    /// A configuration whose gain is estimated; the default's is 0 by definition.
    fn challenger(&self, id: ConfigurationId) -> Option<&Gain> {
        self.known(id).filter(|_| id != ConfigurationId::DEFAULT)
    }

    pub(super) fn repeats(&self, id: ConfigurationId) -> usize {
        self.known(id).map_or(0, |gain| gain.rounds.len())
    }

    /// Returns the logarithm of the factor over the default.
    pub(super) fn gain(&self, id: ConfigurationId) -> Option<f64> {
        self.known(id).map(|gain| gain.log)
    }

    /// Returns the logarithm of each score, relative to the default's level in its round.
    pub(super) fn adjusted(&self) -> &[(ConfigurationId, f64)] {
        &self.adjusted
    }

    /// Returns how much the first gains more than the second, and the standard error of that.
    pub(super) fn difference(
        &self,
        first: ConfigurationId,
        second: ConfigurationId,
    ) -> Option<(f64, f64)> {
        let difference = self.gain(first)? - self.gain(second)?;
        let variance = self.covariance(first, first) + self.covariance(second, second)
            - 2.0 * self.covariance(first, second);
        Some((difference, self.deviation * variance.max(0.0).sqrt()))
    }

    /// Of two gains, in units of the variance of one trial.
    fn covariance(&self, first: ConfigurationId, second: ConfigurationId) -> f64 {
        let (Some(one), Some(other)) = (self.challenger(first), self.challenger(second)) else {
            return 0.0;
        };
        let (own_count, other_count) = (one.rounds.len() as f64, other.rounds.len() as f64);
        let row = |place: &usize| {
            let row = &self.covariance[*place];
            other.rounds.iter().map(|place| row[*place]).sum::<f64>()
        };
        let of_levels = one.rounds.iter().map(row).sum::<f64>() / (own_count * other_count);
        let of_own = f64::from(u8::from(first == second)) / own_count;
        of_own + of_levels
    }

    /// Returns the quantile of Student's distribution that an interval of that level needs.
    pub(super) fn reach(&self, level: f64) -> f64 {
        let student = StudentsT::new(0.0, 1.0, self.freedom.max(1.0));
        student.map_or(f64::INFINITY, |student| {
            student.inverse_cdf(1.0 - (1.0 - level) / 2.0)
        })
    }

    /// Returns the factor over the default with its interval.
    pub(super) fn estimate(&self, id: ConfigurationId) -> Option<Estimate> {
        let (gain, error) = self.difference(id, ConfigurationId::DEFAULT)?;
        let reach = self.reach(INTERVAL_LEVEL) * error;
        let factor = Interval {
            estimate: gain.exp(),
            low: (gain - reach).exp(),
            high: (gain + reach).exp(),
            level: INTERVAL_LEVEL,
        };
        Some(Estimate {
            factor,
            repeats: self.repeats(id),
        })
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Inverts a symmetric positive definite matrix by elimination, which needs no pivots there.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let count = matrix.len();
    let unit = |row: usize| (0..count).map(move |at| f64::from(u8::from(row == at)));
    let mut inverse: Vec<Vec<f64>> = (0..count).map(|row| unit(row).collect()).collect();
    for pivot in 0..count {
        let scale = 1.0 / matrix[pivot][pivot];
        for at in 0..count {
            matrix[pivot][at] *= scale;
            inverse[pivot][at] *= scale;
        }
        let (lead, lead_inverse) = (matrix[pivot].clone(), inverse[pivot].clone());
        for row in (0..count).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot];
            if factor != 0.0 {
                for at in 0..count {
                    matrix[row][at] -= factor * lead[at];
                    inverse[row][at] -= factor * lead_inverse[at];
                }
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::random::SplitMix64;

    fn estimates(rounds: &[&[(usize, f64)]]) -> Estimates {
        let named = |round: &&[(usize, f64)]| {
            let scores = round.iter().map(|&(id, log)| (ConfigurationId(id), log));
            scores.collect()
        };
        let rounds: Vec<Round> = rounds.iter().map(named).collect();
        Estimates::of_rounds(8, &rounds)
    }

    const fn id(number: usize) -> ConfigurationId {
        ConfigurationId(number)
    }

    #[test]
    fn pairs_with_the_default_give_the_mean_of_their_ratios() {
        let estimates = estimates(&[
            &[(0, 1.0), (3, 1.5)],
            &[(0, 2.0), (3, 2.1)],
            &[(0, 5.0), (3, 5.3)],
        ]);
        assert!((estimates.gain(id(3)).unwrap() - 0.3).abs() < 1e-12);
        assert_eq!((estimates.repeats(id(3)), estimates.repeats(id(7))), (3, 0));
        assert_eq!(estimates.gain(id(0)), Some(0.0));
        let (difference, error) = estimates.difference(id(3), id(0)).unwrap();
        assert!((difference - 0.3).abs() < 1e-12);
        // Four squares of 0.1 are left, of two degrees of freedom.
        let deviation = ((4.0 * 0.0225 + 0.04) / 6.0_f64).sqrt();
        let expected = deviation * (2.0_f64 / 3.0).sqrt();
        assert!((error - expected).abs() < 1e-12, "{error}");
    }

    #[test]
    fn what_rounds_have_in_common_takes_out_the_drift() {
        // Configuration 2 is only in the second round, which was faster by 1 for both others.
        let estimates = estimates(&[&[(0, 0.0), (1, 0.4)], &[(0, 1.0), (1, 1.4), (2, 1.1)]]);
        assert!((estimates.gain(id(1)).unwrap() - 0.4).abs() < 1e-12);
        assert!((estimates.gain(id(2)).unwrap() - 0.1).abs() < 1e-12);
        let (_, single) = estimates.difference(id(2), id(0)).unwrap();
        let (_, double) = estimates.difference(id(1), id(0)).unwrap();
        assert!(double < single);
        // The diagonal of the inverse of X'X, with a column for each round and configuration.
        assert!((double / estimates.deviation - 1.0).abs() < 1e-12);
        let expected = (7.0_f64 / 4.0).sqrt();
        assert!((single / estimates.deviation - expected).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_known_without_a_round() {
        assert!(estimates(&[]).gain(id(0)).is_none());
        assert!(estimates(&[]).estimate(id(0)).is_none());
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = SplitMix64::for_use(5, 0);
        let mut covered = 0;
        for _ in 0..1_000 {
            let mut round = |_| {
                let drift = random.normal();
                let mut log = |number: usize| drift + 0.1 * number as f64 + 0.2 * random.normal();
                (0..4).map(|number| (id(number), log(number))).collect()
            };
            let rounds: Vec<Round> = (0..5).map(&mut round).collect();
            let estimate = Estimates::of_rounds(4, &rounds).estimate(id(3)).unwrap();
            covered += usize::from(estimate.factor.holds(0.3_f64.exp()));
        }
        // The assumed deviation is below the true one of 0.2, which costs a little.
        assert!((900..=970).contains(&covered), "{covered}");
    }
}
