//! What holds with some knobs only: the rules of a plug-in's description.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use trueput_engine::parameter::resolve_knobs;
use trueput_engine::{
    Durability, Error, Isolation, Parameter, ParameterValues, Promise, Result, Value, ValueKind,
    Window,
};

/// The largest figure of a window: all whole numbers up to it are exact.
const MAX_FIGURE: f64 = 9_007_199_254_740_992.0;

/// The values of knobs with which a rule applies: for each that is named, one of some values.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Condition(BTreeMap<String, ValueList>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ValueList {
    Many(Vec<Value>),
    One(Value),
}

impl ValueList {
    fn values(&self) -> &[Value] {
        match self {
            Self::Many(values) => values,
            Self::One(value) => std::slice::from_ref(value),
        }
    }
}

impl Condition {
    /// Brings its values to the types of the knobs.
    ///
    /// # Errors
    /// A knob that does not exist, or a value that it does not take.
    pub(super) fn resolve(
        &mut self,
        engine: &str,
        knobs: &[Parameter],
    ) -> std::result::Result<(), String> {
        for (name, values) in &mut self.0 {
            if values.values().is_empty() {
                return Err(format!("{name} has no values: name one or more"));
            }
            let knob = knobs.iter().find(|knob| knob.name == name);
            let admit = |value: &Value| {
                if let (Some(knob), Value::Text(text)) = (knob, value) {
                    let read = knob.kind.read(text);
                    return read.map_err(|error| format!("{engine}: {name}: {error}"));
                }
                let given = [(name.clone(), value.clone())].into();
                let resolved = resolve_knobs(engine, knobs, &given);
                let resolved = resolved.map_err(|error| error.to_string())?;
                let value = resolved.get(name).cloned();
                value.ok_or_else(|| format!("{engine} has no knob '{name}'"))
            };
            let admitted = values.values().iter().map(admit);
            let admitted: std::result::Result<_, String> = admitted.collect();
            *values = ValueList::Many(admitted?);
        }
        Ok(())
    }

    /// Whether it names no knob, so that it is always met.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is met; an empty one always is.
    pub(super) fn is_met_by(&self, knobs: &ParameterValues) -> bool {
        self.0.iter().all(|(name, values)| {
            let value = knobs.get(name);
            value.is_some_and(|value| values.values().contains(value))
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let knob = |(name, values): (&String, &ValueList)| {
            let values = values.values().iter().map(Value::to_string);
            format!("{name}={}", values.collect::<Vec<_>>().join(" or "))
        };
        let knobs: Vec<_> = self.0.iter().map(knob).collect();
        f.write_str(&knobs.join(" and "))
    }
}

/// A level of durability, as an engine maps it with some knobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LevelRule {
    pub(super) durability: Durability,
    /// The engine's own settings; `{NAME}` stands for the value of a knob.
    mapped_to: String,
    #[serde(default)]
    window: Option<WindowRule>,
    source: String,
    #[serde(default)]
    doubt: Option<String>,
    #[serde(default)]
    pub(super) when: Condition,
}

/// What an `async` or `buffered` level can lose at most.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowRule {
    #[serde(default)]
    time_s: Option<Figure>,
    #[serde(default)]
    bytes: Option<Figure>,
    #[serde(default)]
    commits: Option<Figure>,
    until: String,
}

/// A number, or the name of the knob that has it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Figure {
    Number(f64),
    Knob(String),
}

impl Figure {
    fn with(&self, knobs: &ParameterValues) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Knob(name) => match knobs.get(name)? {
                Value::Integer(number) => Some(*number as f64),
                Value::Float(number) => Some(*number),
                Value::Boolean(_) | Value::Text(_) => None,
            },
        }
    }
}

impl WindowRule {
    fn with(&self, knobs: &ParameterValues) -> Window {
        let value = |figure: &Option<Figure>| figure.as_ref()?.with(knobs);
        Window {
            time_s: value(&self.time_s),
            bytes: value(&self.bytes).map(|bytes| bytes as u64),
            commits: value(&self.commits).map(|commits| commits as u64),
            until: self.until.clone(),
        }
    }
}

impl WindowRule {
    /// Checks its figures: each is above 0, a whole number where it counts, or a knob with numbers.
    ///
    /// # Errors
    /// The figure that is wrong, and what would be right.
    fn check(&self, knobs: &[Parameter]) -> std::result::Result<(), String> {
        let figures = [
            ("time_s", &self.time_s, false),
            ("bytes", &self.bytes, true),
            ("commits", &self.commits, true),
        ];
        for (field, figure, counts) in figures {
            match figure {
                None => {}
                Some(Figure::Number(number)) => {
                    let is_right = *number > 0.0 && *number <= MAX_FIGURE;
                    if !is_right || (counts && number.fract() != 0.0) {
                        let whole = if counts { "a whole number" } else { "a number" };
                        return Err(format!("{field}: {number} is not {whole} above 0"));
                    }
                }
                Some(Figure::Knob(name)) => {
                    let knob = knobs.iter().find(|knob| knob.name == name);
                    let is_text = |knob: &Parameter| {
                        matches!(
                            knob.kind,
                            ValueKind::Boolean { .. }
                                | ValueKind::Choice { .. }
                                | ValueKind::Text { .. }
                        )
                    };
                    if knob.is_some_and(is_text) {
                        return Err(format!("{field}: the values of '{name}' are no numbers"));
                    }
                }
            }
        }
        Ok(())
    }
}

impl LevelRule {
    /// Checks its window.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub(super) fn check(&self, knobs: &[Parameter]) -> std::result::Result<(), String> {
        let Some(window) = &self.window else {
            return Ok(());
        };
        let level = self.durability;
        if !matches!(level, Durability::Async | Durability::Buffered) {
            return Err(format!("{level}: window: only async and buffered have one"));
        }
        let checked = window.check(knobs);
        checked.map_err(|reason| format!("{level}: window: {reason}"))
    }

    /// The knobs that its window and its settings take their figures from.
    pub(super) fn named_knobs(&self) -> Vec<&str> {
        let window = self.window.iter();
        let figures = window.flat_map(|window| [&window.time_s, &window.bytes, &window.commits]);
        let of_window = figures.filter_map(|figure| match figure {
            Some(Figure::Knob(name)) => Some(name.as_str()),
            _ => None,
        });
        let parts = self.mapped_to.split('{').skip(1);
        let of_settings = parts.filter_map(|part| Some(part.split_once('}')?.0));
        of_window.chain(of_settings).collect()
    }

    /// The promise of the level with these knobs.
    fn promise(&self, knobs: &ParameterValues) -> Promise {
        let mut mapped_to = self.mapped_to.clone();
        for (name, value) in knobs.as_settings() {
            mapped_to = mapped_to.replace(&format!("{{{name}}}"), &value.to_string());
        }
        let window = self.window.as_ref().map(|window| window.with(knobs));
        Promise {
            doubt: self.doubt.clone(),
            ..Promise::new(self.durability, mapped_to, window, &self.source)
        }
    }
}

/// The promise of the first rule for the level that applies.
///
/// # Errors
/// [`Error::Unsupported`] if none does.
pub(super) fn promise_of(
    engine: &str,
    rules: &[LevelRule],
    durability: Durability,
    knobs: &ParameterValues,
) -> Result<Promise> {
    let of_level: Vec<_> = rules
        .iter()
        .filter(|rule| rule.durability == durability)
        .collect();
    if let Some(rule) = of_level.iter().find(|rule| rule.when.is_met_by(knobs)) {
        return Ok(rule.promise(knobs));
    }
    if of_level.is_empty() {
        return Err(Error::no_durability(engine, durability));
    }
    let needed: Vec<_> = of_level.iter().map(|rule| rule.when.to_string()).collect();
    Err(Error::Unsupported(format!(
        "{engine} does not support durability '{durability}': it needs {}",
        needed.join(", or ")
    )))
}

/// A level of isolation, with some knobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IsolationRule {
    pub(super) level: Isolation,
    #[serde(default)]
    pub(super) when: Condition,
}

/// A clause about the engine, with some knobs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemarkRule {
    pub(super) text: String,
    #[serde(default)]
    pub(super) when: Condition,
}

/// The texts that apply, as one clause; `None` if none does.
pub(super) fn remarks_of(rules: &[RemarkRule], knobs: &ParameterValues) -> Option<String> {
    let met = rules.iter().filter(|rule| rule.when.is_met_by(knobs));
    let texts: Vec<_> = met.map(|rule| rule.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
