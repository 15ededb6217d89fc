//! The directory of an engine's log, for engines that can separate it from the data.

use std::path::{Path, PathBuf};
use trueput_engine::choices;

/// The name of the subfolder.
pub(crate) const SUBFOLDER: &str = "log";

choices! {
    /// The knob `log_directory`.
    pub(crate) enum LogDirectory {
        /// The database's folder.
        Beside = "beside",
        /// A subfolder of it, where another device can be mounted.
        Apart = "log",
    }
}

impl LogDirectory {
    /// The name of the log's subfolder in the database's folder, if it has one.
    pub(crate) fn subfolder(self) -> Option<&'static str> {
        match self {
            Self::Beside => None,
            Self::Apart => Some(SUBFOLDER),
        }
    }

    /// The log's folder, for a database in `directory`.
    pub(crate) fn path_in(self, directory: &Path) -> PathBuf {
        match self.subfolder() {
            Some(name) => directory.join(name),
            None => directory.to_owned(),
        }
    }
}
