//! Labels beside points, so that none covers another.

use super::display_list::{Bounds, Point};

/// The distance that labels keep from points.
const POINT_RADIUS: f64 = 7.0;

/// Directions in which a label is tried, around the whole circle, in parts of it.
const DIRECTIONS: usize = 32;

/// The directions that are tried first: right, left, above, below.
const PREFERRED: [usize; 4] = [0, 16, 24, 8];

/// Distances of labels from their points; from the second on a line leads to the point.
const DISTANCES: [f64; 14] = [
    8.0, 16.0, 26.0, 38.0, 52.0, 68.0, 86.0, 106.0, 128.0, 152.0, 180.0, 212.0, 250.0, 300.0,
];

/// A label's place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LabelPosition {
    pub bounds: Bounds,
    /// The end of a line from the point to the label; `None` if it is next to it.
    pub line_to: Option<Point>,
}

/// Places a label of this width and height for each point inside of an area, the first points
/// first. A label covers no point and no other label; if there is room, nor does a line. `None` if
/// there is no room for it.
pub(super) fn place(
    points: &[Point],
    sizes: &[(f64, f64)],
    area: Bounds,
) -> Vec<Option<LabelPosition>> {
    let mut found: Vec<Option<LabelPosition>> = Vec::new();
    for (point, size) in points.iter().zip(sizes) {
        let labels = || found.iter().flatten();
        let is_free = |it: &LabelPosition| {
            area.contains(it.bounds)
                && !labels().any(|other| other.bounds.overlaps(it.bounds))
                && !points
                    .iter()
                    .any(|other| around(*other).overlaps(it.bounds))
        };
        let crosses = |it: &LabelPosition| {
            let mut lines = points.iter().zip(&found).filter_map(|(from, other)| {
                let to = other.as_ref()?.line_to?;
                Some((*from, to))
            });
            let own = it.line_to.map(|to| (*point, to));
            lines.any(|line| meets(line, it.bounds))
                || own.is_some_and(|line| {
                    labels().any(|other| meets(line, other.bounds))
                        || points.iter().any(|other| passes(line, *other))
                })
        };
        let candidates = || {
            let distances = DISTANCES.iter();
            distances.flat_map(|distance| {
                let directions = PREFERRED.into_iter().chain(0..DIRECTIONS);
                directions.map(move |direction| candidate(*point, *size, *distance, direction))
            })
        };
        let mut free = candidates().filter(is_free);
        let best = free.find(|it| !crosses(it));
        let position = best.or_else(|| candidates().find(is_free));
        found.push(position);
    }
    found
}

/// Whether a line goes through a point that is not near its beginning.
fn passes(line: (Point, Point), point: Point) -> bool {
    !around(point).overlaps(around(line.0)) && meets(line, around(point))
}

fn around(point: Point) -> Bounds {
    Bounds {
        left: point.0 - POINT_RADIUS,
        top: point.1 - POINT_RADIUS,
        right: point.0 + POINT_RADIUS,
        bottom: point.1 + POINT_RADIUS,
    }
}

/// The label in a direction, so that its nearest side has about this distance.
fn candidate(point: Point, size: (f64, f64), distance: f64, direction: usize) -> LabelPosition {
    let angle = std::f64::consts::TAU * direction as f64 / DIRECTIONS as f64;
    let (right, down) = (angle.cos(), angle.sin());
    let middle = (
        point.0 + right * (distance + size.0 / 2.0),
        point.1 + down * (distance + size.1 / 2.0),
    );
    let bounds = Bounds {
        left: middle.0 - size.0 / 2.0,
        top: middle.1 - size.1 / 2.0,
        right: middle.0 + size.0 / 2.0,
        bottom: middle.1 + size.1 / 2.0,
    };
    let nearest = (
        point.0.clamp(bounds.left, bounds.right),
        point.1.clamp(bounds.top, bounds.bottom),
    );
    LabelPosition {
        bounds,
        line_to: (distance > DISTANCES[0]).then_some(nearest),
    }
}

/// Whether a line goes through an area.
fn meets(line: (Point, Point), area: Bounds) -> bool {
    const STEPS: usize = 24;
    let ((x, y), (to_x, to_y)) = line;
    (1..STEPS).any(|step| {
        let part = step as f64 / STEPS as f64;
        let (x, y) = (x + (to_x - x) * part, y + (to_y - y) * part);
        (area.left..=area.right).contains(&x) && (area.top..=area.bottom).contains(&y)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Bounds = Bounds {
        left: 0.0,
        top: 0.0,
        right: 320.0,
        bottom: 320.0,
    };

    /// The labels of so many points, which are at almost the same place.
    fn crowd(count: usize) -> (Vec<Point>, Vec<Option<LabelPosition>>) {
        let points: Vec<_> = (0..count)
            .map(|at| (160.0 + at as f64, 160.0 + (at * 7 % 5) as f64))
            .collect();
        let placed = place(&points, &vec![(70.0, 14.0); count], AREA);
        (points, placed)
    }

    #[test]
    fn labels_of_a_crowd_cover_neither_points_nor_each_other() {
        let (points, placed) = crowd(20);
        let bounds: Vec<_> = placed.iter().map(|it| it.unwrap().bounds).collect();
        for (index, one) in bounds.iter().enumerate() {
            assert!(AREA.contains(*one));
            assert!(bounds[..index].iter().all(|other| !one.overlaps(*other)));
            assert!(points.iter().all(|point| !around(*point).overlaps(*one)));
        }
        // The control: more than the area has room for.
        assert!(crowd(120).1.iter().any(Option::is_none));
    }

    #[test]
    fn a_point_by_itself_has_its_label_at_its_right_and_none_beyond_the_area() {
        let placed = place(&[(20.0, 20.0)], &[(70.0, 14.0)], AREA)[0].unwrap();
        assert!(placed.bounds.left > 20.0 && placed.line_to.is_none());
        let placed = place(&[(310.0, 20.0)], &[(70.0, 14.0)], AREA)[0].unwrap();
        assert!(placed.bounds.right < 310.0);
    }
}
