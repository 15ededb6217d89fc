//! The grammar of `value_bytes`: one length, or a distribution of lengths.

use crate::generate::value::MIN_VALUE_BYTES;
use crate::keyed::draws::LengthDistribution;
use crate::keyed::sizes::short_value_message;
use trueput_record::suggest::did_you_mean;
use trueput_record::value::{format_bytes, parse_bytes};

/// Longest value that may be asked for: the maximum of micro.
const MAX_VALUE_BYTES: u64 = 1 << 30;

/// The distributions by name.
const WORDS: [&str; 3] = ["uniform", "zipfian", "lognormal"];

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
        let lengths = match call(text) {
            None => LengthDistribution::Constant(parse_bytes(text)?),
            Some((name, range)) => distribution(text, name, range)?,
        };
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

fn distribution(text: &str, name: &str, range: &str) -> Result<LengthDistribution, String> {
    if !WORDS.contains(&name) {
        let hint = did_you_mean(name, WORDS);
        return Err(format!(
            "unknown distribution of sizes '{name}'{hint}; write a size, as in 1KiB, or \
             uniform(100B..4KiB), zipfian(12B..1KiB) or lognormal(300B..4KiB)"
        ));
    }
    let Some((from, to)) = range.split_once("..") else {
        return Err(format!(
            "'{text}' has no range; write two sizes with .. between, as in {name}(100B..4KiB)"
        ));
    };
    let (from, to) = (parse_bytes(from)?, parse_bytes(to)?);
    if from > to {
        return Err(format!(
            "the range of '{text}' is reversed; write {name}({to}..{from})"
        ));
    }
    Ok(match name {
        "uniform" => LengthDistribution::Uniform(from, to),
        "zipfian" => LengthDistribution::Zipfian(from, to),
        // Refused as too short by the caller, like any other.
        _ if from < MIN_VALUE_BYTES as u64 => LengthDistribution::Constant(from),
        _ => LengthDistribution::LogNormal {
            fewest: MIN_VALUE_BYTES as u64,
            median: from,
            p99: to,
        },
    })
}
