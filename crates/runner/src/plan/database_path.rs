//! Paths below which an engine cannot keep databases.

use std::path::Path;
use trueput_engine::Engine;

/// Checks that an engine can keep databases below a folder, whatever is in it.
pub(crate) fn check_path(engine: &dyn Engine, place: &Path) -> Result<(), String> {
    let full = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    match engine.path_objection(&full) {
        None => Ok(()),
        Some(reason) => {
            let (name, shown) = (engine.info().name, full.display());
            Err(format!(
                "{name} cannot keep databases in {shown}: {reason}; name another by --work"
            ))
        }
    }
}
