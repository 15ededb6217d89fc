//! Values that parameters do not take.

use crate::Value;
use crate::suggest::{did_you_mean, setting_hint};
use crate::value::{ParseBytesError, ParseSecondsError, count_hint};

/// The error of the function that reads a parameter's texts.
pub type TextError = Box<dyn std::error::Error + Send + Sync>;

/// A value that a parameter does not take.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// It is of the right type.
    #[error("{given} is out of range ({range})")]
    OutOfRange {
        /// The value.
        given: Value,
        /// The range, for people.
        range: String,
    },
    /// It is of another type.
    #[error("'{given}' is not {wanted} ({range}){}", count_hint(&given.to_string()))]
    OtherType {
        /// The value.
        given: Value,
        /// The parameter's type: `a whole number`.
        wanted: &'static str,
        /// The range, for people.
        range: String,
    },
    /// It is of another type than a Boolean.
    #[error("'{given}' is neither on nor off")]
    NotBoolean {
        /// The value.
        given: Value,
    },
    /// It is no size.
    #[error(transparent)]
    Size(#[from] ParseBytesError),
    /// It is no duration.
    #[error(transparent)]
    Duration(#[from] ParseSecondsError),
    /// It is none of the words.
    #[error(
        "unknown value '{given}'{}; it is one of {}",
        did_you_mean(given, choices.iter().copied()),
        choices.join(", ")
    )]
    UnknownWord {
        /// The word.
        given: String,
        /// The words.
        choices: &'static [&'static str],
    },
    /// It is a text that is not of the grammar.
    #[error(transparent)]
    Text(TextError),
}

/// A name that no parameter has, or a value that one does not take.
#[derive(Debug, thiserror::Error)]
pub enum ParameterError {
    /// There is no parameter of that name.
    #[error(
        "{owner} has no {noun} '{name}'{}; it has {}",
        setting_hint(name, known.iter().copied()),
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    Unknown {
        /// The engine or workload.
        owner: String,
        /// `knob` or `setting`.
        noun: &'static str,
        /// The name.
        name: String,
        /// The names of the parameters.
        known: Vec<&'static str>,
    },
    /// A parameter does not take the value.
    #[error("{owner}.{name}: {source}")]
    Value {
        /// The engine or workload.
        owner: String,
        /// The parameter.
        name: &'static str,
        /// What is wrong with it.
        source: ValueError,
    },
}

impl ParameterError {
    /// Returns the name that was given.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. } => name,
            Self::Value { name, .. } => name,
        }
    }
}
