//! Findings that JSON has as the text of their `Display`.

use serde::Serializer;
use std::fmt::Display;

/// Serializes each type as the text of its `Display`.
macro_rules! serialize_as_text {
    ($($type:ty),+ $(,)?) => {
        $(impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                generator.subschema_for::<String>()
            }
        })+
    };
}

pub(crate) use serialize_as_text;

/// Serializes each item as the text of its `Display`.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn serialize_texts<T: Display, S: Serializer>(
    items: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(items.iter().map(ToString::to_string))
}

/// The texts of items with something between them.
#[must_use]
pub fn joined<T: Display>(items: &[T], between: &str) -> String {
    let texts: Vec<_> = items.iter().map(ToString::to_string).collect();
    texts.join(between)
}

/// A text with its first letter as a capital.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
