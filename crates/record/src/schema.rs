//! JSON Schemas of the files, made from the types that read and write them.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// Returns the schema (JSON Schema 2020-12) of the files that are read as a type: a field that a
/// file may lack is not required. Descriptions are the type's documentation.
///
/// ```
/// let schema = trueput_record::schema::of_file::<trueput_record::HostFacts>();
/// assert_eq!(schema.get("title"), Some(&"HostFacts".into()));
/// ```
#[must_use]
pub fn of_file<T: JsonSchema>() -> Schema {
    root_schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of documents that are only written: all fields that are always written are
/// required.
#[must_use]
pub fn of_output<T: JsonSchema>() -> Schema {
    root_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn root_schema<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with_transform(RecursiveTransform(simplify));
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the schema of one value of a kind, or of a list of at least one.
pub(crate) fn one_or_many(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
}

/// Makes a schema's description plain text, and leaves out the names of Rust's types.
fn simplify(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    // Widths of integers in memory, which no other validator knows. Their limits stay.
    object.remove("format");
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = plain(text);
    }
}

/// Joins the lines of a paragraph, takes links from rustdoc's names, and says of a field that it is
/// absent.
fn plain(documentation: &str) -> String {
    let paragraphs = documentation.split("\n\n").map(|paragraph| {
        let lines: Vec<_> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    });
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    let text = text.replace("[`", "`").replace("`]", "`");
    text.replace("`None`", "absent").replace("crate::", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunManifest, TrialRecord};

    #[test]
    fn a_description_has_no_marks_of_rustdoc() {
        assert_eq!(
            plain("The rate, as in\n[`Rate`]; `None`: a closed loop.\n\nMore."),
            "The rate, as in `Rate`; absent: a closed loop.\n\nMore."
        );
        for schema in [of_file::<RunManifest>(), of_file::<TrialRecord>()] {
            let text = schema.to_value().to_string();
            assert!(!text.contains("[`") && !text.contains("`None`"), "{text}");
        }
    }

    #[test]
    fn a_field_that_older_files_lack_is_not_required_and_the_others_are() {
        let schema = of_file::<RunManifest>().to_value();
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&json!("started_at")), "{required:?}");
        assert!(!required.contains(&json!("headlines")), "{required:?}");
    }
}
