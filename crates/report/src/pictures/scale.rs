//! The scale of an axis: from 0, or logarithmic where figures are too far apart.

use crate::chart::Unit;
use crate::ticks::{from_zero, written};
use std::ops::RangeInclusive;

/// An axis begins and ends at least this factor beyond the figures on a logarithmic scale.
const BEYOND: f64 = 1.05;

/// Figures that a scale is made for. Those of a damaged record must not make an endless axis.
const CREDIBLE: RangeInclusive<f64> = 1e-9..=1e18;

/// A scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    /// Whether it is logarithmic.
    pub is_log: bool,
}

impl Scale {
    /// A scale for these figures. It is logarithmic if the largest is more than `max_ratio` times
    /// the least.
    pub(super) fn of(figures: impl Iterator<Item = f64>, max_ratio: f64, unit: Unit) -> Self {
        let usable = figures.filter(|figure| CREDIBLE.contains(figure));
        let ends = usable.fold(None, |ends: Option<(f64, f64)>, figure| {
            let (least, most) = ends.unwrap_or((figure, figure));
            Some((least.min(figure), most.max(figure)))
        });
        match ends {
            Some((least, most)) if most / least > max_ratio => {
                let (least, most) = (least / BEYOND, most * BEYOND);
                let all = steps(least, most);
                let below = all.iter().rev().find(|step| **step <= least);
                let above = all.iter().copied().find(|step| *step >= most);
                Self {
                    from: below.copied().unwrap_or(least),
                    to: above.unwrap_or(most),
                    is_log: true,
                }
            }
            _ => {
                let most = ends.map_or(1.0, |(_, most)| most);
                let to = from_zero(unit, most, MAX_TICKS).last().copied();
                Self {
                    from: 0.0,
                    to: to.unwrap_or(most),
                    is_log: false,
                }
            }
        }
    }

    /// The place of a figure as a part of the axis, 0 to 1; one beyond an end is at that end.
    pub(super) fn at(self, figure: f64) -> f64 {
        let part = if self.is_log {
            (figure.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln()
        } else {
            figure / self.to
        };
        if part.is_finite() {
            part.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Whether a figure is between the ends.
    pub(super) fn contains(self, figure: f64) -> bool {
        (self.from..=self.to).contains(&figure)
    }

    /// At most `count` places, which must be 2 or more, with their labels.
    pub(super) fn ticks(self, unit: Unit, count: usize) -> Vec<(f64, String)> {
        let within = |figures: Vec<f64>| -> Vec<f64> {
            let figures = figures.into_iter();
            figures.filter(|it| self.contains(*it)).collect()
        };
        let figures = if self.is_log {
            let fine = within(steps(self.from, self.to));
            let decades = within(decades(self.from, self.to));
            if fine.len() <= count || decades.len() < 2 {
                thinned(&fine, count)
            } else {
                thinned(&decades, count)
            }
        } else {
            thinned(&within(from_zero(unit, self.to, MAX_TICKS)), count)
        };
        let label = |figure: &f64| (self.at(*figure), written(unit, *figure));
        figures.iter().map(label).collect()
    }
}

/// The most ticks of an axis from 0.
const MAX_TICKS: usize = 5;

/// Every first, second, third … figure, so that at most `count` are left.
fn thinned(figures: &[f64], count: usize) -> Vec<f64> {
    let every = figures.len().div_ceil(count.max(1)).max(1);
    figures.iter().copied().step_by(every).collect()
}

/// The powers of ten from below to above a range.
fn decades(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    (first..=last).map(|power| 10_f64.powi(power)).collect()
}

/// The powers of ten around a range, and 2 and 5 times each.
fn steps(least: f64, most: f64) -> Vec<f64> {
    let powers = decades(least, most).into_iter();
    powers
        .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(figures: &[f64]) -> Scale {
        Scale::of(figures.iter().copied(), 10.0, Unit::PerSecond)
    }

    #[test]
    fn figures_near_each_other_start_at_0_and_others_are_on_a_log_scale() {
        let even = scale(&[400.0, 900.0]);
        assert!(!even.is_log && even.at(0.0) == 0.0 && even.at(500.0) == 0.5);
        let log = scale(&[130.0, 90_000.0]);
        assert!(log.is_log && log.at(100.0) == 0.0 && log.at(100_000.0) == 1.0);
        assert!(log.at(130.0) < 0.1 && log.at(1.0) == 0.0);
        assert!(!log.contains(99.0) && log.contains(130.0));
    }

    #[test]
    fn an_axis_has_few_round_ticks_at_any_figures() {
        let labels = |scale: Scale| -> Vec<String> {
            let ticks = scale.ticks(Unit::PerSecond, 5).into_iter();
            ticks.map(|(_, text)| text).collect()
        };
        assert_eq!(
            labels(scale(&[130.0, 90_000.0])),
            ["100", "1k", "10k", "100k"]
        );
        assert_eq!(labels(scale(&[400.0, 900.0])), ["0", "400", "800"]);
        // A figure that is a tick begins another step: none is drawn beyond the end.
        for most in (1..200).map(|it| f64::from(it) * 123.4) {
            let axis = scale(&[most]);
            for (at, label) in axis.ticks(Unit::PerSecond, 5) {
                let figure = at * axis.to;
                assert_eq!(label, written(Unit::PerSecond, figure), "{most}");
            }
        }
        let damaged = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX, 5e-324, 1e-300];
        for one in damaged {
            for other in damaged {
                let ticks = scale(&[one, other]).ticks(Unit::PerSecond, 5);
                assert!(ticks.len() <= 5, "{one} {other}");
                assert!(
                    ticks.iter().all(|(at, _)| (0.0..=1.0).contains(at)),
                    "{one} {other}"
                );
            }
        }
    }
}
