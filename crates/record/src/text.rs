//! Text of unknown origin, made safe to display on a terminal, in a table or in a message, and
//! counts in words.

use std::borrow::Cow;
use std::fmt::Write;

/// The most characters of one input that a message quotes.
pub const MAX_QUOTE: usize = 200;

/// The most characters of a message.
const MAX_MESSAGE: usize = 4_000;

/// The byte order mark in UTF-8, which some editors write at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a text without the byte order mark at its beginning, if it has one. Every file of text
/// that somebody may have edited is read through this.
///
/// ```
/// use trueput_record::text::without_byte_order_mark;
/// assert_eq!(without_byte_order_mark("\u{feff}workload = 1".as_bytes()), b"workload = 1");
/// assert_eq!(without_byte_order_mark(b"workload = 1"), b"workload = 1");
/// ```
#[must_use]
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Reads a text in UTF-8, with or without a byte order mark at its beginning.
///
/// # Errors
/// The first byte that is none of UTF-8.
pub fn decode_utf8(text: &[u8]) -> Result<&str, std::str::Utf8Error> {
    std::str::from_utf8(without_byte_order_mark(text))
}

/// Returns whether a character must be escaped: control characters, which a terminal obeys, and
/// characters that change the direction of the text around them, break its lines or have no width.
///
/// Joiners are not included: Indic and Persian words need them. See [`escape_line`].
#[must_use]
pub fn needs_escape(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a character is the zero-width non-joiner or joiner, which is escaped unless it
/// follows a visible non-ASCII character.
fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

/// Escapes every hidden character by its number, as in `\u{1b}`, so that the text is on one line.
///
/// ```
/// use trueput_record::text::escape_line;
/// assert_eq!(escape_line("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
/// assert_eq!(escape_line("வணக்கம்"), "வணக்கம்");
/// ```
#[must_use]
pub fn escape_line(text: &str) -> Cow<'_, str> {
    replaced(text, needs_escape, push_number)
}

/// As [`escape_line`], but keeps line feeds and tabs.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    let hidden = |character: char| needs_escape(character) && !matches!(character, '\n' | '\t');
    replaced(text, hidden, push_number)
}

/// Escapes every hidden character of a JSON text as JSON does, so that any reader gets the same
/// value. Line feeds between values are kept.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let hidden = |character: char| needs_escape(character) && character != '\n';
    replaced(json, hidden, |into, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(into, "\\u{unit:04x}");
        }
    })
}

fn push_number(into: &mut String, character: char) {
    let _ = write!(into, "\\u{{{:x}}}", u32::from(character));
}

fn replaced(
    text: &str,
    hidden: impl Fn(char) -> bool,
    write: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.chars().any(|c| hidden(c) || is_joiner(c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for character in text.chars() {
        let joins_nothing = before.is_ascii() || is_joiner(before) || needs_escape(before);
        let stray = is_joiner(character) && joins_nothing;
        if stray || hidden(character) {
            write(&mut escaped, character);
        } else {
            escaped.push(character);
        }
        before = character;
    }
    Cow::Owned(escaped)
}

/// Shortens every quotation, word and command-line input in a message to [`MAX_QUOTE`]
/// characters and notes how much was cut.
#[must_use]
pub fn shortened(message: &str, inputs: &[String]) -> String {
    if message.chars().count() <= MAX_QUOTE {
        return message.to_owned();
    }
    let mut short = String::new();
    let mut rest = message;
    while let Some((before, quote, after)) = next_quote(rest) {
        push_words(&mut short, before);
        short.push('\'');
        short.push_str(&cut(quote, MAX_QUOTE));
        short.push('\'');
        rest = after;
    }
    push_words(&mut short, rest);
    // An input may be in a message without quotes, as a path does.
    for input in inputs.iter().map(|input| input.trim()) {
        if input.chars().count() > MAX_QUOTE {
            short = short.replace(input, &cut(input, MAX_QUOTE));
        }
    }
    cut(&short, MAX_MESSAGE).into_owned()
}

/// Returns the text before the next passage in single quotes, the passage, and the text after it. A
/// quote after a letter is an apostrophe.
fn next_quote(text: &str) -> Option<(&str, &str, &str)> {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if character == '\'' && !before.is_alphanumeric() {
            let behind = &text[at + 1..];
            let end = behind
                .match_indices('\'')
                .map(|(end, _)| end)
                .find(|&end| {
                    let next = behind[end + 1..].chars().next();
                    !next.is_some_and(char::is_alphanumeric)
                })?;
            return Some((&text[..at], &behind[..end], &behind[end + 1..]));
        }
        before = character;
    }
    None
}

fn push_words(short: &mut String, text: &str) {
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        short.push_str(&cut(word, MAX_QUOTE));
        short.push_str(&piece[word.len()..]);
    }
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let left_out = text[end..].chars().count();
            let plural = if left_out == 1 { "" } else { "s" };
            let start = &text[..end];
            Cow::Owned(format!("{start}… ({left_out} more character{plural})"))
        }
    }
}

/// A whole number with its thousands separated by commas.
///
/// ```
/// assert_eq!(trueput_record::text::thousands(1_570_824_736), "1,570,824,736");
/// ```
#[must_use]
pub fn thousands(number: u64) -> String {
    separate(&number.to_string())
}

/// This many of something whose plural has an s: `1 worker`, `4 workers`.
#[must_use]
pub fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", thousands(count)),
    }
}

/// Separates groups of three digits with commas; text that is not all digits is returned unchanged.
#[must_use]
pub fn separate(digits: &str) -> String {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.to_owned();
    }
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_from_the_right() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(separate("n/a"), "n/a");
    }

    #[test]
    fn a_count_has_its_plural() {
        assert_eq!(counted(1, "trial"), "1 trial");
        assert_eq!(counted(0, "trial"), "0 trials");
        assert_eq!(counted(1_200, "trial"), "1,200 trials");
    }

    #[test]
    fn what_acts_on_a_terminal_or_on_the_text_around_it_is_shown_by_its_number() {
        for hidden in [
            '\0',
            '\u{7}',
            '\u{8}',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let text = format!("a{hidden}b");
            let expected = format!("a\\u{{{:x}}}b", u32::from(hidden));
            assert_eq!(escape_line(&text), expected);
            assert_eq!(escape_lines(&text), expected);
            let json = serde_json::to_string(&text).unwrap();
            let shown = escape_json(&json);
            assert!(!shown.chars().any(needs_escape), "{shown}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
        assert_eq!(escape_line("a\n\tb"), "a\\u{a}\\u{9}b");
        assert_eq!(escape_lines("a\n\tb"), "a\n\tb");
        assert_eq!(escape_line("pay\u{200d}pal"), "pay\\u{200d}pal");
        let after_hidden = "a\u{202e}\u{200d}b";
        assert_eq!(escape_line(after_hidden), "a\\u{202e}\\u{200d}b");
        assert_eq!(escape_lines(after_hidden), "a\\u{202e}\\u{200d}b");
    }

    #[test]
    fn words_of_every_script_are_left_as_they_are() {
        for word in [
            "வணக்கம்",
            "١٢٣",
            "نمی\u{200c}خواهم",
            "क्\u{200d}ष",
            "日本",
            "é µs × – …",
        ] {
            assert_eq!(escape_line(word), word);
            assert_eq!(escape_json(word), word);
        }
    }

    #[test]
    fn a_message_quotes_so_much_of_an_input_and_says_what_it_left_out() {
        let input = "word ".repeat(100);
        let message =
            format!("the engine's '{input}' is not a number; write '7', as in the plan's");
        let short = shortened(&message, &[]);
        let expected = format!(
            "the engine's '{}… (300 more characters)' is not a number; write '7', as in the plan's",
            &input[..200]
        );
        assert_eq!(short, expected);
        let word = "x".repeat(300);
        assert!(shortened(&word, &[]).ends_with("x… (100 more characters)"));
        let words = format!("{} next", "x".repeat(201));
        assert!(shortened(&words, &[]).ends_with("x… (1 more character) next"));
        let path = format!("{}: no such file", input.trim());
        let expected = format!("{}… (299 more characters): no such file", &input[..200]);
        assert_eq!(shortened(&path, std::slice::from_ref(&input)), expected);
        // The control: a long message of our own words stays whole.
        let own = "keys are name, about, workload; ".repeat(20);
        assert_eq!(shortened(&own, &[]), own);
    }
}
