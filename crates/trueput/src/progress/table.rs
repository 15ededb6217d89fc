//! The rankings as they stand, on a terminal: a table above the bar, drawn again in its place.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use trueput_analysis::answer::{Answer, Layout};

/// The bar, the line above it and the cursor's.
const OTHER_LINES: usize = 3;

/// More lines would hide what was said before.
const MOST_LINES: usize = 24;

/// Where the size of the terminal is not known.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// A bar and, above it, how the rankings stand.
pub struct LiveTable {
    lines: MultiProgress,
    bar: ProgressBar,
    table: Option<ProgressBar>,
    answer: Option<Answer>,
    drawn_at: (u16, u16),
}

impl LiveTable {
    /// A bar without a table yet.
    pub fn new(bar: ProgressBar) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(bar);
        Self {
            lines,
            bar,
            table: None,
            answer: None,
            drawn_at: size(),
        }
    }

    /// The bar.
    pub fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// Draws how the rankings stand.
    pub fn show(&mut self, answer: Answer) {
        self.answer = Some(answer);
        self.draw();
    }

    /// Draws the table again where the terminal has another size by now.
    pub fn follow_size(&mut self) {
        if size() != self.drawn_at {
            self.draw();
        }
    }

    fn draw(&mut self) {
        self.drawn_at = size();
        let (width, height) = self.drawn_at;
        let layout = Layout {
            width: usize::from(width),
            lines: usize::from(height)
                .saturating_sub(OTHER_LINES)
                .min(MOST_LINES),
            colour: false,
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
        // Empty lines set it off from what was said and from the bar.
        table.set_message(format!("\n{text}\n"));
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

fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(USUAL_SIZE, |(width, height)| (width.0, height.0))
}
