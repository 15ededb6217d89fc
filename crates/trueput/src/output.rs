//! What is written to the terminal. A reader that goes away (`| head`) is no error.

use crate::failure::Failure;
use clap::ValueEnum;
use std::io::{IsTerminal, Write};
use trueput_analysis::Style;
use trueput_analysis::charts::Charts;

/// Writes text to standard output as it is.
///
/// # Errors
/// [`Failure::OutputClosed`] where nobody reads any more.
pub fn write(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// Writes a line to standard output.
///
/// # Errors
/// As [`write`].
pub fn line(text: &str) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Writes a value to standard output as indented JSON.
///
/// # Errors
/// As [`write`].
pub fn json(value: &serde_json::Value) -> Result<(), Failure> {
    line(&format!("{value:#}"))
}

/// Writes one line to standard error. Nobody can be told where that fails.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", on_one_line(text));
}

/// Writes one line that says what is wrong to standard error.
pub fn complain(text: &str) {
    note(&format!("trueput: {text}"));
}

fn on_one_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// When charts of characters are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartsWhen {
    /// Where standard output is a terminal
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// How a report looks on this standard output, with charts where it is a terminal.
pub fn style() -> Style {
    style_with(ChartsWhen::Auto)
}

/// How a report looks on this standard output.
pub fn style_with(when: ChartsWhen) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let charts = match when {
        ChartsWhen::Never => Charts::Off,
        ChartsWhen::Auto if !is_terminal => Charts::Off,
        _ if speaks_utf8() => Charts::Blocks,
        _ => Charts::Ascii,
    };
    if !is_terminal {
        return Style {
            width: None,
            colour: false,
            charts,
        };
    }
    let width = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| width);
    Style {
        width,
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        charts,
    }
}

/// Whether the locale's characters are UTF-8. Without a locale, and on the kernel's own console, whose
/// fonts lack the blocks, they are taken as ASCII.
fn speaks_utf8() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    let console = std::env::var("TERM").is_ok_and(|term| term == "linux" || term == "dumb");
    let utf8 = |locale: String| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    !console && locale.is_some_and(utf8)
}
