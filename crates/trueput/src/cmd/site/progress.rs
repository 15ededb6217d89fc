//! The progress of `trueput site`: a bar on a terminal, a line at times elsewhere.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The time between two lines without a terminal; most sites are made before the first.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The progress over the runs of a site.
pub struct SiteProgress {
    bar: ProgressBar,
    runs: usize,
    begun: Cell<usize>,
    last_line_at: Cell<Instant>,
}

impl SiteProgress {
    /// Shows that no run is read.
    pub fn new(runs: usize) -> Self {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new(runs as u64)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos} of {len} runs {wide_msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            runs,
            begun: Cell::new(0),
            last_line_at: Cell::new(Instant::now()),
        }
    }

    /// Shows that the next run is read.
    pub fn begin(&self, name: &str) {
        let before = self.begun.get();
        self.begun.set(before + 1);
        self.bar.set_position(before as u64);
        let message = trueput_record::text::escape_line(name).into_owned();
        self.bar.set_message(message);
        if self.bar.is_hidden() && self.last_line_at.get().elapsed() >= LINE_EVERY {
            self.last_line_at.set(Instant::now());
            output::note(&format!("{before} of {} runs read", self.runs));
        }
    }

    /// Writes a line above the bar.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| output::note(text));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
