//! Output to the terminal. A reader that closes the pipe (`| head`) is not an error.

use crate::ascii::transliterated;
use crate::failure::{FAILED, Failure};
use clap::ValueEnum;
use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use trueput_engine::credentials;
use trueput_record::text::{escape_json, escape_line, escape_lines, shortened};
use trueput_report::charts::Charts;
use trueput_report::{Format, Style};

/// Extra columns that ASCII replacements (`...`) may need.
pub const ASCII_SPARE: usize = 6;

/// Writes text to standard output, with hidden characters escaped.
///
/// # Errors
/// [`Failure::OutputClosed`] if standard output is closed.
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
        Format::Json => write_raw(&escape_json(text)),
        Format::Terminal => for_people(text),
        _ => write_raw(text),
    }
}

/// Writes text for people to standard output, in ASCII if the output is limited to it.
fn for_people(text: &str) -> Result<(), Failure> {
    if wants_ascii(std::io::stdout().is_terminal()) {
        write_raw(&transliterated(text))
    } else {
        write_raw(text)
    }
}

/// Writes lines of JSON to standard output, with hidden characters as JSON escapes.
///
/// # Errors
/// As [`write`].
pub fn json_lines(text: &str) -> Result<(), Failure> {
    document(&format!("{}\n", text.trim_end_matches('\n')), Format::Json)
}

/// Writes our own text to standard output unchanged.
///
/// # Errors
/// As [`write`].
pub fn write_raw(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    written
        .and_then(|()| output.flush())
        .map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => {
                let message = format!("cannot write to standard output: {error}");
                let mut lost = LOST_OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
                lost.get_or_insert_with(|| message.clone());
                Failure::Other(message)
            }
        })
}

/// Why standard output lacks something, other than that its reader has closed it.
static LOST_OUTPUT: Mutex<Option<String>> = Mutex::new(None);

/// Ends a command whose output may have been lost on the way, as that of a run that goes on: the
/// command has failed then, with a message.
pub fn finish(code: ExitCode) -> ExitCode {
    let mut lost = LOST_OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(message) = lost.take() else {
        return code;
    };
    print_error(&message);
    if code == ExitCode::SUCCESS {
        ExitCode::from(FAILED)
    } else {
        code
    }
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

/// Converts text for people to ASCII if standard error is limited to it.
pub fn for_standard_error(text: &str) -> Cow<'_, str> {
    if wants_ascii(std::io::stderr().is_terminal()) {
        transliterated(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Columns to keep free in lines on standard error for replacements that are wider than the
/// original.
pub fn spare_on_standard_error() -> usize {
    if wants_ascii(std::io::stderr().is_terminal()) {
        ASCII_SPARE
    } else {
        0
    }
}

/// Writes a one-line error message to standard error.
pub fn print_error(text: &str) {
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

/// When to draw charts of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartsWhen {
    /// Where standard output is a terminal
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// The style of reports on standard output, with charts if it is a terminal.
pub fn style() -> Style {
    style_with(ChartsWhen::Auto)
}

/// The style of reports on standard output.
pub fn style_with(when: ChartsWhen) -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let charts = match when {
        ChartsWhen::Never => Charts::Off,
        ChartsWhen::Auto if !is_terminal => Charts::Off,
        _ if can_draw_blocks() => Charts::Blocks,
        _ => Charts::Ascii,
    };
    if !is_terminal {
        return Style {
            width: None,
            color: false,
            charts,
        };
    }
    Style {
        width: terminal_size().map(|(width, _)| width),
        color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        charts,
    }
}

/// Whether standard output gets ASCII, in which an ellipsis is three characters wide.
pub fn is_ascii() -> bool {
    wants_ascii(std::io::stdout().is_terminal())
}

/// Columns and rows of the terminal; `None` if standard output is not one.
pub fn terminal_size() -> Option<(u16, u16)> {
    let output = std::io::stdout();
    let size = output
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(&output))?;
    size.map(|(terminal_size::Width(width), terminal_size::Height(height))| (width, height))
}

/// Whether charts may use block characters, which the fonts of the kernel's console lack.
fn can_draw_blocks() -> bool {
    let console = std::env::var("TERM").is_ok_and(|term| term == "linux" || term == "dumb");
    !console && locale().is_some_and(|locale| is_utf8(&locale))
}

/// Whether text for people is written in ASCII: if the locale has another character set than UTF-8,
/// as `C` does, and on a terminal without a locale. A pipe or a file without a locale gets UTF-8:
/// cron and CI run without a locale, and their output is read elsewhere.
fn wants_ascii(is_terminal: bool) -> bool {
    match locale() {
        Some(locale) => !is_utf8(&locale),
        None => is_terminal,
    }
}

/// The locale of characters, from the first of its variables that is set.
fn locale() -> Option<String> {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set)
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
