//! The frame of a picture: its head, its notes, and the cells between them.

use super::display_list::{Anchor, Bounds, Color, DisplayList, TextStyle};
use crate::chart::{Panel, Panels};

/// The size of a picture and of its texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub width: f64,
    /// `None`: as high as its content. Such a picture has no head and no notes, which the page
    /// writes.
    pub height: Option<f64>,
    /// Room at its sides.
    margin: f64,
    /// Room between cells.
    gap: f64,
    /// The size of panels' titles; other texts are in proportion.
    title_size: f64,
}

impl Frame {
    /// A slide of the usual proportions.
    pub(super) const SLIDE: Self = Self {
        width: 1_280.0,
        height: Some(720.0),
        margin: 36.0,
        gap: 36.0,
        title_size: 18.0,
    };

    /// The frame with texts of so many times their size.
    pub(super) fn with_texts(self, times: f64) -> Self {
        Self {
            title_size: self.title_size * times,
            ..self
        }
    }

    /// A drawing of this width on the page.
    pub(super) fn page(width: f64) -> Self {
        Self {
            width,
            height: None,
            margin: 2.0,
            gap: 28.0,
            title_size: 15.0,
        }
    }

    /// The title of a panel.
    pub(super) fn title(self) -> TextStyle {
        TextStyle::new(self.title_size, Color::Ink).bold()
    }

    /// Text below a title, and on axes.
    pub(super) fn small(self) -> TextStyle {
        TextStyle::new((self.title_size * 0.7).max(11.0), Color::Quiet)
    }

    /// Names and figures.
    pub(super) fn name(self) -> TextStyle {
        TextStyle::new(self.title_size * 0.8, Color::Ink)
    }
}

/// Panels below a title are in this many columns at most.
const MAX_COLUMNS: usize = 4;

/// A column is not narrower than this, pixels.
const MIN_COLUMN: f64 = 250.0;

/// Panels with more rows than this are not in two rows of the grid of a slide.
pub(crate) const MAX_ROWS_OF_TWO: usize = 9;

/// The most panels of a picture, whose longest has so many rows.
pub(crate) fn max_panels(rows: usize) -> usize {
    if rows > MAX_ROWS_OF_TWO {
        MAX_COLUMNS
    } else {
        6
    }
}

/// A picture whose head and notes are drawn, with cells for its panels.
pub(super) struct PanelGrid<'a> {
    pub list: DisplayList,
    pub frame: Frame,
    /// The panels of each row of the grid.
    rows: Vec<&'a [Panel]>,
    columns: usize,
    /// The end of the head, and the beginning of the notes if the height is fixed.
    top: f64,
    bottom: Option<f64>,
}

impl<'a> PanelGrid<'a> {
    pub(super) fn new(panels: &'a Panels, frame: Frame) -> Self {
        let columns = columns(&panels.panels, frame);
        let mut grid = Self {
            list: DisplayList::new(frame.width),
            frame,
            rows: panels.panels.chunks(columns.max(1)).collect(),
            columns,
            top: 2.0,
            bottom: None,
        };
        if let Some(height) = frame.height {
            grid.list.height = height;
            grid.draw_head(panels);
            grid.draw_notes(panels, height);
        }
        grid
    }

    /// The panels of each row of the grid.
    pub(super) fn rows(&self) -> Vec<&'a [Panel]> {
        self.rows.clone()
    }

    /// The width of a cell.
    pub(super) fn cell_width(&self) -> f64 {
        let gaps = self.frame.gap * (self.columns as f64 - 1.0);
        (self.frame.width - 2.0 * self.frame.margin - gaps) / self.columns as f64
    }

    /// The height of each row of the grid; `None` if it is that of its content.
    pub(super) fn row_height(&self) -> Option<f64> {
        let rows = self.rows.len() as f64;
        let gaps = self.frame.gap * 0.7 * (rows - 1.0);
        self.bottom.map(|bottom| (bottom - self.top - gaps) / rows)
    }

    /// The cells of a row of the grid, which takes this much height, and goes to the next row.
    pub(super) fn next_row(&mut self, count: usize, height: f64) -> Vec<Bounds> {
        let (width, top) = (self.cell_width(), self.top);
        let cell = |column: usize| {
            let left = self.frame.margin + column as f64 * (width + self.frame.gap);
            Bounds {
                left,
                top,
                right: left + width,
                bottom: top + height,
            }
        };
        let cells = (0..count).map(cell).collect();
        self.top += height + self.frame.gap * 0.7;
        if self.frame.height.is_none() {
            self.list.height = top + height + 2.0;
        }
        cells
    }

    /// Draws the title of a panel and the promise of its level, in as much room as those of the
    /// whole row need, and returns where they end.
    pub(super) fn draw_panel_head(&mut self, panel: &Panel, row: &[Panel], cell: Bounds) -> f64 {
        let (title, small) = (self.frame.title(), self.frame.small());
        let lines = head_lines(self.frame, panel, cell.width());
        let y = cell.top + title.size;
        self.list.lines(&lines.0, &title, cell.left, y);
        let y = cell.top + title.height(lines.0.len()) + small.size;
        self.list.lines(&lines.1, &small, cell.left, y);
        cell.top + head_height(self.frame, row, cell.width())
    }

    fn draw_head(&mut self, panels: &Panels) {
        let frame = self.frame;
        let room = frame.width - 2.0 * frame.margin;
        let largest = TextStyle::new(frame.title_size * 1.45, Color::Ink).bold();
        let smallest = frame.title_size * 1.1;
        let needed = largest.width(&panels.title).max(1.0);
        let size = (largest.size * room / needed).clamp(smallest, largest.size);
        let title = TextStyle { size, ..largest };
        let small = TextStyle::new(frame.title_size * 0.75, Color::Quiet);
        let mut y = frame.margin * 0.7 + size;
        let text = title.shortened(&panels.title, room);
        self.list.lines(&[text], &title, frame.margin, y);
        for line in &panels.conditions {
            y += small.size * 1.5;
            let text = small.wrapped(line, room, 1);
            self.list.lines(&text, &small, frame.margin, y);
        }
        self.top = y + frame.gap * 0.7;
    }

    fn draw_notes(&mut self, panels: &Panels, height: f64) {
        const MAX_LINES: usize = 5;
        let (frame, small) = (self.frame, self.frame.small());
        let room = frame.width - 2.0 * frame.margin;
        let program = "trueput";
        let beside = small.width(program) + frame.gap;
        let text = panels.notes.join(" ");
        let lines = small.wrapped(&text, room - beside, MAX_LINES);
        let end = height - frame.margin * 0.6;
        let first = end - small.height(lines.len().saturating_sub(1));
        self.list.lines(&lines, &small, frame.margin, first);
        let right = small.anchored(Anchor::End);
        let name = [program.to_owned()];
        self.list
            .lines(&name, &right, frame.width - frame.margin, end);
        let y = first - small.size * 1.6;
        let sides = [frame.margin, frame.width - frame.margin];
        self.list
            .line((sides[0], y), (sides[1], y), 1.0, Color::Rule);
        self.bottom = Some(y - small.size);
    }
}

fn columns(panels: &[Panel], frame: Frame) -> usize {
    let room = (frame.width - 2.0 * frame.margin + frame.gap) / (MIN_COLUMN + frame.gap);
    let most = (room.floor() as usize).clamp(1, MAX_COLUMNS);
    let longest = panels.iter().map(|panel| panel.rows.len()).max();
    let is_long = longest.unwrap_or_default() > MAX_ROWS_OF_TWO;
    let wanted = match panels.len() {
        4 if !is_long => 2,
        0..=4 => panels.len(),
        _ => 3,
    };
    wanted.clamp(1, most)
}

/// The lines of a title and a promise.
fn head_lines(frame: Frame, panel: &Panel, width: f64) -> (Vec<String>, Vec<String>) {
    let title = frame.title().wrapped(&panel.title, width, 2);
    (title, frame.small().wrapped(&panel.promise, width, 2))
}

/// The room that the titles and promises of a row of the grid need.
pub(super) fn head_height(frame: Frame, row: &[Panel], width: f64) -> f64 {
    let height = |panel: &Panel| {
        let lines = head_lines(frame, panel, width);
        frame.title().height(lines.0.len()) + frame.small().height(lines.1.len())
    };
    row.iter().map(height).fold(0.0, f64::max) + frame.small().size * 0.6
}
