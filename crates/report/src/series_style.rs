//! Looks of contenders: one color, shape and dashing in all charts of the page.

use crate::chart::{Chart, ChartKind, MAX_DRAWN};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Number of colors in the page's style.
pub(crate) const COLORS: usize = 8;

/// The corners of the shapes, pixels from the middle. Circles are left out: they mark repeats and
/// engine events. Two neighbors differ in everything but the dashing, and the first 48 styles are
/// all different.
pub(crate) const SHAPES: [&[(f64, f64)]; 6] = [
    &[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)],
    &[(0.0, -5.2), (4.8, 3.2), (-4.8, 3.2)],
    &[(0.0, -5.4), (3.8, 0.0), (0.0, 5.4), (-3.8, 0.0)],
    &[
        (-1.7, -5.0),
        (1.7, -5.0),
        (1.7, -1.7),
        (5.0, -1.7),
        (5.0, 1.7),
        (1.7, 1.7),
        (1.7, 5.0),
        (-1.7, 5.0),
        (-1.7, 1.7),
        (-5.0, 1.7),
        (-5.0, -1.7),
        (-1.7, -1.7),
    ],
    &[
        (0.0, -5.8),
        (1.5, -2.0),
        (5.5, -1.8),
        (2.4, 0.8),
        (3.4, 4.7),
        (0.0, 2.5),
        (-3.4, 4.7),
        (-2.4, 0.8),
        (-5.5, -1.8),
        (-1.5, -2.0),
    ],
    &[
        (-1.6, 5.2),
        (-1.6, 0.9),
        (-5.0, -1.5),
        (-3.4, -4.3),
        (0.0, -2.3),
        (3.4, -4.3),
        (5.0, -1.5),
        (1.6, 0.9),
        (1.6, 5.2),
    ],
];
/// A closed shape as the data of a path.
pub(crate) fn outline(corners: &[(f64, f64)]) -> String {
    let corners: Vec<_> = corners.iter().map(|(x, y)| format!("{x} {y}")).collect();
    format!("M{}z", corners.join("L"))
}

const DASHES: [Option<&str>; 4] = [None, Some("6 3"), Some("2 3"), Some("9 3 2 3")];

/// Color and shape of a contender or series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeriesStyle {
    /// The number of its color.
    pub color: usize,
    /// The number of its shape.
    pub shape: usize,
    /// The dashing of its line.
    pub dash: Option<&'static str>,
}

impl SeriesStyle {
    fn at(place: usize) -> Self {
        Self {
            color: place % COLORS,
            shape: place % SHAPES.len(),
            dash: DASHES[place / 4 % DASHES.len()],
        }
    }

    /// Its color, for an attribute.
    pub(crate) fn paint(self) -> String {
        format!("var(--c{})", self.color)
    }

    /// Draws its shape at a position; `is_painted` gives it its own color.
    pub(crate) fn mark(self, x: &str, y: &str, is_painted: bool) -> Markup {
        let paint = is_painted.then(|| self.paint());
        html! { use href={ "#k" (self.shape) } x=(x) y=(y) fill=[paint] {} }
    }
}

/// The styles of all names on a page.
#[derive(Debug, Default)]
pub(crate) struct Appearance {
    places: BTreeMap<String, usize>,
}

impl Appearance {
    /// Gives each name the first style that no other name in its charts has; among those, in charts
    /// with enough colors, the one with the rarest color.
    pub(crate) fn of(charts: &[Chart]) -> Self {
        let has_styles = |kind| {
            matches!(
                kind,
                ChartKind::Bars
                    | ChartKind::Timeline
                    | ChartKind::LatencyTimeline
                    | ChartKind::Percentiles
                    | ChartKind::Curve
                    | ChartKind::Course
                    | ChartKind::Scaling
            )
        };
        let found = charts.iter().filter(|chart| has_styles(chart.kind));
        let names = |chart: &Chart| -> Vec<String> {
            let groups = chart.groups.iter().take(MAX_DRAWN);
            groups.map(|group| group.name.clone()).collect()
        };
        Self::of_sets(&found.map(names).collect::<Vec<_>>())
    }

    /// As [`Appearance::of`], from the names that are drawn together.
    pub(crate) fn of_sets(sets: &[Vec<String>]) -> Self {
        let together: BTreeSet<&Vec<String>> = sets.iter().collect();
        let mut styles = Self::default();
        for name in sets.iter().flatten() {
            if !styles.places.contains_key(name) {
                let place = styles.free_place(name, &together);
                styles.places.insert(name.clone(), place);
            }
        }
        styles
    }

    fn free_place(&self, name: &String, together: &BTreeSet<&Vec<String>>) -> usize {
        let (mut taken, mut few) = (BTreeSet::new(), Vec::new());
        for names in together.iter().filter(|names| names.contains(name)) {
            let places = names.iter().filter_map(|other| self.places.get(other));
            for place in places.copied() {
                taken.insert(place);
                if names.len() <= COLORS {
                    few.push(place % COLORS);
                }
            }
        }
        let alike = |place: &usize| {
            let same = few.iter().filter(|color| **color == place % COLORS);
            same.count()
        };
        let free = (0..taken.len() + COLORS).filter(|place| !taken.contains(place));
        free.min_by_key(alike).unwrap_or_default()
    }

    /// Returns the style of a name.
    pub(crate) fn style_of(&self, name: &str) -> SeriesStyle {
        SeriesStyle::at(self.places.get(name).copied().unwrap_or_default())
    }
}
