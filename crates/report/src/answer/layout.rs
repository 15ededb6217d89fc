//! The room that an answer has on a terminal, and text that fits it.

pub(super) use crate::text_width::width;
use crate::text_width::{beginning, end, pad_left, padded};
use trueput_record::text::escape_line;

/// Narrower terminals than this are written to as if they were this wide.
const NARROWEST: usize = 40;

/// The room for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns; at least 40 are used. No line is wider.
    pub width: usize,
    /// Lines; there are never more.
    pub lines: usize,
    /// Whether to write color codes.
    pub color: bool,
    /// Whether sentences that are too long are cut, as on a screen. Elsewhere, as in a pipe, they
    /// take as many lines as they need.
    pub cuts: bool,
}

impl Default for Layout {
    /// A common terminal: 80 columns, 40 lines.
    fn default() -> Self {
        Self {
            width: 80,
            lines: 40,
            color: false,
            cuts: true,
        }
    }
}

impl Layout {
    /// A text of trueput on a terminal of this width: at most this many lines, the last of which is
    /// cut, unless nothing is.
    pub(super) fn wrapped(self, text: &str, indent: &str, most: usize) -> Vec<String> {
        let most = if self.cuts { most } else { usize::MAX };
        wrapped(text, self.columns(), indent, most)
    }

    /// The columns that are used.
    pub(super) fn columns(self) -> usize {
        self.width.max(NARROWEST)
    }

    /// A label with a command or a path, and the number of lines that it takes: see [`labeled`].
    pub(crate) fn labeled(self, text: &str) -> (Vec<String>, usize) {
        let lines = labeled(&shown(text), self.columns());
        let taken = lines.iter().map(|line| height(line, self.columns())).sum();
        (lines, taken)
    }

    /// A text of others as a line; as several where nothing is cut.
    pub(crate) fn cut(self, text: &str) -> Vec<String> {
        self.wrapped(&shown(text), "  ", 1)
    }

    /// A line with its spaces, which align it, cut to the width or broken if it is wider.
    fn line(self, text: &str) -> Vec<String> {
        if width(text) <= self.columns() {
            vec![text.to_owned()]
        } else if self.cuts {
            vec![cut_end(text, self.columns())]
        } else {
            self.wrapped(text, "  ", usize::MAX)
        }
    }

    /// Untrusted texts as lines, at most this many; the last line counts the rest.
    pub(crate) fn listed(self, texts: &[String], most: usize) -> Vec<String> {
        let found = if texts.len() <= most {
            texts.len()
        } else {
            most.saturating_sub(1)
        };
        let more = texts.len() - found;
        let mut lines: Vec<_> = texts[..found]
            .iter()
            .flat_map(|text| self.line(&escape_line(text)))
            .collect();
        lines.extend((more > 0).then(|| format!("… and {more} more; --full")));
        lines
    }

    /// Aligns rows in columns. The first `left` columns are aligned left, the others right; the
    /// first column gets the width that the others leave.
    pub(crate) fn aligned<const N: usize>(self, rows: &[[String; N]], left: usize) -> Vec<String> {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| row.each_ref().map(|cell| shown(cell)))
            .collect();
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| width(&row[column]));
            cells.max().unwrap_or(0)
        };
        let mut widths: [usize; N] = std::array::from_fn(widest);
        let others: usize = widths[1..].iter().map(|width| width + 2).sum();
        widths[0] = widths[0].min(self.columns().saturating_sub(others).max(1));
        let line = |row: &[String; N]| {
            let cells = row.iter().zip(widths).enumerate();
            let cells = cells.map(|(column, (cell, most))| {
                let cell = cut_name(cell, most);
                if column < left {
                    padded(&cell, most)
                } else {
                    pad_left(&cell, most)
                }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            cut_end(line.trim_end(), self.columns())
        };
        rows.iter().map(line).collect()
    }
}

/// The text on one line, every hidden character in it shown by its number: records are written by
/// others.
pub(super) fn shown(text: &str) -> String {
    let on_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape_line(&on_one_line).into_owned()
}

/// A label with a command or a path. If it is too wide, what follows the label has a line of its
/// own, indented and unbroken however wide it is, so that it can be copied.
pub(super) fn labeled(text: &str, columns: usize) -> Vec<String> {
    match text.split_once(": ") {
        Some((label, value)) if width(text) > columns => {
            vec![format!("{label}:"), format!("  {value}")]
        }
        _ => vec![text.to_owned()],
    }
}

/// Number of lines that a terminal of this width breaks a text into.
pub(super) fn height(text: &str, columns: usize) -> usize {
    width(text).div_ceil(columns).max(1)
}

/// Cuts off the end of a text that is too wide.
pub(super) fn cut_end(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept = beginning(text, most.saturating_sub(1));
    format!("{}…", kept.trim_end())
}

/// Cuts out the middle of a text that is too wide: the beginning of a name gives the engine, its
/// end the variant.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let first = beginning(text, kept.div_ceil(2));
    let last = end(text, kept / 2);
    format!("{first}…{last}")
}

/// The sign in the place of marks for which there is no room.
pub(super) const MARKED: char = '*';

/// Cuts a contender's name that is too wide: its marks become a sign, for part of a mark says
/// nothing, and then the middle of the rest is cut out.
pub(super) fn cut_name(name: &str, most: usize) -> String {
    let marks = name.rfind(" [").filter(|_| name.ends_with(']'));
    match marks {
        Some(at) if width(name) > most => {
            let plain = cut_middle(&name[..at], most.saturating_sub(1));
            format!("{plain}{MARKED}")
        }
        _ => cut_middle(name, most),
    }
}

/// Leaves parts out of a list that is too wide. Its other parts are whole: a number in part would
/// be another number. The last part stays if it fits, because it distinguishes the list.
pub(super) fn cut_list(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let parts: Vec<&str> = text.split(", ").collect();
    let shortened = |kept: usize, from: usize| {
        let list = parts[..kept].iter().chain(&["…"]).chain(&parts[from..]);
        let list = list.copied().collect::<Vec<_>>().join(", ");
        (width(&list) <= most).then_some(list)
    };
    let last = parts.len() - 1;
    let with_last = (1..last).rev().find_map(|kept| shortened(kept, last));
    let without = || {
        (1..=last)
            .rev()
            .find_map(|kept| shortened(kept, parts.len()))
    };
    with_last
        .or_else(without)
        .unwrap_or_else(|| cut_end(text, most))
}

/// Wraps a text to at most `most` lines; the last one is cut off if the text goes on.
pub(super) fn wrapped(text: &str, columns: usize, indent: &str, most: usize) -> Vec<String> {
    let mut lines = crate::formats::terminal::wrap(text, columns, indent);
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

    #[test]
    fn a_mark_without_room_is_a_sign_and_never_a_part_of_itself() {
        let name = "sqlite [flushes not verified]";
        assert_eq!(cut_name(name, 29), name);
        assert_eq!(cut_name(name, 28), "sqlite*");
        assert_eq!(cut_name(name, 6), "sq…te*");
        assert_eq!(cut_name("lmdb (writemap=on)", 9), "lmdb…=on)");
    }

    #[test]
    fn a_list_is_cut_between_its_parts() {
        let list = "sync, trace, 4 workers, 1,182/s offered";
        for (most, expected) in [
            (39, list),
            (38, "sync, trace, …, 1,182/s offered"),
            (26, "sync, …, 1,182/s offered"),
            (23, "sync, trace, …"),
            (7, "sync, …"),
            (5, "sync…"),
        ] {
            assert_eq!(cut_list(list, most), expected, "{most}");
        }
        assert_eq!(cut_list("threen1", 4), "thr…");
    }
}
