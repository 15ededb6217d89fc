//! The folder of an engine's log.

use std::path::{Path, PathBuf};
use trueput_record::value::Settings;

/// The knob by which an engine places its log in its folder's subfolder [`LOG`].
pub(crate) const LOG_DIRECTORY: &str = "log_directory";

/// The name of the subfolder, and the value of the knob.
pub(crate) const LOG: &str = "log";

/// Returns the folder of a database's log; `None` if it is with the data.
pub(crate) fn find_log_folder(knobs: &Settings, directory: &Path) -> Option<PathBuf> {
    let knob = knobs.get(LOG_DIRECTORY)?;
    (*knob == LOG.into()).then(|| directory.join(LOG))
}

/// Returns whether the engine keeps its log outside of the database's folder.
pub(crate) fn is_log_elsewhere(knobs: &Settings) -> bool {
    let folder = knobs.get(LOG_DIRECTORY).map(ToString::to_string);
    folder.is_some_and(|folder| Path::new(&folder).is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_lies_apart_where_the_knob_says_so_and_else_with_the_data() {
        let database = Path::new("/database");
        let mut knobs = Settings::new();
        assert_eq!(find_log_folder(&knobs, database), None);
        knobs.insert(LOG_DIRECTORY.to_owned(), "beside".into());
        assert_eq!(find_log_folder(&knobs, database), None);
        knobs.insert(LOG_DIRECTORY.to_owned(), LOG.into());
        let folder = find_log_folder(&knobs, database);
        assert_eq!(folder.as_deref(), Some(Path::new("/database/log")));
    }
}
