//! The lengths of values and scans: db_bench's generalized Pareto distributions with their bounds.

use super::error::MixgraphError;
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::draws::ValueLengths;
use crate::keyed::versions::FIRST_VERSION;
use trueput_record::random::{mix, unit_f64};

/// Points at which a length is computed for its mean.
const MEAN_POINTS: u32 = 10_000;

/// The generalized Pareto distribution F(x) = 1 - (1 + k (x - theta) / sigma)^(-1/k), rounded up to
/// whole numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GeneralizedPareto {
    pub theta: f64,
    pub k: f64,
    pub sigma: f64,
}

impl GeneralizedPareto {
    /// The length that the part `unit` of all exceed, from 0 to 1: db_bench's `ParetoCdfInversion`.
    /// Infinity, at 0, becomes the greatest number; C++ leaves that undefined.
    #[inline]
    pub(super) fn length(self, unit: f64) -> u64 {
        let Self { theta, k, sigma } = self;
        let length = if k == 0.0 {
            theta - sigma * unit.ln()
        } else {
            theta + sigma * (unit.powf(-k) - 1.0) / k
        };
        length.ceil() as u64
    }

    /// Refuses lengths of which none is within `bound`, hardly any is above 0, or most are greater
    /// than any bound may be.
    ///
    /// # Errors
    /// The first parameter that is wrong, by its name.
    pub(super) fn check(self, bound: &LengthBound) -> Result<(), MixgraphError> {
        let Self { theta, k, sigma } = self;
        let LengthBound {
            prefix,
            name: bound_name,
            value: bound,
            most,
        } = *bound;
        if theta >= bound as f64 {
            return Err(MixgraphError::BeyondBound {
                prefix,
                theta,
                bound_name,
                bound,
            });
        }
        if self.length(1e-6) == 0 {
            return Err(MixgraphError::NoLength { prefix, theta });
        }
        if self.length(0.5) > most {
            return Err(MixgraphError::EndlessLengths {
                prefix,
                k,
                sigma,
                bound_name,
                most,
            });
        }
        Ok(())
    }
}

/// The setting that bounds lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct LengthBound {
    /// What the names of the distribution's parameters begin with.
    pub prefix: &'static str,
    /// Its name.
    pub name: &'static str,
    pub value: u64,
    /// The largest that it may be.
    pub most: u64,
}

/// The mean of a length that is a function of a number evenly distributed from 0 to 1.
fn mean(length: impl Fn(f64) -> f64) -> f64 {
    let points = f64::from(MEAN_POINTS);
    let lengths = (0..MEAN_POINTS).map(|point| length((f64::from(point) + 0.5) / points));
    lengths.sum::<f64>() / points
}

/// The sizes of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValueSizes {
    pub pareto: GeneralizedPareto,
    /// The longest value. A longer draw is taken modulo it, as db_bench does.
    pub max_bytes: u64,
}

impl ValueSizes {
    /// The size that the part `unit` of all exceed, bytes.
    #[inline]
    pub(super) fn bytes(&self, unit: f64) -> usize {
        let drawn = self.pareto.length(unit);
        let bounded = if drawn > self.max_bytes {
            drawn % self.max_bytes
        } else {
            drawn
        };
        (bounded as usize).max(MIN_VALUE_BYTES)
    }

    /// The mean size, bytes.
    pub(super) fn mean(&self) -> f64 {
        mean(|unit| self.bytes(unit) as f64)
    }
}

/// The lengths of scans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScanLengths {
    pub pareto: GeneralizedPareto,
    /// A draw is taken modulo it, as db_bench does.
    pub modulus: u64,
}

impl ScanLengths {
    /// The length that the part `unit` of all exceed, records; at least the record that is sought.
    #[inline]
    pub(super) fn records(&self, unit: f64) -> u32 {
        let drawn = self.pareto.length(unit) % self.modulus;
        drawn.max(1) as u32
    }

    /// The longest scan, records.
    pub(super) fn longest(&self) -> u64 {
        self.modulus.saturating_sub(1).max(1)
    }

    /// The mean length, records.
    pub(super) fn mean(&self) -> f64 {
        mean(|unit| f64::from(self.records(unit)))
    }
}

/// The lengths of the values of a trial. That of a value is a function of its record, its version
/// and the seed, so that every length that is read can be computed again.
#[derive(Debug, Clone)]
pub(super) struct DrawnLengths {
    sizes: ValueSizes,
    /// The length of a loaded value; `None`: drawn as those that are put.
    loaded_bytes: Option<usize>,
    seed: u64,
}

impl DrawnLengths {
    /// The lengths of a seed.
    pub(super) fn new(sizes: ValueSizes, loaded_bytes: Option<usize>, seed: u64) -> Self {
        Self {
            sizes,
            loaded_bytes,
            seed,
        }
    }
}

impl ValueLengths for DrawnLengths {
    #[inline]
    fn value_bytes(&mut self, item: u64, version: u32) -> usize {
        match self.loaded_bytes {
            Some(bytes) if version == FIRST_VERSION => bytes,
            _ => {
                let drawn = mix(mix(self.seed ^ mix(item)) ^ u64::from(version));
                // From 0, excluded, to 1.
                self.sizes.bytes(1.0 - unit_f64(drawn))
            }
        }
    }

    fn longest(&self) -> u64 {
        let loaded = self.loaded_bytes.unwrap_or(0) as u64;
        self.sizes.max_bytes.max(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{chi_squared_fits, count, kolmogorov_smirnov_fits};
    use super::*;
    use crate::generate::random::Random;

    /// Those of the published commands.
    const VALUES: GeneralizedPareto = GeneralizedPareto {
        theta: 0.0,
        k: 0.261_5,
        sigma: 25.45,
    };
    const SCANS: GeneralizedPareto = GeneralizedPareto {
        theta: 0.0,
        k: 2.517,
        sigma: 14.236,
    };
    const DRAWS: u64 = 100_000;

    fn sizes(max_bytes: u64) -> ValueSizes {
        ValueSizes {
            pareto: VALUES,
            max_bytes,
        }
    }

    impl GeneralizedPareto {
        /// The part of the lengths that are at most so long.
        fn at_most(self, length: f64) -> f64 {
            let Self { theta, k, sigma } = self;
            let excess = (length - theta).max(0.0) / sigma;
            if k == 0.0 {
                1.0 - (-excess).exp()
            } else {
                // With a negative k there is a longest length.
                1.0 - (1.0 + k * excess).max(0.0).powf(-1.0 / k)
            }
        }
    }

    #[test]
    fn lengths_follow_the_closed_form_of_the_distribution() {
        let exponential = GeneralizedPareto { k: 0.0, ..VALUES };
        let shifted = GeneralizedPareto {
            theta: 100.0,
            ..SCANS
        };
        let limited = GeneralizedPareto { k: -0.5, ..VALUES };
        for (seed, pareto) in (1..).zip([VALUES, SCANS, exponential, shifted, limited]) {
            let mut random = Random::new(seed);
            let mut drawn = || pareto.length(1.0 - random.unit_f64());
            let drawn: Vec<u64> = (0..DRAWS).map(|_| drawn()).collect();
            let at_most = |length: u64| pareto.at_most(length as f64);
            assert!(kolmogorov_smirnov_fits(&drawn, at_most), "{pareto:?}");
            // The control: a scale that is 10 % greater.
            let sigma = pareto.sigma * 1.1;
            let other = GeneralizedPareto { sigma, ..pareto };
            let at_most = |length: u64| other.at_most(length as f64);
            assert!(!kolmogorov_smirnov_fits(&drawn, at_most), "{other:?}");
        }
    }

    #[test]
    fn the_closed_form_is_that_of_the_literature() {
        // The median is theta + sigma (2^k - 1) / k, and with k = 0 theta + sigma ln 2.
        assert!((VALUES.at_most(19.340) - 0.5).abs() < 1e-4);
        assert!((SCANS.at_most(26.718) - 0.5).abs() < 1e-3);
        let exponential = GeneralizedPareto { k: 0.0, ..VALUES };
        assert!((exponential.at_most(17.641) - 0.5).abs() < 1e-4);
        assert_eq!(VALUES.at_most(-1.0), 0.0);
        let limited = GeneralizedPareto { k: -0.5, ..VALUES };
        assert_eq!(limited.at_most(50.9), 1.0);
        assert_eq!(limited.length(0.0), 51);
        assert_eq!(SCANS.length(0.0), u64::MAX);
    }

    #[test]
    fn sizes_of_written_values_follow_the_distribution_within_their_bounds() {
        let mut lengths = DrawnLengths::new(sizes(1_024), None, 7);
        let cells: Vec<u64> = (13..200).chain([300, 400, 600, 1_024]).collect();
        let expected = |pareto: GeneralizedPareto| {
            let starts = std::iter::once(12).chain(cells.iter().copied());
            let part =
                |(from, to): (u64, &u64)| pareto.at_most(*to as f64) - pareto.at_most(from as f64);
            // All up to the shortest value, and those that are taken modulo the longest.
            let mut expected = vec![pareto.at_most(12.0)];
            expected.extend(starts.zip(&cells).map(part));
            let missing = 1.0 - expected.iter().sum::<f64>();
            assert!(missing < 1e-3, "{missing}");
            expected[0] += missing;
            expected
        };
        let mut items = 0..DRAWS;
        let counts = count(cells.len() + 1, DRAWS, || {
            let item = items.next().unwrap();
            let bytes = lengths.value_bytes(item % 1_000, (item / 1_000) as u32) as u64;
            assert!((12..=1_024).contains(&bytes), "{bytes}");
            cells.partition_point(|end| *end < bytes) + usize::from(bytes > 12)
        });
        assert!(chi_squared_fits(&counts, &expected(VALUES)), "{counts:?}");
        // The control: a scale that is 10 % greater.
        let sigma = VALUES.sigma * 1.1;
        let other = expected(GeneralizedPareto { sigma, ..VALUES });
        assert!(!chi_squared_fits(&counts, &other), "{counts:?}");
    }

    #[test]
    fn a_length_belongs_to_its_record_and_version() {
        let mut lengths = DrawnLengths::new(sizes(1_024), None, 7);
        let mut drawn = |item, version| lengths.value_bytes(item, version);
        let forward: Vec<usize> = (0..500).map(|item| drawn(item, 3)).collect();
        let backward: Vec<usize> = (0..500).rev().map(|item| drawn(item, 3)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        let others = (0..500).filter(|item| drawn(*item, 4) != forward[*item as usize]);
        assert!(others.count() > 350);
        let mut fixed = DrawnLengths::new(sizes(100), Some(430), 7);
        assert_eq!(fixed.value_bytes(5, FIRST_VERSION), 430);
        assert!(fixed.value_bytes(5, 1) <= 100);
        assert_eq!(fixed.longest(), 430);
    }

    #[test]
    fn a_draw_beyond_a_bound_is_taken_modulo_it() {
        assert_eq!((VALUES.length(0.001), VALUES.length(0.5)), (496, 20));
        assert_eq!(sizes(496).bytes(0.001), 496);
        assert_eq!(sizes(495).bytes(0.001), 12, "1, and the shortest value");
        assert_eq!(sizes(200).bytes(0.001), 96);
        assert_eq!(sizes(200).bytes(0.5), 20);
        let scans = |modulus| ScanLengths {
            pareto: SCANS,
            modulus,
        };
        assert_eq!(SCANS.length(0.5), 27);
        assert_eq!(scans(28).records(0.5), 27);
        assert_eq!(
            scans(27).records(0.5),
            1,
            "0, and the record that is sought"
        );
        assert_eq!(scans(20).records(0.5), 7);
        assert_eq!((scans(20).longest(), scans(1).longest()), (19, 1));
    }

    #[test]
    fn means_are_those_of_the_draws() {
        let sizes = sizes(1_024);
        let scans = ScanLengths {
            pareto: SCANS,
            modulus: 10_000,
        };
        let mut random = Random::new(5);
        let (mut bytes, mut records) = (0, 0);
        for _ in 0..DRAWS {
            bytes += sizes.bytes(1.0 - random.unit_f64());
            records += scans.records(1.0 - random.unit_f64());
        }
        let off = |sum: f64, mean: f64| (sum / DRAWS as f64 / mean - 1.0).abs();
        assert!(off(bytes as f64, sizes.mean()) < 0.02, "{bytes}");
        // The tail makes both of them uneven: one in twenty draws is beyond the bound.
        assert!(off(f64::from(records), scans.mean()) < 0.06, "{records}");
    }
}
