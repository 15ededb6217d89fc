//! Rate against latency: in each panel a labeled point for each contender.

use super::display_list::{Anchor, Bounds, Color, DisplayList, LINE, Point, TextStyle};
use super::grid::{Frame, PanelGrid, head_height};
use super::placement::place;
use super::scale::Scale;
use crate::chart::{MAX_DRAWN, Panel, PanelRow, Panels, Unit};
use crate::series_style::{Appearance, SHAPES};

/// Figures that are further apart than this factor are on a logarithmic scale.
const MAX_RATIO: f64 = 5.0;

/// The height of a drawing on the page as a part of its width, and its limits, pixels.
const PAGE_RATIO: f64 = 0.9;
const PAGE_HEIGHTS: (f64, f64) = (240.0, 400.0);

pub(super) fn lay_out(panels: &Panels, frame: Frame, styles: &Appearance) -> DisplayList {
    let mut grid = PanelGrid::new(panels, frame);
    for row in grid.rows() {
        let width = grid.cell_width();
        let (least, most) = PAGE_HEIGHTS;
        let longest = row.iter().map(|panel| panel.rows.len()).max();
        // Each label needs its own room.
        let least = least.max(longest.unwrap_or_default().min(MAX_DRAWN) as f64 * 17.0);
        let own = (width * PAGE_RATIO).min(most).max(least);
        let natural = head_height(frame, row, width) + own;
        let height = grid.row_height().unwrap_or(natural);
        let cells = grid.next_row(row.len(), height);
        for (panel, cell) in row.iter().zip(cells) {
            let top = grid.draw_panel_head(panel, row, cell);
            draw(&mut grid.list, panel, frame, Bounds { top, ..cell }, styles);
        }
    }
    grid.list
}

/// The points of a panel in the order of its rows: rate and latency.
fn points(panel: &Panel) -> impl Iterator<Item = (&PanelRow, Point)> {
    let rows = panel.rows.iter();
    let points = rows.filter_map(|row| Some((row, (row.figure, row.latency_ns?))));
    points.take(MAX_DRAWN)
}

fn draw(list: &mut DisplayList, panel: &Panel, frame: Frame, area: Bounds, styles: &Appearance) {
    let small = frame.small();
    let rates = points(panel).map(|(_, point)| point.0);
    let times = points(panel).map(|(_, point)| point.1);
    let across = Scale::of(rates, MAX_RATIO, Unit::PerSecond);
    let up = Scale::of(times, MAX_RATIO, Unit::Nanoseconds);
    let side_ticks = up.ticks(Unit::Nanoseconds, 6);
    let side_labels = side_ticks.iter().map(|(_, label)| small.width(label));
    let plot = Bounds {
        left: area.left + side_labels.fold(0.0, f64::max) + 10.0,
        top: area.top + small.height(1) + 10.0,
        right: area.right - 4.0,
        bottom: area.bottom - small.height(2) - 8.0,
    };
    draw_axes(list, panel, frame, (area, plot), (across, up));
    let place_of = |(x, y): Point| {
        (
            plot.left + across.at(x) * plot.width(),
            plot.bottom - up.at(y) * plot.height(),
        )
    };
    let rows: Vec<_> = points(panel).map(|(row, at)| (row, place_of(at))).collect();
    draw_points(list, &rows, frame, plot, styles);
}

fn draw_points(
    list: &mut DisplayList,
    rows: &[(&PanelRow, Point)],
    frame: Frame,
    plot: Bounds,
    styles: &Appearance,
) {
    const MAX_LABEL: f64 = 0.5;
    let name = frame.name();
    let style = |row: &PanelRow| if row.is_first { name.bold() } else { name };
    let label = |row: &PanelRow| style(row).shortened(&row.name, plot.width() * MAX_LABEL);
    let labels: Vec<_> = rows.iter().map(|(row, _)| label(row)).collect();
    let size = |((row, _), label): (&(&PanelRow, Point), &String)| {
        (style(row).width(label) + 4.0, name.size + 3.0)
    };
    let sizes: Vec<_> = rows.iter().zip(&labels).map(size).collect();
    let places: Vec<Point> = rows.iter().map(|(_, place)| *place).collect();
    let placed = place(&places, &sizes, plot);
    for ((row, at), found) in rows.iter().zip(&placed) {
        if let Some(to) = found.and_then(|it| it.line_to) {
            list.group = Some(row.group);
            list.line(*at, to, 1.0, Color::Quiet);
        }
    }
    // What lies below a label would make it hard to read.
    list.group = None;
    for found in placed.iter().flatten() {
        list.area(found.bounds, Color::Ground, 0.85);
    }
    for (((row, at), label), found) in rows.iter().zip(&labels).zip(&placed) {
        list.group = Some(row.group);
        let series = styles.style_of(&row.contender);
        list.mark(SHAPES[series.shape], *at, 1.3, Color::Series(series.color));
        if let Some(it) = found {
            let at = (it.bounds.left + 2.0, it.bounds.bottom - name.size * 0.3);
            list.text(style(row).at(label, at), name.color);
        }
    }
    list.group = None;
}

fn draw_axes(
    list: &mut DisplayList,
    panel: &Panel,
    frame: Frame,
    (area, plot): (Bounds, Bounds),
    (across, up): (Scale, Scale),
) {
    let small = frame.small();
    let scaled = |label: &str, scale: Scale| {
        let scale = if scale.is_log { ", log scale" } else { "" };
        small.shortened(&format!("{label}{scale}"), area.width())
    };
    let ink = |style: TextStyle| TextStyle {
        color: Color::Ink,
        ..style
    };
    for (at, label) in up.ticks(Unit::Nanoseconds, 6) {
        let y = plot.bottom - at * plot.height();
        list.line((plot.left, y), (plot.right, y), 1.0, Color::Rule);
        let end = small.anchored(Anchor::End);
        list.lines(&[label], &end, plot.left - 6.0, y + small.size * 0.35);
    }
    let mut end = f64::MIN;
    let most = (plot.width() / (small.size * 4.0)).clamp(2.0, 8.0) as usize;
    for (at, label) in across.ticks(Unit::PerSecond, most) {
        let x = plot.left + at * plot.width();
        list.line((x, plot.top), (x, plot.bottom), 1.0, Color::Rule);
        let half = small.width(&label) / 2.0;
        let at = x.min(area.right - half);
        if at - half > end {
            end = at + half + small.size * 0.6;
            let y = plot.bottom + small.size * LINE;
            list.lines(&[label], &small.anchored(Anchor::Middle), at, y);
        }
    }
    let title = scaled(&panel.latency_label, up);
    list.lines(&[title], &ink(small), area.left, area.top + small.size);
    let label = ink(small).anchored(Anchor::Middle);
    let half = small.width(&scaled(&panel.label, across)) / 2.0;
    let middle = (plot.left + plot.right) / 2.0;
    let x = middle.max(area.left + half).min(area.right - half);
    let y = plot.bottom + small.height(2);
    list.lines(&[scaled(&panel.label, across)], &label, x, y);
}
