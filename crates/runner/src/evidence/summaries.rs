//! Counts and latencies of several processes together: counts of histograms are added, and
//! percentiles only taken of the sum.

use crate::evidence::timeline::sum_counts;
use crate::workers::protocol::{OperationCounts, ProcessResult, WorkerResult};
use hdrhistogram::{AdditionError, Histogram};
use trueput_record::histogram;
use trueput_record::measurement::{LatencySummary, OperationSummary, ResponseSummary};

/// Summarizes the operations by kind.
pub(crate) fn summarize_operations(
    kinds: &[&str],
    histograms: &[Histogram<u64>],
    totals: &[u64],
    elapsed_s: f64,
) -> Vec<OperationSummary> {
    let kinds = kinds.iter().zip(histograms).zip(totals);
    let summed = kinds.map(|((name, latencies), &count)| OperationSummary {
        kind: (*name).to_owned(),
        count,
        per_s: if elapsed_s > 0.0 {
            count as f64 / elapsed_s
        } else {
            0.0
        },
        latency: LatencySummary::of(latencies),
        not_found: 0,
    });
    summed.collect()
}

/// Adds the operations that looked for a record that was not there.
pub(crate) fn add_not_found<'a>(
    operations: &mut [OperationSummary],
    workers: impl Iterator<Item = &'a WorkerResult>,
) {
    for worker in workers {
        let each = operations.iter_mut().zip(&worker.not_found);
        each.for_each(|(operation, count)| operation.not_found += count);
    }
}

/// Summarizes the response times by kind of unit.
pub(crate) fn summarize_responses(
    units: &[&str],
    histograms: &[Histogram<u64>],
) -> Vec<ResponseSummary> {
    let units = units.iter().zip(histograms);
    let summed = units.map(|(kind, times)| ResponseSummary {
        kind: (*kind).to_owned(),
        count: times.len(),
        latency: LatencySummary::of(times),
    });
    summed.collect()
}

/// Sums the operations of a process's workers.
pub(crate) fn count_operations(kinds: usize, result: &ProcessResult) -> OperationCounts {
    let sum = |of: fn(&WorkerResult) -> &Vec<u64>| {
        let workers = result.workers.iter().map(of);
        sum_counts(kinds, workers.map(Vec::as_slice))
    };
    OperationCounts {
        counts: sum(|worker| &worker.counts),
        times_ns: sum(|worker| &worker.times_ns),
        units: 0,
        tombstones_passed: result.tombstones_passed,
    }
}

/// Latencies of several processes cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistogramError {
    /// One cannot be written or read.
    #[error(transparent)]
    Coding(#[from] histogram::HistogramError),
    /// Two cannot be added.
    #[error("adding histograms: {0:?}")]
    Addition(#[from] AdditionError),
}

/// Adds up the counts of encoded histograms, one of each kind per part.
///
/// # Errors
/// [`HistogramError`], if a histogram did not survive the pipe.
pub(crate) fn merge_histograms<'a>(
    kinds: usize,
    parts: impl Iterator<Item = &'a [String]>,
) -> Result<Vec<Histogram<u64>>, HistogramError> {
    let mut merged: Vec<_> = (0..kinds).map(|_| histogram::new()).collect();
    for part in parts {
        for (sum, text) in merged.iter_mut().zip(part) {
            sum.add(histogram::decode(text)?)?;
        }
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies of a queue that is long now and then, nanoseconds.
    fn latencies() -> Vec<u64> {
        let mut state = 7_u64;
        let mut all = Vec::new();
        for number in 0..100_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let tail = if number % 97 == 0 {
                40_000_000
            } else {
                200_000
            };
            all.push(10_000 + (state >> 33) % tail);
        }
        all
    }

    fn encoded(latencies: impl Iterator<Item = u64>) -> String {
        let mut one = histogram::new();
        latencies.for_each(|latency| one.record(latency).unwrap());
        histogram::encode(&one).unwrap()
    }

    #[test]
    fn the_percentiles_of_several_processes_are_those_of_one_that_did_all() {
        let all = latencies();
        let one = merge_histograms(1, [[encoded(all.iter().copied())].as_slice()].into_iter());
        // One process has the slow operations.
        let is_slow = |latency: &u64| *latency > 150_000;
        let parts = [
            [encoded(all.iter().copied().filter(is_slow))],
            [encoded(all.iter().copied().filter(|it| !is_slow(it)))],
        ];
        let merged = merge_histograms(1, parts.iter().map(|part| part.as_slice()));
        let (one, merged) = (one.unwrap().remove(0), merged.unwrap().remove(0));
        assert_eq!(LatencySummary::of(&one), LatencySummary::of(&merged));
        // The control: the mean of the parts' percentiles is another number.
        let p99 = |part: &[String; 1]| {
            let part = histogram::decode(&part[0]).unwrap();
            part.value_at_quantile(0.99) as f64
        };
        let mean = (p99(&parts[0]) + p99(&parts[1])) / 2.0;
        let true_p99 = merged.value_at_quantile(0.99) as f64;
        assert!((mean / true_p99 - 1.0).abs() > 0.1, "{mean} {true_p99}");
        // And those of the raw values, to the histogram's precision.
        let mut sorted = all;
        sorted.sort_unstable();
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let exact = sorted[(quantile * sorted.len() as f64).ceil() as usize - 1] as f64;
            let found = merged.value_at_quantile(quantile) as f64;
            assert!(
                (found / exact - 1.0).abs() <= 1e-3,
                "{quantile}: {found} {exact}"
            );
        }
    }
}
