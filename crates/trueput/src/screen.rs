//! Length and width of reports.

use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use clap::Args;
use trueput_report::Style;
use trueput_report::answer::Layout;

/// Columns if standard output is not a terminal: most terminals, mails and issues show them.
const DEFAULT_WIDTH: u16 = 80;

/// Columns of tables other than an answer if standard output is not a terminal.
const TABLE_WIDTH: u16 = 100;

/// Lists have no more columns, on however wide a terminal: their sentences are to be read.
const WIDEST_LIST: u16 = 100;

/// Narrower reports cannot be read.
const MIN_COLUMNS: u16 = 40;

/// An answer has no more lines, on however tall a terminal.
const MAX_LINES: usize = 60;

/// The lines of an answer without a terminal.
const DEFAULT_LINES: usize = 40;

/// The least lines of an answer, on however small a terminal.
const MIN_LINES: usize = 20;

/// Reads a number of columns.
fn parse_columns(text: &str) -> Result<u16, Failure> {
    let columns = text.parse().ok().filter(|columns| *columns >= MIN_COLUMNS);
    columns.ok_or_else(|| Failure::usage(format!("must be {MIN_COLUMNS} to {}", u16::MAX)))
}

/// The length and width of a report.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Screen {
    /// Write everything: every section and column, not what fits one screen
    #[arg(long, help_heading = None::<&str>)]
    pub full: bool,
    /// Write at most this many columns [default: the terminal's; elsewhere 80, and no limit with
    /// --full]
    #[arg(long, value_name = "COLUMNS", value_parser = parse_columns,
        help_heading = None::<&str>)]
    pub width: Option<u16>,
}

/// The columns of a list: the terminal's, at most 100; elsewhere 80.
pub fn list_width() -> usize {
    let terminal = output::terminal_size().map(|(width, _)| width.min(WIDEST_LIST));
    usize::from(terminal.unwrap_or(DEFAULT_WIDTH)).saturating_sub(ascii_spare())
}

/// Columns to keep free for replacements that are wider than the original.
fn ascii_spare() -> usize {
    if output::is_ascii() {
        output::ASCII_SPARE
    } else {
        0
    }
}

impl Screen {
    /// The width of lines: as requested, else the terminal's, else 80.
    pub fn columns(self) -> usize {
        let terminal = output::terminal_size().map(|(width, _)| width);
        let width = self.width.or(terminal).unwrap_or(DEFAULT_WIDTH);
        usize::from(width).saturating_sub(ascii_spare())
    }

    /// The room for an answer: at most 60 lines, and a terminal's prompt stays in sight.
    pub fn layout(self) -> Layout {
        let terminal = output::terminal_size();
        let height = terminal.map_or(DEFAULT_LINES, |(_, height)| usize::from(height));
        Layout {
            width: self.columns(),
            lines: height.saturating_sub(1).clamp(MIN_LINES, MAX_LINES),
            color: output::style().color,
            cuts: terminal.is_some(),
        }
    }

    /// The style of tables: with `--full` every column that fits the terminal, and all columns if
    /// there is none.
    pub fn style(self, when: ChartsWhen) -> Style {
        let style = output::style_with(when);
        let usual = style.width.or((!self.full).then_some(TABLE_WIDTH));
        Style {
            width: self.width.or(usual),
            ..style
        }
    }

    /// Like [`Screen::style`], but with the width of lists by default.
    pub fn list_style(self) -> Style {
        let style = self.style(ChartsWhen::Auto);
        let list = u16::try_from(list_width()).ok().filter(|_| !self.full);
        Style {
            width: self.width.or(list).or(style.width),
            ..style
        }
    }
}
