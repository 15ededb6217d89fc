//! The latencies of one kind of operation of one worker, which the process's main thread reads
//! while the worker counts.
//!
//! The counts are those of HdrHistogram with three digits, in the same places. Its own type cannot
//! be read by a second thread.

use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trueput_record::histogram::{self, MAX_LATENCY_NS};

/// Latencies below this have a count each; above, each doubling has half as many.
const EXACT_BELOW_NS: u64 = 2_048;

/// The binary logarithm of the counts of a doubling.
const DOUBLING_BITS: u32 = EXACT_BELOW_NS.ilog2() - 1;

/// The number of counts.
const COUNTS: usize = place_of(MAX_LATENCY_NS) + 1;

/// Adds to a count that no other thread writes: a plain load and store, no locked instruction.
pub(super) fn add(count: &AtomicU64, amount: u64) {
    count.store(count.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Counts of latencies that no other thread writes.
#[derive(Debug)]
pub struct LatencyCounts {
    counts: Box<[AtomicU64]>,
}

impl LatencyCounts {
    /// Creates those of each kind, and writes to every page of them, so that no page fault occurs
    /// while the trial runs.
    pub fn of(kinds: usize) -> Box<[Self]> {
        let empty = || Self {
            counts: (0..COUNTS).map(|_| AtomicU64::new(0)).collect(),
        };
        let all: Box<[Self]> = (0..kinds).map(|_| empty()).collect();
        all.iter().for_each(Self::clear);
        all
    }

    /// Counts a latency. One above the longest that is distinguished counts as that.
    #[inline]
    pub fn record(&self, latency_ns: u64) {
        add(&self.counts[place_of(latency_ns.min(MAX_LATENCY_NS))], 1);
    }

    /// Sets all counts to 0.
    pub fn clear(&self) {
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Adds the counts so far to a histogram, which may have fewer digits.
    pub fn add_to(&self, sum: &mut Histogram<u64>) {
        for (place, count) in self.counts.iter().enumerate() {
            let count = count.load(Relaxed);
            if count > 0 {
                sum.saturating_record_n(lowest_at(place), count);
            }
        }
    }

    /// Returns the counts as a histogram of three digits.
    pub fn to_histogram(&self) -> Histogram<u64> {
        let mut histogram = histogram::new();
        self.add_to(&mut histogram);
        histogram
    }
}

/// Returns the place of a latency's count.
#[inline]
const fn place_of(latency_ns: u64) -> usize {
    let doublings = (latency_ns | (EXACT_BELOW_NS - 1)).ilog2() - DOUBLING_BITS;
    ((doublings as usize) << DOUBLING_BITS) + (latency_ns >> doublings) as usize
}

/// Returns the lowest latency that is counted at a place.
const fn lowest_at(place: usize) -> u64 {
    let doublings = (place >> DOUBLING_BITS).saturating_sub(1);
    ((place - (doublings << DOUBLING_BITS)) as u64) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_hdr_histogram() {
        let counts = &LatencyCounts::of(1)[0];
        let mut expected = histogram::new();
        let mut latency_ns = 0;
        while latency_ns < 3 * MAX_LATENCY_NS {
            for near in [latency_ns.saturating_sub(1), latency_ns, latency_ns + 1] {
                counts.record(near);
                expected.saturating_record(near.min(MAX_LATENCY_NS));
            }
            latency_ns += 1 + latency_ns / 700;
        }
        // Either would be printed with its 34,000 counts.
        assert!(counts.to_histogram() == expected);
        counts.clear();
        assert!(counts.to_histogram().is_empty());
    }

    #[test]
    fn a_histogram_of_two_digits_has_each_latency_where_it_would_be_recorded() {
        let counts = &LatencyCounts::of(1)[0];
        let mut expected = histogram::new_interval();
        for step in 0..100_000_u64 {
            counts.record(step * step);
            expected.saturating_record(step * step);
        }
        let mut coarse = histogram::new_interval();
        counts.add_to(&mut coarse);
        let buckets = |one: &Histogram<u64>| {
            let recorded = one.iter_recorded();
            recorded
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect::<Vec<_>>()
        };
        assert_eq!(buckets(&coarse), buckets(&expected));
    }
}
