//! Names with their styles, above a drawing. The page's script makes buttons of them.

use crate::chart::{Chart, ChartColumn, ChartGroup, ChartKind, MAX_DRAWN, Word};
use crate::series_style::{Appearance, COLORS};
use maud::{Markup, html};

/// A legend; empty if the drawing labels everything itself.
pub(super) fn of(chart: &Chart, styles: &Appearance) -> Markup {
    let entries: Vec<Markup> = match chart.kind {
        ChartKind::Bars
        | ChartKind::Ratios
        | ChartKind::Overview
        | ChartKind::RateAndLatency
        | ChartKind::HeatMap => Vec::new(),
        ChartKind::Stack if chart.columns.len() < 2 => Vec::new(),
        ChartKind::Stack => {
            let part = |(index, column): (usize, &ChartColumn)| {
                patch(&column.name, &format!("var(--c{index})"))
            };
            chart.columns.iter().enumerate().map(part).collect()
        }
        ChartKind::Shares | ChartKind::Intervals => {
            let word = |word: &Word| patch(&word.text, &paint(word.color));
            chart.words.iter().map(word).collect()
        }
        ChartKind::Timeline
        | ChartKind::LatencyTimeline
        | ChartKind::Percentiles
        | ChartKind::Curve
        | ChartKind::Course
        | ChartKind::Scaling => {
            let groups = chart.groups.iter().take(MAX_DRAWN).enumerate();
            let entry = |(index, group): (usize, &ChartGroup)| line(index, &group.name, styles);
            groups.map(entry).collect()
        }
    };
    html! {
        @if !entries.is_empty() {
            ul class="legend" { @for entry in &entries { (entry) } }
        }
    }
}

/// The color of a word: one that all charts have in common.
pub(super) fn paint(color: usize) -> String {
    if color < COLORS {
        format!("var(--c{color})")
    } else {
        "var(--faint)".to_owned()
    }
}

fn patch(name: &str, paint: &str) -> Markup {
    html! {
        li {
            svg class="key" width="14" height="12" aria-hidden="true" {
                rect y="1" width="12" height="10" fill=(paint) {}
            }
            (name)
        }
    }
}

fn line(index: usize, name: &str, styles: &Appearance) -> Markup {
    let style = styles.style_of(name);
    html! {
        li data-group=(index) {
            svg class="key" width="34" height="12" aria-hidden="true" {
                path class="line" d="M1 6h30" stroke=(style.paint())
                    stroke-dasharray=[style.dash] {}
                (style.mark("16", "6", true))
            }
            (name)
        }
    }
}
