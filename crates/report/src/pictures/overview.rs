//! All rankings side by side: in each panel the contenders below each other, with the interval of
//! their verdict.

use super::display_list::{Anchor, Bounds, Color, DisplayList, LINE, TextStyle};
use super::grid::{Frame, PanelGrid, head_height};
use super::scale::Scale;
use crate::chart::{MAX_DRAWN, Panel, PanelRow, Panels};
use crate::series_style::{Appearance, SHAPES};
use trueput_findings::answer::RankingVerdict;

/// Figures that are further apart than this factor are on a logarithmic scale.
pub(crate) const MAX_RATIO: f64 = 10.0;

/// An interval of few repeats may be many times as long as all bars: of that only the beginning is
/// drawn.
const MAX_INTERVAL_RATIO: f64 = 1.3;

/// Distances of rows, pixels.
const MIN_PITCH: f64 = 16.0;
const MAX_PITCH: f64 = 60.0;
const PAGE_PITCH: f64 = 24.0;

/// The room that the parts of a row of the grid get.
struct RowLayout {
    /// Of its rows, all of them.
    rows: f64,
    /// The distance of rows.
    pitch: f64,
    /// The number of rows for which there is room.
    fits: usize,
    /// Names and figures.
    name: TextStyle,
    /// The whole.
    height: f64,
}

/// Texts of a slide with few contenders are so many times larger.
const LARGER_TEXTS: [f64; 2] = [1.3, 1.15];

/// Rows are at least as far apart as this where texts are larger, in sizes of names.
const LARGE_PITCH: f64 = 2.4;

pub(super) fn lay_out(panels: &Panels, frame: Frame, styles: &Appearance) -> DisplayList {
    let times = LARGER_TEXTS.iter().filter(|_| frame.height.is_some());
    let mut larger = times.map(|times| frame.with_texts(*times));
    let fits = |frame: &Frame| {
        let grid = PanelGrid::new(panels, *frame);
        let mut rooms = grid.rows().into_iter().map(|row| room(&grid, row));
        rooms.all(|room| room.pitch >= frame.name().size * LARGE_PITCH)
    };
    let frame = larger.find(fits).unwrap_or(frame);
    let mut grid = PanelGrid::new(panels, frame);
    for row in grid.rows() {
        let room = room(&grid, row);
        let cells = grid.next_row(row.len(), room.height);
        for (panel, cell) in row.iter().zip(cells) {
            let top = grid.draw_panel_head(panel, row, cell);
            let drawing = Drawing {
                panel,
                frame,
                room: &room,
                area: Bounds { top, ..cell },
                styles,
            };
            drawing.draw(&mut grid.list);
        }
    }
    grid.list
}

fn room(grid: &PanelGrid<'_>, row: &[Panel]) -> RowLayout {
    let (frame, width) = (grid.frame, grid.cell_width());
    let head = head_height(frame, row, width);
    let verdicts = row.iter().map(|panel| verdict_height(frame, panel, width));
    let below = axis_height(frame) + verdicts.fold(0.0, f64::max);
    let longest = row.iter().map(|panel| panel.rows.len()).max();
    let longest = longest.unwrap_or_default().max(1);
    let (pitch, fits) = match grid.row_height() {
        Some(height) => {
            let left = (height - head - below).max(MIN_PITCH);
            let fits = (left / MIN_PITCH) as usize;
            let shown = longest.min(fits) as f64;
            ((left / shown).clamp(MIN_PITCH, MAX_PITCH), fits)
        }
        None => (PAGE_PITCH, MAX_DRAWN),
    };
    let rows = longest.min(fits) as f64 * pitch;
    let name = frame.name();
    RowLayout {
        rows,
        pitch,
        fits,
        name: TextStyle {
            size: (pitch * 0.62).clamp(name.size * 0.8, name.size * 1.15),
            ..name
        },
        height: grid.row_height().unwrap_or(head + rows + below),
    }
}

/// The middle of a label of this half width: where it is wanted, if that leaves the label inside of
/// the area. One that fills the area may exceed it by a rounding error.
fn label_middle(wanted: f64, half: f64, area: Bounds) -> f64 {
    wanted.min(area.right - half).max(area.left + half)
}

fn axis_height(frame: Frame) -> f64 {
    frame.small().height(2) + 8.0
}

/// The verdict in a sentence; of a ranking that claims nothing its label comes first.
fn verdict_lines(frame: Frame, panel: &Panel, width: f64) -> Vec<String> {
    const MAX_LINES: usize = 5;
    frame.name().wrapped(&panel.sentence, width, MAX_LINES)
}

fn verdict_height(frame: Frame, panel: &Panel, width: f64) -> f64 {
    let label = usize::from(panel.verdict.is_some());
    frame
        .name()
        .height(verdict_lines(frame, panel, width).len() + label)
        + 12.0
}

/// A panel below its head.
struct Drawing<'a> {
    panel: &'a Panel,
    frame: Frame,
    room: &'a RowLayout,
    area: Bounds,
    styles: &'a Appearance,
}

impl Drawing<'_> {
    fn draw(&self, list: &mut DisplayList) {
        let rows = &self.panel.rows;
        let shown = if rows.len() > self.room.fits {
            self.room.fits - 1
        } else {
            rows.len()
        };
        let (shown, more) = rows.split_at(shown);
        let plot = self.plot(shown);
        let scale = self.scale(shown);
        self.draw_axis(list, plot, scale);
        for (index, row) in shown.iter().enumerate() {
            let y = self.area.top + (index as f64 + 0.5) * self.room.pitch;
            list.group = Some(row.group);
            self.draw_row(list, row, plot, scale, y);
            list.group = None;
        }
        if !more.is_empty() {
            let y = self.area.top + (shown.len() as f64 + 0.5) * self.room.pitch;
            let text = format!("… and {} more", more.len());
            let style = self.frame.small();
            list.lines(&[text], &style, self.area.left, y + style.size * 0.35);
        }
        self.draw_verdict(list);
    }

    /// The area of the figures, between the names and the figures in words.
    fn plot(&self, rows: &[PanelRow]) -> Bounds {
        const GAP: f64 = 12.0;
        const MAX_NAMES: f64 = 0.42;
        let name = self.room.name.bold();
        let widest = |of: fn(&PanelRow) -> &str| {
            let widths = rows.iter().map(|row| name.width(of(row)));
            widths.fold(0.0, f64::max)
        };
        let names = widest(|row| &row.name).min(self.area.width() * MAX_NAMES);
        Bounds {
            left: self.area.left + names + GAP,
            top: self.area.top,
            right: self.area.right - widest(|row| &row.text) - GAP,
            bottom: self.area.top + self.room.rows,
        }
    }

    fn scale(&self, rows: &[PanelRow]) -> Scale {
        let figures = || rows.iter().map(|row| row.figure);
        let most = figures().fold(0.0, f64::max) * MAX_INTERVAL_RATIO;
        let highs = rows.iter().filter_map(|row| row.interval);
        let highs = highs.map(|(_, high)| high.min(most));
        let all = figures().chain(highs).chain(self.panel.reference);
        Scale::of(all, MAX_RATIO, self.panel.unit)
    }

    fn draw_axis(&self, list: &mut DisplayList, plot: Bounds, scale: Scale) {
        let small = self.frame.small();
        let middle = small.anchored(Anchor::Middle);
        let x = |at: f64| plot.left + at * plot.width();
        let mut end = f64::MIN;
        let most = (plot.width() / (small.size * 3.5)).clamp(2.0, 6.0) as usize;
        for (at, label) in scale.ticks(self.panel.unit, most) {
            list.line((x(at), plot.top), (x(at), plot.bottom), 1.0, Color::Rule);
            let half = small.width(&label) / 2.0;
            if x(at) - half > end {
                end = x(at) + half + small.size * 0.6;
                let y = plot.bottom + small.size * LINE;
                list.lines(&[label], &middle, x(at), y);
            }
        }
        if let Some(leader) = self.panel.reference {
            let at = x(scale.at(leader));
            list.dashed((at, plot.top), (at, plot.bottom), Color::Ink);
        }
        let scale = if scale.is_log { ", log scale" } else { "" };
        let label = format!("{}{scale}", self.panel.label);
        let label = small.shortened(&label, self.area.width());
        let at = label_middle(x(0.5), small.width(&label) / 2.0, self.area);
        list.lines(&[label], &middle, at, plot.bottom + small.height(2));
    }

    fn draw_row(&self, list: &mut DisplayList, row: &PanelRow, plot: Bounds, scale: Scale, y: f64) {
        let name = if row.is_first {
            self.room.name.bold()
        } else {
            self.room.name
        };
        let line = y + name.size * 0.36;
        let room = plot.left - self.area.left - 12.0;
        list.lines(
            &[name.shortened(&row.name, room)],
            &name,
            self.area.left,
            line,
        );
        let right = name.anchored(Anchor::End);
        list.lines(
            std::slice::from_ref(&row.text),
            &right,
            self.area.right,
            line,
        );
        let style = self.styles.style_of(&row.contender);
        let color = Color::Series(style.color);
        let x = |figure: f64| plot.left + scale.at(figure) * plot.width();
        let half = (self.room.pitch * 0.28).min(9.0);
        if scale.is_log {
            list.line((plot.left, y), (plot.right, y), 1.0, Color::Rule);
        } else {
            let bar = Bounds {
                left: plot.left,
                top: y - half,
                right: x(row.figure),
                bottom: y + half,
            };
            list.area(bar, color, 0.3);
        }
        if let Some((low, high)) = row.interval {
            list.line((x(low), y), (x(high), y), 1.8, Color::Ink);
            for end in [low, high].into_iter().filter(|end| scale.contains(*end)) {
                let (top, bottom) = (y - half * 0.8, y + half * 0.8);
                list.line((x(end), top), (x(end), bottom), 1.8, Color::Ink);
            }
        }
        list.mark(SHAPES[style.shape], (x(row.figure), y), 1.15, color);
    }

    fn draw_verdict(&self, list: &mut DisplayList) {
        let style = self.frame.name();
        let mut y = self.area.top + self.room.rows + axis_height(self.frame) + style.size + 4.0;
        if let Some(verdict) = self.panel.verdict {
            let color = match verdict {
                RankingVerdict::Leader | RankingVerdict::Equal => Color::Sure,
                RankingVerdict::SameWithin
                | RankingVerdict::TooNoisy
                | RankingVerdict::TooFewRepeats
                | RankingVerdict::Undecided => Color::Unsure,
                RankingVerdict::NoOrder | RankingVerdict::RateNotKept => Color::Quiet,
            };
            let label = TextStyle { color, ..style }.bold();
            list.lines(&[verdict.label().to_owned()], &label, self.area.left, y);
            y += style.height(1);
        }
        let lines = verdict_lines(self.frame, self.panel, self.area.width());
        list.lines(&lines, &style, self.area.left, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stays_inside_of_its_area_and_begins_there_if_it_is_too_wide() {
        let area = Bounds {
            left: 10.0,
            right: 50.0,
            ..Bounds::default()
        };
        let places = [(30.0, 5.0), (12.0, 5.0), (49.0, 5.0), (30.0, 20.01)];
        let found = places.map(|(wanted, half)| label_middle(wanted, half, area));
        assert_eq!(found, [30.0, 15.0, 45.0, 30.01]);
    }
}
