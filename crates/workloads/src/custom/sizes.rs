//! The grammar of `key_bytes` and `value_bytes`: one length, or a distribution of lengths.

use super::error::CustomError;
use super::limits::MAX_VALUE_BYTES;
use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::draws::LengthDistribution;
use crate::keyed::error::RecordError;
use crate::keyed::sized_keys::MIN_SIZED_KEY_BYTES;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::parse_bytes;

/// The distributions by name.
const WORDS: [&str; 3] = ["uniform", "zipfian", "lognormal"];

/// Lengths of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeySizes(pub(super) LengthDistribution);

impl Default for KeySizes {
    fn default() -> Self {
        Self(LengthDistribution::Constant(MIN_KEY_BYTES as u64))
    }
}

impl KeySizes {
    /// Reads `24`, `uniform(16..64)`, `zipfian(16..200)` or `lognormal(24..90)`.
    ///
    /// # Errors
    /// A text of another form, or a length out of range.
    pub(super) fn parse(text: &str) -> Result<Self, CustomError> {
        let lengths = lengths(text, MIN_SIZED_KEY_BYTES as u64, "16..64")?;
        let (min_bytes, of) = match lengths {
            LengthDistribution::Constant(_) => (MIN_KEY_BYTES, ""),
            _ => (MIN_SIZED_KEY_BYTES, " for a distribution"),
        };
        let derivation = match lengths {
            LengthDistribution::LogNormal { .. } => ", the second size squared over the first,",
            _ => "",
        };
        match (lengths.shortest(), lengths.longest()) {
            (bytes, _) if bytes < min_bytes as u64 => Err(CustomError::ShortKeys {
                bytes,
                of,
                min_bytes,
            }),
            (_, bytes) if bytes > MAX_KEY_BYTES as u64 => Err(CustomError::LongKeys {
                bytes,
                derivation,
                min_bytes,
            }),
            _ => Ok(Self(lengths)),
        }
    }
}

/// Lengths of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValueSizes(pub(super) LengthDistribution);

impl Default for ValueSizes {
    fn default() -> Self {
        Self(LengthDistribution::Constant(MIN_VALUE_BYTES as u64))
    }
}

impl ValueSizes {
    /// Reads `1KiB`, `uniform(100B..4KiB)`, `zipfian(12B..1KiB)` or `lognormal(300B..4KiB)`.
    ///
    /// # Errors
    /// A text of another form, or a length out of range.
    pub(super) fn parse(text: &str) -> Result<Self, CustomError> {
        let lengths = lengths(text, MIN_VALUE_BYTES as u64, "100B..4KiB")?;
        if lengths.shortest() < MIN_VALUE_BYTES as u64 {
            let bytes = lengths.shortest() as usize;
            return Err(RecordError::ShortValue { bytes }.into());
        }
        if lengths.longest() > MAX_VALUE_BYTES {
            let bytes = lengths.longest();
            return Err(CustomError::LongValues { bytes });
        }
        Ok(Self(lengths))
    }
}

/// The name and the argument of `name(argument)`.
pub(super) fn call(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    Some((name.trim(), rest.strip_suffix(')')?.trim()))
}

/// Reads one length or a distribution. No log-normal length is below `fewest`; `example` is a range
/// for messages.
fn lengths(
    text: &str,
    fewest: u64,
    example: &'static str,
) -> Result<LengthDistribution, CustomError> {
    let Some((name, range)) = call(text) else {
        return Ok(LengthDistribution::Constant(size(text)?));
    };
    if !WORDS.contains(&name) {
        return Err(CustomError::UnknownSizes {
            name: name.to_owned(),
            hint: did_you_mean(name, WORDS),
            example,
        });
    }
    let Some((from, to)) = range.split_once("..") else {
        return Err(CustomError::NoRange {
            text: text.to_owned(),
            name: name.to_owned(),
            example,
        });
    };
    let (first, second) = (from.trim(), to.trim());
    let (from, to) = (size(first)?, size(second)?);
    if from > to {
        return Err(CustomError::ReversedRange {
            text: text.to_owned(),
            name: name.to_owned(),
            first: first.to_owned(),
            second: second.to_owned(),
        });
    }
    Ok(match name {
        "uniform" => LengthDistribution::Uniform(from, to),
        "zipfian" => LengthDistribution::Zipfian(from, to),
        _ => LengthDistribution::LogNormal {
            // The caller refuses a shorter median as it does any short length.
            fewest: fewest.min(from),
            median: from,
            p99: to,
        },
    })
}

fn size(text: &str) -> Result<u64, CustomError> {
    Ok(parse_bytes(text)?)
}
