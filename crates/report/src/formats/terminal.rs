//! A report for a terminal: tables that fit its width, figures to the right.

use crate::document::{Block, Table};
use crate::formats::Style;
use crate::text_width;
use comfy_table::{CellAlignment, ContentArrangement, presets};

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// Narrower terminals than this are written to as if they were this wide.
const NARROWEST: usize = 40;

/// Width of prose if the terminal's width is unknown.
const PROSE: usize = 100;

/// Widths to which the paths of a table that is too wide are broken, tried in this order.
const PATHS: [usize; 4] = [40, 32, 26, 20];

/// Writes the blocks, one empty line between two. A note refers to `--format csv` for omitted
/// columns.
pub fn render(blocks: &[Block], style: Style) -> String {
    render_with(blocks, style, "--format csv")
}

/// Like [`render`], for a command that shows every column by another option.
pub fn render_with(blocks: &[Block], style: Style, every_column: &str) -> String {
    let width = style.width.map_or(usize::MAX, usize::from).max(NARROWEST);
    // In a file, tables and commands may have any width; prose is wrapped to stay readable.
    let prose = style.width.map_or(PROSE, |_| width);
    let paint = |code: &str, line: &str| {
        if style.color {
            format!("{code}{line}{PLAIN}")
        } else {
            line.to_owned()
        }
    };
    let mut parts = Vec::new();
    for block in blocks.iter().map(Block::shown) {
        let lines = match &block {
            Block::Heading(level, text) => {
                let heading = wrap(text, prose, "");
                let rule = if *level == 1 { "=" } else { "-" };
                let rule = rule.repeat(widest(&heading));
                let bold = heading.iter().map(|line| paint(BOLD, line));
                bold.chain((*level < 3).then_some(rule)).collect()
            }
            Block::Text(text) => wrap(text, prose, ""),
            Block::Warnings(texts) => {
                let lines = texts.iter().flat_map(|text| wrap(text, prose, "  "));
                lines.map(|line| paint(RED, &line)).collect()
            }
            Block::List(points) => points
                .iter()
                .flat_map(|point| wrap(&format!("- {point}"), prose, "  "))
                .collect(),
            Block::Table(table) => {
                let mut lines = fitted(table, width, every_column);
                if let Some(header) = lines.first_mut() {
                    *header = paint(BOLD, header);
                }
                lines
            }
            Block::Command(words) => command(words, width),
        };
        parts.push(lines.join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// Breaks text at spaces; a word that is too long for a line is cut. Lines after the first begin
/// with `indent`.
#[must_use]
pub fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let longest = width.saturating_sub(indent.len()).max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text
        .split_whitespace()
        .flat_map(|word| pieces(word, longest))
    {
        let empty = line.trim().is_empty();
        if !empty && text_width::width(&line) + 1 + text_width::width(word) > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !empty {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

fn pieces(word: &str, longest: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while !rest.is_empty() {
        // A character of two columns has no room in one.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let fitting = text_width::beginning(rest, longest).len().max(first);
        // A path is cut after a slash.
        let slash = rest[..fitting].rfind('/').filter(|_| fitting < rest.len());
        let (piece, after) = rest.split_at(slash.map_or(fitting, |place| place + 1));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The words of a command over as many lines as needed, each but the last ended as a shell needs
/// it.
fn command(words: &[String], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::from(" ");
    for word in words {
        let longer = text_width::width(&line) + 1 + text_width::width(word);
        if longer > width.saturating_sub(2) && line.trim() != "" {
            lines.push(std::mem::replace(&mut line, String::from("   ")) + " \\");
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The table with as many columns as fit, and a line that names the omitted ones. If even the
/// essential columns are too wide, their cells are wrapped.
fn fitted(table: &Table, width: usize, every_column: &str) -> Vec<String> {
    let mut left_out = Vec::new();
    let mut kept = table.clone();
    let mut lines = draw(&kept, None);
    while widest(&lines) > width {
        let Some((narrower, title)) = kept.without_most_dispensable() else {
            lines = with_paths_broken(&kept, width).unwrap_or_else(|| draw(&kept, Some(width)));
            break;
        };
        left_out.push(title);
        kept = narrower;
        lines = draw(&kept, None);
    }
    if !left_out.is_empty() {
        // Omitted columns are named in the order of the table.
        let titles = table.columns.iter().map(|column| column.title.as_str());
        let titles: Vec<_> = titles
            .filter(|title| left_out.iter().any(|t| t == title))
            .collect();
        let note = format!(
            "Left out to fit {width} columns: {}. A wider terminal or {every_column} shows them.",
            titles.join(", ")
        );
        lines.extend(wrap(&note, width, ""));
    }
    lines
}

/// The table with its long paths broken after slashes, if it fits then.
fn with_paths_broken(table: &Table, width: usize) -> Option<Vec<String>> {
    let has_paths = table.rows.iter().flatten().any(|cell| cell.contains('/'));
    let mut longest = PATHS.iter().filter(|_| has_paths).map(|longest| {
        let mut broken = table.clone();
        for cell in broken.rows.iter_mut().flatten() {
            *cell = wrap(cell, *longest, "").join("\n");
        }
        draw(&broken, None)
    });
    longest.find(|lines| widest(lines) <= width)
}

fn draw(table: &Table, width: Option<usize>) -> Vec<String> {
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_preset(presets::NOTHING)
        .set_style(comfy_table::TableComponent::HeaderLines, '-');
    drawn.set_header(table.columns.iter().map(|column| column.title.as_str()));
    for row in &table.rows {
        drawn.add_row(row);
    }
    for (column, described) in drawn.column_iter_mut().zip(&table.columns) {
        column.set_padding((0, 2));
        if described.figures {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    match width {
        None => drawn.set_content_arrangement(ContentArrangement::Disabled),
        Some(width) => drawn
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX)),
    };
    let lines = drawn.to_string();
    lines
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn widest(lines: &[String]) -> usize {
    lines
        .iter()
        .map(|line| text_width::width(line))
        .max()
        .unwrap_or_default()
}
