//! Charts as SVG, drawn when the page is written: a browser needs no script to show them.
//!
//! Every length along a chart's width is a percentage of it, so that one drawing fits a screen, a
//! telephone and a sheet of paper, and no text is ever scaled. Heights are pixels. Colors are the
//! page's custom properties, which light, dark and paper define. Elements of SVG are always closed:
//! one written as void would hold all that follows.

mod axis;
mod bars;
mod heat_map;
mod legend;
mod lines;

use crate::chart::{Chart, ChartKind};
use crate::pictures;
use crate::series_style::{self, Appearance};
use maud::{Markup, html};

/// A chart's legend, if it needs one, and its drawing.
pub(crate) fn chart(chart: &Chart, styles: &Appearance) -> Markup {
    let drawing = match chart.kind {
        ChartKind::Bars => bars::rates(chart, styles),
        ChartKind::Stack => bars::stack(chart),
        ChartKind::Shares => bars::shares(chart),
        ChartKind::Intervals => bars::intervals(chart),
        ChartKind::Ratios => bars::ratios(chart),
        ChartKind::Timeline => lines::timeline(chart, styles),
        ChartKind::LatencyTimeline => lines::latencies(chart, styles),
        ChartKind::HeatMap => heat_map::of(chart),
        ChartKind::Percentiles => lines::percentiles(chart, styles),
        ChartKind::Curve => lines::curve(chart, styles),
        ChartKind::Course => lines::course(chart, styles),
        ChartKind::Scaling => lines::scaling(chart, styles),
        ChartKind::Overview | ChartKind::RateAndLatency => pictures::on_page(chart, styles),
    };
    html! {
        (legend::of(chart, styles))
        div class="drawing" role="img" aria-label=(chart.says) { (drawing) }
    }
}

/// A part of a whole as a percentage of its length, with no more digits than a screen shows.
fn percent(part: f64) -> String {
    let part = if part.is_finite() { part } else { 0.0 };
    let text = format!("{:.2}", part * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    format!("{text}%")
}

/// The shapes that charts use, in an element of their own at the head of the page.
pub(crate) fn shapes() -> Markup {
    html! {
        svg class="shapes" aria-hidden="true" {
            defs {
                @for (index, corners) in series_style::SHAPES.iter().enumerate() {
                    path id={ "k" (index) } d=(series_style::outline(corners)) {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_the_digits_that_a_screen_shows() {
        assert_eq!(percent(0.5), "50%");
        assert_eq!(percent(1.0 / 3.0), "33.33%");
        assert_eq!(percent(-0.000_001), "0%");
        assert_eq!(percent(f64::NAN), "0%");
    }
}
