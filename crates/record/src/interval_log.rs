//! The latencies of a trial second by second, in HdrHistogram's log format, within a budget of
//! bytes: in a long trial, an interval is several seconds.

use crate::Error;
use crate::histogram::{
    self, HistogramError, LogLine, LoggedHistogram, encode_log, store_log, visit_log,
};
use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Bytes of a log at most. While there are more, neighboring intervals are merged.
pub const MAX_BYTES: usize = 1 << 20;

/// Lines of a log at most: a line of the fewest bytes that a histogram and its times take.
const MAX_LINES: usize = MAX_BYTES / 64;

/// The latencies of an interval of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its start, seconds since the workers were released.
    pub from_s: f64,
    /// Its end, likewise.
    pub until_s: f64,
    /// The latencies by kind, as [`histogram::encode`] writes them.
    pub histograms: Vec<String>,
}

/// Adds encoded histograms of the same bounds by kind.
///
/// # Errors
/// [`HistogramError`] if one cannot be read.
pub fn add_encoded(sums: &mut Vec<String>, parts: &[String]) -> Result<(), HistogramError> {
    if sums.is_empty() {
        *sums = parts.to_vec();
        return Ok(());
    }
    for (sum, part) in sums.iter_mut().zip(parts) {
        let mut added = histogram::decode(sum)?;
        let part = histogram::decode(part)?;
        added.add(part).map_err(HistogramError::Unaddable)?;
        *sum = histogram::encode(&added)?;
    }
    Ok(())
}

/// Writes the log of a trial's intervals, a line for each with operations and kind, and syncs it.
/// Merges neighbors until the log has at most [`MAX_BYTES`].
///
/// # Errors
/// [`Error::Io`] if the file cannot be written, [`Error::Invalid`] if a histogram cannot be read.
pub fn write(
    path: &Path,
    comment: &str,
    began: SystemTime,
    kinds: &[&str],
    intervals: &[Interval],
) -> Result<(), Error> {
    let bytes = encode_within(comment, began, kinds, intervals, MAX_BYTES);
    let bytes = bytes.map_err(|error| Error::invalid(path, error))?;
    store_log(path, &bytes)
}

fn encode_within(
    comment: &str,
    began: SystemTime,
    kinds: &[&str],
    intervals: &[Interval],
    max_bytes: usize,
) -> Result<Vec<u8>, HistogramError> {
    let mut intervals = Cow::Borrowed(intervals);
    loop {
        let lines = intervals
            .iter()
            .flat_map(|interval| lines(kinds, interval))
            .filter(|line| !matches!(line, Ok(line) if line.histogram.is_empty()));
        let bytes = encode_log(comment, began, lines)?;
        if bytes.len() <= max_bytes || intervals.len() == 1 {
            return Ok(bytes);
        }
        intervals = Cow::Owned(merge_neighbors(&intervals)?);
    }
}

fn lines<'a>(
    kinds: &'a [&str],
    interval: &'a Interval,
) -> impl Iterator<Item = Result<LogLine<'a>, HistogramError>> {
    let length_s = interval.until_s - interval.from_s;
    let each = kinds.iter().zip(&interval.histograms);
    each.map(move |(kind, encoded)| {
        Ok(LogLine {
            kind,
            start: Duration::from_secs_f64(interval.from_s.max(0.0)),
            duration: Duration::from_secs_f64(length_s.max(0.0)),
            histogram: Cow::Owned(histogram::decode(encoded)?),
        })
    })
}

/// Merges each interval with the next one.
fn merge_neighbors(intervals: &[Interval]) -> Result<Vec<Interval>, HistogramError> {
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len().div_ceil(2));
    for pair in intervals.chunks(2) {
        let [first, rest @ ..] = pair else { continue };
        let mut sum = first.clone();
        for interval in rest {
            sum.until_s = interval.until_s;
            add_encoded(&mut sum.histograms, &interval.histograms)?;
        }
        merged.push(sum);
    }
    Ok(merged)
}

/// Reads such a log, and passes each histogram on, in order. The folder may come from an untrusted
/// source: see [`crate::regular_file`].
///
/// # Errors
/// As [`histogram::read_log`].
pub(crate) fn visit(
    folder: &Path,
    within: &Path,
    visit: impl FnMut(LoggedHistogram),
) -> Result<(), Error> {
    visit_log(folder, within, (MAX_BYTES as u64, MAX_LINES), visit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    /// Seconds of latencies that spread over a decade.
    fn seconds(count: u32) -> Vec<Interval> {
        let second = |second: u32| {
            let mut latencies = histogram::new_interval();
            (0..500).for_each(|step| {
                latencies.saturating_record(10_000 + u64::from(second) + step * 200);
            });
            Interval {
                from_s: f64::from(second),
                until_s: f64::from(second) + 1.0,
                histograms: vec![histogram::encode(&latencies).unwrap()],
            }
        };
        (0..count).map(second).collect()
    }

    fn encoded(intervals: &[Interval], max_bytes: usize) -> Vec<LoggedHistogram> {
        let place = tempfile::tempdir().unwrap();
        let began = SystemTime::UNIX_EPOCH;
        let bytes = encode_within("a test", began, &["read"], intervals, max_bytes).unwrap();
        assert!(bytes.len() <= max_bytes);
        let name = Path::new("x.hlog");
        std::fs::write(place.path().join(name), bytes).unwrap();
        let mut read = Vec::new();
        visit(place.path(), name, |logged| read.push(logged)).unwrap();
        read
    }

    fn sum(logged: &[LoggedHistogram]) -> Histogram<u64> {
        let mut sum = histogram::new_interval();
        logged.iter().for_each(|one| sum += &one.histogram);
        sum
    }

    #[test]
    fn a_log_over_its_budget_has_longer_intervals_and_every_operation() {
        let whole = encoded(&seconds(37), MAX_BYTES);
        assert_eq!(whole.len(), 37);
        let small = encoded(&seconds(37), 4_000);
        assert!((2..37).contains(&small.len()), "{}", small.len());
        assert_eq!(sum(&small), sum(&whole));
        let (first, last) = (&small[0], &small[small.len() - 1]);
        assert!(first.duration_s >= 2.0);
        assert_eq!(last.start_s + last.duration_s, 37.0);
    }

    #[test]
    fn an_interval_without_operations_has_no_line() {
        let mut seconds = seconds(3);
        seconds[1].histograms = vec![histogram::encode(&histogram::new_interval()).unwrap()];
        let starts: Vec<_> = encoded(&seconds, MAX_BYTES)
            .iter()
            .map(|one| one.start_s)
            .collect();
        assert_eq!(starts, [0.0, 2.0]);
    }
}
