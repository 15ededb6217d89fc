//! The latencies of a trial over time, as the share of operations in each band of latency.

use std::collections::BTreeMap;
use trueput_record::RunFolder;
use trueput_record::histogram::tag;

/// Bands of a tenfold of latency: each reaches to 1.58 times its lower end.
const BANDS_OF_DECADE: f64 = 5.0;

/// The number of operations by band.
type BandCounts = BTreeMap<u32, u64>;

/// The share of the operations of an interval that took a time within a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandShare {
    /// The start of the interval, seconds since the release.
    pub from_s: f64,
    /// Its end, likewise.
    pub until_s: f64,
    /// The lower end of the band, nanoseconds.
    pub low_ns: f64,
    /// The upper end of the band, nanoseconds.
    pub high_ns: f64,
    /// The part of the operations of the interval, 0 to 1.
    pub share: f64,
}

/// An interval with the number of operations by band.
struct Column {
    from_s: f64,
    until_s: f64,
    counts: BandCounts,
}

/// Returns the shares of a kind of operation by interval and band, those without operations left
/// out; empty if the run folder has no latencies of intervals of the trial. There are at most
/// `max_columns` intervals: neighbors are merged.
#[must_use]
pub fn latency_bands(
    folder: &RunFolder,
    trial: &str,
    kind: &str,
    max_columns: usize,
) -> Vec<BandShare> {
    let kind = tag(kind);
    let mut columns = Vec::new();
    let read = folder.visit_intervals(trial, |logged| {
        if logged.kind != kind {
            return;
        }
        let mut counts = BandCounts::new();
        for step in logged.histogram.iter_recorded() {
            *counts.entry(band_of(step.value_iterated_to())).or_default() += step.count_at_value();
        }
        columns.push(Column {
            from_s: logged.start_s,
            until_s: logged.start_s + logged.duration_s,
            counts,
        });
    });
    // A log that cannot be read is reported with the trial's other files.
    if read.is_err() {
        return Vec::new();
    }
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return Vec::new();
    };
    // By time, because seconds in which nothing ended have no interval.
    let (from_s, width_s) = (
        first.from_s,
        (last.until_s - first.from_s) / max_columns.max(1) as f64,
    );
    let place = |column: &Column| ((column.from_s - from_s) / width_s) as usize;
    let together = columns.chunk_by(|one, other| place(one) == place(other));
    together.flat_map(shares).collect()
}

fn band_of(latency_ns: u64) -> u32 {
    ((latency_ns.max(1) as f64).log10() * BANDS_OF_DECADE) as u32
}

fn end_of_band(band: u32) -> f64 {
    10_f64.powf(f64::from(band) / BANDS_OF_DECADE)
}

/// The shares of the bands of neighboring intervals together.
fn shares(columns: &[Column]) -> Vec<BandShare> {
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return Vec::new();
    };
    let mut counts = BandCounts::new();
    for (band, count) in columns.iter().flat_map(|column| &column.counts) {
        *counts.entry(*band).or_default() += count;
    }
    let all: u64 = counts.values().sum();
    let share = |(band, count): (u32, u64)| BandShare {
        from_s: first.from_s,
        until_s: last.until_s,
        low_ns: end_of_band(band),
        high_ns: end_of_band(band + 1),
        share: count as f64 / all as f64,
    };
    counts.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;
    use trueput_record::interval_log::{self, Interval};
    use trueput_record::{histogram, testing};

    fn interval(from_s: f64, latencies_ns: &[u64]) -> Interval {
        let mut latencies = histogram::new_interval();
        let each = latencies_ns.iter();
        each.for_each(|latency_ns| latencies.saturating_record(*latency_ns));
        Interval {
            from_s,
            until_s: from_s + 1.0,
            histograms: vec![histogram::encode(&latencies).unwrap()],
        }
    }

    #[test]
    fn operations_are_in_the_band_of_their_latency_in_the_second_in_which_they_ended() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(place.path(), &testing::manifest(&[])).unwrap();
        let seconds = [
            interval(0.0, &[1_200, 1_300, 1_400, 50_000]),
            interval(1.0, &[1_200]),
            interval(2.0, &[2_000_000]),
        ];
        let path = folder.interval_path("0001");
        let began = SystemTime::UNIX_EPOCH;
        interval_log::write(&path, "a test", began, &["big read"], &seconds).unwrap();
        let found = latency_bands(&folder, "0001", "big read", 100);
        let brief = |one: &BandShare| (one.from_s, one.low_ns.round(), one.share);
        let found: Vec<_> = found.iter().map(brief).collect();
        let slow = 10_f64.powf(4.6).round();
        let expected = [
            (0.0, 1_000.0, 0.75),
            (0.0, slow, 0.25),
            (1.0, 1_000.0, 1.0),
            (2.0, 10_f64.powf(6.2).round(), 1.0),
        ];
        assert_eq!(found, expected);
        let merged = latency_bands(&folder, "0001", "big read", 2);
        assert_eq!((merged[0].until_s, merged[0].share), (2.0, 0.8));
        let with_pause = [&seconds[..2], &[interval(9.0, &[1_200])]].concat();
        interval_log::write(&path, "a test", began, &["big read"], &with_pause).unwrap();
        let merged = latency_bands(&folder, "0001", "big read", 2);
        let times: Vec<_> = merged.iter().map(|one| (one.from_s, one.until_s)).collect();
        assert_eq!(times, [(0.0, 2.0), (0.0, 2.0), (9.0, 10.0)]);
        assert!(latency_bands(&folder, "0001", "other", 100).is_empty());
        assert!(latency_bands(&folder, "0002", "big read", 100).is_empty());
    }
}
