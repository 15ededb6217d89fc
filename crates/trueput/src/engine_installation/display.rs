//! Shows how far an installation is: one line for each engine, and on a terminal a bar for a
//! download and the last line of the log for a build.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::time::Duration;
use trueput_record::text::escape_line;

/// The columns of an engine's name.
const NAME_WIDTH: usize = 13;

/// How often the time of a step is drawn.
const TICK: Duration = Duration::from_millis(200);

const DOWNLOAD: &str =
    "{prefix} [{bar:24}] {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left, {wide_msg}";
const COUNT: &str = "{prefix} [{bar:24}] {pos}/{len}, {elapsed}, {wide_msg}";
const STEP: &str = "{prefix} {spinner} {elapsed}, {wide_msg}";

/// The lines of an installation.
pub struct Display {
    is_terminal: bool,
    engine: RefCell<String>,
    bar: RefCell<Option<ProgressBar>>,
    position: Cell<u64>,
}

impl Display {
    /// A bar if standard error is a terminal.
    pub fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            engine: RefCell::default(),
            bar: RefCell::default(),
            position: Cell::new(0),
        }
    }

    /// Whether somebody sees a bar.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The lines that follow are of this engine.
    pub fn begin_engine(&self, name: &str) {
        self.clear();
        name.clone_into(&mut self.engine.borrow_mut());
    }

    fn line(&self, text: &str) -> String {
        format!("{:<NAME_WIDTH$} {text}", self.engine.borrow())
    }

    /// Writes a line on standard output.
    pub fn say(&self, text: &str) {
        let line = self.line(&escape_line(text));
        // The reader may have closed it, which must not stop an installation.
        let write = || drop(output::line(&line));
        match &*self.bar.borrow() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Writes the line of an engine that failed.
    pub fn say_failure(&self, reason: &str) {
        self.clear();
        output::note(&self.line(&format!("FAILED: {reason}")));
    }

    /// A download of this size begins.
    pub fn begin_download(&self, name: &str, bytes: u64) {
        self.begin(Some(bytes), DOWNLOAD, name);
    }

    /// A step of so many parts begins.
    pub fn begin_count(&self, parts: usize, name: &str) {
        self.begin(Some(parts as u64), COUNT, name);
    }

    /// A step of unknown length begins.
    pub fn begin_step(&self, name: &str) {
        self.begin(None, STEP, name);
    }

    fn begin(&self, length: Option<u64>, template: &str, name: &str) {
        self.clear();
        if !self.is_terminal {
            return;
        }
        let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        // The templates are constants that a test parses; the default style would do as well.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> ").tick_chars("|/-\\ "));
        }
        bar.set_prefix(self.line("").trim_end().to_owned());
        bar.enable_steady_tick(TICK);
        self.bar.replace(Some(bar));
        self.position.set(0);
        self.set_message(name);
    }

    /// Shows a text behind the bar.
    pub fn set_message(&self, text: &str) {
        if let Some(bar) = &*self.bar.borrow() {
            bar.set_message(output::for_standard_error(&escape_line(text)).into_owned());
        }
    }

    /// Moves the bar, which never goes back: a client moves what it has got.
    pub fn advance_to(&self, position: u64) {
        if position > self.position.replace(position.max(self.position.get()))
            && let Some(bar) = &*self.bar.borrow()
        {
            bar.set_position(position);
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_sound_and_a_name_is_padded() {
        for template in [DOWNLOAD, COUNT, STEP] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
        let display = Display::new();
        display.begin_engine("lmdb");
        assert_eq!(display.line("is there"), "lmdb          is there");
    }
}
