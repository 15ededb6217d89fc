//! What is written to the terminal. A reader that goes away (`| head`) is no error.

use crate::failure::Failure;
use std::io::{IsTerminal, Write};
use trueput_analysis::Style;

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

/// How a report looks on this standard output.
pub fn style() -> Style {
    if !std::io::stdout().is_terminal() {
        return Style {
            width: None,
            colour: false,
        };
    }
    let width = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| width);
    Style {
        width,
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
