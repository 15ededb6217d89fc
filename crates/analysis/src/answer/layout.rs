//! The room that an answer has on a terminal, and text that fits it.

use trueput_record::text::visible;

/// Narrower terminals than this are written to as if they were this wide.
const NARROWEST: usize = 40;

/// The room for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns; at least 40 are used. No line is wider.
    pub width: usize,
    /// Lines; there are never more.
    pub lines: usize,
    /// Whether to write colour codes.
    pub colour: bool,
}

impl Default for Layout {
    /// What a terminal shows at once: 80 columns, 40 lines.
    fn default() -> Self {
        Self {
            width: 80,
            lines: 40,
            colour: false,
        }
    }
}

impl Layout {
    /// The columns that are used.
    pub(super) fn columns(self) -> usize {
        self.width.max(NARROWEST)
    }
}

/// The text on one line, every hidden character in it shown by its number: records are written by
/// others.
pub(super) fn shown(text: &str) -> String {
    let on_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&on_one_line).into_owned()
}

/// How wide a text is shown.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text, its end cut off where it is too wide.
pub(super) fn cut_end(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The text, its middle cut out where it is too wide: beginnings name the engine, ends what tells
/// its variants apart.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    let length = width(text);
    if length <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (start, end) = (kept.div_ceil(2), kept / 2);
    let first = text.chars().take(start);
    let last = text.chars().skip(length - end);
    first.chain(['…']).chain(last).collect()
}

/// The text over at most `most` lines, the last one cut where it would go on.
pub(super) fn wrapped(text: &str, columns: usize, indent: &str, most: usize) -> Vec<String> {
    let mut lines = crate::terminal::wrap(text, columns, indent);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = cut_end(&format!("{last} …"), columns);
            if !last.ends_with('…') {
                *last = cut_end(last, columns.saturating_sub(1)) + "…";
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_as_wide_as_allowed_and_says_so() {
        assert_eq!(cut_end("rocksdb", 7), "rocksdb");
        assert_eq!(cut_end("rocksdb", 4), "roc…");
        assert_eq!(cut_middle("lmdb (writemap=on)", 9), "lmdb…=on)");
        assert_eq!(width(&cut_middle("lmdb (writemap=on)", 10)), 10);
        let lines = wrapped("one two three four five six", 9, "", 2);
        assert_eq!(lines, ["one two", "three …"]);
    }
}
