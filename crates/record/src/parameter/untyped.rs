//! Look-ups by name, for owners whose parameters are not yet declared with a typed struct.

use super::{PRESET, ParameterValues};
use crate::Value;

#[allow(
    clippy::panic,
    missing_docs,
    clippy::missing_panics_doc,
    reason = "an owner that asks for a parameter that it does not list is a bug"
)]
impl ParameterValues {
    #[must_use]
    pub fn integer(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Integer(number)) => *number,
            other => panic!("{name} is no integer: {other:?}"),
        }
    }

    #[must_use]
    pub fn unsigned(&self, name: &str) -> u64 {
        self.integer(name).unsigned_abs()
    }

    #[must_use]
    pub fn fraction(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Float(number)) => Some(*number),
            Some(Value::Text(word)) if word == PRESET => None,
            other => panic!("{name} is no number: {other:?}"),
        }
    }

    #[must_use]
    pub fn boolean(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Boolean(value)) => *value,
            other => panic!("{name} is no boolean: {other:?}"),
        }
    }

    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(word)) => word,
            other => panic!("{name} is no word: {other:?}"),
        }
    }
}
