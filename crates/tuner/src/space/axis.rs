//! One parameter as an axis from 0 to 1.

use super::Bounds;
use crate::error::SpaceError;
use trueput_record::Value;
use trueput_record::parameter::{DefaultValue, Parameter, ValueKind};

/// The share of an axis that special values have together (`LlamaTune`).
const SPECIAL_SHARE: f64 = 0.2;
/// The factor between the default and the ends of the searched range.
const REACH: f64 = 100.0;
/// The factor between the ends of the searched range if the default is not a number of the range.
const FULL_REACH: f64 = 1_048_576.0;
/// From this factor between its ends on, a range has a logarithmic scale.
const LOG_FROM: f64 = 100.0;
/// Integers of fewer values have no special one.
const FEW_VALUES: f64 = 8.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Integer,
    Bytes,
    Real,
}

#[derive(Debug, Clone)]
pub(super) struct Axis {
    special: Vec<Value>,
    default: Value,
    scale: Scale,
}

#[derive(Debug, Clone)]
enum Scale {
    Words(Vec<Value>),
    Range {
        number: Number,
        low: f64,
        high: f64,
        is_log: bool,
    },
}

/// A range as its descriptor states it.
struct Descriptor {
    number: Number,
    default: Option<f64>,
    min: f64,
    max: f64,
    /// The lowest number that is not special, if the range begins at 0 or -1.
    first: f64,
}

impl Axis {
    /// Makes the axis of a parameter; `None` for a text, and for a range of one value.
    pub(super) fn new(
        parameter: &Parameter,
        bounds: Option<Bounds>,
    ) -> Result<Option<Self>, SpaceError> {
        let words: Vec<Value> = match parameter.kind {
            ValueKind::Text { .. } => return Ok(None),
            ValueKind::Boolean { .. } => vec![Value::Boolean(false), Value::Boolean(true)],
            ValueKind::Choice { choices, .. } => choices.iter().copied().map(Value::from).collect(),
            _ => Vec::new(),
        };
        let default = parameter.kind.default_value();
        let Some(range) = Descriptor::of(&parameter.kind) else {
            if bounds.is_some() {
                return Err(SpaceError::NoRange(parameter.name));
            }
            let axis = Self {
                special: Vec::new(),
                default,
                scale: Scale::Words(words),
            };
            return Ok((axis.categories() > 1).then_some(axis));
        };
        let mut special: Vec<_> = matches!(default, Value::Text(_))
            .then(|| default.clone())
            .into_iter()
            .collect();
        let bounds = bounds.unwrap_or_default();
        if range.has_special_minimum() && special.is_empty() {
            let lowest = range.number.value(range.min);
            let is_excluded = bounds.low.is_some_and(|low| range.min < low);
            if !is_excluded || lowest == default {
                special.push(lowest);
            }
        }
        let scale = range.scale(parameter.name, bounds)?;
        let is_single =
            special.is_empty() && matches!(scale, Scale::Range { low, high, .. } if low == high);
        Ok((!is_single).then_some(Self {
            special,
            default,
            scale,
        }))
    }

    /// Returns the number of categories; 0 for a range.
    pub(super) fn categories(&self) -> usize {
        match &self.scale {
            Scale::Words(words) => words.len(),
            Scale::Range { .. } => 0,
        }
    }

    /// Returns the value at a position.
    pub(super) fn value(&self, position: f64) -> Value {
        let part = |at: f64, count: usize| ((at * count as f64) as usize).min(count - 1);
        let (number, low, high, is_log) = match &self.scale {
            Scale::Words(words) => return words[part(position, words.len())].clone(),
            Scale::Range {
                number,
                low,
                high,
                is_log,
            } => (*number, *low, *high, *is_log),
        };
        let share = self.special_share();
        if position < share {
            return self.special[part(position / share, self.special.len())].clone();
        }
        let at = ((position - share) / (1.0 - share)).clamp(0.0, 1.0);
        let exact = if is_log {
            low * (high / low).powf(at)
        } else {
            low + at * (high - low)
        };
        let rounded = number.bucket(exact).clamp(low, high);
        let is_default = |value: f64| number.bucket(value) == number.bucket(exact);
        match as_number(&self.default) {
            Some(value) if !self.special.contains(&self.default) && is_default(value) => {
                self.default.clone()
            }
            _ => number.value(rounded),
        }
    }

    /// Returns the position of a value.
    pub(super) fn position(&self, value: &Value) -> f64 {
        let middle = |index: usize, count: usize| (index as f64 + 0.5) / count as f64;
        let share = self.special_share();
        if let Some(index) = self.special.iter().position(|special| special == value) {
            return share * middle(index, self.special.len());
        }
        match &self.scale {
            Scale::Words(words) => {
                let index = words.iter().position(|word| word == value);
                middle(index.unwrap_or_default(), words.len())
            }
            Scale::Range {
                low, high, is_log, ..
            } => {
                let number = as_number(value).unwrap_or(*low).clamp(*low, *high);
                let at = if *is_log {
                    (number / low).ln() / (high / low).ln()
                } else {
                    (number - low) / (high - low)
                };
                let at = if at.is_finite() { at } else { 0.5 };
                share + (1.0 - share) * at
            }
        }
    }

    /// Returns the positions of each special value and category, and of the ends and the middle of
    /// a range.
    pub(super) fn levels(&self) -> Vec<f64> {
        let middles =
            |count: usize| (0..count).map(move |index| (index as f64 + 0.5) / count as f64);
        let share = self.special_share();
        match &self.scale {
            Scale::Words(words) => middles(words.len()).collect(),
            Scale::Range { .. } => {
                let special = middles(self.special.len()).map(|at| at * share);
                let range = [0.0, 0.5, 1.0].map(|at| share + (1.0 - share) * at);
                special.chain(range).collect()
            }
        }
    }

    fn special_share(&self) -> f64 {
        if self.special.is_empty() {
            0.0
        } else {
            SPECIAL_SHARE
        }
    }
}

impl Descriptor {
    fn of(kind: &ValueKind) -> Option<Self> {
        let value = |default: DefaultValue<f64>| match default {
            DefaultValue::Value(value) => Some(value),
            DefaultValue::Word(_) => None,
        };
        let (number, default, min, max, first) = match *kind {
            ValueKind::Integer { default, min, max } => (
                Number::Integer,
                Some(default as f64),
                min as f64,
                max as f64,
                1.0,
            ),
            ValueKind::Bytes { default, min, max } => {
                let default = match default {
                    DefaultValue::Value(value) => Some(value as f64),
                    DefaultValue::Word(_) => None,
                };
                (Number::Bytes, default, min as f64, max as f64, 4096.0)
            }
            ValueKind::Fraction { default, min, max } => {
                (Number::Real, value(default), min, max, min)
            }
            ValueKind::Duration { default, min, max } => {
                (Number::Real, value(default), min, max, 1e-3)
            }
            _ => return None,
        };
        Some(Self {
            number,
            default,
            min,
            max,
            first,
        })
    }

    fn has_special_minimum(&self) -> bool {
        let is_off = self.min == 0.0 || self.min == -1.0;
        is_off && self.first > self.min && self.first < self.max && self.max - self.min > FEW_VALUES
    }

    /// Derives the searched range of a parameter.
    fn scale(&self, parameter: &'static str, bounds: Bounds) -> Result<Scale, SpaceError> {
        let special = self.has_special_minimum();
        let first = if special { self.first } else { self.min };
        let default = self.default.filter(|value| *value >= first && *value > 0.0);
        let is_wide = first > 0.0 && self.max / first >= LOG_FROM;
        let (mut low, mut high) = (first, self.max);
        if is_wide {
            (low, high) = match default {
                Some(value) => (low.max(value / REACH), high.min(value * REACH)),
                None => (low, high.min(low * FULL_REACH)),
            };
        }
        low = bounds.low.unwrap_or(low).max(first);
        high = bounds.high.unwrap_or(high).min(self.max);
        if self.number != Number::Real {
            (low, high) = (low.ceil(), high.floor());
        }
        if low > high {
            return Err(SpaceError::NoValue {
                parameter,
                bounds: (low, high),
                own: (self.min, self.max),
            });
        }
        Ok(Scale::Range {
            number: self.number,
            low,
            high,
            is_log: low > 0.0 && high / low >= LOG_FROM,
        })
    }
}

impl Number {
    /// Rounds to a readable value.
    fn bucket(self, exact: f64) -> f64 {
        let significant = |unit: f64| (exact / unit).round() * unit;
        let size = exact.abs();
        match self {
            Self::Bytes if size >= 4.0 => significant(2_f64.powi(size.log2().floor() as i32 - 2)),
            Self::Integer if size < 100.0 => exact.round(),
            Self::Bytes => exact.round(),
            _ if size == 0.0 => 0.0,
            Self::Integer => significant(10_f64.powi(size.log10().floor() as i32 - 1)).round(),
            Self::Real => {
                // A division by a whole power of ten gives the number that its digits mean.
                let digits = 1 - size.log10().floor() as i32;
                if digits >= 0 {
                    (exact * 10_f64.powi(digits)).round() / 10_f64.powi(digits)
                } else {
                    significant(10_f64.powi(-digits))
                }
            }
        }
    }

    fn value(self, number: f64) -> Value {
        match self {
            Self::Integer => Value::Integer(number as i64),
            Self::Bytes => Value::from(number as u64),
            Self::Real => Value::Float(number),
        }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        // A size beyond i64::MAX.
        Value::Text(text) => text.parse().ok(),
        Value::Boolean(_) => None,
    }
}
