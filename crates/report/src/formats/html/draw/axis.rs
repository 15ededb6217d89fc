//! Axes: their ticks and labels.

use super::percent;
use crate::chart::Unit;
pub(super) use crate::ticks::{decades, from_zero, ticks, written};
use maud::{Markup, html};

/// A position along an axis, as a share of its length, with its label.
pub(super) struct Tick {
    pub at: f64,
    pub text: String,
}

/// Ticks at figures of an axis that runs evenly from `from` to `to`.
pub(super) fn even(unit: Unit, figures: &[f64], from: f64, to: f64) -> Vec<Tick> {
    let span = if to > from { to - from } else { 1.0 };
    let tick = |figure: &f64| Tick {
        at: (figure - from) / span,
        text: written(unit, *figure),
    };
    figures.iter().map(tick).collect()
}

/// The labels of the bottom axis. A narrow chart shows every second tick.
pub(super) fn bottom(ticks: &[Tick], label: &str) -> Markup {
    let anchor = |tick: &Tick| match tick.at {
        at if at < 0.02 => Some("start"),
        at if at > 0.98 => Some("end"),
        _ => None,
    };
    // From the end, whose text is wholly before its tick: the first one's is short.
    let from_end = |index: usize| ticks.len() - 1 - index;
    let odd = |index: usize| (index > 0 && from_end(index) % 2 == 1).then_some("odd");
    html! {
        @for (index, tick) in ticks.iter().enumerate() {
            text x=(percent(tick.at)) y="14" text-anchor=[anchor(tick)] class=[odd(index)] {
                (tick.text)
            }
        }
        text x="50%" y="31" class="label" { (label) }
    }
}

/// The lines of an axis along the bottom, from top to bottom of the figure that holds them.
pub(super) fn upright(ticks: &[Tick]) -> Markup {
    html! { @for tick in ticks { (upright_line(tick.at, None)) } }
}

/// A line from top to bottom of the figure that holds it.
pub(super) fn upright_line(at: f64, class: Option<&str>) -> Markup {
    let at = percent(at);
    html! { line class=[class] x1=(at) x2=(at) y1="0" y2="100%" {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_axis_has_both_ends_and_every_second_text_before_the_last() {
        for count in 2..8 {
            let figures: Vec<f64> = (0..count).map(f64::from).collect();
            let end = figures[figures.len() - 1];
            let drawn = bottom(&even(Unit::Number, &figures, 0.0, end), "").into_string();
            let texts: Vec<_> = drawn.split("<text ").skip(1).collect();
            let shown = (0..figures.len()).filter(|at| !texts[*at].contains("class=\"odd\""));
            let shown: Vec<_> = shown.collect();
            assert_eq!((shown[0], shown.last()), (0, Some(&(figures.len() - 1))));
            let pairs = shown.windows(2).filter(|pair| pair[0] > 0);
            assert!(
                pairs.into_iter().all(|pair| pair[1] - pair[0] == 2),
                "{shown:?}"
            );
        }
    }
}
