//! Latency histograms in HdrHistogram's log format, which its own tools and plotters read.

use crate::Error;
use crate::regular_file::{self, OpenMode};
use base64::Engine as _;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry,
    LogIteratorError, Tag,
};
use hdrhistogram::serialization::{
    DeserializeError, Deserializer, Serializer, V2DeflateSerializeError, V2DeflateSerializer,
};
use hdrhistogram::{AdditionError, Histogram};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Longest latency that is distinguished, nanoseconds: an hour. Longer ones are recorded as this.
pub const MAX_LATENCY_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits kept of each latency.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Significant decimal digits kept of the latencies of one interval of a trial: a latency is within
/// 0.8 %.
const INTERVAL_DIGITS: u8 = 2;

/// The first bytes of a histogram in the deflated V2 encoding.
const V2_DEFLATE_COOKIE: u32 = 0x1c84_9314;

/// Bytes before the counts of a histogram in the V2 encoding.
const HEADER_BYTES: usize = 40;

/// An upper bound on the counts of a histogram of trueput's: 2,048 of the lowest latencies, 1,024
/// for each of the 31 doublings up to an hour.
const MAX_COUNTS: usize = 40_000;

/// Bytes that a count takes at most.
const MAX_COUNT_BYTES: usize = 9;

/// Bytes of a histogram in the V2 encoding at most.
const MAX_PLAIN_BYTES: usize = HEADER_BYTES + MAX_COUNTS * MAX_COUNT_BYTES;

/// Characters of a histogram at most: no compression at all, and base64's third.
const MAX_TEXT_BYTES: usize = 2 * MAX_COUNTS * MAX_COUNT_BYTES;

/// Histograms in a log at most: of each kind of operation and of unit, several times.
const MAX_LOG_LINES: usize = 64;

/// Bytes of a log at most.
const MAX_LOG_BYTES: u64 = (MAX_LOG_LINES * MAX_TEXT_BYTES) as u64;

/// A histogram that cannot be encoded, or a text that is not one.
#[derive(Debug, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum HistogramError {
    #[error("cannot encode a histogram: {0}")]
    Unencodable(V2DeflateSerializeError),
    #[error("cannot write a histogram log: {0}")]
    Unwritable(std::io::Error),
    #[error("cannot add histograms: {0:?}")]
    Unaddable(AdditionError),
    #[error("a histogram has {characters} characters, more than {MAX_TEXT_BYTES}")]
    TooManyCharacters { characters: usize },
    #[error("a histogram is not base64: {0}")]
    NotBase64(base64::DecodeError),
    #[error("a histogram is too short")]
    TooShort,
    #[error("a histogram is not in the deflated V2 encoding")]
    OtherEncoding,
    #[error("a histogram's length differs from the length that it states")]
    WrongLength,
    #[error("cannot inflate a histogram: {0}")]
    NotDeflated(std::io::Error),
    #[error("a histogram inflates to more than {MAX_PLAIN_BYTES} bytes")]
    TooManyBytes,
    #[error("a histogram states {stated} bytes of counts, and {found} follow")]
    WrongCountsLength { stated: usize, found: usize },
    #[error(
        "a histogram has {digits} digits from {lowest} to {highest}; at most {SIGNIFICANT_DIGITS} \
         digits from 1 to {MAX_LATENCY_NS} are read"
    )]
    OtherBounds {
        digits: u32,
        lowest: u64,
        highest: u64,
    },
    #[error("cannot decode a histogram: {0}")]
    Undecodable(DeserializeError),
    #[error("a histogram's counts are more than can be added up")]
    UncountableCounts,
}

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

/// An empty histogram of the latencies of one interval of a trial, in nanoseconds, with two digits.
///
/// # Panics
/// Never, as [`new`].
#[must_use]
#[allow(
    clippy::expect_used,
    reason = "the bounds are constants, and a test makes one"
)]
pub fn new_interval() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY_NS, INTERVAL_DIGITS).expect("constant bounds")
}

/// Encodes a histogram as text for the pipe between worker and runner: V2, deflated, base64.
///
/// # Errors
/// [`HistogramError::Unencodable`] if the encoder refuses.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, HistogramError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(HistogramError::Unencodable)?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Decodes a histogram from [`encode`]. Lengths are validated before use, because the text may come
/// from an untrusted source.
///
/// # Errors
/// A [`HistogramError`] that says what is wrong with the text.
pub fn decode(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let characters = text.len();
    if characters > MAX_TEXT_BYTES {
        return Err(HistogramError::TooManyCharacters { characters });
    }
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(HistogramError::NotBase64)?;
    let plain = inflate(&bytes)?;
    check_header(&plain)?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut plain.as_slice())
        .map_err(HistogramError::Undecodable)?;
    let sum = histogram.iter_recorded().try_fold(0_u64, |sum, step| {
        sum.checked_add(step.count_since_last_iteration())
    });
    match sum {
        Some(sum) if sum == histogram.len() => Ok(histogram),
        _ => Err(HistogramError::UncountableCounts),
    }
}

/// Inflates a histogram in the V2 encoding, up to the size limit.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    let Some((cookie, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(HistogramError::TooShort);
    };
    if u32::from_be_bytes(*cookie) != V2_DEFLATE_COOKIE {
        return Err(HistogramError::OtherEncoding);
    }
    let length = rest.split_first_chunk::<4>();
    let deflated = length.and_then(|(length, deflated)| {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        (length == deflated.len()).then_some(deflated)
    });
    let Some(deflated) = deflated else {
        return Err(HistogramError::WrongLength);
    };
    let mut plain = Vec::new();
    flate2::read::ZlibDecoder::new(deflated)
        .take(MAX_PLAIN_BYTES as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(HistogramError::NotDeflated)?;
    if plain.len() > MAX_PLAIN_BYTES {
        Err(HistogramError::TooManyBytes)
    } else {
        Ok(plain)
    }
}

/// Refuses a header that no histogram of ours has, before any memory is allocated for it.
fn check_header(plain: &[u8]) -> Result<(), HistogramError> {
    let field = |at: usize| plain.get(at..at + 8)?.first_chunk::<8>().copied();
    let short = |at: usize| plain.get(at..at + 4)?.first_chunk::<4>().copied();
    let fields = (short(4), short(12), field(16), field(24));
    let (Some(length), Some(digits), Some(lowest), Some(highest)) = fields else {
        return Err(HistogramError::TooShort);
    };
    let stated = u32::from_be_bytes(length) as usize;
    let found = plain.len().saturating_sub(HEADER_BYTES);
    if stated != found {
        return Err(HistogramError::WrongCountsLength { stated, found });
    }
    let (digits, lowest) = (u32::from_be_bytes(digits), u64::from_be_bytes(lowest));
    let highest = u64::from_be_bytes(highest);
    let ours = digits <= u32::from(SIGNIFICANT_DIGITS) && lowest == 1 && highest <= MAX_LATENCY_NS;
    if ours {
        Ok(())
    } else {
        Err(HistogramError::OtherBounds {
            digits,
            lowest,
            highest,
        })
    }
}

/// A histogram to be written to a log.
#[derive(Debug)]
pub(crate) struct LogLine<'a> {
    /// The kind of operation.
    pub kind: &'a str,
    /// The start of the interval, since the workers were released.
    pub start: Duration,
    /// Its length.
    pub duration: Duration,
    /// The latencies.
    pub histogram: Cow<'a, Histogram<u64>>,
}

/// Writes a trial's histograms, one entry per kind of operation, tagged with the kind, and syncs
/// them: the trial's line, which is written later, must not refer to data that a crash lost.
///
/// `began` is the time at which the trial's workers were released.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_log(
    path: &Path,
    comment: &str,
    began: SystemTime,
    duration: Duration,
    histograms: &[(&str, &Histogram<u64>)],
) -> Result<(), Error> {
    let lines = histograms.iter().map(|(kind, histogram)| {
        Ok(LogLine {
            kind,
            start: Duration::ZERO,
            duration,
            histogram: Cow::Borrowed(*histogram),
        })
    });
    let bytes = encode_log(comment, began, lines).map_err(|error| Error::invalid(path, error))?;
    store_log(path, &bytes)
}

/// Encodes a log, line by line.
pub(crate) fn encode_log<'a>(
    comment: &str,
    began: SystemTime,
    lines: impl Iterator<Item = Result<LogLine<'a>, HistogramError>>,
) -> Result<Vec<u8>, HistogramError> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(comment)
        .with_start_time(began)
        .with_max_value_divisor(1.0)
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(HistogramError::Unwritable)?;
    for line in lines {
        let line = line?;
        let kind = tag(line.kind);
        writer
            .write_histogram(&line.histogram, line.start, line.duration, Tag::new(&kind))
            .map_err(|error| match error {
                IntervalLogWriterError::SerializeError(error) => HistogramError::Unencodable(error),
                IntervalLogWriterError::IoError(error) => HistogramError::Unwritable(error),
            })?;
    }
    Ok(bytes)
}

/// Writes the bytes of a log to a run folder's file, and syncs them.
pub(crate) fn store_log(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let folder = path.parent().and_then(Path::parent);
        let within = folder.and_then(|folder| path.strip_prefix(folder).ok());
        let mut file = match folder.zip(within) {
            Some((folder, within)) => regular_file::open(folder, within, OpenMode::Overwrite)?,
            None => regular_file::open(Path::new(""), path, OpenMode::Overwrite)?,
        };
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| Error::io(path, source))
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedHistogram {
    /// The kind of operation that it is tagged with.
    pub kind: String,
    /// The start of the interval, seconds since the workers were released.
    pub start_s: f64,
    /// The length of the interval, seconds.
    pub duration_s: f64,
    /// The latencies.
    pub histogram: Histogram<u64>,
}

/// Returns the tag of a kind of operation: its name, with `-` for characters that a tag cannot
/// contain.
#[must_use]
pub fn tag(kind: &str) -> String {
    kind.replace([' ', ',', '\n', '\r'], "-")
}

/// Reads a log of [`write_log`], in order. The folder may come from an untrusted source: see
/// [`crate::regular_file`].
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::TooLarge`] if it is longer than any log of
/// ours, [`Error::Invalid`] if it is not a histogram log.
pub fn read_log(folder: &Path, within: &Path) -> Result<Vec<LoggedHistogram>, Error> {
    let mut read = Vec::new();
    visit_log(folder, within, (MAX_LOG_BYTES, MAX_LOG_LINES), |logged| {
        read.push(logged);
    })?;
    Ok(read)
}

/// Reads a log of at most so many bytes and lines, and passes each histogram on: all of them
/// together may take much memory.
pub(crate) fn visit_log(
    folder: &Path,
    within: &Path,
    (max_bytes, max_lines): (u64, usize),
    mut visit: impl FnMut(LoggedHistogram),
) -> Result<(), Error> {
    let bytes = regular_file::read(folder, within, max_bytes)?;
    let path = || folder.join(within);
    let mut lines = 0;
    for entry in IntervalLogIterator::new(&bytes) {
        let entry = entry.map_err(|LogIteratorError::ParseError { offset }| Error::Invalid {
            path: path(),
            line: Some(line_at(&bytes, offset)),
            message: "it is no line of a histogram log".to_owned(),
        })?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        lines += 1;
        if lines > max_lines {
            let message = format!("it has more than {max_lines} histograms");
            return Err(Error::invalid(path(), message));
        }
        let histogram =
            decode(interval.encoded_histogram()).map_err(|error| Error::invalid(path(), error))?;
        let tag = interval.tag();
        visit(LoggedHistogram {
            kind: tag.map_or_else(String::new, |tag| tag.as_str().to_owned()),
            start_s: interval.start_timestamp().as_secs_f64(),
            duration_s: interval.duration().as_secs_f64(),
            histogram,
        });
    }
    Ok(())
}

/// Returns the number of the line, from 1, that contains a byte.
fn line_at(bytes: &[u8], offset: usize) -> usize {
    let before = bytes.iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
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
        let back = read_log(folder.path(), Path::new("x.hlog")).unwrap();
        assert_eq!(back[0].kind, "read");
        assert_eq!((back[0].duration_s, &back[0].histogram), (1.0, &reads));
        assert_eq!(
            back[1].histogram.len(),
            1,
            "a latency over the bound is counted, not lost"
        );
    }

    #[test]
    fn a_log_is_not_written_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (logs, theirs) = (place.path().join("histograms"), place.path().join("theirs"));
        std::fs::create_dir(&logs).unwrap();
        std::fs::write(&theirs, "theirs").unwrap();
        let write = |name: &str| {
            let span = Duration::from_secs(1);
            write_log(&logs.join(name), "a test", SystemTime::now(), span, &[])
        };
        std::os::unix::fs::symlink(&theirs, logs.join("link.hlog")).unwrap();
        let said = write("link.hlog").unwrap_err().to_string();
        assert!(said.contains("it is a symbolic link"), "{said}");
        assert_eq!(std::fs::read(&theirs).unwrap(), b"theirs");
        write("plain.hlog").unwrap();
    }

    #[test]
    fn a_histogram_survives_the_pipe() {
        let mut histogram = new();
        histogram.saturating_record(123_456);
        assert_eq!(decode(&encode(&histogram).unwrap()).unwrap(), histogram);
        assert!(decode("not a histogram").is_err());
    }

    /// Builds a histogram in the deflated V2 encoding with arbitrary header fields.
    fn stating(payload: u32, digits: u32, highest: u64, zeros: usize) -> String {
        let mut plain = 0x1c84_9313_u32.to_be_bytes().to_vec();
        plain.extend(payload.to_be_bytes());
        plain.extend(0_u32.to_be_bytes());
        plain.extend(digits.to_be_bytes());
        plain.extend(1_u64.to_be_bytes());
        plain.extend(highest.to_be_bytes());
        plain.extend(1.0_f64.to_be_bytes());
        plain.extend(std::iter::repeat_n(0, zeros));
        let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        deflated.write_all(&plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut whole = V2_DEFLATE_COOKIE.to_be_bytes().to_vec();
        whole.extend(u32::try_from(deflated.len()).unwrap().to_be_bytes());
        whole.extend(deflated);
        base64::engine::general_purpose::STANDARD.encode(whole)
    }

    #[test]
    fn a_length_is_not_believed_before_it_is_checked() {
        assert!(decode(&stating(3, 3, MAX_LATENCY_NS, 3)).is_ok(), "control");
        for (text, reason) in [
            (stating(u32::MAX, 3, MAX_LATENCY_NS, 3), "states 4294967295"),
            (stating(2, 3, MAX_LATENCY_NS, 3), "states 2 bytes"),
            (stating(3, 5, MAX_LATENCY_NS, 3), "5 digits"),
            (stating(3, 3, u64::MAX, 3), "at most 3 digits"),
            (
                stating(64 << 20, 3, MAX_LATENCY_NS, 64 << 20),
                "inflates to",
            ),
        ] {
            let said = decode(&text).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
    }

    #[test]
    fn counts_that_cannot_be_added_up_are_refused() {
        let mut histogram = new();
        for latency in [10, 1_000, 100_000] {
            histogram.record_n(latency, i64::MAX as u64).unwrap();
        }
        let refused = decode(&encode(&histogram).unwrap()).unwrap_err();
        assert!(
            matches!(refused, HistogramError::UncountableCounts),
            "{refused}"
        );
    }
}
