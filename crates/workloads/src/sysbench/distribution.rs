//! The distributions of numbers that sysbench draws (`src/sb_rand.c`): those of 1.0.20, and the
//! zipfian one of its development branch, which is the rejection-inversion of Hörmann and
//! Derflinger ("Rejection-inversion to generate variates from monotone discrete distributions",
//! ACM TOMACS 6.3, 1996) in the form of Apache Commons RNG.

use crate::generate::random::Random;

/// A way to draw a number from a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    /// Each number as often as any other.
    Uniform,
    /// The mean of so many uniform draws.
    Gaussian {
        /// `rand-spec-iter`.
        iterations: u32,
    },
    /// A share of the draws from a small part in the middle of the range, the others gaussian.
    Special {
        /// `rand-spec-iter`.
        iterations: u32,
        /// The part of the range in the middle, 0 to 1: a hundredth of `rand-spec-pct`.
        part: f64,
        /// 100 / (100 - `rand-spec-res`): a uniform draw below the inverse of it is gaussian.
        stretch: f64,
    },
    /// A power of a uniform draw: low numbers most often.
    Pareto {
        /// The exponent.
        power: f64,
    },
    /// Low numbers most often.
    Zipfian(Zipfian),
}

impl Distribution {
    /// The special distribution of these percentages, `rand-spec-pct` and `rand-spec-res`.
    pub(super) fn special(iterations: u32, percent: u32, share_percent: u32) -> Self {
        Self::Special {
            iterations,
            part: f64::from(percent) / 100.0,
            stretch: 100.0 / (100.0 - f64::from(share_percent)),
        }
    }

    /// The Pareto distribution of the parameter `rand-pareto-h`, 0.2 being the rule of 80 and 20.
    pub(super) fn pareto(h: f64) -> Self {
        Self::Pareto {
            power: h.ln() / (1.0 - h).ln(),
        }
    }

    /// Draws a number from `low` to `high`, both included.
    #[inline]
    pub(super) fn draw(&self, low: u32, high: u32, random: &mut Random) -> u32 {
        let distance = f64::from(high.saturating_sub(low));
        let count = distance + 1.0;
        let offset = match *self {
            Self::Uniform => random.unit_f64() * count,
            Self::Gaussian { iterations } => mean_of_draws(iterations, random) * count,
            Self::Special {
                iterations,
                part,
                stretch,
            } => special(distance, (iterations, part, stretch), random),
            Self::Pareto { power } => count * random.unit_f64().powf(power),
            Self::Zipfian(zipfian) => f64::from(zipfian.rank(count as u32, random) - 1),
        };
        // Rounding may lead beyond the range, which sysbench lets through.
        low.saturating_add(offset as u32).min(high.max(low))
    }
}

/// The mean of so many uniform draws from 0 up to 1.
fn mean_of_draws(iterations: u32, random: &mut Random) -> f64 {
    let draws = (0..iterations).map(|_| random.unit_f64());
    draws.sum::<f64>() / f64::from(iterations.max(1))
}

/// `sb_rand_special`, without the low end of the range. The same draw decides between the middle
/// part and the gaussian numbers, and then chooses within the middle part. So with a share of 75 %
/// that part's first quarter is never chosen, and the numbers reach beyond it at the other end by
/// up to one: both are sysbench's.
fn special(
    distance: f64,
    (iterations, part, stretch): (u32, f64, f64),
    random: &mut Random,
) -> f64 {
    let draw = random.unit_f64();
    if draw * distance * stretch < distance {
        return mean_of_draws(iterations, random) * distance;
    }
    let middle = distance * part;
    draw * (middle + 1.0) + distance / 2.0 - middle / 2.0
}

/// Zipfian ranks: rank k with a probability in proportion to 1 / k^exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zipfian {
    exponent: f64,
    /// The distance between a rank and its draw up to which it is accepted without a further look.
    shortcut: f64,
    /// The lower end of the integral of the hat function.
    start: f64,
}

impl Zipfian {
    /// Of this exponent, 0 (uniform) or more.
    pub(super) fn new(exponent: f64) -> Self {
        let second = integral(2.5, exponent) - hat(2.0, exponent);
        Self {
            exponent,
            shortcut: 2.0 - inverse_integral(second, exponent),
            start: integral(1.5, exponent) - 1.0,
        }
    }

    /// A rank from 1 to `count`.
    fn rank(&self, count: u32, random: &mut Random) -> u32 {
        let exponent = self.exponent;
        let end = integral(f64::from(count) + 0.5, exponent);
        loop {
            let area = end + random.unit_f64() * (self.start - end);
            let point = inverse_integral(area, exponent);
            let rank = ((point + 0.5) as u32).clamp(1, count.max(1));
            let middle = f64::from(rank);
            if middle - point <= self.shortcut
                || area >= integral(middle + 0.5, exponent) - hat(middle, exponent)
            {
                return rank;
            }
        }
    }
}

/// 1 / x^exponent.
fn hat(x: f64, exponent: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// The integral of [`hat`]: (x^(1 - exponent) - 1) / (1 - exponent), or ln(x) for the exponent 1.
fn integral(x: f64, exponent: f64) -> f64 {
    let log = x.ln();
    exp_m1_by((1.0 - exponent) * log) * log
}

/// The inverse function of [`integral`].
fn inverse_integral(area: f64, exponent: f64) -> f64 {
    // Rounding may lead below -1.
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    (ln_1p_by(scaled) * area).exp()
}

/// Numbers nearer to 0 are computed by the first terms of the Taylor series.
const NEAR_ZERO: f64 = 1e-8;

/// (e^x - 1) / x.
fn exp_m1_by(x: f64) -> f64 {
    if x.abs() > NEAR_ZERO {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0 + x * x / 6.0
    }
}

/// ln(1 + x) / x.
fn ln_1p_by(x: f64) -> f64 {
    if x.abs() > NEAR_ZERO {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0 + x * x / 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn drawn(distribution: Distribution, low: u32, high: u32) -> Vec<u32> {
        let mut random = Random::new(11);
        let drawn: Vec<_> = (0..DRAWS)
            .map(|_| distribution.draw(low, high, &mut random))
            .collect();
        assert!(drawn.iter().all(|one| (low..=high).contains(one)));
        drawn
    }

    fn mean_and_deviation(drawn: &[u32]) -> (f64, f64) {
        let count = drawn.len() as f64;
        let mean = drawn.iter().map(|one| f64::from(*one)).sum::<f64>() / count;
        let squares = drawn.iter().map(|one| (f64::from(*one) - mean).powi(2));
        (mean, (squares.sum::<f64>() / count).sqrt())
    }

    fn share(drawn: &[u32], is_meant: impl Fn(u32) -> bool) -> f64 {
        let meant = drawn.iter().filter(|one| is_meant(**one)).count();
        meant as f64 / drawn.len() as f64
    }

    #[test]
    fn uniform_numbers_have_the_mean_and_the_deviation_of_their_range() {
        let (mean, deviation) = mean_and_deviation(&drawn(Distribution::Uniform, 1, 1_000));
        assert!((mean - 500.5).abs() < 4.0, "{mean}");
        assert!((deviation - 288.7).abs() < 3.0, "{deviation}");
    }

    #[test]
    fn gaussian_numbers_are_the_mean_of_twelve_draws() {
        // Irwin and Hall: the mean of twelve draws from 0 to 1 deviates by 1 / 12 from 1 / 2.
        let numbers = drawn(Distribution::Gaussian { iterations: 12 }, 1, 12_000);
        let (mean, deviation) = mean_and_deviation(&numbers);
        assert!((mean - 6_000.5).abs() < 20.0, "{mean}");
        assert!((deviation - 1_000.0).abs() < 15.0, "{deviation}");
        let within = share(&numbers, |one| (5_000..7_000).contains(&one));
        assert!((within - 0.683).abs() < 0.02, "{within}");
    }

    #[test]
    fn three_quarters_of_the_special_numbers_are_in_the_middle_hundredth() {
        let numbers = drawn(Distribution::special(12, 1, 75), 1, 10_000);
        // The middle part begins at 1 + 4999.5 - 50 and has a length of 101, of which draws above
        // a quarter are used. The gaussian numbers, a quarter of all, put 3.6 % of theirs there.
        let middle = share(&numbers, |one| (4_975..=5_051).contains(&one));
        assert!((middle - 0.759).abs() < 0.006, "{middle}");
        let skipped = share(&numbers, |one| (4_951..4_975).contains(&one));
        assert!(skipped < 0.006, "{skipped}");
        let (mean, _) = mean_and_deviation(&numbers);
        assert!((mean - 5_009.0).abs() < 10.0, "{mean}");
    }

    #[test]
    fn special_numbers_without_a_share_are_gaussian_and_with_all_of_it_are_in_the_middle() {
        let gaussian = drawn(Distribution::special(12, 1, 0), 1, 12_000);
        let (_, deviation) = mean_and_deviation(&gaussian);
        assert!((deviation - 1_000.0).abs() < 15.0, "{deviation}");
        let middle = drawn(Distribution::special(12, 1, 100), 1, 12_000);
        assert_eq!(share(&middle, |one| (5_939..=6_062).contains(&one)), 1.0);
    }

    #[test]
    fn the_pareto_distribution_of_a_fifth_is_eighty_to_twenty() {
        let numbers = drawn(Distribution::pareto(0.2), 1, 10_000);
        let first_fifth = share(&numbers, |one| one <= 2_000);
        assert!((first_fifth - 0.8).abs() < 0.006, "{first_fifth}");
        let first_of_it = share(&numbers, |one| one <= 400);
        assert!((first_of_it - 0.64).abs() < 0.006, "{first_of_it}");
    }

    #[test]
    fn zipfian_numbers_have_the_shares_of_their_ranks() {
        for exponent in [0.0, 0.8, 1.0, 1.7] {
            let numbers = drawn(Distribution::Zipfian(Zipfian::new(exponent)), 5, 14);
            let weight = |rank: u32| f64::from(rank).powf(-exponent);
            let sum: f64 = (1..=10).map(weight).sum();
            for rank in 1..=10 {
                let found = share(&numbers, |one| one == rank + 4);
                let expected = weight(rank) / sum;
                assert!(
                    (found - expected).abs() < 0.006,
                    "{exponent} {rank}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_range_of_one_number_gives_it() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 12 },
            Distribution::special(12, 1, 75),
            Distribution::special(12, 1, 100),
            Distribution::pareto(0.2),
            Distribution::Zipfian(Zipfian::new(0.8)),
        ] {
            assert_eq!(distribution.draw(7, 7, &mut Random::new(3)), 7);
        }
    }
}
