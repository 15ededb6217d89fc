//! Round figures for axes, in short.

use crate::chart::Unit;

/// Powers of 1,024 with their names.
const SIZES: [(f64, &str); 5] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
];
const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// The distance of round numbers of which about `count` span `span`: 1, 2 or 5 times a power of
/// ten.
fn step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = match rough / power {
        error if error >= 7.071 => 10.0,
        error if error >= 3.162 => 5.0,
        error if error >= 1.414 => 2.0,
        _ => 1.0,
    };
    factor * power
}

/// Round numbers within a range, including its ends if they are round.
pub(crate) fn ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    if to <= from || !(to - from).is_finite() {
        return vec![from];
    }
    let step = step(to - from, count);
    let (first, last) = ((from / step - 1e-9).ceil(), (to / step + 1e-9).floor());
    let steps = (last - first) as i64;
    (0..=steps).map(|at| (first + at as f64) * step).collect()
}

/// Round figures from 0 to beyond the largest; bytes are round in powers of 1,024. The last one is
/// the end of the axis.
pub(crate) fn from_zero(unit: Unit, most: f64, count: usize) -> Vec<f64> {
    let most = if most.is_normal() && most > 0.0 {
        most
    } else {
        1.0
    };
    let fits = SIZES.iter().rev().find(|(size, _)| *size <= most);
    let factor = match unit {
        Unit::Bytes => fits.map_or(1.0, |(size, _)| *size),
        _ => 1.0,
    };
    let scaled = most / factor;
    let step = step(scaled, count);
    let steps = (scaled / step - 1e-9).ceil() as i64;
    (0..=steps).map(|at| at as f64 * step * factor).collect()
}

/// The powers of ten around two figures.
pub(crate) fn decades(least: f64, most: f64) -> Vec<f64> {
    let first = least.max(1.0).log10().floor() as i32;
    let last = (most.max(1.0).log10().ceil() as i32).max(first + 1);
    (first..=last).map(|power| 10_f64.powi(power)).collect()
}

/// A figure with three digits at most, without zeros at its end.
fn trimmed(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size => (2 - size.log10().floor() as i32).clamp(0, 9),
    };
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn with_unit(value: f64, units: &[(f64, &str)]) -> String {
    let fits = units
        .iter()
        .rev()
        .find(|(size, _)| *size <= value.abs() * 1.000_001);
    let (size, unit) = fits.or(units.first()).copied().unwrap_or((1.0, ""));
    format!("{} {unit}", trimmed(value / size))
}

/// A short form of a figure: `20k`, `1.5M`, `100 µs`.
pub(crate) fn written(unit: Unit, value: f64) -> String {
    let thousands = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let brief = |value: f64| {
        if value.abs() < 1.0 {
            trimmed(value)
        } else {
            with_unit(value, &thousands).replace(' ', "")
        }
    };
    match unit {
        _ if value == 0.0 => "0".to_owned(),
        Unit::Bytes => with_unit(value, &SIZES),
        Unit::Nanoseconds => with_unit(value, &TIMES),
        Unit::Seconds => format!("{} s", brief(value)),
        Unit::Share => format!("{} %", trimmed(value * 100.0)),
        Unit::Times => format!("{} ×", trimmed(value)),
        _ => brief(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_beyond_the_largest() {
        assert_eq!(
            from_zero(Unit::PerSecond, 232_832.0, 5).last(),
            Some(&250_000.0)
        );
        assert_eq!(
            from_zero(Unit::Bytes, 3.2 * 1024.0 * 1024.0, 5).last(),
            Some(&3_670_016.0)
        );
        assert_eq!(ticks(1.0, 11.0, 5), [2.0, 4.0, 6.0, 8.0, 10.0]);
        // A damaged record must not make an endless axis.
        for most in [5e-324, 1e-300, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            assert!(from_zero(Unit::PerSecond, most, 5).len() < 20, "{most}");
        }
        assert_eq!(decades(1_500.0, 90_000.0), [1e3, 1e4, 1e5]);
    }

    #[test]
    fn figures_on_axes_are_short() {
        assert_eq!(written(Unit::PerSecond, 250_000.0), "250k");
        assert_eq!(written(Unit::PerSecond, 1_500_000.0), "1.5M");
        assert_eq!(written(Unit::Nanoseconds, 1e5), "100 µs");
        assert_eq!(written(Unit::Bytes, 3_670_016.0), "3.5 MiB");
        assert_eq!(written(Unit::Seconds, 0.25), "0.25 s");
        assert_eq!(written(Unit::Share, 0.5), "50 %");
    }
}
