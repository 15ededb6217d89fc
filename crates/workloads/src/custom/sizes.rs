//! The grammar of `key_bytes` and `value_bytes`: one length, or a distribution of lengths.

use crate::generate::key::{MAX_KEY_BYTES, MIN_KEY_BYTES};
use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::draws::LengthDistribution;
use crate::keyed::sized_keys::MIN_SIZED_KEY_BYTES;
use crate::keyed::sizes::short_value_message;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::{format_bytes, parse_bytes};

/// Longest value that may be asked for: the maximum of micro.
const MAX_VALUE_BYTES: u64 = 1 << 30;

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
    /// One sentence: the wrong part, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lengths = lengths(text, MIN_SIZED_KEY_BYTES as u64, "16..64")?;
        let (least, of_what) = match lengths {
            LengthDistribution::Constant(_) => (MIN_KEY_BYTES, ""),
            _ => (MIN_SIZED_KEY_BYTES, " for a distribution"),
        };
        let longest_is = match lengths {
            LengthDistribution::LogNormal { .. } => ", the second size squared over the first,",
            _ => "",
        };
        let right = format!("give {least} to {MAX_KEY_BYTES} bytes");
        match (lengths.shortest(), lengths.longest()) {
            (shortest, _) if shortest < least as u64 => Err(format!(
                "keys of {shortest} bytes are too short{of_what}; {right}"
            )),
            (_, longest) if longest > MAX_KEY_BYTES as u64 => Err(format!(
                "keys of {longest} bytes{longest_is} are too long; {right}"
            )),
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
    /// One sentence: the wrong part, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lengths = lengths(text, MIN_VALUE_BYTES as u64, "100B..4KiB")?;
        if lengths.shortest() < MIN_VALUE_BYTES as u64 {
            return Err(short_value_message(lengths.shortest() as usize));
        }
        if lengths.longest() > MAX_VALUE_BYTES {
            return Err(format!(
                "values of {} are too long; {} is the maximum",
                format_bytes(lengths.longest()),
                format_bytes(MAX_VALUE_BYTES)
            ));
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
fn lengths(text: &str, fewest: u64, example: &str) -> Result<LengthDistribution, String> {
    let Some((name, range)) = call(text) else {
        return Ok(LengthDistribution::Constant(parse_bytes(text)?));
    };
    if !WORDS.contains(&name) {
        let hint = did_you_mean(name, WORDS);
        return Err(format!(
            "unknown distribution of sizes '{name}'{hint}; write one size, uniform({example}), \
             zipfian({example}) or lognormal({example})"
        ));
    }
    let Some((from, to)) = range.split_once("..") else {
        return Err(format!(
            "'{text}' has no range; write two sizes with .. between, as in {name}({example})"
        ));
    };
    let (first, second) = (from.trim(), to.trim());
    let (from, to) = (parse_bytes(first)?, parse_bytes(second)?);
    if from > to {
        return Err(format!(
            "the range of '{text}' is reversed; write {name}({second}..{first})"
        ));
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
