//! The knobs in a plug-in's description.

use super::leaked;
use serde::Deserialize;
use std::collections::BTreeSet;
use trueput_engine::parameter::{DefaultValue, Parameter, ValueKind};
use trueput_engine::{Value, ValueKind as Kind};
use trueput_record::value::{parse_bytes, parse_seconds};

/// A knob as the description has it; docs/PLUGINS.md lists the fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnobEntry {
    name: String,
    summary: String,
    #[serde(default)]
    cost: String,
    #[serde(default)]
    unit: String,
    #[serde(rename = "type")]
    kind: KnobType,
    #[serde(default)]
    default: Option<Value>,
    /// The word that stands for no value, where that is the default.
    #[serde(default)]
    default_word: Option<String>,
    #[serde(default)]
    min: Option<Value>,
    #[serde(default)]
    max: Option<Value>,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(default)]
    grammar: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KnobType {
    Integer,
    Bytes,
    Fraction,
    Duration,
    Boolean,
    Choice,
    Text,
}

impl KnobEntry {
    /// The knob as everything else knows it.
    ///
    /// # Errors
    /// The knob's name, and which of its fields is wrong.
    pub(super) fn parameter(self) -> Result<Parameter, String> {
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if self.name.is_empty() || !self.name.bytes().all(is_letter) {
            return Err(format!(
                "knob '{}': its name is not one or more of a-z, 0-9 and _",
                self.name
            ));
        }
        let kind = self
            .value_kind()
            .map_err(|reason| format!("knob '{}': {reason}", self.name))?;
        if !kind.is_consistent() {
            return Err(format!("knob '{}': default is out of its range", self.name));
        }
        let usual_unit = match self.kind {
            KnobType::Bytes => "bytes".to_owned(),
            KnobType::Duration => "s".to_owned(),
            _ => self.unit,
        };
        Ok(Parameter {
            name: leaked(self.name),
            summary: leaked(self.summary),
            cost: leaked(self.cost),
            kind,
            unit: leaked(usual_unit),
        })
    }

    fn value_kind(&self) -> Result<ValueKind, String> {
        Ok(match self.kind {
            KnobType::Integer => Kind::Integer {
                default: whole(self.given_default()?, "default")?,
                min: self.end(&self.min, "min", None, whole)?,
                max: self.end(&self.max, "max", Some(i64::MAX), whole)?,
            },
            KnobType::Bytes => Kind::Bytes {
                default: self.default_value(size)?,
                min: self.end(&self.min, "min", Some(0), size)?,
                max: self.end(&self.max, "max", Some(u64::MAX), size)?,
            },
            KnobType::Fraction => Kind::Fraction {
                default: self.default_value(number)?,
                min: self.end(&self.min, "min", None, number)?,
                max: self.end(&self.max, "max", None, number)?,
            },
            KnobType::Duration => Kind::Duration {
                default: self.default_value(seconds)?,
                min: self.end(&self.min, "min", Some(0.0), seconds)?,
                max: self.end(&self.max, "max", None, seconds)?,
            },
            KnobType::Boolean => match self.given_default()? {
                Value::Boolean(default) => Kind::Boolean { default: *default },
                other => return Err(format!("default: '{other}' is neither true nor false")),
            },
            KnobType::Choice => self.choice()?,
            KnobType::Text => Kind::Text {
                default: leaked(self.given_default()?.to_string()),
                grammar: leaked(self.grammar.clone()),
                // What the plug-in cannot use, it refuses as the database is opened.
                check: |_| Ok(()),
            },
        })
    }

    fn choice(&self) -> Result<ValueKind, String> {
        let default = self.given_default()?.to_string();
        let mut earlier = BTreeSet::new();
        for choice in &self.choices {
            if choice.is_empty() || !earlier.insert(choice) {
                return Err(format!("choices: '{choice}' is empty or there twice"));
            }
        }
        if !self.choices.contains(&default) {
            return Err(format!("default: '{default}' is none of its choices"));
        }
        let choices = self.choices.iter().cloned().map(leaked).collect::<Vec<_>>();
        Ok(Kind::Choice {
            default: leaked(default),
            choices: Vec::leak(choices),
        })
    }

    fn given_default(&self) -> Result<&Value, String> {
        let default = self.default.as_ref();
        default.ok_or_else(|| "it has no default".to_owned())
    }

    /// The default, or the word that stands for none.
    fn default_value<T>(
        &self,
        read: fn(&Value, &str) -> Result<T, String>,
    ) -> Result<DefaultValue<T>, String> {
        match (&self.default, &self.default_word) {
            (Some(default), None) => Ok(DefaultValue::Value(read(default, "default")?)),
            (None, Some(word)) => Ok(DefaultValue::Word(leaked(word.clone()))),
            _ => Err("it has one of default and default_word".to_owned()),
        }
    }

    /// An end of the range.
    fn end<T>(
        &self,
        given: &Option<Value>,
        field: &str,
        otherwise: Option<T>,
        read: fn(&Value, &str) -> Result<T, String>,
    ) -> Result<T, String> {
        match given {
            Some(given) => read(given, field),
            None => otherwise.ok_or_else(|| format!("it has no {field}")),
        }
    }
}

fn whole(value: &Value, field: &str) -> Result<i64, String> {
    match value {
        Value::Integer(number) => Ok(*number),
        other => Err(format!("{field}: '{other}' is not a whole number")),
    }
}

fn number(value: &Value, field: &str) -> Result<f64, String> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Float(number) if number.is_finite() => Ok(*number),
        other => Err(format!("{field}: '{other}' is not a number")),
    }
}

fn size(value: &Value, field: &str) -> Result<u64, String> {
    parse_bytes(&value.to_string()).map_err(|error| format!("{field}: {error}"))
}

fn seconds(value: &Value, field: &str) -> Result<f64, String> {
    parse_seconds(&value.to_string()).map_err(|error| format!("{field}: {error}"))
}
