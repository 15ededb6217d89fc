//! The record in the folder of an audit, which may come from anybody.

use crate::audit::{AuditRecord, AuditResult, CrashState, ModelResult};
use crate::json_place::line_of;
use crate::json_values::ValueLimit;
use crate::text::without_byte_order_mark;
use crate::{Error, regular_file};
use serde::de::DeserializeOwned;
use std::io::ErrorKind;
use std::path::Path;

/// The name of the record.
pub const AUDIT_RECORD: &str = "audit.json";

/// The newest version of the record. Records of version 1 are read, too: they took each flush for
/// one of the whole file.
pub const AUDIT_FORMAT: u32 = 2;

/// The most commits of each worker in each phase.
pub const MAX_COMMITS_PER_PHASE: u64 = 100_000;

/// Bytes of a file's name at most.
const MAX_NAME_BYTES: usize = 255;

/// Reads the record of an audit's folder; `None` if the folder has none.
///
/// # Errors
/// [`Error::Io`] if it cannot be read or is no regular file, [`Error::TooLarge`] if it has more
/// than `max_bytes` or too many values, [`Error::NewerFormat`] if a later trueput wrote it,
/// [`Error::Invalid`] if it is no record, or a name or number in it cannot be.
pub fn read(folder: &Path, max_bytes: u64) -> Result<Option<AuditRecord>, Error> {
    let Some(text) = read_text(folder, AUDIT_RECORD, max_bytes)? else {
        return Ok(None);
    };
    let path = folder.join(AUDIT_RECORD);
    let record: AuditRecord = parse(&path, &text)?;
    if record.format > AUDIT_FORMAT {
        return Err(Error::NewerFormat {
            path,
            found: record.format,
            known: AUDIT_FORMAT,
        });
    }
    check(&record).map_err(|FieldError { place, message }| Error::Invalid {
        line: line_of(&text, &place),
        path,
        message: format!("{}: {message}", place.join(".")),
    })?;
    Ok(Some(record))
}

/// Reads the text of a record in a folder of unknown origin; `None` if the folder has none.
pub(crate) fn read_text(
    folder: &Path,
    name: &str,
    max_bytes: u64,
) -> Result<Option<Vec<u8>>, Error> {
    let text = match regular_file::read(folder, Path::new(name), max_bytes) {
        Err(Error::Io { source, .. })
            if matches!(
                source.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        read => read?,
    };
    let text = without_byte_order_mark(&text).to_vec();
    ValueLimit::new(max_bytes).add(&folder.join(name), &text)?;
    Ok(Some(text))
}

/// Parses the text of a record.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(text).map_err(|error| Error::Invalid {
        path: path.to_owned(),
        line: Some(error.line()),
        message: error.to_string(),
    })
}

/// Refuses an id that could lead out of a folder, or that people cannot read.
fn check_id(name: &str) -> Result<(), FieldError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let is_plain = !name.starts_with('.') && name.chars().all(fits);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && is_plain {
        return Ok(());
    }
    let message = format!(
        "'{name}' names no folder here; it must be letters, digits, '-', '_', '.' and '=', without \
         a '.' in front"
    );
    Err(FieldError::at("id", message))
}

/// A name or number that cannot be, with its place in the file.
struct FieldError {
    place: Vec<String>,
    message: String,
}

impl FieldError {
    fn at(field: &str, message: String) -> Self {
        Self {
            place: vec![field.to_owned()],
            message,
        }
    }

    fn within(mut self, part: &str) -> Self {
        self.place.insert(0, part.to_owned());
        self
    }
}

fn check(record: &AuditRecord) -> Result<(), FieldError> {
    let lists = [
        ("controls", &record.controls),
        ("storage_controls", &record.storage_controls),
        ("results", &record.results),
    ];
    for (name, results) in lists {
        for (index, result) in results.iter().enumerate() {
            check_result(result).map_err(|error| error.within(&index.to_string()).within(name))?;
        }
    }
    Ok(())
}

fn check_result(result: &AuditResult) -> Result<(), FieldError> {
    check_id(&result.id)?;
    let commits = result.commits_per_phase;
    if !(1..=MAX_COMMITS_PER_PHASE).contains(&commits) {
        let message = format!("{commits} is not between 1 and {MAX_COMMITS_PER_PHASE}");
        return Err(FieldError::at("commits_per_phase", message));
    }
    for (index, model) in result.models.iter().enumerate() {
        check_model(model).map_err(|error| error.within(&index.to_string()).within("models"))?;
    }
    Ok(())
}

fn check_model(model: &ModelResult) -> Result<(), FieldError> {
    let states = model.states;
    let counts = [
        ("distinct", model.distinct),
        ("refuted", model.refuted),
        ("unmountable", model.unmountable),
    ];
    if let Some((name, count)) = counts.into_iter().find(|(_, count)| *count > states) {
        let message = format!("{count} of {states} states cannot be");
        return Err(FieldError::at(name, message));
    }
    if !(model.elapsed_s.is_finite() && model.elapsed_s >= 0.0) {
        let message = format!("{} is no time", model.elapsed_s);
        return Err(FieldError::at("elapsed_s", message));
    }
    let Some(found) = &model.counterexample else {
        return Ok(());
    };
    check_id(&found.id)
        .and_then(|()| check_state(&found.state))
        .and_then(|()| {
            let crash = found.recovery.as_ref();
            let checked = crash.map_or(Ok(()), |crash| check_state(&crash.state));
            checked.map_err(|error| error.within("recovery"))
        })
        .map_err(|error| error.within("counterexample"))
}

/// Checks that a state lacks nothing that came after its cut.
fn check_state(state: &CrashState) -> Result<(), FieldError> {
    let lost = state
        .lost_pages
        .iter()
        .map(|lost| ("lost_pages", lost.from));
    let operations = state.lost_operations.iter();
    let operations = operations.map(|index| ("lost_operations", *index));
    let torn = state.tear.iter().map(|tear| ("tear", tear.operation));
    let mut all = lost.chain(operations).chain(torn);
    match all.find(|(_, index)| *index >= state.cut) {
        None => Ok(()),
        Some((name, index)) => {
            let message = format!("operation {index} is not before the cut, {}", state.cut);
            Err(FieldError::at(name, message).within("state"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_folder() {
        for name in ["lmdb-process-as-sync-journal", "x-page_size=4096", "a..b"] {
            assert!(check_id(name).is_ok(), "{name}");
        }
        let long = "x".repeat(256);
        for name in [
            "", ".", "..", "../x", "/etc", "a/b", "a\0", "-\u{e4}", &long,
        ] {
            assert!(check_id(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_state_lacks_only_what_came_before_its_cut() {
        let state = |lost: &[usize]| CrashState {
            cut: 3,
            lost_operations: lost.to_vec(),
            ..CrashState::default()
        };
        assert!(check_state(&state(&[0, 2])).is_ok());
        assert!(check_state(&state(&[0, 3])).is_err());
    }
}
