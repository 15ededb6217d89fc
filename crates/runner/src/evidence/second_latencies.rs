//! The latencies of a trial second by second, put together from the reports of its worker
//! processes.

use std::collections::VecDeque;
use trueput_record::histogram::{self, HistogramError};
use trueput_record::interval_log::{Interval, add_encoded};
use trueput_record::measurement::{OperationSummary, TimelineSecond};

/// Collects the latencies that processes report each second. Each counts its own seconds from the
/// common release on.
///
/// A second that all processes have reported is kept as one encoded histogram per kind, a few
/// hundred bytes.
#[derive(Debug)]
pub(crate) struct SecondLatencies {
    /// By process, the number of seconds that it has reported; `None` if it has ended.
    reported: Vec<Option<usize>>,
    /// The seconds that all processes have reported, by kind.
    complete: Vec<Vec<String>>,
    /// The seconds after those: what each process reported, by kind.
    open: VecDeque<Vec<Vec<String>>>,
}

impl SecondLatencies {
    /// Creates one for so many processes.
    pub fn new(processes: usize) -> Self {
        Self {
            reported: vec![Some(0); processes],
            complete: Vec::new(),
            open: VecDeque::new(),
        }
    }

    /// Adds the next second of a process.
    ///
    /// # Errors
    /// [`HistogramError`], if a histogram did not survive the pipe.
    pub fn add_second(
        &mut self,
        process: usize,
        latencies: Vec<String>,
    ) -> Result<(), HistogramError> {
        let Some(second) = self.reported[process] else {
            return Ok(());
        };
        self.add(second, latencies);
        self.reported[process] = Some(second + 1);
        self.complete_seconds()
    }

    /// Adds the rest of a process that has ended.
    ///
    /// # Errors
    /// As [`SecondLatencies::add_second`].
    pub fn end_process(
        &mut self,
        process: usize,
        latencies: Vec<String>,
    ) -> Result<(), HistogramError> {
        let Some(second) = self.reported[process].take() else {
            return Ok(());
        };
        self.add(second, latencies);
        self.complete_seconds()
    }

    fn add(&mut self, second: usize, latencies: Vec<String>) {
        let place = second - self.complete.len();
        if self.open.len() <= place {
            self.open.resize_with(place + 1, Vec::new);
        }
        self.open[place].push(latencies);
    }

    /// Adds up the seconds to which no process adds any more.
    fn complete_seconds(&mut self) -> Result<(), HistogramError> {
        let next = self.reported.iter().flatten().min().copied();
        let next = next.unwrap_or(self.complete.len() + self.open.len());
        while self.complete.len() < next {
            let Some(parts) = self.open.pop_front() else {
                break;
            };
            self.complete.push(sum(&parts)?);
        }
        Ok(())
    }

    /// Adds the percentiles to the entries of a timeline whose processes have all ended, and
    /// returns the latencies of each; none if nothing was timed.
    ///
    /// # Errors
    /// [`HistogramError`], if a histogram did not survive the pipe.
    pub fn finish(
        &self,
        timeline: &mut [TimelineSecond],
        operations: &[OperationSummary],
    ) -> Result<Vec<Interval>, HistogramError> {
        if self.complete.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let entries = timeline.len();
        let mut intervals = Vec::with_capacity(entries);
        let mut from_s = 0.0;
        for (index, second) in timeline.iter_mut().enumerate() {
            // The last entry has all that was done after the others.
            let after = if index + 1 == entries {
                self.complete.len()
            } else {
                index + 1
            };
            let histograms = sum(self.complete.get(index..after).unwrap_or_default())?;
            add_percentiles(second, &histograms, operations)?;
            intervals.push(Interval {
                from_s,
                until_s: second.at_s,
                histograms,
            });
            from_s = second.at_s;
        }
        Ok(intervals)
    }
}

/// Adds up encoded histograms by kind.
fn sum(parts: &[Vec<String>]) -> Result<Vec<String>, HistogramError> {
    let mut sums = Vec::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        add_encoded(&mut sums, part)?;
    }
    Ok(sums)
}

/// Adds the percentiles of a second. None is above the maximum of the whole trial, which is known
/// more exactly.
fn add_percentiles(
    second: &mut TimelineSecond,
    histograms: &[String],
    operations: &[OperationSummary],
) -> Result<(), HistogramError> {
    for (kind, operation) in operations.iter().enumerate() {
        let latencies = histograms.get(kind).map(|text| histogram::decode(text));
        let latencies = latencies.transpose()?.filter(|one| !one.is_empty());
        let at = |quantile: f64| {
            let found = latencies
                .as_ref()
                .map(|one| one.value_at_quantile(quantile));
            found.unwrap_or_default().min(operation.latency.max_ns)
        };
        second.latency_p50_ns.push(at(0.5));
        second.latency_p99_ns.push(at(0.99));
        second.latency_p999_ns.push(at(0.999));
        second.latency_max_ns.push(at(1.0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::measurement::LatencySummary;

    fn latencies(all: &[u64]) -> Vec<String> {
        let mut one = histogram::new_interval();
        all.iter()
            .for_each(|latency| one.saturating_record(*latency));
        vec![histogram::encode(&one).unwrap()]
    }

    fn timeline(ends: &[f64]) -> Vec<TimelineSecond> {
        let second = |at_s: &f64| TimelineSecond {
            at_s: *at_s,
            ..TimelineSecond::default()
        };
        ends.iter().map(second).collect()
    }

    fn operations(max_ns: u64) -> Vec<OperationSummary> {
        vec![OperationSummary {
            latency: LatencySummary {
                max_ns,
                ..LatencySummary::default()
            },
            ..OperationSummary::default()
        }]
    }

    fn lengths(intervals: &[Interval]) -> Vec<u64> {
        let length = |text: &String| histogram::decode(text).unwrap().len();
        let each = intervals
            .iter()
            .map(|one| one.histograms.iter().map(length).sum());
        each.collect()
    }

    #[test]
    fn a_second_has_the_percentiles_of_all_processes_together() {
        let mut collected = SecondLatencies::new(2);
        let fast: Vec<u64> = vec![1_000; 98];
        collected.add_second(0, latencies(&fast)).unwrap();
        // The other process is slow, ahead in its reports, and ends first.
        let slow = latencies(&[50_000, 900_000]);
        collected.add_second(1, slow).unwrap();
        collected.add_second(1, latencies(&[7])).unwrap();
        collected.end_process(1, latencies(&[9])).unwrap();
        collected.end_process(0, latencies(&[20])).unwrap();
        let mut timeline = timeline(&[1.0, 2.0, 2.5]);
        let intervals = collected
            .finish(&mut timeline, &operations(899_999))
            .unwrap();
        assert_eq!(lengths(&intervals), [100, 2, 1]);
        let first = &timeline[0];
        assert_eq!(first.latency_p50_ns, [1_003]);
        assert!((first.latency_p99_ns[0] as f64 / 50_000.0 - 1.0).abs() < 0.008);
        assert_eq!(first.latency_max_ns, [899_999], "no more than the trial's");
        assert_eq!(timeline[1].latency_max_ns, [20]);
        assert_eq!((intervals[2].from_s, intervals[2].until_s), (2.0, 2.5));
    }

    #[test]
    fn what_was_done_after_the_last_entry_began_is_in_it() {
        let mut collected = SecondLatencies::new(1);
        for _ in 0..3 {
            collected.add_second(0, latencies(&[10])).unwrap();
        }
        collected.end_process(0, latencies(&[11])).unwrap();
        // The workers took 2.0 s; their process noted a third second before it knew.
        let mut timeline = timeline(&[1.0, 2.0]);
        let intervals = collected.finish(&mut timeline, &operations(11)).unwrap();
        assert_eq!(lengths(&intervals), [1, 3]);
        assert_eq!(timeline[1].latency_max_ns, [11]);
    }

    #[test]
    fn where_nothing_is_timed_there_are_no_percentiles() {
        let mut collected = SecondLatencies::new(1);
        collected.add_second(0, Vec::new()).unwrap();
        collected.end_process(0, Vec::new()).unwrap();
        let mut timeline = timeline(&[1.0, 2.0]);
        assert!(
            collected
                .finish(&mut timeline, &operations(0))
                .unwrap()
                .is_empty()
        );
        assert!(timeline[0].latency_p99_ns.is_empty());
    }

    #[test]
    fn a_histogram_that_cannot_be_read_is_an_error() {
        let mut collected = SecondLatencies::new(2);
        collected.add_second(0, latencies(&[10])).unwrap();
        let broken = vec!["not a histogram".to_owned()];
        assert!(collected.add_second(1, broken).is_err());
    }
}
