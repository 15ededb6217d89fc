//! What is written to the terminal. A reader that goes away (`| head`) is no error.

use crate::ascii::transliterated;
use crate::failure::Failure;
use clap::ValueEnum;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use trueput_engine::credentials;
use trueput_record::text::{escape_json, escape_line, escape_lines, shortened};
use trueput_report::charts::Charts;
use trueput_report::{Format, Style};

/// What the ellipses and signs of a line take more in ASCII.
pub const ASCII_SPARE: usize = 6;

/// Writes text to standard output, every hidden character in it shown by its number.
///
/// # Errors
/// [`Failure::OutputClosed`] where nobody reads any more.
pub fn write(text: &str) -> Result<(), Failure> {
    for_people(&escape_lines(text))
}

/// Writes a rendered report. Its renderers have escaped the control characters of texts; those that
/// remain are their own colors.
///
/// # Errors
/// As [`write`].
pub fn document(text: &str, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => as_it_is(&escape_json(text)),
        Format::Terminal => for_people(text),
        _ => as_it_is(text),
    }
}

/// Writes text that a person reads to standard output, in ASCII where that is all that is shown.
fn for_people(text: &str) -> Result<(), Failure> {
    match wants_ascii(std::io::stdout().is_terminal()) {
        true => as_it_is(&transliterated(text)),
        false => as_it_is(text),
    }
}

/// Writes lines of JSON to standard output, in which hidden characters are JSON's own escapes.
///
/// # Errors
/// As [`write`].
pub fn json_lines(text: &str) -> Result<(), Failure> {
    document(&format!("{}\n", text.trim_end_matches('\n')), Format::Json)
}

/// Writes text of our own to standard output as it is.
///
/// # Errors
/// As [`write`].
pub fn as_it_is(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    written
        .and_then(|()| output.flush())
        .map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Other(format!("cannot write to standard output: {error}")),
        })
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
    json_lines(&format!("{value:#}"))
}

/// Writes one line to standard error, every hidden character in it shown by its number and long
/// quotations cut. A failure to write it has nowhere to be reported.
pub fn note(text: &str) {
    let words = std::env::args_os().skip(1);
    let inputs: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = shortened(&on_one_line(text), &inputs);
    let line = escape_line(&line);
    let _ = writeln!(std::io::stderr().lock(), "{}", for_standard_error(&line));
}

/// Text that a person reads on standard error, in ASCII where that is all that is shown.
pub fn for_standard_error(text: &str) -> Cow<'_, str> {
    match wants_ascii(std::io::stderr().is_terminal()) {
        true => transliterated(text),
        false => Cow::Borrowed(text),
    }
}

/// What is left free in lines on standard error for replacements that are wider than what they
/// replace.
pub fn spare_on_standard_error() -> usize {
    match wants_ascii(std::io::stderr().is_terminal()) {
        true => ASCII_SPARE,
        false => 0,
    }
}

/// Writes one line that says what is wrong to standard error.
pub fn complain(text: &str) {
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    note(&format!(
        "trueput: {}",
        credentials::redact_message(text, &words)
    ));
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
    Style {
        width: terminal_size().map(|(width, _)| width),
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        charts,
    }
}

/// Whether standard output gets ASCII, in which an ellipsis is three characters wide.
pub fn is_ascii() -> bool {
    wants_ascii(std::io::stdout().is_terminal())
}

/// Columns and rows of the terminal that standard output is; `None` where it is none.
pub fn terminal_size() -> Option<(u16, u16)> {
    let output = std::io::stdout();
    let size = output
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(&output))?;
    size.map(|(terminal_size::Width(width), terminal_size::Height(height))| (width, height))
}

/// Whether charts may use blocks. On the kernel's own console, whose fonts lack them, they may not.
fn speaks_utf8() -> bool {
    let console = std::env::var("TERM").is_ok_and(|term| term == "linux" || term == "dumb");
    !console && locale().is_some_and(|locale| is_utf8(&locale))
}

/// Whether text for people is written in ASCII: where the locale names another character set than
/// UTF-8, as `C` does, and on a terminal without a locale. A pipe or a file without a locale gets
/// UTF-8: so run cron jobs and continuous integration, and what they keep is read elsewhere.
fn wants_ascii(is_terminal: bool) -> bool {
    match locale() {
        Some(locale) => !is_utf8(&locale),
        None => is_terminal,
    }
}

/// The locale of characters, by the variable that counts.
fn locale() -> Option<String> {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set)
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
