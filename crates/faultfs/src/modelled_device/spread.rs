//! The spread of times.

use crate::storage_model::{NS_PER_US, whole_ns};
use trueput_record::random::SplitMix64;

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874;

/// A log-normal distribution of times.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogNormal {
    median_ns: f64,
    /// The standard deviation of the logarithm.
    sigma: f64,
}

impl LogNormal {
    /// Creates the distribution with a median and a 99th percentile, microseconds.
    pub(super) fn new(median_us: f64, p99_us: f64) -> Self {
        Self {
            median_ns: median_us * NS_PER_US,
            sigma: (p99_us / median_us).ln() / NORMAL_P99,
        }
    }

    /// Draws a time, nanoseconds.
    pub(super) fn draw_ns(self, random: &mut SplitMix64) -> u64 {
        whole_ns(self.median_ns * (self.sigma * random.normal()).exp())
    }
}
