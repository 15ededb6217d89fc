//! Reads the description of a plug-in from its file, without loading it: no code of it runs.

use crate::library;
use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSymbol};
use std::fs::File;
use std::path::Path;
use trueput_engine::{Error, Result, decode_utf8};

/// The symbol of the function that returns the plug-in's table.
pub(super) const ENTRY: &str = "trueput_engine_v1";
/// The symbol of its description.
const DESCRIPTION: &str = "trueput_engine_v1_description";
/// A description is some thousand bytes long.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// Returns the text of a plug-in's description.
///
/// # Errors
/// One line that names the file: no library for this machine, no plug-in, or one of another major
/// version.
pub(super) fn description_text(path: &Path) -> Result<String> {
    library::check(path)?;
    let shown = path.display();
    let refused = |reason: String| Error::engine(format!("{shown} {reason}"));
    let file =
        File::open(path).map_err(|error| Error::engine(format!("cannot read {shown}: {error}")))?;
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).map_err(|error| refused(error.to_string()))?;
    let defined = |wanted: &str| {
        let mut symbols = object.dynamic_symbols();
        symbols.find(|symbol| symbol.name() == Ok(wanted) && symbol.is_definition())
    };
    let Some(symbol) = defined(DESCRIPTION) else {
        let other = object.dynamic_symbols().find_map(|symbol| {
            let version = symbol.name().ok()?.strip_prefix("trueput_engine_v")?;
            version.strip_suffix("_description").map(str::to_owned)
        });
        return Err(refused(match other {
            Some(major) => format!(
                "is a plug-in of interface version {major}; this trueput has version 1: build it \
                 with this trueput's include/trueput_engine.h"
            ),
            None => format!("is not a plug-in of trueput: it lacks {DESCRIPTION}"),
        }));
    };
    if defined(ENTRY).is_none() {
        return Err(refused(format!(
            "lacks {ENTRY}, the function that returns its table"
        )));
    }
    if !(1..=MAX_DESCRIPTION_BYTES).contains(&symbol.size()) {
        return Err(refused(format!(
            "has a description of {} bytes; it is 1 byte to 1 MiB long",
            symbol.size()
        )));
    }
    let section = symbol
        .section_index()
        .and_then(|index| object.section_by_index(index).ok());
    let bytes = section.and_then(|section| {
        let bytes = section.data_range(symbol.address(), symbol.size());
        bytes.ok().flatten()
    });
    let bytes = bytes.ok_or_else(|| refused("has a description outside of its file".to_owned()))?;
    // A string constant of C ends with a zero byte.
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let text = decode_utf8(text)
        .map_err(|error| refused(format!("has a description that is no UTF-8: {error}")))?;
    Ok(text.to_owned())
}
