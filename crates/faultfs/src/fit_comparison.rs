//! What was measured of a device against what its model gives for the same loads.

use crate::device_measurement::{DeviceMeasurement, LoadKind, LoadMeasurement, ProbeLoad};
use serde::Serialize;

/// A figure of a model is off if it differs from the measured one by more than this share.
pub const TOLERANCE: f64 = 0.2;

/// A figure of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitFigure {
    /// The median time of a cycle, nanoseconds.
    MedianNs,
    /// The 99th percentile of the same.
    P99Ns,
    /// Cycles a second.
    PerSecond,
    /// MiB a second.
    MibPerSecond,
    /// Cycles a second in the first tenth of the time.
    FirstPerSecond,
    /// The same in the last tenth.
    LastPerSecond,
}

/// A figure as it was measured, and as the model gives it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitLine {
    /// The load.
    pub load: ProbeLoad,
    /// The figure of it, with its unit.
    pub figure: FitFigure,
    /// The figure of the device.
    pub measured: f64,
    /// That of the model.
    pub modeled: f64,
}

impl FitLine {
    /// Returns the model's figure over the measured one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.modeled / self.measured
    }

    /// Returns whether the figures differ by more than [`TOLERANCE`].
    #[must_use]
    pub fn is_off(&self) -> bool {
        let difference = (self.ratio() - 1.0).abs();
        // One that cannot be compared is off, too.
        difference.is_nan() || difference > TOLERANCE
    }
}

/// Compares the figures of a device with those of a model on the same plan.
#[must_use]
pub fn compare(measured: &DeviceMeasurement, modeled: &DeviceMeasurement) -> Vec<FitLine> {
    let pairs = measured.loads.iter().zip(&modeled.loads);
    let lines = pairs.flat_map(|(measured, modeled)| {
        let figures = figures(measured.load.kind, measured.load.depth).iter();
        figures.map(move |&figure| FitLine {
            load: measured.load,
            figure,
            measured: value(figure, measured),
            modeled: value(figure, modeled),
        })
    });
    lines.collect()
}

/// Returns the figures of a load that are worth a line.
fn figures(kind: LoadKind, depth: u32) -> &'static [FitFigure] {
    use FitFigure::{FirstPerSecond, LastPerSecond, MedianNs, MibPerSecond, P99Ns, PerSecond};
    match kind {
        LoadKind::Appends => &[MedianNs, P99Ns, PerSecond],
        LoadKind::EmptyFlushes | LoadKind::DirtyFlushes => &[MedianNs],
        LoadKind::SequentialWrites | LoadKind::SequentialReads => &[MibPerSecond],
        LoadKind::RandomReads if depth == 1 => &[MedianNs, P99Ns, PerSecond],
        LoadKind::RandomReads | LoadKind::RandomWrites => &[PerSecond],
        LoadKind::Burst => &[FirstPerSecond, LastPerSecond],
    }
}

fn value(figure: FitFigure, load: &LoadMeasurement) -> f64 {
    let [first_per_s, .., last_per_s] = load.rates_per_s;
    match figure {
        FitFigure::MedianNs => load.cycle.median_ns as f64,
        FitFigure::P99Ns => load.cycle.p99_ns as f64,
        // A large request is a MiB.
        FitFigure::PerSecond | FitFigure::MibPerSecond => load.per_s,
        FitFigure::FirstPerSecond => first_per_s,
        FitFigure::LastPerSecond => last_per_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_off_beyond_the_tolerance_or_without_a_measurement() {
        let line = |measured, modeled| FitLine {
            load: ProbeLoad {
                kind: LoadKind::Appends,
                depth: 1,
                requests: 1,
            },
            figure: FitFigure::PerSecond,
            measured,
            modeled,
        };
        assert!(!line(100.0, 119.0).is_off() && !line(100.0, 81.0).is_off());
        assert!(line(100.0, 121.0).is_off() && line(100.0, 79.0).is_off());
        assert!(line(0.0, 1.0).is_off() && line(0.0, 0.0).is_off());
    }
}
