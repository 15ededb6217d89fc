//! The JSON Schema of a parameter's value, as plans write it.

use super::{Parameter, ValueKind};
use serde_json::{Map, Value, json};

/// A size, as [`parse_bytes`](crate::value::parse_bytes) reads it.
const SIZE: &str = r"^\s*[0-9][0-9_]*\s*([KMGTkmgt]([iI][bB]|B)?|[kmgt]b|[bB])?\s*$";

/// A duration, as [`parse_seconds`](crate::value::parse_seconds) reads it.
const DURATION: &str = r"^[0-9._]+(us|ms|s|m|min|h)?$";

impl Parameter {
    /// Returns the schema of one value: its type and range, the word that stands for no value, the
    /// default, the meaning, the cost and the unit (`x-unit`).
    #[must_use]
    pub fn schema(&self) -> Value {
        let mut forms = self.kind.forms();
        if let Some(word) = self.kind.word() {
            forms.push(json!({ "const": word }));
            if matches!(self.kind, ValueKind::Duration { .. }) {
                forms.push(json!({ "const": 0 }));
            }
        }
        let mut schema = Map::new();
        match <[Value; 1]>::try_from(forms) {
            Ok([Value::Object(form)]) => schema = form,
            Ok([form]) => drop(schema.insert("anyOf".to_owned(), json!([form]))),
            Err(forms) => drop(schema.insert("anyOf".to_owned(), json!(forms))),
        }
        let mut description = self.summary.to_owned();
        if !self.cost.is_empty() {
            description += &format!(" Cost: {}", self.cost);
        }
        if let ValueKind::Text { grammar, .. } = self.kind {
            description += &format!(" Written: {grammar}");
        }
        schema.insert("description".to_owned(), description.into());
        schema.insert("default".to_owned(), json!(self.kind.default_value()));
        if !self.unit.is_empty() {
            schema.insert("x-unit".to_owned(), self.unit.into());
        }
        Value::Object(schema)
    }
}

impl ValueKind {
    /// Returns the schemas of the forms in which a value is written.
    fn forms(&self) -> Vec<Value> {
        match *self {
            Self::Integer { min, max, .. } => {
                let max = (max != i64::MAX).then_some(max);
                vec![number("integer", min.into(), max.map(Value::from))]
            }
            Self::Bytes { min, max, .. } => {
                let max = (max != u64::MAX).then_some(max);
                let bytes = number("integer", min.into(), max.map(Value::from));
                vec![bytes, json!({ "type": "string", "pattern": SIZE })]
            }
            Self::Fraction { min, max, .. } => {
                let max = max.is_finite().then_some(max);
                vec![number("number", min.into(), max.map(Value::from))]
            }
            Self::Duration { min, max, .. } => {
                let seconds = number("number", min.into(), Some(max.into()));
                vec![seconds, json!({ "type": "string", "pattern": DURATION })]
            }
            Self::Boolean { .. } => vec![json!({ "type": "boolean" })],
            Self::Choice { choices, .. } => {
                let mut words: Vec<Value> = Vec::new();
                for word in choices {
                    words.push(Value::from(*word));
                    // A plan may write such a word without quotes.
                    words.extend(unquoted(word));
                }
                vec![json!({ "enum": words })]
            }
            Self::Text { .. } => vec![json!({ "type": ["string", "number", "boolean"] })],
        }
    }
}

fn number(name: &str, min: Value, max: Option<Value>) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), name.into())]);
    schema.insert("minimum".to_owned(), min);
    schema.extend(max.map(|max| ("maximum".to_owned(), max)));
    Value::Object(schema)
}

/// Returns the truth value or the number that is read as this word.
fn unquoted(word: &str) -> Option<Value> {
    match word {
        "on" => Some(Value::Bool(true)),
        "off" => Some(Value::Bool(false)),
        _ => word.parse::<i64>().ok().map(Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::parameters! {
        /// Parameters of every kind whose schema is not obvious.
        struct Knobs {
            /// Memory for cached pages.
            cache: Bytes = 1 GiB in 1 MiB..=1 TiB, cost "memory of the host",
            /// Sessions.
            sessions: Integer = 126 in 1.., unit "sessions",
            /// How long a commit waits.
            wait: Option<Duration> or "none" in 1.0 ms..=1.0 h,
            /// Whether a commit waits.
            commit: Choice = "on" of ["on", "off", "2"],
        }
    }

    fn schema_of(name: &str) -> Value {
        let mut all = Knobs::PARAMETERS.iter();
        all.find(|one| one.name == name).unwrap().schema()
    }

    #[test]
    fn a_schema_states_the_range_the_default_the_cost_and_the_unit() {
        let cache = schema_of("cache");
        assert_eq!(cache["anyOf"][0]["minimum"], 1 << 20);
        assert_eq!(cache["anyOf"][0]["maximum"], 1_u64 << 40);
        assert_eq!(cache["anyOf"][1]["pattern"], SIZE);
        assert_eq!(cache["default"], 1 << 30);
        let description = "Memory for cached pages. Cost: memory of the host";
        assert_eq!(cache["description"], description);
        let sessions = schema_of("sessions");
        assert_eq!(sessions["type"], "integer");
        assert_eq!(
            (&sessions["x-unit"], sessions.get("maximum")),
            (&json!("sessions"), None)
        );
    }

    #[test]
    fn a_word_stands_beside_the_values_and_one_without_quotes_is_taken() {
        let wait = schema_of("wait");
        assert_eq!(wait["anyOf"][2], json!({ "const": "none" }));
        assert_eq!(
            schema_of("commit")["enum"],
            json!(["on", true, "off", false, "2", 2])
        );
    }
}
