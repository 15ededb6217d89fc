//! Plain tables of short texts, for the commands that list things.

use trueput_record::text::escape_line;
use trueput_report::text_width::{self, padded};
use trueput_report::wrap;

/// The widest padding of a column, characters; longer text is not padded. Rust's formatting limits
/// the width, which an untrusted name can exceed.
const WIDEST: usize = 1_000;

/// Aligns rows in columns, two spaces apart. The last column is not padded.
pub fn align<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let header = header.map(str::to_owned);
    // A line feed in a cell would begin a row of its own.
    let shown = |row: &[String; N]| row.each_ref().map(|cell| escape_line(cell).into_owned());
    let rows: Vec<_> = rows.iter().map(shown).collect();
    let all = || std::iter::once(&header).chain(&rows);
    let mut widths = [0; N];
    for row in all() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(text_width::width(cell).min(WIDEST));
        }
    }
    let mut text = String::new();
    for row in all() {
        let padded = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| padded(cell, width));
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Indentation of the description below an entry's line.
const INDENT: &str = "    ";

/// One line of a list in columns, with text that continues below it.
pub struct Entry<const N: usize> {
    /// The cells, one per title.
    pub cells: [String; N],
    /// Paragraphs below the line; empty ones are left out.
    pub below: Vec<String>,
}

/// Writes entries in columns, `width` characters in all. A column that does not fit goes below its
/// entry's line, under its title; paragraphs are wrapped. Only a word longer than a line is cut.
pub fn entries<const N: usize>(header: [&str; N], entries: &[Entry<N>], width: usize) -> String {
    let shown = |entry: &Entry<N>| {
        entry
            .cells
            .each_ref()
            .map(|cell| escape_line(cell).into_owned())
    };
    let rows: Vec<[String; N]> = entries.iter().map(shown).collect();
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| text_width::width(&row[column]));
        cells
            .max()
            .unwrap_or(0)
            .max(text_width::width(header[column]))
    };
    let widths: [usize; N] = std::array::from_fn(widest);
    let taken = |columns: usize| {
        widths[..columns]
            .iter()
            .map(|width| width + 2)
            .sum::<usize>()
    };
    // The gap after the last column needs no room.
    let fits = |columns: &usize| taken(*columns) <= width + 2;
    let kept = (1..=N).rev().find(fits).unwrap_or(1);
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(widths);
        let padded = cells.map(|(cell, width)| padded(cell, width.min(WIDEST)));
        let line = padded.collect::<Vec<_>>().join("  ");
        wrap_line(line.trim_end(), width)
    };
    let mut text = line(&header[..kept]);
    for (row, entry) in rows.iter().zip(entries) {
        let cells: Vec<_> = row[..kept].iter().map(String::as_str).collect();
        text += &line(&cells);
        let moved = header[kept..].iter().zip(&row[kept..]);
        let moved = moved.filter(|(_, cell)| !cell.is_empty());
        let moved = moved.map(|(title, cell)| format!("{title}: {cell}"));
        let below = entry
            .below
            .iter()
            .map(|text| escape_line(text).into_owned());
        for paragraph in moved.chain(below).filter(|text| !text.is_empty()) {
            text += &paragraph_lines(&paragraph, INDENT, width);
        }
    }
    text
}

/// Wraps a line, keeping the gaps between its columns if it fits.
fn wrap_line(line: &str, width: usize) -> String {
    if text_width::width(line) <= width {
        format!("{line}\n")
    } else {
        wrap(line, width, "").join("\n") + "\n"
    }
}

/// Wraps a paragraph, with each line indented by `indent`.
pub fn paragraph_lines(text: &str, indent: &str, width: usize) -> String {
    let room = width.saturating_sub(indent.len()).max(1);
    let lines = wrap(text, room, "").into_iter();
    lines.map(|line| format!("{indent}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["lmdb".to_owned(), "a".to_owned()],
            ["x".to_owned(), "bc".to_owned()],
        ];
        assert_eq!(align(["name", "b"], &rows), "name  b\nlmdb  a\nx     bc\n");
    }

    #[test]
    fn a_cell_longer_than_any_column_is_shown_whole() {
        let long = "x".repeat(70_000);
        let text = align(["name", "b"], &[[long.clone(), "a".to_owned()]]);
        assert!(text.ends_with(&format!("{long}  a\n")));
    }

    #[test]
    fn what_has_no_room_in_columns_stands_below_its_entry() {
        let entry = |name: &str, title: &str| Entry {
            cells: [name.to_owned(), "4".to_owned(), title.to_owned()],
            below: vec![
                String::new(),
                "one two three four five six seven".to_owned(),
            ],
        };
        let all = [entry("lmdb", "A title of five words"), entry("sqlite", "")];
        let header = ["name", "rows", "title"];
        assert_eq!(
            entries(header, &all, 24),
            "name    rows\nlmdb    4\n    title: A title of\n    five words\n\
             \x20   one two three four\n    \
             five six seven\nsqlite  4\n    one two three four\n    five six seven\n"
        );
        let wide = entries(header, &all, 80);
        assert!(
            wide.starts_with("name    rows  title\nlmdb    4     A title of"),
            "{wide}"
        );
        // A name that no line has room for is cut, and nothing of it is lost.
        let long = entries(
            ["name"],
            &[Entry {
                cells: ["x".repeat(50)],
                below: Vec::new(),
            }],
            20,
        );
        assert_eq!(long.matches('x').count(), 50);
        assert!(
            long.lines().all(|line| line.chars().count() <= 20),
            "{long}"
        );
    }
}
