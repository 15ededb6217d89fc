//! Latency histograms in HdrHistogram's log format: what its own tools and plotters read.

use crate::Error;
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Longest latency that is told apart, nanoseconds; longer ones count as this: an hour.
pub const MAX_LATENCY_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits kept of each latency.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// An empty histogram of latencies in nanoseconds.
///
/// # Panics
/// Never: the bounds are constants that HdrHistogram accepts.
#[must_use]
#[allow(
    clippy::expect_used,
    reason = "the bounds are constants, and a test makes one"
)]
pub fn new() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY_NS, SIGNIFICANT_DIGITS).expect("constant bounds")
}

/// Encodes a histogram as text for the pipe between worker and runner: V2, deflated, base64.
///
/// # Errors
/// A sentence, where the encoder refuses.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| format!("cannot encode a histogram: {error}"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Decodes what [`encode`] made.
///
/// # Errors
/// A sentence that says what is wrong with the text.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|error| format!("a histogram is not base64: {error}"))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| format!("cannot decode a histogram: {error}"))
}

/// Writes a trial's histograms, one entry per kind of operation, tagged with the kind, and syncs
/// them: the trial's line, which comes after, is not to speak of what a crash took.
///
/// `began` is when the trial's workers were released.
///
/// # Errors
/// [`Error::Io`] where the file cannot be written.
pub fn write_log(
    path: &Path,
    comment: &str,
    began: SystemTime,
    duration: Duration,
    histograms: &[(&str, &Histogram<u64>)],
) -> Result<(), Error> {
    let refused = |error: &dyn std::fmt::Debug| Error::invalid(path, format!("{error:?}"));
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(comment)
        .with_start_time(began)
        .with_max_value_divisor(1.0)
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(|error| refused(&error))?;
    for (kind, histogram) in histograms {
        let tag = Tag::new(kind);
        writer
            .write_histogram(histogram, Duration::ZERO, duration, tag)
            .map_err(|error| refused(&error))?;
    }
    let write = || {
        let mut file = std::fs::File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(path, source))
}

/// Reads back what [`write_log`] wrote: kind and histogram, in order.
///
/// # Errors
/// [`Error::Io`] where the file cannot be read, [`Error::Invalid`] where it is no such log.
pub fn read_log(path: &Path) -> Result<Vec<(String, Histogram<u64>)>, Error> {
    let bytes = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    let mut read = Vec::new();
    for entry in IntervalLogIterator::new(&bytes) {
        let entry = entry.map_err(|error| Error::invalid(path, format!("{error:?}")))?;
        if let LogEntry::Interval(interval) = entry {
            let kind = interval
                .tag()
                .map(|tag| tag.as_str().to_owned())
                .unwrap_or_default();
            let histogram = decode(interval.encoded_histogram())
                .map_err(|message| Error::invalid(path, message))?;
            read.push((kind, histogram));
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gives_back_the_histograms_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hlog");
        let (mut reads, mut updates) = (new(), new());
        (1..1_000).for_each(|n| reads.saturating_record(n * 37));
        updates.saturating_record(MAX_LATENCY_NS * 2);
        let kinds = [("read", &reads), ("update", &updates)];
        let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_294_501_123);
        write_log(&path, "a test", began, Duration::from_secs(1), &kinds).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("[StartTime: 1795294501.123 "), "{text}");
        let back = read_log(&path).unwrap();
        assert_eq!(back[0], ("read".to_owned(), reads));
        assert_eq!(
            back[1].1.len(),
            1,
            "a latency over the bound is counted, not lost"
        );
    }

    #[test]
    fn a_histogram_survives_the_pipe() {
        let mut histogram = new();
        histogram.saturating_record(123_456);
        assert_eq!(decode(&encode(&histogram).unwrap()).unwrap(), histogram);
        assert!(decode("not a histogram").is_err());
    }
}
