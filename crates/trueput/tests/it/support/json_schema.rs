//! A small validator of JSON Schema 2020-12: the keywords that trueput's own schemas have. It
//! panics on any other, so that none is passed over.

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that only describe.
const ANNOTATIONS: [&str; 9] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "default",
    "deprecated",
    "x-unit",
    // They go with `if` and `properties`.
    "then",
    "else",
];

/// Returns what in a value its schema does not allow, each with its place.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let validator = Validator { root: schema };
    validator.check(schema, value, "", &mut found);
    found
}

struct Validator<'s> {
    root: &'s Value,
}

impl Validator<'_> {
    fn is_valid(&self, schema: &Value, value: &Value) -> bool {
        let mut found = Vec::new();
        self.check(schema, value, "", &mut found);
        found.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return found.push(format!("{at}: is not allowed")),
            _ => schema.as_object().unwrap(),
        };
        for (keyword, argument) in keywords {
            self.check_keyword((keyword, argument), keywords, value, at, found);
        }
    }

    fn check_keyword(
        &self,
        (keyword, argument): (&String, &Value),
        keywords: &Map<String, Value>,
        value: &Value,
        at: &str,
        found: &mut Vec<String>,
    ) {
        let is_valid = |schema: &Value| self.is_valid(schema, value);
        let all = || argument.as_array().unwrap().iter();
        let number = |value: &Value| value.as_f64().unwrap();
        let mut require = |fits: bool| {
            if !fits {
                let argument = argument.to_string();
                let argument: String = argument.chars().take(200).collect();
                found.push(format!("{at}: {value} breaks {keyword} {argument}"));
            }
        };
        match keyword.as_str() {
            "$ref" => {
                let target = argument.as_str().unwrap().strip_prefix('#').unwrap();
                self.check(self.root.pointer(target).unwrap(), value, at, found);
            }
            "type" => require(has_type(argument, value)),
            "const" => require(is_equal(argument, value)),
            "enum" => require(all().any(|one| is_equal(one, value))),
            "minimum" => require(value.as_f64().is_none_or(|it| it >= number(argument))),
            "maximum" => require(value.as_f64().is_none_or(|it| it <= number(argument))),
            "pattern" => {
                let pattern = Regex::new(argument.as_str().unwrap()).unwrap();
                require(value.as_str().is_none_or(|text| pattern.is_match(text)));
            }
            "anyOf" => require(all().any(is_valid)),
            "oneOf" => require(all().filter(|one| is_valid(one)).count() == 1),
            "allOf" => all().for_each(|one| self.check(one, value, at, found)),
            "not" => require(!is_valid(argument)),
            "if" => {
                let branch = if is_valid(argument) { "then" } else { "else" };
                if let Some(branch) = keywords.get(branch) {
                    self.check(branch, value, at, found);
                }
            }
            _ => self.check_part((keyword, argument), keywords, value, at, found),
        }
    }

    /// Checks a keyword of objects and arrays.
    fn check_part(
        &self,
        (keyword, argument): (&String, &Value),
        keywords: &Map<String, Value>,
        value: &Value,
        at: &str,
        found: &mut Vec<String>,
    ) {
        let fields = value.as_object();
        let items = value.as_array();
        let limit = || usize::try_from(argument.as_u64().unwrap()).unwrap();
        match keyword.as_str() {
            "required" => {
                for name in argument.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    if fields.is_some_and(|fields| !fields.contains_key(name)) {
                        found.push(format!("{at}: has no {name}"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in argument.as_object().unwrap() {
                    if let Some(field) = fields.and_then(|fields| fields.get(name)) {
                        self.check(schema, field, &format!("{at}/{name}"), found);
                    }
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
                for (name, field) in fields.into_iter().flatten() {
                    if !is_known(name) {
                        self.check(argument, field, &format!("{at}/{name}"), found);
                    }
                }
            }
            "propertyNames" => {
                for name in fields.into_iter().flatten().map(|(name, _)| name) {
                    let place = format!("{at}/{name}");
                    self.check(argument, &Value::from(name.as_str()), &place, found);
                }
            }
            "items" => {
                for (index, item) in items.into_iter().flatten().enumerate() {
                    self.check(argument, item, &format!("{at}/{index}"), found);
                }
            }
            "contains" => {
                let is_in = |items: &Vec<Value>| items.iter().any(|it| self.is_valid(argument, it));
                if !items.is_none_or(is_in) {
                    found.push(format!("{at}: contains none of {argument}"));
                }
            }
            "minItems" if items.is_some_and(|items| items.len() < limit()) => {
                found.push(format!("{at}: fewer than {argument} items"));
            }
            "maxItems" if items.is_some_and(|items| items.len() > limit()) => {
                found.push(format!("{at}: more than {argument} items"));
            }
            "minItems" | "maxItems" => {}
            other => assert!(ANNOTATIONS.contains(&other), "{other} at {at}"),
        }
    }
}

fn has_type(names: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("type {other}"),
    };
    match names {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

/// Numbers are equal by their value, as 1 and 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}
