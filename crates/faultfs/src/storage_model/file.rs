//! Reads a model from TOML. Every error names the file, the line, the key and the remedy.

use super::StorageModel;
use super::validation;
use std::path::Path;
use toml::de::DeTable;
use trueput_record::Error;
use trueput_record::suggest::did_you_mean;

/// Reads and checks the text of the model file at `path`.
pub(super) fn parse(path: &Path, text: &str) -> Result<StorageModel, Error> {
    let invalid = |offset: usize, message: String| Error::Invalid {
        path: path.to_owned(),
        line: Some(line_at(text, offset)),
        message,
    };
    let model: StorageModel = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        invalid(offset, syntax_message(error.message(), text, offset))
    })?;
    match validation::check(&model) {
        Ok(()) => Ok(model),
        Err(defect) => {
            let document = DeTable::parse(text).ok();
            let offset = document.and_then(|table| offset_of(table.get_ref(), defect.keys));
            Err(invalid(offset.unwrap_or(0), defect.to_string()))
        }
    }
}

/// Says in the words of the other readers of TOML what serde and the parser say in theirs.
fn syntax_message(message: &str, text: &str, offset: usize) -> String {
    // serde quotes the given name first, then the known ones.
    let mut quoted = message.split('`').skip(1).step_by(2);
    if let Some(key) = message.strip_prefix("missing field `") {
        let key = key.trim_end_matches('`');
        return format!("the key '{key}' is missing; add it here");
    }
    for (start, kind, lead) in [
        ("unknown field", "key", "keys are"),
        ("unknown variant", "value", "it is one of"),
    ] {
        if message.starts_with(start) {
            let given = quoted.next().unwrap_or_default();
            let known: Vec<&str> = quoted.by_ref().collect();
            let hint = did_you_mean(given, known.iter().copied());
            return format!(
                "unknown {kind} '{given}'{hint}; {lead} {}",
                known.join(", ")
            );
        }
    }
    let message = message
        .replace('\n', "; ")
        .replace("expected f64", "expected a number")
        .replace("expected u32", "expected a whole number above 0")
        .replace("expected a string", "expected a text in quotes");
    let message = match message.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected a table"),
        None => message,
    };
    match key_at(text, offset) {
        Some(key) => format!("{key}: {message}"),
        None => message,
    }
}

/// Returns the key of the line that has the byte at `offset`.
fn key_at(text: &str, offset: usize) -> Option<&str> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |at| at + 1);
    let (key, _) = text.get(start..)?.lines().next()?.split_once('=')?;
    Some(key.trim())
}

/// Returns where the value of a key is, or of the table that should have it.
fn offset_of(table: &DeTable<'_>, keys: &[&str]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let value = table.get(*first)?;
    let inner = value.get_ref().as_table();
    let inner = inner.and_then(|table| offset_of(table, rest));
    Some(inner.unwrap_or(value.span().start))
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}
