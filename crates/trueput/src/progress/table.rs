//! Preliminary rankings on a terminal: a table above the bar, redrawn in place.

use crate::output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use trueput_findings::answer::Answer;
use trueput_record::text::escape_line;
use trueput_report::answer::{AnswerText, Layout};

/// The bar, the line above it and the cursor's.
const OTHER_LINES: usize = 3;

/// More lines would hide earlier output.
const MAX_LINES: usize = 24;

/// Terminal size if unknown.
const DEFAULT_SIZE: (u16, u16) = (80, 24);

/// A progress bar with the preliminary rankings above it.
pub struct LiveTable {
    lines: MultiProgress,
    bar: ProgressBar,
    table: Option<ProgressBar>,
    answer: Option<Answer>,
    drawn_at: (u16, u16),
}

impl LiveTable {
    /// A bar of this many steps without a table yet.
    pub fn new(steps: u64) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(ProgressBar::new(steps));
        let drawn_at = size();
        style(&bar, drawn_at.0);
        Self {
            lines,
            bar,
            table: None,
            answer: None,
            drawn_at,
        }
    }

    /// The bar.
    pub fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Shows a text behind the bar.
    pub fn set_message(&self, text: &str) {
        let text = output::for_standard_error(&escape_line(text)).into_owned();
        self.bar.set_message(text);
    }

    /// Draws the preliminary rankings.
    pub fn show(&mut self, answer: Answer) {
        self.answer = Some(answer);
        self.draw();
    }

    /// Redraws the table if the terminal's size has changed.
    pub fn redraw_if_resized(&mut self) {
        if size() != self.drawn_at {
            style(&self.bar, size().0);
            self.draw();
        }
    }

    fn draw(&mut self) {
        self.drawn_at = size();
        let (width, height) = self.drawn_at;
        let layout = Layout {
            width: usize::from(width).saturating_sub(output::spare_on_standard_error()),
            lines: usize::from(height)
                .saturating_sub(OTHER_LINES)
                .min(MAX_LINES),
            color: false,
            cuts: true,
        };
        let text = self
            .answer
            .as_ref()
            .map(|answer| answer.render_rankings(layout));
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let table = self.table.get_or_insert_with(|| {
            let table = ProgressBar::new_spinner();
            // The template is a constant; the default style would do as well.
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                table.set_style(style);
            }
            self.lines.insert_before(&self.bar, table)
        });
        // Empty lines separate it from earlier output and from the bar.
        table.set_message(format!("\n{}\n", output::for_standard_error(&text)));
        table.tick();
    }

    /// Runs `write` while nothing is drawn, so that lines do not run into each other.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.lines.suspend(write)
    }

    /// Removes everything: the answer follows.
    pub fn clear(&self) {
        if let Some(table) = &self.table {
            table.finish_and_clear();
        }
        self.bar.finish_and_clear();
    }
}

/// Gives the bar its look on a terminal of this many columns.
fn style(bar: &ProgressBar, width: u16) {
    // The templates are constants that a test parses; the default style would do as well.
    if let Ok(style) = ProgressStyle::with_template(template(width)) {
        bar.set_style(style.progress_chars("=> "));
    }
}

/// On a narrow terminal the words need the room.
fn template(width: u16) -> &'static str {
    match width {
        ..70 => "[{bar:6}] {wide_msg}",
        _ => "[{bar:24}] {wide_msg}",
    }
}

fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(DEFAULT_SIZE, |(width, height)| (width.0, height.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_of_the_bar_are_sound_and_leave_words_their_room() {
        for width in [40, 69, 70, 200] {
            assert!(ProgressStyle::with_template(template(width)).is_ok());
        }
        assert_ne!(template(40), template(80));
    }
}
