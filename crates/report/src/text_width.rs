//! Width of text on a terminal, where a Chinese character takes two columns.

use unicode_width::UnicodeWidthChar;

/// The columns that a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(character: char) -> usize {
    character.width().unwrap_or(0)
}

/// Pads the text with spaces on the right to this many columns.
#[must_use]
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", spaces(text, columns))
}

/// The text with spaces before it to this many columns.
#[must_use]
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", spaces(text, columns))
}

fn spaces(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}

/// The beginning of a text that takes at most this many columns.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (place, character) in text.char_indices() {
        taken += columns(character);
        if taken > most {
            return &text[..place];
        }
    }
    text
}

/// The end of a text that takes at most this many columns.
pub(crate) fn end(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (place, character) in text.char_indices().rev() {
        taken += columns(character);
        if taken > most {
            return &text[place + character.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_character_takes_two_columns() {
        assert_eq!((width("数据库"), width("lmdb"), width("é")), (6, 4, 1));
        assert_eq!(padded("数据", 6), "数据  ");
        assert_eq!(pad_left("数据", 5), " 数据");
        assert_eq!((beginning("数据库", 5), end("数据库", 5)), ("数据", "据库"));
        assert_eq!((beginning("lmdb", 2), end("lmdb", 2)), ("lm", "db"));
        assert_eq!((beginning("lmdb", 9), end("", 3)), ("lmdb", ""));
    }
}
