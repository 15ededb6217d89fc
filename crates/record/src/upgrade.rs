//! Maps field names of former format versions to the present ones.
//!
//! A file is upgraded as a JSON value before it is deserialized: the types know only the names of
//! [`FORMAT_VERSION`].

use crate::FORMAT_VERSION;
use crate::text::without_byte_order_mark;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Error, Value};

/// A field that has another name since a version of the format.
struct Rename {
    /// The objects that hold it, from the outermost; the objects of a list count as one.
    path: &'static [&'static str],
    old: &'static str,
    new: &'static str,
}

const fn rename(path: &'static [&'static str], old: &'static str, new: &'static str) -> Rename {
    Rename { path, old, new }
}

/// A kind of file whose names changed in version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Manifest,
    Trial,
    End,
}

impl FileKind {
    /// Its fields that version 1 called otherwise.
    fn renames(self) -> &'static [Rename] {
        match self {
            Self::Manifest => MANIFEST,
            Self::Trial => TRIAL,
            Self::End => END,
        }
    }
}

const MANIFEST: &[Rename] = &[
    rename(&[], "gives_up", "costs"),
    rename(&[], "left_out", "skipped"),
    rename(&["host"], "virtualisation", "virtualization"),
    rename(&["trials", "conditions"], "turn_s", "time_slice_s"),
    rename(&["trials", "step"], "ledger", "ablation"),
];

const TRIAL: &[Rename] = &[
    rename(&["spec", "conditions"], "turn_s", "time_slice_s"),
    rename(&["spec", "step"], "ledger", "ablation"),
    rename(&["conformance"], "remembered", "cached"),
    rename(&["ceilings", "flush"], "alone_per_s", "separate_per_s"),
    rename(&[], "ceilings", "hardware_limits"),
    rename(&["measurement"], "neighbours", "neighbors"),
    rename(&["measurement", "timeline"], "neighbours", "neighbors"),
];

const END: &[Rename] = &[rename(&[], "enough", "stop_reason")];

/// Returns the version that a file states; 1 if it states none.
pub(crate) fn stated_version(text: &[u8]) -> u32 {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let text = without_byte_order_mark(text);
    serde_json::from_slice::<Format>(text).map_or(1, |stated| stated.format)
}

/// Reads a file of a version up to [`FORMAT_VERSION`].
pub(crate) fn read<T: DeserializeOwned>(
    kind: FileKind,
    version: u32,
    text: &[u8],
) -> Result<T, Error> {
    let text = without_byte_order_mark(text);
    if version >= FORMAT_VERSION {
        return serde_json::from_slice(text);
    }
    let mut value: Value = serde_json::from_slice(text)?;
    for rename in kind.renames() {
        apply(rename, rename.path, &mut value);
    }
    // The upgraded value is of this version, and is exported as such.
    if let Some(stated) = value.get_mut("format") {
        *stated = FORMAT_VERSION.into();
    }
    // A value has no lines: the text is read once more for the line of a fault that it has, too.
    serde_json::from_value(value).map_err(|error| match serde_json::from_slice::<T>(text) {
        Err(with_line) if with_line.to_string().starts_with(&error.to_string()) => with_line,
        _ => error,
    })
}

/// Gives a field its new name in every object at the end of the path.
fn apply(rename: &Rename, path: &[&str], value: &mut Value) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| apply(rename, path, item)),
        (Value::Object(fields), []) => {
            if let Some(field) = fields.remove(rename.old) {
                fields.insert(rename.new.to_owned(), field);
            }
        }
        (Value::Object(fields), [first, rest @ ..]) => {
            if let Some(inner) = fields.get_mut(*first) {
                apply(rename, rest, inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_of_version_1_gets_its_name_where_the_path_leads_and_nowhere_else() {
        let old = json!({
            "format": 1,
            "gives_up": {"lmdb.map_size": "address space"},
            "trials": [
                {"conditions": {"turn_s": 0.5}, "settings": {"turn_s": 1, "ledger": 2}},
                {"step": {"ledger": "cumulative"}},
            ],
        });
        let new: Value = read(FileKind::Manifest, 1, old.to_string().as_bytes()).unwrap();
        let expected = json!({
            "format": FORMAT_VERSION,
            "costs": {"lmdb.map_size": "address space"},
            "trials": [
                {"conditions": {"time_slice_s": 0.5}, "settings": {"turn_s": 1, "ledger": 2}},
                {"step": {"ablation": "cumulative"}},
            ],
        });
        assert_eq!(new, expected);
    }

    #[test]
    fn a_fault_of_version_1_is_told_and_not_its_old_names() {
        let line = json!({"spec": {"step": {"ledger": "cumulative"}}, "outcome": 7}).to_string();
        let error = read::<crate::TrialRecord>(FileKind::Trial, 1, line.as_bytes());
        let told = error.unwrap_err().to_string();
        assert!(!told.contains("ablation"), "{told}");
    }

    #[test]
    fn a_field_of_this_version_keeps_its_name() {
        let text = json!({"format": FORMAT_VERSION, "ceilings": 1}).to_string();
        let same: Value = read(FileKind::Trial, FORMAT_VERSION, text.as_bytes()).unwrap();
        assert_eq!(same["ceilings"], 1);
    }

    #[test]
    fn a_file_without_a_version_is_of_the_first() {
        assert_eq!(stated_version(b"{\"ended_at\": \"\"}"), 1);
        let end: Value = read(FileKind::End, 1, b"{\"enough\": \"budget\"}").unwrap();
        assert_eq!(end, json!({"stop_reason": "budget"}));
    }
}
