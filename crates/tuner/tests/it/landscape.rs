//! Simulated engines: a true score for each configuration, whose optimum is known.

use trueput_record::parameter::{DefaultValue, Parameter, ValueKind};
use trueput_record::value::Settings;
use trueput_tuner::space::{Restrictions, Space};

/// A shape of the true scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landscape {
    /// Three of six parameters of all types have a best value, each of its own.
    Planted,
    /// Every configuration is the same.
    AllEqual,
    /// Four of eight parameters matter only together.
    Interaction,
    /// Four of 30 parameters have a best value.
    Useless,
    /// As planted, but a fifth of the first axis crashes, right beside the optimum.
    Crash,
}

/// All of them.
pub const ALL: [Landscape; 5] = [
    Landscape::Planted,
    Landscape::AllEqual,
    Landscape::Interaction,
    Landscape::Useless,
    Landscape::Crash,
];

/// The logarithm of the optimum's score over the default's: a factor of 2.5.
const GAIN: f64 = 0.916;

const MIB: u64 = 1 << 20;

fn kind(index: usize) -> ValueKind {
    match index % 6 {
        0 => ValueKind::Bytes {
            default: DefaultValue::Value(8 * MIB),
            min: MIB,
            max: 1 << 40,
        },
        1 => ValueKind::Choice {
            default: "none",
            choices: &["none", "lz4", "zstd"],
        },
        2 => ValueKind::Integer {
            default: 2,
            min: 1,
            max: 64,
        },
        3 => ValueKind::Boolean { default: false },
        4 => ValueKind::Duration {
            default: DefaultValue::Word("preset"),
            min: 0.0,
            max: 60.0,
        },
        _ => ValueKind::Fraction {
            default: DefaultValue::Value(0.5),
            min: 0.0,
            max: 1.0,
        },
    }
}

const NAMES: [&str; 30] = [
    "p00", "p01", "p02", "p03", "p04", "p05", "p06", "p07", "p08", "p09", "p10", "p11", "p12",
    "p13", "p14", "p15", "p16", "p17", "p18", "p19", "p20", "p21", "p22", "p23", "p24", "p25",
    "p26", "p27", "p28", "p29",
];

impl Landscape {
    /// What is true of it, as in docs/TUNING.md.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planted => "planted: 3 of 6 knobs matter",
            Self::AllEqual => "all equal: a winner is claimed",
            Self::Interaction => "4 of 8 knobs matter only together",
            Self::Useless => "4 of 30 knobs matter",
            Self::Crash => "configurations beside the optimum crash",
        }
    }

    fn dimensions(self) -> usize {
        match self {
            Self::Useless => 30,
            Self::Interaction => 8,
            _ => 6,
        }
    }

    pub fn space(self) -> Space {
        let parameters: Vec<_> = (0..self.dimensions())
            .map(|index| Parameter {
                name: NAMES[index],
                summary: "",
                cost: "",
                kind: kind(index),
                unit: "",
            })
            .collect();
        Space::new(&parameters, &Restrictions::default(), Box::new(|_| Ok(()))).unwrap()
    }

    /// The part of the optimum's gain that a configuration has: 1 at the optimum, 0 at the default,
    /// below 0 where it is worse than the default. `None` if it crashes.
    pub fn part(self, space: &Space, settings: &Settings) -> Option<f64> {
        let point = space.point(settings);
        if self == Self::Crash && point[0] > 0.8 {
            return None;
        }
        let default = self.height(&space.point(&Settings::new()));
        Some((self.height(&point) - default) / (1.0 - default).max(f64::MIN_POSITIVE))
    }

    /// The logarithm of a true score; `None` if the configuration crashes.
    pub fn log_score(self, space: &Space, settings: &Settings) -> Option<f64> {
        let part = self.part(space, settings)?;
        Some(if self == Self::AllEqual {
            0.0
        } else {
            GAIN * part
        })
    }

    /// A height from 0 to 1, which is the optimum's.
    fn height(self, point: &[f64]) -> f64 {
        let near = |axis: usize, best: f64, reach: f64| {
            1.0 - ((point[axis] - best).abs() / reach).min(1.0)
        };
        let is_third = |axis: usize| f64::from(point[axis] > 2.0 / 3.0);
        match self {
            Self::AllEqual => 0.0,
            Self::Planted | Self::Crash => {
                (near(0, 0.75, 0.6) + is_third(1) + near(4, 0.7, 0.5)) / 3.0
            }
            Self::Interaction => {
                let lift = |height: f64| 0.25 + 0.75 * height;
                let ranges = lift(near(0, 0.8, 0.7)) * lift(near(2, 0.7, 0.8));
                ranges * lift(is_third(1)) * lift(near(6, 0.6, 0.8))
            }
            Self::Useless => {
                let ranges = near(6, 0.8, 0.7) + near(14, 0.75, 0.8) + near(22, 0.8, 0.6);
                (ranges + is_third(13)) / 4.0
            }
        }
    }
}
