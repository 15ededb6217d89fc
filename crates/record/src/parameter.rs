//! Parameters: the knobs of an engine, the settings of a workload and the conditions of a run.
//!
//! [`parameters!`](crate::parameters) declares knobs and settings once. It yields a typed struct
//! for the code that uses them, and a list of [`Parameter`]s for everything else: checks, help and
//! tables. [`conditions`](crate::conditions) declares conditions with the same kinds.

mod declare;
mod error;
mod schema;
pub mod unit;

use crate::value::{
    Settings, Value, format_bytes, format_seconds, is_beyond_64_bits, parse_bytes, parse_seconds,
};
pub use declare::{FromValue, value_or, word_of};
pub use error::{ParameterError, TextError, ValueError};

/// The description of one parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name: the engine's own, if the engine has a name for it.
    pub name: &'static str,
    /// A description, in one or two sentences.
    pub summary: &'static str,
    /// The cost of choosing a value other than the default; empty if there is none.
    pub cost: &'static str,
    /// Its type, range and default.
    pub kind: ValueKind,
    /// The unit of a whole number or a fraction: `pages`, `ms` …; empty if there is none.
    pub unit: &'static str,
}

impl Parameter {
    /// Whether it is the size of something in memory: its cost says first that more is memory.
    #[must_use]
    pub fn sizes_memory(&self) -> bool {
        let is_size = matches!(self.kind, ValueKind::Bytes { .. });
        let first = self.cost.split(';').next().unwrap_or_default();
        let more = ["larger: ", "more: "].into_iter();
        let mut more = more.filter_map(|word| first.strip_prefix(word));
        let cost = more.next().unwrap_or(first);
        let is_memory = cost.starts_with("memory") || cost.starts_with("host memory");
        is_size && is_memory && !cost.starts_with("memory and disk")
    }
}

/// The common word for a default that another parameter determines: see [`DefaultValue::Word`].
pub const PRESET: &str = "preset";

/// The default of a size, a fraction or a duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefaultValue<T> {
    /// A value.
    Value(T),
    /// No value: this word stands for it, and can also be given.
    Word(&'static str),
}

impl<T: Into<Value>> From<DefaultValue<T>> for Value {
    fn from(default: DefaultValue<T>) -> Self {
        match default {
            DefaultValue::Value(value) => value.into(),
            DefaultValue::Word(word) => word.into(),
        }
    }
}

/// The type of a parameter, with its range and default.
#[derive(Debug, Clone, Copy)]
#[allow(
    missing_docs,
    reason = "the fields are named for what they hold, in the parameter's unit"
)]
pub enum ValueKind {
    /// A whole number within bounds, both included.
    Integer { default: i64, min: i64, max: i64 },
    /// A size in bytes within bounds, both included; plans may write `64MiB`.
    Bytes {
        default: DefaultValue<u64>,
        min: u64,
        max: u64,
    },
    /// A number within bounds, both included.
    Fraction {
        default: DefaultValue<f64>,
        min: f64,
        max: f64,
    },
    /// A number of seconds within inclusive bounds; plans may write `500ms`. If the default is a
    /// word, 0 means the same.
    Duration {
        default: DefaultValue<f64>,
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
    /// A text of the grammar that is described; `check` refuses any other.
    Text {
        default: &'static str,
        grammar: &'static str,
        check: fn(&str) -> Result<(), TextError>,
    },
}

impl ValueKind {
    /// Returns whether the default is within the range.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        match *self {
            Self::Integer { default, min, max } => min <= default && default <= max,
            Self::Bytes { default, min, max } => match default {
                DefaultValue::Value(default) => min <= default && default <= max,
                DefaultValue::Word(_) => min <= max,
            },
            Self::Fraction { default, min, max } | Self::Duration { default, min, max } => {
                match default {
                    DefaultValue::Value(default) => min <= default && default <= max,
                    DefaultValue::Word(_) => min <= max,
                }
            }
            Self::Boolean { .. } | Self::Choice { .. } | Self::Text { .. } => true,
        }
    }

    /// Returns the value used if a plan sets none.
    #[must_use]
    pub fn default_value(&self) -> Value {
        match *self {
            Self::Integer { default, .. } => Value::Integer(default),
            Self::Bytes { default, .. } => default.into(),
            Self::Fraction { default, .. } | Self::Duration { default, .. } => default.into(),
            Self::Boolean { default } => Value::Boolean(default),
            Self::Choice { default, .. } | Self::Text { default, .. } => Value::from(default),
        }
    }

    /// Returns the word that stands for no value.
    fn word(&self) -> Option<&'static str> {
        match *self {
            Self::Bytes {
                default: DefaultValue::Word(word),
                ..
            }
            | Self::Fraction {
                default: DefaultValue::Word(word),
                ..
            }
            | Self::Duration {
                default: DefaultValue::Word(word),
                ..
            } => Some(word),
            _ => None,
        }
    }

    /// Formats the range for people.
    #[must_use]
    pub fn range(&self) -> String {
        let range = match *self {
            Self::Integer {
                min, max: i64::MAX, ..
            } => format!("{min} or more"),
            Self::Integer { min, max, .. } => format!("{min} to {max}"),
            Self::Bytes {
                min, max: u64::MAX, ..
            } => format!("{} or more", format_bytes(min)),
            Self::Bytes { min, max, .. } => {
                format!("{} to {}", format_bytes(min), format_bytes(max))
            }
            Self::Fraction { min, max, .. } => format!("{min} to {max}"),
            Self::Duration { min, max, .. } => {
                format!("{} to {}", format_seconds(min), format_seconds(max))
            }
            Self::Boolean { .. } => "on, off".to_owned(),
            Self::Choice { choices, .. } => choices.join(", "),
            Self::Text { grammar, .. } => grammar.to_owned(),
        };
        match self.word() {
            Some(word) => format!("{range}, or {word}"),
            None => range,
        }
    }

    /// Formats the default for people.
    #[must_use]
    pub fn default_text(&self) -> String {
        match *self {
            Self::Bytes {
                default: DefaultValue::Value(default),
                ..
            } => format_bytes(default),
            Self::Duration {
                default: DefaultValue::Value(default),
                ..
            } => format_seconds(default),
            Self::Boolean { default } => if default { "on" } else { "off" }.to_owned(),
            _ => self.default_value().to_string(),
        }
    }

    /// Reads a value of this type from text.
    ///
    /// # Errors
    /// A [`ValueError`] with the text and the valid values.
    pub fn read(&self, text: &str) -> Result<Value, ValueError> {
        match self {
            Self::Integer { .. } | Self::Fraction { .. } | Self::Boolean { .. } => {
                self.admit(&Value::parse(text))
            }
            // `on` is a word and `007` a text here.
            _ => self.admit(&text.into()),
        }
    }

    /// Returns whether a record may hold this value: one that is in the range, and no number that
    /// only stands for a word, as 0 does for none.
    pub(crate) fn admits(&self, given: &Value) -> bool {
        let is_number = !matches!(given, Value::Text(_));
        let admitted = self.admit(given);
        admitted.is_ok_and(|value| !is_number || self.word() != Some(value.to_string().as_str()))
    }

    /// Checks a given value and brings it to this type.
    fn admit(&self, given: &Value) -> Result<Value, ValueError> {
        let within = |fits: bool, value: Value| {
            fits.then_some(value).ok_or_else(|| ValueError::OutOfRange {
                given: given.clone(),
                range: self.range(),
            })
        };
        match (self, given) {
            (_, Value::Text(text)) if self.word() == Some(text) => Ok(given.clone()),
            (Self::Integer { min, max, .. }, Value::Integer(number)) => {
                within((min..=max).contains(&number), given.clone())
            }
            // 1e6 is how people write a million.
            (Self::Integer { .. }, Value::Float(number)) if is_whole(*number) => {
                self.admit(&Value::Integer(*number as i64))
            }
            (Self::Bytes { min, max, .. }, Value::Integer(_) | Value::Text(_)) => {
                let bytes = parse_bytes(&given.to_string())?;
                within((*min..=*max).contains(&bytes), bytes.into())
            }
            (Self::Fraction { .. }, Value::Integer(number)) => {
                self.admit(&Value::Float(*number as f64))
            }
            (Self::Fraction { min, max, .. }, Value::Float(number)) => {
                let fits = number.is_finite() && (min..=max).contains(&number);
                within(fits, given.clone())
            }
            (Self::Fraction { min, max, .. }, Value::Text(text)) if is_beyond_64_bits(text) => {
                let number: f64 = text.replace('_', "").parse().unwrap_or(f64::INFINITY);
                within((*min..=*max).contains(&number), number.into())
            }
            (Self::Duration { min, max, .. }, _) => {
                let seconds = parse_seconds(&given.to_string())?;
                match self.word() {
                    Some(word) if seconds == 0.0 => Ok(word.into()),
                    _ => within((*min..=*max).contains(&seconds), seconds.into()),
                }
            }
            (Self::Boolean { .. }, Value::Boolean(_)) => Ok(given.clone()),
            (Self::Choice { choices, .. }, _) => {
                // Plans and command lines read these two words as truth values.
                let word = match given {
                    Value::Boolean(true) => "on".to_owned(),
                    Value::Boolean(false) => "off".to_owned(),
                    _ => given.to_string(),
                };
                if choices.contains(&word.as_str()) {
                    Ok(Value::Text(word))
                } else {
                    let given = word;
                    Err(ValueError::UnknownWord { given, choices })
                }
            }
            (Self::Text { check, .. }, _) => {
                let text = given.to_string();
                check(&text).map_err(ValueError::Text)?;
                Ok(Value::Text(text))
            }
            _ => Err(self.mismatch(given)),
        }
    }

    /// Says that a value is of another type.
    fn mismatch(&self, given: &Value) -> ValueError {
        let other_type = |wanted| ValueError::OtherType {
            given: given.clone(),
            wanted,
            range: self.range(),
        };
        match (self, given) {
            (Self::Integer { max, .. }, Value::Float(number)) if *number > *max as f64 => {
                ValueError::OutOfRange {
                    given: given.clone(),
                    range: format!("at most {max}"),
                }
            }
            (Self::Integer { max, .. }, Value::Text(text)) if is_beyond_64_bits(text) => {
                ValueError::OutOfRange {
                    given: given.clone(),
                    range: if text.starts_with('-') {
                        self.range()
                    } else {
                        format!("at most {max}")
                    },
                }
            }
            (Self::Integer { .. }, _) => other_type("a whole number"),
            (Self::Fraction { .. }, _) => other_type("a number"),
            (Self::Boolean { .. }, _) => ValueError::NotBoolean {
                given: given.clone(),
            },
            _ => other_type("a size"),
        }
    }
}

/// Returns whether a float is an exactly represented whole number.
fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= 2_f64.powi(53)
}

/// A value for every parameter of a list, each of the right type and within range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterValues(Settings);

impl ParameterValues {
    /// Returns the value of one parameter; `None` if the list has no parameter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns every value, by name, for the record.
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
/// A [`ParameterError`] with the parameter, the value, and the valid values.
pub fn resolve(
    owner: &str,
    parameters: &[Parameter],
    given: &Settings,
) -> Result<ParameterValues, ParameterError> {
    resolve_as("setting", owner, parameters, given)
}

/// Like [`resolve`], for the knobs of an engine.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_knobs(
    owner: &str,
    parameters: &[Parameter],
    given: &Settings,
) -> Result<ParameterValues, ParameterError> {
    resolve_as("knob", owner, parameters, given)
}

fn resolve_as(
    noun: &'static str,
    owner: &str,
    parameters: &[Parameter],
    given: &Settings,
) -> Result<ParameterValues, ParameterError> {
    let names = || parameters.iter().map(|parameter| parameter.name);
    for name in given.keys() {
        if !names().any(|known| known == name) {
            return Err(ParameterError::Unknown {
                owner: owner.to_owned(),
                noun,
                name: name.clone(),
                known: names().collect(),
            });
        }
    }
    let mut values = Settings::new();
    for parameter in parameters {
        let value = match given.get(parameter.name) {
            Some(value) => {
                let admitted = parameter.kind.admit(value);
                admitted.map_err(|source| ParameterError::Value {
                    owner: owner.to_owned(),
                    name: parameter.name,
                    source,
                })?
            }
            None => parameter.kind.default_value(),
        };
        values.insert(parameter.name.to_owned(), value);
    }
    Ok(ParameterValues(values))
}

#[cfg(test)]
mod tests;
