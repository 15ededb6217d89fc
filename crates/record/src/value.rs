//! The value of a setting: of a knob, of a workload, or as an engine reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Settings by name: of a workload, or the knobs of an engine.
pub type Settings = BTreeMap<String, Value>;

/// A value as plans write it and records keep it. Sizes and times are plain integers in the unit
/// that the setting's name or description states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A word, or a size such as `1GiB` before it is resolved.
    Text(String),
}

impl Value {
    /// Reads a value from the command line: `true`, `on` and `yes`; `false`, `off` and `no`;
    /// numbers such as `12`, `1_000` and `0.5`. Anything else is text, also `nan` and `inf`, and a
    /// whole number beyond 64 bits: it is kept exactly.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "true" | "on" | "yes" => return Self::Boolean(true),
            "false" | "off" | "no" => return Self::Boolean(false),
            _ => {}
        }
        let digits = text.replace('_', "");
        if let Ok(number) = digits.parse() {
            return Self::Integer(number);
        }
        if is_beyond_64_bits(text) {
            return Self::Text(text.to_owned());
        }
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Float(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(formatter),
            Self::Integer(value) => value.fmt(formatter),
            Self::Float(value) => value.fmt(formatter),
            Self::Text(value) => formatter.pad(value),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Numbers beyond `i64::MAX` are kept as text, exactly.
impl From<u64> for Value {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Text(value.to_string()), Self::Integer)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Returns whether a text is a whole number that 64 bits do not hold.
pub(crate) fn is_beyond_64_bits(text: &str) -> bool {
    let text = text.replace('_', "");
    let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && text.parse::<i64>().is_err()
}

/// Returns a hint for a count that is written as `5k` or `1,000,000`: `; write 5000`. Empty for any
/// other text.
///
/// ```
/// use trueput_record::value::count_hint;
/// assert_eq!(count_hint("5k"), "; write 5000");
/// assert_eq!(count_hint("1.5M"), "; write 1500000");
/// assert_eq!(count_hint("1,000,000"), "; write 1000000");
/// assert_eq!(count_hint("five"), "");
/// ```
#[must_use]
pub fn count_hint(text: &str) -> String {
    let groups: Vec<&str> = text.split(',').collect();
    let digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_digit());
    if groups.len() > 1 && groups.iter().all(digits) && groups[1..].iter().all(|it| it.len() == 3) {
        return format!("; write {}", groups.concat());
    }
    let factors = [('k', 1e3), ('m', 1e6), ('g', 1e9), ('b', 1e9)];
    let count = text.char_indices().next_back().and_then(|(at, suffix)| {
        let suffix = suffix.to_ascii_lowercase();
        let (_, factor) = factors.iter().find(|(known, _)| *known == suffix)?;
        let count = text[..at].trim().parse::<f64>().ok()? * factor;
        let is_count = count >= 0.0 && count.fract() == 0.0 && count < 2_f64.powi(53);
        is_count.then_some(count)
    });
    count.map_or_else(String::new, |count| format!("; write {count:.0}"))
}

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum ParseBytesError {
    #[error(
        "'{text}' is not a size; write bytes or a unit{}, as in 4096, 64KiB, 1GiB",
        if text.contains('.') { " without decimals" } else { "" }
    )]
    NotSize { text: String },
    #[error(
        "'{text}': {prefix}b are bits; write {digits}{prefix}iB, or {digits}{prefix}B for powers \
         of 1,000"
    )]
    Bits {
        text: String,
        digits: String,
        /// Of the unit: `M`.
        prefix: String,
    },
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a duration; write seconds or a unit, as in 10, 500ms, 2m")]
pub struct ParseSecondsError {
    /// The text.
    pub text: String,
}

/// Reads a size: `4096`, `64KiB`, `1 GiB`, `10MB` (decimal units are powers of 1,000).
///
/// # Errors
/// A [`ParseBytesError`] that says what was given and what would be right.
///
/// ```
/// assert_eq!(trueput_record::value::parse_bytes("64KiB"), Ok(65_536));
/// assert!(trueput_record::value::parse_bytes("many").is_err());
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, ParseBytesError> {
    let error = || ParseBytesError::NotSize {
        text: text.to_owned(),
    };
    let digits = text
        .trim()
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .trim_end();
    let unit = text.trim()[digits.len()..].trim();
    let (prefix, rest) = unit.split_at_checked(1).unwrap_or_default();
    if rest == "b" && ["K", "M", "G", "T"].contains(&prefix) {
        return Err(ParseBytesError::Bits {
            text: text.to_owned(),
            digits: digits.to_owned(),
            prefix: prefix.to_owned(),
        });
    }
    let number: u64 = digits.replace('_', "").parse().map_err(|_| error())?;
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(error()),
    };
    number.checked_mul(factor).ok_or_else(error)
}

/// Reads a duration in seconds: `10`, `0.5`, `500us`, `500ms`, `10s`, `2m`, `1h`.
///
/// # Errors
/// A [`ParseSecondsError`] that says what was given and what would be right.
pub fn parse_seconds(text: &str) -> Result<f64, ParseSecondsError> {
    let error = || ParseSecondsError {
        text: text.to_owned(),
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(error()),
    };
    let number: f64 = digits.replace('_', "").parse().map_err(|_| error())?;
    let seconds = number * factor;
    let fits = seconds.is_finite() && (0.0..=30.0 * 86_400.0).contains(&seconds);
    fits.then_some(seconds).ok_or_else(error)
}

/// Reads a fraction, in per cent or not; `None` if it is no number.
///
/// ```
/// use trueput_record::value::parse_fraction;
/// assert_eq!(["3%", "0.03", "3 percent"].map(parse_fraction), [Some(0.03), Some(0.03), None]);
/// ```
#[must_use]
pub fn parse_fraction(text: &str) -> Option<f64> {
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}

/// Formats a duration as [`parse_seconds`] reads it: `500ms`, `2m`.
///
/// ```
/// use trueput_record::value::format_seconds;
/// assert_eq!([0.001, 1.5, 120.0].map(format_seconds), ["1ms", "1.5s", "2m"]);
/// ```
#[must_use]
pub fn format_seconds(seconds: f64) -> String {
    let (size, unit) = match seconds {
        _ if seconds > 0.0 && seconds < 1.0 => (seconds * 1e3, "ms"),
        _ if seconds >= 3_600.0 && seconds % 3_600.0 == 0.0 => (seconds / 3_600.0, "h"),
        _ if seconds >= 60.0 && seconds % 60.0 == 0.0 => (seconds / 60.0, "m"),
        _ => (seconds, "s"),
    };
    format!("{size}{unit}")
}

/// Formats a size: `1 GiB`, `1.5 KiB`. One decimal, or none if it is exact.
///
/// ```
/// use trueput_record::value::format_bytes;
/// assert_eq!(format_bytes(1 << 30), "1 GiB");
/// assert_eq!(format_bytes(1_500), "1.5 KiB");
/// ```
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let (size, unit) = in_binary_unit(bytes as f64);
    let decimals = usize::from(size.fract() != 0.0);
    format!("{size:.decimals$} {unit}")
}

/// Writes a size so that [`parse_bytes`] reads the same back: `1GiB`, or `1500` where a unit would
/// round.
#[must_use]
pub fn exact_bytes(bytes: u64) -> String {
    let short = format_bytes(bytes).replace(' ', "");
    match parse_bytes(&short) {
        Ok(same) if same == bytes => short,
        _ => bytes.to_string(),
    }
}

/// Returns the sum of counts, or the largest number if it is larger: a record may say anything.
///
/// ```
/// assert_eq!(trueput_record::value::saturating_sum([1, 2]), 3);
/// assert_eq!(trueput_record::value::saturating_sum([u64::MAX, 2]), u64::MAX);
/// ```
pub fn saturating_sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Converts bytes to the binary unit that suits them.
///
/// ```
/// assert_eq!(trueput_record::value::in_binary_unit(1_536.0), (1.5, "KiB"));
/// ```
#[must_use]
pub fn in_binary_unit(bytes: f64) -> (f64, &'static str) {
    // A caller that rounds to whole units would show 1,023.5 and more as 1,024 of the smaller unit;
    // one that shows decimals, as `format_bytes` does, may show 1,023.5 KiB as 1.0 MiB.
    const ROLL_OVER: f64 = 1023.5;
    let (mut size, mut name) = (bytes, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < ROLL_OVER {
            break;
        }
        (size, name) = (size / 1024.0, larger);
    }
    (size, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_tells_booleans_numbers_and_words_apart() {
        assert_eq!(Value::parse("on"), Value::Boolean(true));
        assert_eq!(Value::parse("1_000"), Value::Integer(1000));
        assert_eq!(Value::parse("1_000.5"), Value::Float(1000.5));
        assert_eq!(Value::parse("0.5"), Value::Float(0.5));
        assert_eq!(Value::parse("1GiB"), Value::from("1GiB"));
    }

    #[test]
    fn a_whole_number_beyond_64_bits_is_kept_as_it_was_typed() {
        for text in [
            "18446744073709551615",
            "99999999999999999999",
            "-9223372036854775809",
        ] {
            assert_eq!(Value::parse(text).to_string(), text);
        }
        assert_eq!(Value::parse("9223372036854775807"), i64::MAX.into());
        for text in ["_", "", "-", "1e30", "7"] {
            assert!(!is_beyond_64_bits(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_finite_number_is_text() {
        for text in ["nan", "inf", "-infinity", "1e999"] {
            assert_eq!(Value::parse(text), Value::from(text));
        }
    }

    #[test]
    fn a_size_that_rounds_to_the_next_unit_is_shown_in_it() {
        assert_eq!(format_bytes(1_023), "1023 B");
        assert_eq!(format_bytes(1 << 10), "1 KiB");
        assert_eq!(format_bytes(1_023 << 10), "1023 KiB");
        assert_eq!(format_bytes((1 << 20) - 1), "1.0 MiB");
        assert_eq!(format_bytes((1 << 30) - 1), "1.0 GiB");
        assert_eq!(format_bytes(5_000 << 40), "5000 TiB");
    }

    #[test]
    fn durations_read_units() {
        assert_eq!(parse_seconds("2m"), Ok(120.0));
        assert_eq!(parse_seconds("500ms"), Ok(0.5));
        assert_eq!(parse_seconds("10"), Ok(10.0));
        for text in ["-1", "soon", "1 day", "inf", "1e9h"] {
            assert_eq!(parse_seconds(text).unwrap_err().text, text);
        }
        for text in ["1ms", "500ms", "1.5s", "0s", "90s", "1m", "720h"] {
            let seconds = parse_seconds(text).unwrap();
            assert_eq!(format_seconds(seconds), text);
        }
    }

    #[test]
    fn sizes_read_binary_and_decimal_units() {
        assert_eq!(parse_bytes("1 GiB"), Ok(1 << 30));
        assert_eq!(parse_bytes("10MB"), Ok(10_000_000));
        assert_eq!(parse_bytes("10mb"), Ok(10_000_000));
        let bits = parse_bytes("64Mb").unwrap_err().to_string();
        assert!(bits.contains("Mb are bits; write 64MiB, or 64MB"), "{bits}");
        assert!(parse_bytes("1Gb").is_err() && parse_bytes("8Kb").is_err());
        let parsecs = parse_bytes("12 parsecs").unwrap_err().to_string();
        assert!(parsecs.contains("parsecs"), "{parsecs}");
        assert!(parse_bytes("99999999999TiB").is_err());
        let message = parse_bytes("1.5 KiB").unwrap_err().to_string();
        assert!(message.contains("without decimals"), "{message}");
    }
}
