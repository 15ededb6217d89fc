//! Settings that can be turned: of an engine, and of a workload, which describes its settings the
//! same way.

use std::collections::BTreeMap;
use trueput_record::Value;
use trueput_record::suggest::{did_you_mean, setting_hint};
use trueput_record::trial::Settings;
use trueput_record::value::{count_hint, format_bytes, parse_bytes};

/// One setting: what it is, what it may be, and what turning it gives up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knob {
    /// Its name, the engine's own where there is one.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What turning it away from the default gives up; empty where nothing is.
    pub gives_up: &'static str,
    /// Its type, range and default.
    pub kind: Kind,
    /// The unit of a whole number or a fraction: `pages`, `ms` …; empty where there is none.
    pub unit: &'static str,
}

/// What a [`Kind::Fraction`] without a default reads where it is not given.
pub const OTHERWISE: &str = "preset";

/// A setting's type, with its range and default.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(
    missing_docs,
    reason = "the fields are what they are named for, in the knob's unit"
)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Integer { default: i64, min: i64, max: i64 },
    /// A size in bytes within bounds, both included; plans may write `64MiB`.
    Bytes { default: u64, min: u64, max: u64 },
    /// A number within bounds, both included. Where there is no default, [`OTHERWISE`] stands for
    /// it: another setting decides.
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
    /// The value where a plan says nothing.
    #[must_use]
    pub fn default_value(&self) -> Value {
        match *self {
            Self::Integer { default, .. } => Value::Integer(default),
            Self::Bytes { default, .. } => Value::from(default),
            Self::Fraction { default, .. } => default.map_or(OTHERWISE.into(), Value::Float),
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
            Self::Fraction { min, max, .. } if max.is_infinite() => format!("{min} or more"),
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
            (Self::Fraction { default: None, .. }, Value::Text(word)) if word == OTHERWISE => {
                Ok(given.clone())
            }
            (Self::Boolean { .. }, Value::Boolean(_)) => Ok(given.clone()),
            (Self::Choice { choices, .. }, _) => {
                let word = given.to_string();
                let known = choices.contains(&word.as_str());
                let hint = did_you_mean(&word, choices.iter().copied());
                known.then(|| Value::Text(word.clone())).ok_or_else(|| {
                    format!(
                        "no such choice '{word}'{hint}; it is one of {}",
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

/// Settings of which every one has a value of the right type and within range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resolved(BTreeMap<String, Value>);

impl Resolved {
    /// A whole number, or a size in bytes.
    ///
    /// # Panics
    /// Where the knob is not in the list that was resolved, or is of another type: a mistake of the
    /// driver that its own tests meet at once.
    #[must_use]
    #[allow(
        clippy::panic,
        reason = "a driver asking for a knob that it does not list is a bug"
    )]
    pub fn integer(&self, name: &str) -> i64 {
        match self.0.get(name) {
            Some(Value::Integer(number)) => *number,
            other => panic!("knob {name} is no integer: {other:?}"),
        }
    }

    /// A whole number or size that is never negative by its range.
    ///
    /// # Panics
    /// As [`Resolved::integer`].
    #[must_use]
    pub fn unsigned(&self, name: &str) -> u64 {
        self.integer(name).unsigned_abs()
    }

    /// A number, or `None` where it has no default and was not given.
    ///
    /// # Panics
    /// As [`Resolved::integer`].
    #[must_use]
    #[allow(
        clippy::panic,
        reason = "a driver asking for a knob that it does not list is a bug"
    )]
    pub fn fraction(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Value::Float(number)) => Some(*number),
            Some(Value::Text(word)) if word == OTHERWISE => None,
            other => panic!("knob {name} is no number: {other:?}"),
        }
    }

    /// On or off.
    ///
    /// # Panics
    /// As [`Resolved::integer`].
    #[must_use]
    #[allow(
        clippy::panic,
        reason = "a driver asking for a knob that it does not list is a bug"
    )]
    pub fn boolean(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Boolean(value)) => *value,
            other => panic!("knob {name} is no boolean: {other:?}"),
        }
    }

    /// One word of several.
    ///
    /// # Panics
    /// As [`Resolved::integer`].
    #[must_use]
    #[allow(
        clippy::panic,
        reason = "a driver asking for a knob that it does not list is a bug"
    )]
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Text(word)) => word,
            other => panic!("knob {name} is no word: {other:?}"),
        }
    }

    /// Every setting, by name, for the record.
    #[must_use]
    pub fn as_settings(&self) -> &Settings {
        &self.0
    }
}

/// Fills in defaults and checks every given value.
///
/// `what` names the owner in errors: `lmdb`, `threen1`.
///
/// # Errors
/// One sentence that names the knob, the value, and what would be right.
pub fn resolve(what: &str, knobs: &[Knob], given: &Settings) -> Result<Resolved, String> {
    for name in given.keys() {
        if !knobs.iter().any(|knob| knob.name == name) {
            let hint = setting_hint(name, knobs.iter().map(|knob| knob.name));
            let names: Vec<_> = knobs.iter().map(|knob| knob.name).collect();
            let has = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            return Err(format!(
                "{what} has no setting '{name}'{hint}; it has {has}"
            ));
        }
    }
    let mut resolved = BTreeMap::new();
    for knob in knobs {
        let value = match given.get(knob.name) {
            Some(value) => knob
                .kind
                .admit(value)
                .map_err(|why| format!("{what}.{}: {why}", knob.name))?,
            None => knob.kind.default_value(),
        };
        resolved.insert(knob.name.to_owned(), value);
    }
    Ok(Resolved(resolved))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOBS: &[Knob] = &[
        Knob {
            name: "cache_size",
            summary: "Memory for pages.",
            gives_up: "",
            kind: Kind::Bytes {
                default: 1 << 20,
                min: 1 << 10,
                max: 1 << 30,
            },
            unit: "bytes",
        },
        Knob {
            name: "mode",
            summary: "How.",
            gives_up: "safety",
            kind: Kind::Choice {
                default: "slow",
                choices: &["slow", "fast"],
            },
            unit: "",
        },
    ];

    fn given(name: &str, value: Value) -> Settings {
        Settings::from([(name.to_owned(), value)])
    }

    #[test]
    fn what_a_plan_leaves_out_gets_its_default() {
        let resolved = resolve("toy", KNOBS, &Settings::new()).unwrap();
        assert_eq!(resolved.unsigned("cache_size"), 1 << 20);
        assert_eq!(resolved.text("mode"), "slow");
    }

    #[test]
    fn sizes_may_carry_units() {
        let resolved = resolve("toy", KNOBS, &given("cache_size", "2MiB".into())).unwrap();
        assert_eq!(resolved.integer("cache_size"), 2 << 20);
    }

    #[test]
    fn a_whole_number_may_be_written_with_an_exponent_and_a_fraction_is_none() {
        let knobs = [Knob {
            name: "finish",
            summary: "The last one.",
            gives_up: "",
            kind: Kind::Integer {
                default: 1,
                min: 1,
                max: i64::MAX,
            },
            unit: "",
        }];
        let finish = |text: &str| resolve("toy", &knobs, &given("finish", Value::parse(text)));
        assert_eq!(finish("1e6").unwrap().integer("finish"), 1_000_000);
        for wrong in ["1.5", "1e300", "inf", "nan", "-1e3"] {
            assert!(finish(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fraction_may_be_whole_and_without_a_default_another_setting_decides() {
        let kind = |default| Kind::Fraction {
            default,
            min: 0.0,
            max: 1.0,
        };
        let share = |default, given: Option<&str>| {
            let knobs = [Knob {
                name: "share",
                summary: "How much.",
                gives_up: "",
                kind: kind(default),
                unit: "",
            }];
            let settings = given.map_or(Settings::new(), |text| {
                super::tests::given("share", Value::parse(text))
            });
            let resolved = resolve("toy", &knobs, &settings)?;
            // What a record keeps is resolved again where the trial is run.
            let again = resolve("toy", &knobs, resolved.as_settings())?;
            assert_eq!(again, resolved);
            Ok::<_, String>(resolved.fraction("share"))
        };
        assert_eq!(share(Some(0.5), None), Ok(Some(0.5)));
        assert_eq!(share(None, None), Ok(None));
        assert_eq!(share(None, Some("preset")), Ok(None));
        assert_eq!(share(None, Some("1")), Ok(Some(1.0)));
        assert_eq!(share(None, Some("0.95")), Ok(Some(0.95)));
        for wrong in ["1.5", "-0.1", "nan", "half", "on"] {
            assert!(share(None, Some(wrong)).is_err(), "{wrong}");
        }
        assert!(share(Some(0.5), Some("preset")).is_err());
    }

    #[test]
    fn an_unknown_knob_names_the_nearest() {
        let error = resolve("toy", KNOBS, &given("cache_sise", 1_i64.into())).unwrap_err();
        assert!(error.contains("did you mean 'cache_size'"), "{error}");
    }

    #[test]
    fn a_value_out_of_range_or_of_the_wrong_type_is_refused_with_the_range() {
        let far = resolve("toy", KNOBS, &given("cache_size", "2TiB".into())).unwrap_err();
        assert_eq!(far, "toy.cache_size: 2TiB is out of range (1 KiB to 1 GiB)");
        let odd = resolve("toy", KNOBS, &given("mode", "fsat".into())).unwrap_err();
        assert!(odd.contains("did you mean 'fast'"), "{odd}");
        assert!(resolve("toy", KNOBS, &given("cache_size", true.into())).is_err());
    }
}
