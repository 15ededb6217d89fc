//! Reads a workload file: settings of the workload `custom` under a name.

use super::{Key, Reader, keys, names, reader_of};
use crate::Error;
use crate::plan::WorkloadFile;
use std::path::Path;
use toml::de::DeTable;

keys! {
    /// The keys of a workload file.
    KEYS: |reader, file: WorkloadFile, item|
    "name" => file.name = reader.text(item)?,
    "about" => file.about = reader.text(item)?,
    "settings" => file.settings = reader.dimensions(item, "settings", &mut file.origin)?,
}

/// Whether a text has settings and names no workload, as only a workload file does.
pub(in crate::plan) fn is_workload_file(text: &str) -> bool {
    let Ok(document) = DeTable::parse(text) else {
        return false;
    };
    let table = document.get_ref();
    !table.contains_key("workload")
        && !table.contains_key("engines")
        && table.contains_key("settings")
}

/// Reads the text of the workload file at `path`.
pub(in crate::plan) fn workload_file(path: &Path, text: &str) -> Result<WorkloadFile, Error> {
    let reader = Reader { path, text };
    let document = reader.document()?;
    let table = document.get_ref();
    reader.check_keys(table, &names(KEYS).collect::<Vec<_>>(), |_| false)?;
    if !table.contains_key("settings") {
        let message = "the workload file has no settings; add [settings] and operations = \
                       \"get:50 update:50\"";
        return Err(reader.error_at(0..0, message));
    }
    let mut file = WorkloadFile::default();
    file.origin.path = Some(path.to_owned());
    if let Some(stem) = path.file_stem() {
        file.name = stem.to_string_lossy().into_owned();
    }
    for (key, item) in table {
        if let Some(read) = reader_of(KEYS, key.get_ref()) {
            read(&reader, &mut file, item)?;
        }
    }
    crate::plan::check_name(&file.name).map_err(|reason| {
        let at = table.get("name").map_or(0..0, toml::Spanned::span);
        reader.error_at(at, reason)
    })?;
    Ok(file)
}
