//! Charts of a line a group: rates over time, times by percentile, rates by workers.

use super::axis::{self, Tick};
use super::percent;
use crate::chart::{Chart, ChartGroup, ChartKind, ChartMark, MAX_DRAWN, Unit};
use crate::series_style::{Appearance, SeriesStyle};
use maud::{Markup, html};
use trueput_findings::units::seconds;

/// The height of the area that lines are drawn in, pixels.
const HEIGHT: usize = 240;

/// Room above it, for the label of its figures, and below, for its axis.
const ABOVE: usize = 32;
const BELOW: usize = 38;

/// Lines are drawn in this many steps each way.
const STEPS: f64 = 2_000.0;

/// The percentiles that may be named on an axis.
const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Start of the axis of percentiles, just before the median.
const FIRST: f64 = 0.25;

/// A point, as parts of the area's width and height from its top left corner.
type Point = (f64, f64);

/// The line of a group, and the places that its shape marks.
struct ChartLine {
    line: Vec<Point>,
    marked: Vec<Point>,
    /// Further elements of the drawing.
    more: Markup,
}

/// An axis on the left: its ticks as parts of the height from the bottom, and its label.
struct LeftAxis {
    ticks: Vec<Tick>,
    label: &'static str,
    /// A place that is marked along the whole width.
    reference: Option<f64>,
}

fn path(points: &[Point]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let (x, y) = ((x * STEPS).round(), (y * STEPS).round());
        path += &match index {
            0 => format!("M{x} {y}"),
            1 => format!("L{x} {y}"),
            _ => format!(" {x} {y}"),
        };
    }
    path
}

fn frame(
    chart: &Chart,
    styles: &Appearance,
    lines: &[ChartLine],
    bottom: &[Tick],
    side: &LeftAxis,
) -> Markup {
    // The first line of a chart is above the others.
    let groups = chart.groups.iter().take(MAX_DRAWN).zip(lines).enumerate();
    let groups: Vec<_> = groups.collect();
    html! {
        svg class="plot lines" width="100%" height=(ABOVE + HEIGHT + BELOW) {
            (left(side))
            svg class="area" x="44" y=(ABOVE) width="87%" height=(HEIGHT) {
                @for (index, (group, line)) in groups.iter().rev() {
                    (drawn(*index, line, styles.style_of(&group.name)))
                }
            }
            svg class="axis area" x="44" y=(ABOVE + HEIGHT + 2) width="87%" height=(BELOW) {
                (axis::bottom(bottom, bottom_label(chart)))
            }
        }
    }
}

/// The lines at the ticks of the left axis, with their labels, and at its marked place.
fn left(side: &LeftAxis) -> Markup {
    let place = |at: f64| ABOVE as f64 + (1.0 - at) * HEIGHT as f64;
    html! {
        g class="grid" {
            @for tick in &side.ticks {
                @let y = format!("{:.1}", place(tick.at));
                line x1="0" x2="100%" y1=(y) y2=(y) {}
            }
            @if let Some(at) = side.reference {
                @let y = format!("{:.1}", place(at));
                line class="leader" x1="0" x2="100%" y1=(y) y2=(y) {}
            }
        }
        g class="side" {
            @for tick in &side.ticks {
                text x="0" y=(format_args!("{:.1}", place(tick.at) - 4.0)) { (tick.text) }
            }
            text x="0" y="11" class="label" { (side.label) }
        }
    }
}

/// A group's line, with its marks.
fn drawn(index: usize, line: &ChartLine, style: SeriesStyle) -> Markup {
    let paint = style.paint();
    html! {
        g data-group=(index) fill=(paint) stroke=(paint) {
            svg viewBox=(format_args!("0 0 {STEPS} {STEPS}")) preserveAspectRatio="none" {
                path class="line" vector-effect="non-scaling-stroke" d=(path(&line.line))
                    stroke-dasharray=[style.dash] {}
            }
            g class="marks" {
                @for (x, y) in &line.marked {
                    (style.mark(&percent(*x), &percent(*y), false))
                }
            }
            (line.more)
        }
    }
}

fn bottom_label(chart: &Chart) -> &'static str {
    match chart.kind {
        ChartKind::Percentiles => "percentile",
        ChartKind::Curve if is_by_word(chart) => "",
        ChartKind::Curve => "per second",
        ChartKind::Course => "trials",
        ChartKind::Scaling => "workers",
        _ => "time since the start",
    }
}

/// Whether the chart's groups have a figure for each of its words.
fn is_by_word(chart: &Chart) -> bool {
    let first = chart.columns.first();
    first.is_some_and(|column| column.unit == Unit::Word)
}

/// The rows of a group that have values in both columns.
fn pairs(group: &ChartGroup, x: usize, y: usize) -> Vec<Point> {
    let figure = |row: &[Option<f64>], column: usize| row.get(column).copied().flatten();
    let rows = group.rows.iter();
    rows.filter_map(|row| Some((figure(row, x)?, figure(row, y)?)))
        .collect()
}

fn most(points: &[Vec<Point>], of: fn(&Point) -> f64) -> f64 {
    points.iter().flatten().map(of).fold(0.0, f64::max)
}

/// Rates from 0 on the left.
fn rates_side(figures: &[f64]) -> LeftAxis {
    side_from_zero(Unit::PerSecond, figures)
}

/// Figures of a unit from 0 on the left.
fn side_from_zero(unit: Unit, figures: &[f64]) -> LeftAxis {
    let end = figures.last().copied().unwrap_or(1.0);
    LeftAxis {
        ticks: axis::even(unit, figures, 0.0, end),
        label: match unit {
            Unit::Bytes => "bytes",
            Unit::Times => "times",
            _ => "per second",
        },
        reference: None,
    }
}

/// A timeline's line: its first rate from the start on, its last until the last thing that
/// happened.
fn extend_to_events(rows: &[Point], group: &ChartGroup) -> Vec<Point> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Vec::new();
    };
    let happened = group.marks.iter().map(|mark| mark.at_s);
    let end = happened.fold(last.0, f64::max);
    let mut line = vec![(0.0, first.1)];
    line.extend(rows);
    line.push((end, last.1));
    line
}

/// The height of a line at a moment.
fn height_at(line: &[Point], at: f64) -> f64 {
    let next = line.iter().position(|(x, _)| *x >= at);
    match (next, line.last()) {
        (Some(0), _) => line[0].1,
        (Some(next), _) => {
            let ((from, low), (to, high)) = (line[next - 1], line[next]);
            let part = if to > from {
                (at - from) / (to - from)
            } else {
                1.0
            };
            low + (high - low) * part
        }
        (None, last) => last.map_or(0.0, |(_, y)| *y),
    }
}

/// Rates or other figures over time, with engine events as dots on the lines.
pub(super) fn timeline(chart: &Chart, styles: &Appearance) -> Markup {
    let groups: Vec<_> = chart.groups.iter().take(MAX_DRAWN).collect();
    let all: Vec<_> = groups
        .iter()
        .map(|group| extend_to_events(&pairs(group, 0, 1), group))
        .collect();
    let longest = most(&all, |point| point.0).max(f64::MIN_POSITIVE);
    let unit = chart.columns.get(1);
    let unit = unit.map_or(Unit::PerSecond, |column| column.unit);
    let figures = axis::from_zero(unit, most(&all, |point| point.1), 5);
    let end = figures.last().copied().unwrap_or(1.0);
    let place = |(x, y): &Point| (x / longest, 1.0 - y / end);
    let line = |(points, group): (&Vec<Point>, &&ChartGroup)| {
        let event = |mark: &ChartMark| {
            let (x, y) = place(&(mark.at_s, height_at(points, mark.at_s)));
            let title = format!("{}: {} at {}", group.name, mark.text, seconds(mark.at_s));
            html! {
                circle class="event" cx=(percent(x)) cy=(percent(y)) r="3" { title { (title) } }
            }
        };
        ChartLine {
            line: points.iter().map(place).collect(),
            marked: points.last().map(place).into_iter().collect(),
            more: html! { @for mark in &group.marks { (event(mark)) } },
        }
    };
    let lines: Vec<_> = all.iter().zip(&groups).map(line).collect();
    let ticks = axis::ticks(0.0, longest, 6);
    let bottom = axis::even(Unit::Seconds, &ticks, 0.0, longest);
    let side = side_from_zero(unit, &figures);
    frame(chart, styles, &lines, &bottom, &side)
}

/// Times over time, on a logarithmic axis of times.
pub(super) fn latencies(chart: &Chart, styles: &Appearance) -> Markup {
    let groups = chart.groups.iter().take(MAX_DRAWN);
    let all: Vec<_> = groups
        .map(|group| extend_to_events(&pairs(group, 0, 1), group))
        .collect();
    let longest = most(&all, |point| point.0).max(f64::MIN_POSITIVE);
    let times = all.iter().flatten().map(|point| point.1);
    let side = LogAxis::of(Unit::Nanoseconds, times);
    let line = |points: &Vec<Point>| {
        let place = |(x, y): &Point| (x / longest, 1.0 - side.height(*y));
        ChartLine {
            line: points.iter().map(place).collect(),
            marked: points.last().map(place).into_iter().collect(),
            more: html! {},
        }
    };
    let lines: Vec<_> = all.iter().map(line).collect();
    let ticks = axis::ticks(0.0, longest, 6);
    let bottom = axis::even(Unit::Seconds, &ticks, 0.0, longest);
    frame(chart, styles, &lines, &bottom, &side.with(None))
}

/// Times by percentile, on a logarithmic axis of the share above them; the maximum is at the end.
pub(super) fn percentiles(chart: &Chart, styles: &Appearance) -> Markup {
    let groups = chart.groups.iter().take(MAX_DRAWN);
    let all: Vec<_> = groups.map(|group| pairs(group, 0, 1)).collect();
    let rows = || all.iter().flatten();
    let below = rows()
        .map(|row| row.0)
        .filter(|percentile| *percentile < 100.0);
    let most = below.fold(50.0, f64::max);
    let logarithm = |percentile: f64| -(1.0 - percentile / 100.0).log10();
    let end = (logarithm(most) + 0.7).ceil();
    let place = |percentile: f64| {
        if percentile >= 100.0 {
            1.0
        } else {
            (logarithm(percentile) - FIRST) / (end - FIRST)
        }
    };
    let times = rows().map(|row| row.1).chain(chart.reference);
    let side = LogAxis::of(Unit::Nanoseconds, times);
    let line = |rows: &Vec<Point>| {
        let points = rows.iter().map(|(x, y)| (place(*x), 1.0 - side.height(*y)));
        let points: Vec<_> = points.collect();
        ChartLine {
            marked: points.clone(),
            line: points,
            more: html! {},
        }
    };
    let lines: Vec<_> = all.iter().map(line).collect();
    let named = PERCENTILES.iter().filter(|one| **one <= most);
    let named = named.map(|one| Tick {
        at: place(*one),
        text: one.to_string(),
    });
    // The name of the last percentile must not touch that of the end.
    let mut bottom: Vec<_> = named.filter(|tick| tick.at < 0.88).collect();
    bottom.push(Tick {
        at: 1.0,
        text: "max".to_owned(),
    });
    frame(chart, styles, &lines, &bottom, &side.with(chart.reference))
}

/// A logarithmic axis of times, nanoseconds, or of rates.
struct LogAxis {
    unit: Unit,
    decades: Vec<f64>,
}

impl LogAxis {
    /// Of the decades that hold these figures.
    fn of(unit: Unit, figures: impl Iterator<Item = f64>) -> Self {
        let ends = (f64::MAX, 0.0);
        let (least, most) = figures.fold(ends, |(least, most): (f64, f64), figure| {
            (least.min(figure), most.max(figure))
        });
        Self {
            unit,
            decades: axis::decades(least, most),
        }
    }

    /// The place of a figure, as a part of the height from the bottom.
    fn height(&self, figure: f64) -> f64 {
        let low = self.decades[0].log10();
        let high = self.decades[self.decades.len() - 1].log10();
        (figure.max(1.0).log10() - low) / (high - low)
    }

    /// The axis, with a limit at this figure.
    fn with(&self, limit: Option<f64>) -> LeftAxis {
        let tick = |figure: &f64| Tick {
            at: self.height(*figure),
            text: axis::written(self.unit, *figure),
        };
        LeftAxis {
            ticks: self.decades.iter().map(tick).collect(),
            label: match self.unit {
                Unit::PerSecond => "per second, log scale",
                _ => "latency, log scale",
            },
            reference: limit.map(|limit| self.height(limit)),
        }
    }
}

/// The ticks of the bottom axis of a curve, and the figure at its end.
fn curve_axis(chart: &Chart, points: &[Vec<Point>]) -> (Vec<Tick>, f64) {
    if !is_by_word(chart) {
        let ticks = axis::from_zero(Unit::PerSecond, most(points, |point| point.0), 5);
        let end = ticks.last().copied().unwrap_or(1.0);
        return (axis::even(Unit::PerSecond, &ticks, 0.0, end), end);
    }
    let end = chart.words.len().saturating_sub(1).max(1) as f64;
    let words = chart.words.iter().enumerate();
    let ticks = words.map(|(index, word)| Tick {
        at: index as f64 / end,
        text: word.text.to_string(),
    });
    (ticks.collect(), end)
}

/// Figures by rate or by word, on a logarithmic axis, with their limit.
pub(super) fn curve(chart: &Chart, styles: &Appearance) -> Markup {
    let groups = chart.groups.iter().take(MAX_DRAWN);
    let all: Vec<_> = groups.map(|group| pairs(group, 0, 1)).collect();
    let (bottom, end) = curve_axis(chart, &all);
    let unit = chart.columns.get(1);
    let unit = unit.map_or(Unit::Nanoseconds, |column| column.unit);
    let figures = all.iter().flatten().map(|point| point.1);
    let side = LogAxis::of(unit, figures.chain(chart.reference));
    let line = |rows: &Vec<Point>| {
        let points: Vec<_> = rows
            .iter()
            .map(|(x, y)| (x / end, 1.0 - side.height(*y)))
            .collect();
        ChartLine {
            marked: points.clone(),
            line: points,
            more: html! {},
        }
    };
    let lines: Vec<_> = all.iter().map(line).collect();
    frame(chart, styles, &lines, &bottom, &side.with(chart.reference))
}

/// The course of a search: the first two groups as lines, the others as points.
pub(super) fn course(chart: &Chart, styles: &Appearance) -> Markup {
    let groups = chart.groups.iter().take(MAX_DRAWN);
    let all: Vec<_> = groups.map(|group| pairs(group, 0, 1)).collect();
    let trials = axis::from_zero(Unit::Number, most(&all, |point| point.0), 5);
    let factors = axis::from_zero(Unit::Times, most(&all, |point| point.1), 5);
    let end = |ticks: &[f64]| ticks.last().copied().unwrap_or(1.0);
    let (right, top) = (end(&trials), end(&factors));
    let line = |(index, rows): (usize, &Vec<Point>)| {
        let points = rows.iter().map(|(x, y)| (x / right, 1.0 - y / top));
        let points: Vec<_> = points.collect();
        let (line, marked) = match index {
            0 | 1 => (points, Vec::new()),
            _ => (Vec::new(), points),
        };
        ChartLine {
            line,
            marked,
            more: html! {},
        }
    };
    let lines: Vec<_> = all.iter().enumerate().map(line).collect();
    let bottom = axis::even(Unit::Number, &trials, 0.0, right);
    let side = LeftAxis {
        ticks: axis::even(Unit::Times, &factors, 0.0, top),
        label: "times the default",
        reference: None,
    };
    frame(chart, styles, &lines, &bottom, &side)
}

/// Rates by number of workers: measured rates as points, the law as a curve.
pub(super) fn scaling(chart: &Chart, styles: &Appearance) -> Markup {
    let groups = || chart.groups.iter().take(MAX_DRAWN);
    let measured: Vec<_> = groups().map(|group| pairs(group, 0, 1)).collect();
    let law: Vec<_> = groups().map(|group| pairs(group, 0, 2)).collect();
    let workers = measured.iter().chain(&law).flatten().map(|point| point.0);
    let (from, to) = workers.fold((f64::MAX, 0.0), |(from, to): (f64, f64), workers| {
        (from.min(workers), to.max(workers))
    });
    let span = if to > from { to - from } else { 1.0 };
    let highest = most(&measured, |point| point.1).max(most(&law, |point| point.1));
    let rates = axis::from_zero(Unit::PerSecond, highest, 5);
    let end = rates.last().copied().unwrap_or(1.0);
    let place = |(x, y): &Point| ((x - from) / span, 1.0 - y / end);
    let line = |(points, curve): (&Vec<Point>, &Vec<Point>)| ChartLine {
        line: curve.iter().map(place).collect(),
        marked: points.iter().map(place).collect(),
        more: html! {},
    };
    let lines: Vec<_> = measured.iter().zip(&law).map(line).collect();
    let ticks: Vec<_> = axis::ticks(from, to, 6)
        .into_iter()
        .filter(|tick| tick.fract() == 0.0)
        .collect();
    let bottom = axis::even(Unit::Number, &ticks, from, to);
    frame(chart, styles, &lines, &bottom, &rates_side(&rates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_between_two_points_lies_on_their_line() {
        let line = [(0.0, 1.0), (1.0, 1.0), (3.0, 5.0)];
        assert_eq!(height_at(&line, 0.0), 1.0);
        assert_eq!(height_at(&line, 2.0), 3.0);
        assert_eq!(height_at(&line, 9.0), 5.0);
    }

    #[test]
    fn a_path_is_a_point_after_the_other() {
        assert_eq!(
            path(&[(0.0, 1.0), (0.5, 0.25), (1.0, 0.0)]),
            "M0 2000L1000 500 2000 0"
        );
    }
}
