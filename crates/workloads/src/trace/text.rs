//! Fields of trace files: quoted fields, times, keys, operations.

use super::error::LineError;
use crate::keyed::action::Action;
use std::borrow::Cow;
use trueput_record::suggest::did_you_mean;

/// Takes a line of CSV apart, as RFC 4180 says: a field in double quotes may have commas, and two
/// double quotes there are one.
///
/// # Errors
/// One clause, if a quoted field does not end.
pub(super) fn split_csv(line: &str) -> Result<Vec<Cow<'_, str>>, LineError> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => {
                let after = after.to_owned();
                return Err(LineError::NoComma { after });
            }
        }
    }
}

/// A field that began with a quote, and the rest of the line behind its end.
fn quoted_field(quoted: &str) -> Result<(Cow<'_, str>, &str), LineError> {
    let mut from = 0;
    while let Some(place) = quoted[from..].find('"') {
        let end = from + place;
        if quoted[end + 1..].starts_with('"') {
            from = end + 2;
        } else {
            let field = &quoted[..end];
            let field = if field.contains("\"\"") {
                Cow::Owned(field.replace("\"\"", "\""))
            } else {
                Cow::Borrowed(field)
            };
            return Ok((field, &quoted[end + 1..]));
        }
    }
    Err(LineError::OpenQuote)
}

/// Reads the word for an operation of our own formats.
///
/// # Errors
/// One clause: the word, and those that are known.
pub(super) fn parse_action(word: &str) -> Result<Action, LineError> {
    if word.is_empty() {
        return Err(LineError::EmptyOperation);
    }
    Action::from_word(word).ok_or_else(|| {
        let all: Vec<_> = Action::ALL.into_iter().flat_map(Action::words).collect();
        LineError::UnknownOperation {
            word: word.to_owned(),
            hint: did_you_mean(word, all.into_iter().copied()),
        }
    })
}

/// Reads seconds, exactly to the nanosecond.
///
/// # Errors
/// A text that is no number of seconds.
pub(super) fn parse_seconds(text: &str) -> Result<u64, LineError> {
    let wrong = || LineError::Seconds {
        text: text.to_owned(),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        // A number of JSON may have an exponent.
        let seconds = text.parse::<f64>().map_err(|_| wrong())?;
        let is_valid = (0.0..1.8e10).contains(&seconds);
        return is_valid.then_some((seconds * 1e9) as u64).ok_or_else(wrong);
    }
    let nanoseconds = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let nanoseconds = nanoseconds.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let whole = whole.parse::<u64>().map_err(|_| wrong())?;
    let total = whole.checked_mul(1_000_000_000);
    total
        .and_then(|total| total.checked_add(nanoseconds))
        .ok_or_else(wrong)
}

/// Reads a whole number from 0.
///
/// # Errors
/// A text that is no whole number.
pub(super) fn whole_number(name: &'static str, text: &str) -> Result<u64, LineError> {
    text.trim().parse().map_err(|_| LineError::WholeNumber {
        name,
        text: text.to_owned(),
    })
}

/// The bytes of a key: those of the text, or of `0x` and pairs of hexadecimal digits.
pub(super) fn decode_key(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    if let Some(bytes) = text.strip_prefix("0x").and_then(decode_hexadecimal) {
        return Cow::Owned(bytes);
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn decode_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let is_whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    let pairs = digits.as_bytes().chunks_exact(2);
    let bytes = pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    bytes.collect::<Option<_>>().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        for (text, time_ns) in [
            ("0", 0),
            ("1.5", 1_500_000_000),
            ("1700000000.123456789", 1_700_000_000_123_456_789),
            ("0.0000000019", 1),
            ("2e-3", 2_000_000),
        ] {
            assert_eq!(parse_seconds(text), Ok(time_ns), "{text}");
        }
        for text in ["", "-1", "x", "1.x", "1e99", "99999999999", "nan"] {
            assert!(
                parse_seconds(text).unwrap_err().to_string().contains(text),
                "{text}"
            );
        }
    }

    #[test]
    fn quoted_fields_may_have_commas_and_quotes() {
        assert_eq!(
            split_csv("a,\"b,\"\"c\",,d"),
            Ok(vec!["a".into(), "b,\"c".into(), "".into(), "d".into()])
        );
        assert!(
            split_csv("a,\"b")
                .unwrap_err()
                .to_string()
                .contains("does not end")
        );
        assert!(
            split_csv("\"a\"b,c")
                .unwrap_err()
                .to_string()
                .contains("'b,c'")
        );
    }

    #[test]
    fn keys_are_text_or_hexadecimal() {
        let key = |text: &'static str| decode_key(Cow::Borrowed(text)).into_owned();
        assert_eq!(key("user1"), b"user1");
        assert_eq!(key("0x00fF"), [0, 255]);
        for text in ["0x", "0xf", "0xzz"] {
            assert_eq!(key(text), text.as_bytes());
        }
    }
}
