//! Parameters: the knobs of an engine and the settings of a workload.
//!
//! [`parameters!`](crate::parameters) declares them once. It yields a typed struct for the code
//! that uses them, and a list of [`Parameter`]s for everything else: checks, help and tables.

mod declare;
pub mod unit;

use crate::Value;
use crate::suggest::{did_you_mean, setting_hint};
use crate::trial::Settings;
use crate::value::{count_hint, format_bytes, parse_bytes};
pub use declare::{FromValue, word_of};

/// The description of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name, the engine's own where there is one.
    pub name: &'static str,
    /// What it does, in one or two sentences.
    pub summary: &'static str,
    /// The cost of another value than the default; empty if there is none.
    pub cost: &'static str,
    /// Its type, range and default.
    pub kind: Kind,
    /// The unit of a whole number or a fraction: `pages`, `ms` …; empty if there is none.
    pub unit: &'static str,
}

/// The value of a [`Kind::Fraction`] that has no default and is not given.
pub const PRESET: &str = "preset";

/// The type of a parameter, with its range and default.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(
    missing_docs,
    reason = "the fields are named for what they hold, in the parameter's unit"
)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Integer { default: i64, min: i64, max: i64 },
    /// A size in bytes within bounds, both included; plans may write `64MiB`.
    Bytes { default: u64, min: u64, max: u64 },
    /// A number within bounds, both included. Where there is no default, [`PRESET`] stands for
    /// it: another parameter decides.
    Fraction {
        default: Option<f64>,
        min: f64,
        max: f64,
    },
    /// On or off.
    Boolean { default: bool },
    /// One word of several.
    Choice {
        default: &'static str,
        choices: &'static [&'static str],
    },
}

impl Kind {
    /// Whether the default is within the range.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        match *self {
            Self::Integer { default, min, max } => min <= default && default <= max,
            Self::Bytes { default, min, max } => min <= default && default <= max,
            Self::Fraction { default, min, max } => match default {
                Some(default) => min <= default && default <= max,
                None => min <= max,
            },
            Self::Boolean { .. } | Self::Choice { .. } => true,
        }
    }

    /// The value where a plan says nothing.
    #[must_use]
    pub fn default_value(&self) -> Value {
        match *self {
            Self::Integer { default, .. } => Value::Integer(default),
            Self::Bytes { default, .. } => Value::from(default),
            Self::Fraction { default, .. } => default.map_or(PRESET.into(), Value::Float),
            Self::Boolean { default } => Value::Boolean(default),
            Self::Choice { default, .. } => Value::from(default),
        }
    }

    /// The range, for people.
    #[must_use]
    pub fn range(&self) -> String {
        match *self {
            Self::Integer {
                min, max: i64::MAX, ..
            } => format!("{min} or more"),
            Self::Integer { min, max, .. } => format!("{min} to {max}"),
            Self::Bytes { min, max, .. } => {
                format!("{} to {}", format_bytes(min), format_bytes(max))
            }
            Self::Fraction { min, max, .. } => format!("{min} to {max}"),
            Self::Boolean { .. } => "on, off".to_owned(),
            Self::Choice { choices, .. } => choices.join(", "),
        }
    }

    /// The default, for people.
    #[must_use]
    pub fn default_text(&self) -> String {
        match *self {
            Self::Bytes { default, .. } => format_bytes(default),
            Self::Boolean { default } => if default { "on" } else { "off" }.to_owned(),
            _ => self.default_value().to_string(),
        }
    }

    /// Checks a given value and brings it to this type.
    fn admit(&self, given: &Value) -> Result<Value, String> {
        let out_of_range = || format!("{given} is out of range ({})", self.range());
        match (self, given) {
            (Self::Integer { min, max, .. }, Value::Integer(number)) => {
                let fits = (min..=max).contains(&number);
                fits.then(|| given.clone()).ok_or_else(out_of_range)
            }
            // 1e6 is how people write a million.
            (Self::Integer { .. }, Value::Float(number)) if is_whole(*number) => {
                self.admit(&Value::Integer(*number as i64))
            }
            (Self::Bytes { min, max, .. }, Value::Integer(_) | Value::Text(_)) => {
                let bytes = parse_bytes(&given.to_string())?;
                let fits = (*min..=*max).contains(&bytes);
                fits.then(|| Value::from(bytes)).ok_or_else(out_of_range)
            }
            (Self::Fraction { .. }, Value::Integer(number)) => {
                self.admit(&Value::Float(*number as f64))
            }
            (Self::Fraction { min, max, .. }, Value::Float(number)) => {
                let fits = number.is_finite() && (min..=max).contains(&number);
                fits.then(|| given.clone()).ok_or_else(out_of_range)
            }
            (Self::Fraction { default: None, .. }, Value::Text(word)) if word == PRESET => {
                Ok(given.clone())
            }
            (Self::Boolean { .. }, Value::Boolean(_)) => Ok(given.clone()),
            (Self::Choice { choices, .. }, _) => {
                let word = given.to_string();
                let known = choices.contains(&word.as_str());
                let hint = did_you_mean(&word, choices.iter().copied());
                known.then(|| Value::Text(word.clone())).ok_or_else(|| {
                    format!(
                        "unknown value '{word}'{hint}; it is one of {}",
                        self.range()
                    )
                })
            }
            (Self::Integer { max, .. }, Value::Float(number)) if *number > *max as f64 => {
                Err(format!("{given} is out of range (at most {max})"))
            }
            (Self::Integer { .. }, _) => Err(format!(
                "'{given}' is not a whole number ({}){}",
                self.range(),
                count_hint(&given.to_string())
            )),
            (Self::Fraction { .. }, _) => Err(format!(
                "'{given}' is not a number ({}){}",
                self.range(),
                count_hint(&given.to_string())
            )),
            (Self::Boolean { .. }, _) => Err(format!("'{given}' is neither on nor off")),
            (Self::Bytes { .. }, _) => Err(format!("'{given}' is not a size ({})", self.range())),
        }
    }
}

/// Whether a float is a whole number that it states exactly.
fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= 2_f64.powi(53)
}

/// A value for every parameter of a list, each of the right type and within range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterValues(Settings);

impl ParameterValues {
    /// The value of one parameter; `None` if the list has no parameter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Every value, by name, for the record.
    #[must_use]
    pub fn as_settings(&self) -> &Settings {
        &self.0
    }
}

/// Fills in defaults and checks every given value.
///
/// `owner` is named in errors: `lmdb`, `threen1`.
///
/// # Errors
/// One sentence that names the parameter, the value, and what would be right.
pub fn resolve(
    owner: &str,
    parameters: &[Parameter],
    given: &Settings,
) -> Result<ParameterValues, String> {
    let names = || parameters.iter().map(|parameter| parameter.name);
    for name in given.keys() {
        if !names().any(|known| known == name) {
            let hint = setting_hint(name, names());
            let has = match parameters {
                [] => "none".to_owned(),
                _ => names().collect::<Vec<_>>().join(", "),
            };
            return Err(format!(
                "{owner} has no setting '{name}'{hint}; it has {has}"
            ));
        }
    }
    let mut values = Settings::new();
    for parameter in parameters {
        let value = match given.get(parameter.name) {
            Some(value) => parameter
                .kind
                .admit(value)
                .map_err(|why| format!("{owner}.{}: {why}", parameter.name))?,
            None => parameter.kind.default_value(),
        };
        values.insert(parameter.name.to_owned(), value);
    }
    Ok(ParameterValues(values))
}

#[cfg(test)]
mod tests;
