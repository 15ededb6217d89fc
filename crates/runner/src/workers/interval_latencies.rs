//! The latencies of a process's workers interval by interval, read while they work.

use crate::workers::meter::WorkerCounters;
use hdrhistogram::Histogram;
use trueput_record::histogram::{self, HistogramError};

/// Reads the latencies of a process's workers since it last read them.
pub(crate) struct IntervalLatencies<'a> {
    counters: &'a [WorkerCounters],
    /// The latencies by kind up to the last interval.
    before: Vec<Histogram<u64>>,
}

impl<'a> IntervalLatencies<'a> {
    /// Creates one that has read nothing yet.
    pub fn new(kinds: usize, counters: &'a [WorkerCounters]) -> Self {
        Self {
            counters,
            before: (0..kinds).map(|_| histogram::new_interval()).collect(),
        }
    }

    /// Returns the latencies of the interval that ends now, by kind over all workers, encoded;
    /// empty if no worker has timed anything.
    ///
    /// # Errors
    /// [`HistogramError`] if one cannot be encoded.
    pub fn end_interval(&mut self) -> Result<Vec<String>, HistogramError> {
        if self.counters.iter().all(|one| one.latencies().is_empty()) {
            return Ok(Vec::new());
        }
        let mut encoded = Vec::with_capacity(self.before.len());
        for (kind, before) in self.before.iter_mut().enumerate() {
            let mut now = histogram::new_interval();
            let workers = self.counters.iter();
            let counts = workers.filter_map(|worker| worker.latencies().get(kind));
            counts.for_each(|counts| counts.add_to(&mut now));
            encoded.push(histogram::encode(&difference(&now, before))?);
            *before = now;
        }
        Ok(encoded)
    }
}

/// Returns the counts of a histogram above those of an earlier one.
fn difference(now: &Histogram<u64>, before: &Histogram<u64>) -> Histogram<u64> {
    let mut difference = histogram::new_interval();
    for step in now.iter_recorded() {
        let value = step.value_iterated_to();
        let count = step.count_at_value();
        difference.saturating_record_n(value, count.saturating_sub(before.count_at(value)));
    }
    difference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers::meter::{ClockMeter, Stage};
    use trueput_workloads::Meter;

    fn counts(encoded: &[String]) -> Vec<u64> {
        let decoded = encoded.iter().map(|text| histogram::decode(text).unwrap());
        decoded.map(|one| one.len()).collect()
    }

    #[test]
    fn an_interval_has_what_all_workers_did_since_the_last_one() {
        let counters = [WorkerCounters::default(), WorkerCounters::default()];
        let stage = Stage::measured();
        let mut reader = IntervalLatencies::new(2, &counters);
        assert!(reader.end_interval().unwrap().is_empty(), "nobody times");
        let mut meters: Vec<_> = counters
            .iter()
            .map(|counters| ClockMeter::new(2, counters, &stage))
            .collect();
        meters[0].finish(0);
        meters[1].finish(0);
        assert_eq!(counts(&reader.end_interval().unwrap()), [2, 0]);
        meters[1].finish(1);
        assert_eq!(counts(&reader.end_interval().unwrap()), [0, 1]);
        assert_eq!(counts(&reader.end_interval().unwrap()), [0, 0]);
    }

    #[test]
    fn a_worker_that_has_not_left_the_warm_up_has_done_nothing() {
        let (counters, stage) = ([WorkerCounters::default()], Stage::warming());
        let mut reader = IntervalLatencies::new(1, &counters);
        let mut meter = ClockMeter::new(1, &counters[0], &stage);
        (0..5).for_each(|_| meter.finish(0));
        stage.measure();
        assert!(reader.end_interval().unwrap().is_empty());
        meter.leave_warm_up();
        (0..3).for_each(|_| meter.finish(0));
        assert_eq!(counts(&reader.end_interval().unwrap()), [3]);
    }
}
