//! Heat maps of latencies over time, one below the other on the same axes.

use super::axis::{self, Tick};
use crate::chart::{Chart, ChartGroup, MAX_DRAWN, Unit};
use maud::{Markup, html};

/// The height of a map, pixels, and the room above it for its name.
const HEIGHT: usize = 110;
const ABOVE: usize = 34;

/// Room below the last one, for the axis of time.
const BELOW: usize = 38;

/// Cells are drawn in this many steps each way.
const STEPS: f64 = 2_000.0;

/// The opacity of a cell whose share of the operations is at least this; the first that fits.
const OPACITIES: [(f64, &str); 5] = [
    (0.3, "1"),
    (0.1, ".75"),
    (0.01, ".5"),
    (0.001, ".3"),
    (0.0, ".15"),
];

/// The axes that all maps of a chart share.
struct Axes {
    longest_s: f64,
    /// Powers of ten, nanoseconds.
    decades: Vec<f64>,
}

impl Axes {
    fn of(chart: &Chart) -> Self {
        let ends = |column: usize| {
            let rows = chart
                .groups
                .iter()
                .take(MAX_DRAWN)
                .flat_map(|one| &one.rows);
            rows.filter_map(move |row| row.get(column).copied().flatten())
        };
        let longest_s = ends(1).fold(f64::MIN_POSITIVE, f64::max);
        let (least, most) = (
            ends(2).fold(f64::MAX, f64::min),
            ends(3).fold(0.0, f64::max),
        );
        Self {
            longest_s,
            // The end of a band is a power of ten but for its last digit.
            decades: axis::decades(least * 1.001, most / 1.001),
        }
    }

    fn x(&self, at_s: f64) -> f64 {
        at_s / self.longest_s
    }

    /// The place of a time, as a part of the height from the top.
    fn y(&self, time_ns: f64) -> f64 {
        let low = self.decades[0].log10();
        let high = self.decades[self.decades.len() - 1].log10();
        (1.0 - (time_ns.max(1.0).log10() - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// The maps, each with its name above it.
pub(super) fn of(chart: &Chart) -> Markup {
    let axes = Axes::of(chart);
    let groups: Vec<_> = chart.groups.iter().take(MAX_DRAWN).enumerate().collect();
    let height = groups.len() * (ABOVE + HEIGHT);
    let ticks = axis::ticks(0.0, axes.longest_s, 6);
    let bottom = axis::even(Unit::Seconds, &ticks, 0.0, axes.longest_s);
    html! {
        svg class="plot lines" width="100%" height=(height + BELOW) {
            @for (index, group) in &groups { (map(*index, group, &axes)) }
            svg class="axis area" x="44" y=(height + 2) width="87%" height=(BELOW) {
                (axis::bottom(&bottom, "time since the start"))
            }
        }
    }
}

fn map(index: usize, group: &ChartGroup, axes: &Axes) -> Markup {
    let top = index * (ABOVE + HEIGHT);
    let tick = |time_ns: &f64| Tick {
        at: axes.y(*time_ns),
        text: axis::written(Unit::Nanoseconds, *time_ns),
    };
    let place = |tick: &Tick| (top + ABOVE) as f64 + tick.at * HEIGHT as f64;
    let ticks: Vec<_> = axes.decades.iter().map(tick).collect();
    html! {
        g class="grid" {
            @for tick in &ticks {
                @let y = format!("{:.1}", place(tick));
                line x1="0" x2="100%" y1=(y) y2=(y) {}
            }
        }
        g class="side" {
            @for tick in &ticks {
                text x="0" y=(format_args!("{:.1}", place(tick) - 4.0)) { (tick.text) }
            }
            text x="44" y=(top + 14) class="label" { (group.name) }
        }
        svg class="area" x="44" y=(top + ABOVE) width="87%" height=(HEIGHT) {
            svg class="heat" viewBox=(format_args!("0 0 {STEPS} {STEPS}"))
                preserveAspectRatio="none" {
                @for (level, (_, opacity)) in OPACITIES.iter().enumerate() {
                    @let cells = cells(group, axes, level);
                    @if !cells.is_empty() { path fill-opacity=(opacity) d=(cells) {} }
                }
            }
        }
    }
}

/// The cells of a level of opacity, as a path of rectangles.
fn cells(group: &ChartGroup, axes: &Axes, level: usize) -> String {
    let mut path = String::new();
    for row in &group.rows {
        let [
            Some(from_s),
            Some(until_s),
            Some(low_ns),
            Some(high_ns),
            Some(share),
        ] = row.as_slice()
        else {
            continue;
        };
        let fits = OPACITIES.iter().position(|(least, _)| share >= least);
        if fits != Some(level) {
            continue;
        }
        let step = |part: f64| (part * STEPS).round();
        let (left, right) = (step(axes.x(*from_s)), step(axes.x(*until_s)));
        let (top, bottom) = (step(axes.y(*high_ns)), step(axes.y(*low_ns)));
        path += &format!("M{left} {top}H{right}V{bottom}H{left}z");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::ChartKind;

    #[test]
    fn a_cell_lies_at_its_time_and_latency_and_is_darker_the_larger_its_share() {
        let rows = [
            vec![0.0, 1.0, 1e3, 10_f64.powf(3.2), 0.9],
            vec![1.0, 2.0, 10_f64.powf(4.8), 1e5, 0.01],
        ];
        let chart = Chart {
            groups: vec![ChartGroup::rounded("lmdb", rows)],
            ..Chart::new(ChartKind::HeatMap, "contender")
        };
        let drawn = of(&chart).into_string();
        // Two decades: the first band is a tenth of the height, at the bottom.
        assert!(
            drawn.contains(r#"fill-opacity="1" d="M0 1800H1000V2000H0z""#),
            "{drawn}"
        );
        assert!(
            drawn.contains(r#"fill-opacity=".5" d="M1000 0H2000V200H1000z""#),
            "{drawn}"
        );
        assert_eq!(drawn.matches("<path").count(), 2);
        assert!(drawn.contains("100 µs") && drawn.contains("lmdb"));
    }
}
