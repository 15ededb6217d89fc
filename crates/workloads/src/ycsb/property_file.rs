//! YCSB's property files, which are Java's: `java.util.Properties.load` says how they are read.

use std::str::Chars;
use trueput_record::text::without_byte_order_mark;

/// One property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value, without white space at its ends. Java keeps trailing white space, and YCSB then
    /// refuses the number.
    pub value: String,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: '{given}' is not a character; write \\u and four hexadecimal digits")]
pub struct PropertyError {
    /// The line, from 1.
    pub line: usize,
    /// The text that was given.
    pub given: String,
}

/// Decodes a property file as Java does, which takes each byte for a character of ISO-8859-1. A
/// file with a byte order mark says itself that it is UTF-8; the mark is skipped.
#[must_use]
pub fn decode_properties(bytes: &[u8]) -> String {
    let text = without_byte_order_mark(bytes);
    match std::str::from_utf8(text) {
        Ok(utf8) if text.len() < bytes.len() => utf8.to_owned(),
        _ => text.iter().copied().map(char::from).collect(),
    }
}

/// Reads a value as Java's `Boolean.parseBoolean` does: `true` in any case is true, and everything
/// else is false.
#[must_use]
pub fn parse_boolean(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}

/// Java's white space within a line.
const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// The lines as Java sees them: they end with a line feed, a carriage return, or both.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split('\r')
    })
}

/// Reads a property file's text: `name=value`, `name: value` or `name value`; comments begin with
/// `#` or `!`, a backslash at the end of a line continues it on the next. A name may be set again;
/// the last one counts, as in Java, and has the place of the last.
///
/// # Errors
/// A `\u` without four hexadecimal digits, or half of a surrogate pair.
///
/// ```
/// use trueput_workloads::ycsb::parse_properties;
/// let read = parse_properties("# A\nreadproportion = 0.5\n").unwrap();
/// assert_eq!((read[0].name.as_str(), read[0].value.as_str()), ("readproportion", "0.5"));
/// assert_eq!(read[0].line, 2);
/// ```
pub fn parse_properties(text: &str) -> Result<Vec<Property>, PropertyError> {
    let mut found: Vec<Property> = Vec::new();
    let mut lines = natural_lines(text).enumerate();
    while let Some((index, first)) = lines.next() {
        let first = first.trim_start_matches(BLANKS);
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = first.to_owned();
        while is_continued(&whole) {
            whole.pop();
            match lines.next() {
                Some((_, next)) => whole.push_str(next.trim_start_matches(BLANKS)),
                None => break,
            }
        }
        let line = index + 1;
        let (name, value) = split(&whole);
        let error = |WrongEscape(given)| PropertyError { line, given };
        let read = |text: &str| unescape(text).map_err(error);
        let (name, value) = (read(name)?, read(value)?.trim().to_owned());
        found.retain(|earlier| earlier.name != name);
        found.push(Property { name, value, line });
    }
    Ok(found)
}

/// Whether a line ends in a backslash that is not itself escaped.
fn is_continued(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|&byte| byte == b'\\').count();
    backslashes % 2 == 1
}

/// The name ends at the first `=`, `:` or white space that is not escaped; one `=` or `:` and the
/// white space around it separate it from the value.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.char_indices().find(|&(_, letter)| {
        let ends = !escaped && (BLANKS.contains(&letter) || letter == '=' || letter == ':');
        escaped = !escaped && letter == '\\';
        ends
    });
    let (name, rest) = line.split_at(end.map_or(line.len(), |(index, _)| index));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, value.trim_start_matches(BLANKS))
}

/// An escape that is not a character, as it was given.
struct WrongEscape(String);

fn unescape(text: &str) -> Result<String, WrongEscape> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => plain.push(unicode_escape(&mut letters)?),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Ok(plain)
}

/// Parses the text after a `\u`: four hexadecimal digits, or two such escapes that form a surrogate
/// pair.
fn unicode_escape(letters: &mut Chars<'_>) -> Result<char, WrongEscape> {
    let (first, mut given) = code_unit(letters)?;
    let mut units = vec![first];
    let mut ahead = letters.clone();
    let is_high = (0xd800..0xdc00).contains(&first);
    if is_high && ahead.next() == Some('\\') && ahead.next() == Some('u') {
        let (second, text) = code_unit(&mut ahead)?;
        units.push(second);
        given.push_str(&text);
        *letters = ahead;
    }
    String::from_utf16(&units)
        .ok()
        .and_then(|text| text.chars().next())
        .ok_or(WrongEscape(given))
}

/// Reads four hexadecimal digits: their value, and the escape as written.
fn code_unit(letters: &mut Chars<'_>) -> Result<(u16, String), WrongEscape> {
    let digits: String = letters.by_ref().take(4).collect();
    let given = format!("\\u{digits}");
    let is_code = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match u16::from_str_radix(&digits, 16) {
        Ok(unit) if is_code => Ok((unit, given)),
        _ => Err(WrongEscape(given)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, usize)> {
        let found = parse_properties(text).unwrap();
        let parts = |property: Property| (property.name, property.value, property.line);
        found.into_iter().map(parts).collect()
    }

    fn parse_line(line: &str) -> (String, String) {
        let (name, value, _) = read(line).remove(0);
        (name, value)
    }

    #[test]
    fn a_name_and_a_value_are_separated_as_java_does() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for line in ["a=b", "a: b", "a b", "  a = b  ", "a\t=\tb", "a:b"] {
            assert_eq!(parse_line(line), pair("a", "b"), "{line}");
        }
        assert_eq!(parse_line("a"), pair("a", ""));
        assert_eq!(parse_line("a="), pair("a", ""));
        assert_eq!(parse_line("a==b"), pair("a", "=b"));
        assert_eq!(parse_line("a b=c"), pair("a", "b=c"));
        assert_eq!(parse_line(r"a\=b=c"), pair("a=b", "c"));
        assert_eq!(parse_line(r"a=\u0041\tb\\c"), pair("a", "A\tb\\c"));
    }

    #[test]
    fn comments_and_empty_lines_say_nothing_and_a_backslash_goes_on() {
        let text = "# one\r\n ! two\n\na=1,\\\n   2\nb=3\\\\\nc=4\n";
        let wanted = [("a", "1,2", 4), ("b", "3\\", 6), ("c", "4", 7)];
        let wanted = wanted.map(|(name, value, line)| (name.to_owned(), value.to_owned(), line));
        assert_eq!(read(text), wanted);
    }

    #[test]
    fn bytes_are_characters_of_latin_1_unless_a_mark_says_utf_8() {
        let latin = decode_properties(b"# f\xfcr\nlabel=caf\xe9\r\n");
        assert_eq!(read(&latin), [("label".to_owned(), "café".to_owned(), 2)]);
        let marked = decode_properties("\u{feff}label=café".as_bytes());
        assert_eq!(read(&marked), [("label".to_owned(), "café".to_owned(), 1)]);
        // Java reads UTF-8 without a mark as Latin-1, too.
        assert_eq!(decode_properties("é".as_bytes()), "Ã©");
    }

    #[test]
    fn a_carriage_return_ends_a_line_and_other_white_space_is_part_of_the_text() {
        let lines = read("a=1\rb=2\r\nc=3\\\r   4\n\rd=5");
        let names: Vec<_> = lines
            .iter()
            .map(|it| (it.0.as_str(), it.1.as_str()))
            .collect();
        assert_eq!(names, [("a", "1"), ("b", "2"), ("c", "34"), ("d", "5")]);
        assert_eq!(parse_line("a\u{a0}b=1").0, "a\u{a0}b");
    }

    #[test]
    fn a_boolean_is_true_in_any_case_and_else_false() {
        assert!(["true", "TRUE", "True"].into_iter().all(parse_boolean));
        assert!(
            !["false", "FALSE", "yes", "1", "", " true"]
                .into_iter()
                .any(parse_boolean)
        );
    }

    #[test]
    fn the_last_of_a_name_counts() {
        assert_eq!(
            read("a=1\nb=2\na=3"),
            [
                ("b".to_owned(), "2".to_owned(), 2),
                ("a".to_owned(), "3".to_owned(), 3)
            ]
        );
    }

    #[test]
    fn a_surrogate_pair_is_one_character() {
        assert_eq!(parse_line(r"a=\uD83D\ude00!").1, "\u{1f600}!");
        for half in [
            r"a=\ud83d",
            r"a=\ud83dx",
            r"a=\ude00",
            r"a=\ud83d\u0041",
            r"a=\ud83d\n",
        ] {
            assert!(parse_properties(half).is_err(), "{half}");
        }
    }

    #[test]
    fn a_sign_is_not_a_hexadecimal_digit() {
        for wrong in [r"a=\u+041", r"a=\u-041", r"a=\u041", r"a=\u"] {
            let error = parse_properties(wrong).unwrap_err();
            assert_eq!(error.given, &wrong[2..]);
        }
    }

    #[test]
    fn a_wrong_escape_is_refused_with_its_line() {
        let error = parse_properties("a=1\nb=\\u00g1").unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.to_string().contains("\\u00g1"), "{error}");
    }
}
