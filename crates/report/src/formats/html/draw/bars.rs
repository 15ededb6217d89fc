//! Charts with a row for each group: bars with repeats and intervals, stacks, intervals of time,
//! ratios.

use super::axis::{self, Tick};
use super::legend::paint;
use super::percent;
use crate::chart::{Chart, ChartGroup, MAX_DRAWN, Unit};
use crate::series_style::Appearance;
use maud::{Markup, html};
use trueput_findings::units::{bytes, nanoseconds, number, per_cent, seconds, whole};

/// The height of a row, pixels: its name and figure, and the drawing below them.
const ROW: usize = 40;

/// Room for the axis below the rows.
const AXIS: usize = 36;

/// Ticks of the bottom axis; a narrow chart shows every second one.
const TICKS: usize = 4;

/// Names longer than these are shortened, in wide charts and in narrow ones.
const LONG: usize = 60;
const SHORT: usize = 30;

/// A row of a chart.
struct ChartRow {
    /// Its group's number.
    group: usize,
    name: String,
    /// The key before the name.
    key: Markup,
    /// The figure on the right, and a shorter one for narrow charts if it is long.
    figure: String,
    short_figure: Option<String>,
    /// The drawing below the text.
    body: Markup,
}

/// A name that has no room keeps its beginning and its end: either may distinguish contenders. Its
/// marks become a sign; the title and the table below have them.
fn shortened(name: &str, most: usize) -> String {
    let marks = name.rfind(" [").filter(|_| name.ends_with(']'));
    if let Some(at) = marks.filter(|_| name.chars().count() > most) {
        return format!("{}*", shortened(&name[..at], most - 1));
    }
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let end = (most - 1).div_ceil(2);
    let first: String = name.chars().take(most - 1 - end).collect();
    let last: String = name.chars().skip(length - end).collect();
    format!("{first}…{last}")
}

/// A text with a wide form, and a narrow one if different.
fn by_width(x: &str, class: Option<&str>, wide: &str, narrow: &str) -> Markup {
    let classes = |width: &str| match class {
        Some(class) => format!("{class} {width}"),
        None => width.to_owned(),
    };
    html! {
        @if wide == narrow {
            text x=(x) y="13" class=[class] { (wide) }
        } @else {
            text x=(x) y="13" class=(classes("wide")) { (wide) }
            text x=(x) y="13" class=(classes("narrow")) { (narrow) }
        }
    }
}

impl ChartRow {
    fn drawn(&self, place: usize) -> Markup {
        let x = if self.key.0.is_empty() { "0" } else { "14" };
        let name = |most| shortened(&self.name, most);
        let short = self.short_figure.as_ref().unwrap_or(&self.figure);
        html! {
            svg class="row" y=(place * ROW) height=(ROW) data-group=(self.group) {
                title { (self.name) }
                (self.key)
                (by_width(x, None, &name(LONG), &name(SHORT)))
                (by_width("100%", Some("value"), &self.figure, short))
                (self.body)
            }
        }
    }
}

/// Figures that are marked through all rows of a chart, as parts of its width.
#[derive(Default)]
struct ReferenceLines {
    reference: Option<f64>,
    limit: Option<f64>,
}

/// Rows above an axis, with lines at its ticks and at the marked places.
fn frame(rows: &[ChartRow], ticks: &[Tick], label: &str, marked: &ReferenceLines) -> Markup {
    let height = rows.len() * ROW;
    html! {
        svg class="plot rows" width="100%" height=(height + AXIS) {
            svg class="grid" height=(height) {
                (axis::upright(ticks))
                @if let Some(at) = marked.reference { (axis::upright_line(at, Some("leader"))) }
                @if let Some(at) = marked.limit { (axis::upright_line(at, Some("limit"))) }
            }
            @for (at, row) in rows.iter().enumerate() { (row.drawn(at)) }
            svg class="axis" y=(height) height=(AXIS) { (axis::bottom(ticks, label)) }
        }
    }
}

fn bar(from: f64, to: f64, height: usize, paint: &str, title: Option<&str>) -> Markup {
    let (x, width) = (percent(from), percent((to - from).max(0.0)));
    html! {
        rect class="bar" x=(x) y="19" width=(width) height=(height) fill=(paint) {
            @if let Some(title) = title { title { (title) } }
        }
    }
}

/// An interval as a line with ends; one that goes on beyond the chart has no end there.
fn interval(low: f64, high: f64, y: usize) -> Markup {
    let (from, to) = (percent(low.clamp(0.0, 1.0)), percent(high.clamp(0.0, 1.0)));
    let ends = [low, high].into_iter();
    let ends = ends.filter(|at| (0.0..=1.0).contains(at)).map(percent);
    html! {
        g class="interval" {
            line x1=(from) x2=(to) y1=(y) y2=(y) {}
            @for at in ends { line x1=(at) x2=(at) y1=(y - 3) y2=(y + 3) {} }
        }
    }
}

fn drawn(chart: &Chart) -> impl Iterator<Item = (usize, &ChartGroup)> {
    chart.groups.iter().take(MAX_DRAWN).enumerate()
}

fn figure(row: &[Option<f64>], column: usize) -> Option<f64> {
    row.get(column).copied().flatten()
}

/// A figure in full.
fn full_figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Seconds => seconds(value),
        Unit::Nanoseconds => nanoseconds(value),
        Unit::Bytes => bytes(value),
        Unit::Share => per_cent(value),
        Unit::Times => format!("{} ×", number(value)),
        Unit::Number => whole(value),
        _ => number(value),
    }
}

/// The largest figure that the axis of rates must reach. An interval of few repeats may be many
/// times as wide as all bars: of that only the beginning is drawn.
fn longest(chart: &Chart) -> f64 {
    const MAX_INTERVAL_FACTOR: f64 = 1.3;
    let rows = || chart.groups.iter().flat_map(|group| &group.rows);
    let is_rate = |column: usize| column == 0 || column > 2;
    let rates = rows().flat_map(|row| {
        (0..row.len())
            .filter(|at| is_rate(*at))
            .map(|at| figure(row, at))
    });
    let most = rates.flatten().fold(0.0, f64::max);
    let highs = rows().filter_map(|row| figure(row, 2));
    let drawn = highs.fold(most, f64::max).min(most * MAX_INTERVAL_FACTOR);
    chart.limit.map_or(drawn, |limit| drawn.max(limit))
}

/// Median rates as bars; below each its repeats as points and the interval that its verdict used.
pub(super) fn rates(chart: &Chart, styles: &Appearance) -> Markup {
    let most = longest(chart);
    let unit = chart.columns.first().map_or(Unit::Number, |one| one.unit);
    let ticks = axis::from_zero(unit, most, TICKS);
    let end = ticks.last().copied().unwrap_or(1.0);
    let row = |(group, one): (usize, &ChartGroup)| {
        let style = styles.style_of(&one.name);
        let figures = one.rows.first().map(Vec::as_slice).unwrap_or_default();
        let median = figure(figures, 0).unwrap_or_default();
        let range = figure(figures, 1).zip(figure(figures, 2));
        let repeats = figures.iter().skip(3).flatten();
        let body = html! {
            (bar(0.0, median / end, 9, &style.paint(), None))
            @if let Some((low, high)) = range { (interval(low / end, high / end, 34)) }
            @for repeat in repeats {
                circle class="repeat" cx=(percent(repeat / end)) cy="34" r="2.5" {}
            }
        };
        ChartRow {
            group,
            name: one.name.clone(),
            key: style.mark("5", "9", true),
            figure: full_figure(unit, median),
            short_figure: None,
            body,
        }
    };
    let rows: Vec<_> = drawn(chart).map(row).collect();
    let marked = ReferenceLines {
        reference: chart.reference.map(|leader| leader / end),
        limit: chart.limit.map(|limit| limit / end),
    };
    let ticks = axis::even(unit, &ticks, 0.0, end);
    frame(&rows, &ticks, &chart.label, &marked)
}

/// A bar a group, of parts next to each other.
pub(super) fn stack(chart: &Chart) -> Markup {
    let sum = |group: &ChartGroup| group.rows.iter().flatten().flatten().sum::<f64>();
    let unit = chart.columns.first().map_or(Unit::Number, |one| one.unit);
    let most = chart.groups.iter().map(sum).fold(0.0, f64::max);
    let ticks = axis::from_zero(unit, most, TICKS);
    let end = ticks.last().copied().unwrap_or(1.0);
    let row = |(group, one): (usize, &ChartGroup)| {
        let mut from = 0.0;
        let mut bars = Vec::new();
        for (part, figure) in one.rows.iter().flatten().enumerate() {
            let to = from + figure.unwrap_or_default();
            bars.push(bar(
                from / end,
                to / end,
                14,
                &format!("var(--c{part})"),
                None,
            ));
            from = to;
        }
        bar_row(group, one, full_figure(unit, from), join(&bars))
    };
    let rows: Vec<_> = drawn(chart).map(row).collect();
    frame(
        &rows,
        &axis::even(unit, &ticks, 0.0, end),
        "",
        &ReferenceLines::default(),
    )
}

/// The bars of a row.
fn join(bars: &[Markup]) -> Markup {
    html! { @for bar in bars { (bar) } }
}

fn bar_row(group: usize, one: &ChartGroup, found: String, body: Markup) -> ChartRow {
    ChartRow {
        group,
        name: one.name.clone(),
        key: html! {},
        figure: found,
        short_figure: None,
        body,
    }
}

/// A bar a trial, of the shares of its time that each word had; the largest is written out.
pub(super) fn shares(chart: &Chart) -> Markup {
    let row = |(group, one): (usize, &ChartGroup)| {
        let mut from = 0.0;
        let mut bars = Vec::new();
        let mut largest = ("", 0.0);
        for (figure, word) in one.rows.iter().flatten().zip(&chart.words) {
            let share = figure.unwrap_or_default();
            if share <= 0.0 {
                continue;
            }
            let title = format!("{}: {}", word.text, per_cent(share));
            bars.push(bar(
                from,
                from + share,
                14,
                &paint(word.color),
                Some(&title),
            ));
            from += share;
            if share > largest.1 {
                largest = (word.text.as_ref(), share);
            }
        }
        let share = per_cent(largest.1);
        ChartRow {
            short_figure: Some(share.clone()),
            ..bar_row(group, one, format!("{} {share}", largest.0), join(&bars))
        }
    };
    let rows: Vec<_> = drawn(chart).map(row).collect();
    let figures = axis::from_zero(Unit::Share, 1.0, 5);
    let ticks = axis::even(Unit::Share, &figures, 0.0, 1.0);
    frame(
        &rows,
        &ticks,
        "share of the time",
        &ReferenceLines::default(),
    )
}

/// A bar for each group over its time, divided into labeled intervals.
pub(super) fn intervals(chart: &Chart) -> Markup {
    let ends = chart.groups.iter().flat_map(|group| &group.rows);
    let longest = ends.filter_map(|row| figure(row, 1)).fold(0.0, f64::max);
    let figures = axis::from_zero(Unit::Seconds, longest, TICKS);
    let end = figures.last().copied().unwrap_or(1.0);
    let row = |(group, one): (usize, &ChartGroup)| {
        let mut bars = Vec::new();
        let mut last = 0.0_f64;
        for row in &one.rows {
            let at = |column| figure(row, column).unwrap_or_default();
            let (from, to) = (at(0), at(1));
            let Some(word) = chart.words.get(at(2) as usize) else {
                continue;
            };
            let title = format!("{}, {} to {}", word.text, seconds(from), seconds(to));
            let paint = paint(word.color);
            bars.push(bar(from / end, to / end, 14, &paint, Some(&title)));
            last = last.max(to);
        }
        bar_row(group, one, seconds(last), join(&bars))
    };
    let rows: Vec<_> = drawn(chart).map(row).collect();
    let ticks = axis::even(Unit::Seconds, &figures, 0.0, end);
    frame(
        &rows,
        &ticks,
        "time since the start",
        &ReferenceLines::default(),
    )
}

/// A point with its interval for each group, on a log scale on which 1 is marked.
pub(super) fn ratios(chart: &Chart) -> Markup {
    let figures = chart.groups.iter().flat_map(|group| &group.rows);
    let figures: Vec<f64> = figures.flatten().flatten().copied().collect();
    let positive = || figures.iter().copied().filter(|figure| *figure > 0.0);
    let (mut low, mut high) = (
        positive().fold(1.0, f64::min),
        positive().fold(1.0, f64::max),
    );
    if low >= high {
        (low, high) = (0.9, 1.1);
    }
    let (from, span) = (low.ln(), high.ln() - low.ln());
    let place = |ratio: f64| (ratio.max(f64::MIN_POSITIVE).ln() - from) / span;
    let row = |(group, one): (usize, &ChartGroup)| {
        let figures = one.rows.first().map(Vec::as_slice).unwrap_or_default();
        let ratio = figure(figures, 0).unwrap_or_default();
        let range = figure(figures, 1).zip(figure(figures, 2));
        let body = html! {
            @if let Some((low, high)) = range { (interval(place(low), place(high), 27)) }
            circle class="ratio" cx=(percent(place(ratio))) cy="27" r="5" {}
        };
        bar_row(group, one, full_figure(Unit::Times, ratio), body)
    };
    let rows: Vec<_> = drawn(chart).map(row).collect();
    let round = if high / low > 10.0 {
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        powers.map(|power| 10_f64.powi(power)).collect()
    } else {
        axis::ticks(low, high, TICKS)
    };
    let within = round.iter().filter(|tick| (low..=high).contains(*tick));
    let tick = |figure: &f64| Tick {
        at: place(*figure),
        text: axis::written(Unit::Times, *figure),
    };
    let ticks: Vec<_> = within.map(tick).collect();
    let marked = ReferenceLines {
        reference: Some(place(1.0)),
        limit: None,
    };
    frame(&rows, &ticks, "times the rate", &marked)
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("lmdb", 30), "lmdb");
        let short = shortened("rocksdb cache_size=1048576 compression=none", 30);
        assert_eq!(short.chars().count(), 30);
        assert!(
            short.starts_with("rocksdb cache_") && short.ends_with("…ompression=none"),
            "{short}"
        );
        let marked = "berkeleydb [flushes not verified, workaround]";
        assert_eq!(shortened(marked, 30), "berkeleydb*");
        assert_eq!(shortened(marked, 60), marked);
    }
}
