//! Points that fill the unit cube more evenly than random ones: Sobol's sequence (1967) with the
//! directions of Joe and Kuo (2008) and Owen's scrambling (1995), from the crate `sobol_burley`.

use sobol_burley::{NUM_DIMENSIONS, sample};
use trueput_record::random::SplitMix64;

/// A sequence of points, the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct SobolSequence {
    seed: u32,
    dimensions: usize,
}

impl SobolSequence {
    /// Starts the sequence of a seed. Dimensions beyond the 256 of the table are random.
    pub(crate) fn new(seed: u64, dimensions: usize) -> Self {
        Self {
            seed: (SplitMix64::for_use(seed, 0).next_u64() >> 32) as u32,
            dimensions,
        }
    }

    /// Returns the point at an index. The sequence has 65,536 points and then repeats.
    pub(crate) fn point(&self, index: u32) -> Vec<f64> {
        let mut beyond = SplitMix64::for_use(u64::from(self.seed), u64::from(index));
        let coordinate = |dimension: usize| match u32::try_from(dimension) {
            Ok(known) if known < NUM_DIMENSIONS => {
                f64::from(sample(index % (1 << 16), known, self.seed))
            }
            _ => beyond.unit_f64(),
        };
        (0..self.dimensions).map(coordinate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_points_lie_in_sixteen_different_parts_of_each_axis() {
        let sequence = SobolSequence::new(7, 300);
        let points: Vec<_> = (0..16).map(|index| sequence.point(index)).collect();
        for dimension in 0..NUM_DIMENSIONS as usize {
            let mut parts: Vec<_> = points
                .iter()
                .map(|p| (p[dimension] * 16.0) as u32)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..16).collect::<Vec<_>>(), "dimension {dimension}");
        }
        assert!(points.iter().all(|point| (0.0..1.0).contains(&point[299])));
        assert_ne!(sequence.point(0), SobolSequence::new(8, 300).point(0));
    }
}
