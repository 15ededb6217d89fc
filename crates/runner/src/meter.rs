//! Counts and times operations in the measured loop.
//!
//! One operation costs one read of the time-stamp counter, one multiplication, and three memory
//! writes to lines that only its worker writes. Another thread reads the counts once a second.

use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use trueput_record::histogram;
use trueput_workloads::Meter;

/// The most kinds of operation that a workload may have: a lane fills two cache lines then.
pub const MAX_KINDS: usize = 14;

/// One worker's counts. Aligned to two cache lines, which processors fetch as a pair, so that no
/// two workers write to one.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Lane {
    counts: [AtomicU64; MAX_KINDS],
    units: AtomicU64,
    conflicts: AtomicU64,
}

impl Lane {
    /// Operations of the first `kinds` kinds so far.
    pub fn counts(&self, kinds: usize) -> Vec<u64> {
        self.counts
            .iter()
            .take(kinds)
            .map(|count| count.load(Relaxed))
            .collect()
    }

    /// Units of work so far.
    pub fn units(&self) -> u64 {
        self.units.load(Relaxed)
    }

    /// Takes over what another program has counted so far.
    pub fn set(&self, counts: &[u64], units: u64) {
        for (count, counted) in self.counts.iter().zip(counts) {
            count.store(*counted, Relaxed);
        }
        self.units.store(units, Relaxed);
    }

    /// Conflicts so far.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Relaxed)
    }
}

/// Adds to a count that no other thread writes: a plain load and store, no locked instruction.
fn add(count: &AtomicU64, amount: u64) {
    count.store(count.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// The meter of one worker.
pub struct ClockMeter<'a> {
    clock: quanta::Clock,
    last: u64,
    histograms: Vec<Histogram<u64>>,
    lane: &'a Lane,
    stop: &'a AtomicBool,
}

impl<'a> ClockMeter<'a> {
    /// A meter for `kinds` kinds of operation. Making the first one of a process calibrates the
    /// clock, which takes up to a fifth of a second.
    pub fn new(kinds: usize, lane: &'a Lane, stop: &'a AtomicBool) -> Self {
        let clock = quanta::Clock::new();
        let mut histograms: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
        // Writes to every page, so that none is faulted in while the trial runs.
        histograms.iter_mut().for_each(Histogram::clear);
        let last = clock.raw();
        Self {
            clock,
            last,
            histograms,
            lane,
            stop,
        }
    }

    /// The latencies by kind, nanoseconds.
    pub fn into_histograms(self) -> Vec<Histogram<u64>> {
        self.histograms
    }
}

impl Meter for ClockMeter<'_> {
    fn start(&mut self) {
        self.last = self.clock.raw();
    }

    fn finish(&mut self, kind: usize) {
        let now = self.clock.raw();
        let latency_ns = self.clock.delta_as_nanos(self.last, now);
        self.last = now;
        self.histograms[kind].saturating_record(latency_ns);
        add(&self.lane.counts[kind], 1);
    }

    fn advance(&mut self, units: u64) {
        add(&self.lane.units, units);
    }

    fn conflict(&mut self) {
        add(&self.lane.conflicts, 1);
    }

    fn retract(&mut self, kind: usize, count: u64) {
        let counted = &self.lane.counts[kind];
        counted.store(counted.load(Relaxed).saturating_sub(count), Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_counted_and_timed_under_its_kind() {
        let (lane, stop) = (Lane::default(), AtomicBool::new(false));
        let mut meter = ClockMeter::new(2, &lane, &stop);
        meter.start();
        (0..10).for_each(|_| meter.finish(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
        meter.finish(1);
        meter.conflict();
        meter.advance(7);
        let histograms = meter.into_histograms();
        assert_eq!(lane.counts(2), [10, 1]);
        assert_eq!((lane.units(), lane.conflicts()), (7, 1));
        assert_eq!((histograms[0].len(), histograms[1].len()), (10, 1));
        assert!(
            histograms[1].min() >= 1_900_000,
            "slept 2 ms, saw {}",
            histograms[1].min()
        );
    }

    #[test]
    fn what_passed_before_a_start_is_nobodys_latency() {
        let (lane, stop) = (Lane::default(), AtomicBool::new(false));
        let mut meter = ClockMeter::new(1, &lane, &stop);
        std::thread::sleep(std::time::Duration::from_secs(1));
        meter.start();
        meter.finish(0);
        assert!(meter.into_histograms()[0].max() < 1_000_000_000);
    }

    #[test]
    fn rolled_back_work_leaves_the_count_and_stays_in_the_histogram() {
        let (lane, stop) = (Lane::default(), AtomicBool::new(false));
        let mut meter = ClockMeter::new(1, &lane, &stop);
        (0..5).for_each(|_| meter.finish(0));
        meter.retract(0, 3);
        assert_eq!(lane.counts(1), [2]);
        assert_eq!(meter.into_histograms()[0].len(), 5);
    }

    #[test]
    fn a_worker_hears_that_it_is_to_stop() {
        let (lane, stop) = (Lane::default(), AtomicBool::new(false));
        let meter = ClockMeter::new(1, &lane, &stop);
        assert!(!meter.stopped());
        stop.store(true, Relaxed);
        assert!(meter.stopped());
    }
}
